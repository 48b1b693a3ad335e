"""From files and frames to a study."""
