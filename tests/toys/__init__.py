"""One of each kind, written as a user would: a file and one line of registration."""
