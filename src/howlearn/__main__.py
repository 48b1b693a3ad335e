"""``python -m howlearn``: the same as ``howlearn``."""

import os
import sys

# Python puts the current folder first, where data lie: no file there may pass for a library.
if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

from howlearn.cli import main

main()
