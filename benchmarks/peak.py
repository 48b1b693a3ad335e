"""``python -m benchmarks.peak COMMAND ...``: run a command, print its seconds and peak bytes.

What the command itself prints goes to stderr. A process of its own, because the peak that Linux
reports for a child includes that of the process it was started from: one that has held a large
study would be mistaken for its child.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from time import perf_counter

if __name__ == "__main__":
    start = perf_counter()
    done = subprocess.run(sys.argv[1:], stdout=sys.stderr)
    seconds = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(seconds, peak * (1 if sys.platform == "darwin" else 1024))
    sys.exit(done.returncode)
