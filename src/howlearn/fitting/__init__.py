"""From a study and candidate models to fits: exact, and at several truncations at once."""
