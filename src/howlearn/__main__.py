"""``python -m howlearn``: the same as ``howlearn``."""

from howlearn.cli import main

main()
