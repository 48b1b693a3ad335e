"""One file per kind of file that can be opened."""
