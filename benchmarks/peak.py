"""``python -m benchmarks.peak COMMAND ...``: run a command, print its seconds and peak bytes.

What the command itself prints goes to stderr. A process of its own, because the peak that Linux
reports for a child includes that of the process it was started from: one that has held a large
study would be mistaken for its child. With ``--processor`` before the command, seconds of processor
time are printed too, which a busy machine disturbs less.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from time import perf_counter

if __name__ == "__main__":
    start = perf_counter()
    words = sys.argv[1:]
    processor = words[0] == "--processor"
    done = subprocess.run(words[processor:], stdout=sys.stderr)
    seconds = perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(seconds, peak, *([used.ru_utime + used.ru_stime] if processor else []))
    sys.exit(done.returncode)
