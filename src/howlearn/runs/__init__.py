"""A run: a folder that survives, the parts of its work, and who does them."""
