"""What everything else is built on, and what imports nothing of the house itself."""
