"""Draw docs/images/summary.svg: what ``howlearn demo`` prints."""

from __future__ import annotations

import contextlib
import re
import tempfile
from pathlib import Path

from howlearn.cli import show, simulate

PICTURE = Path(__file__).resolve().with_name("summary.svg")

if __name__ == "__main__":
    show.console.record = True
    show.console.width = 115
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        simulate.demo(Path("demo"), learners=10, seed=1, fresh=False)
        text = show.console.export_svg(title="howlearn demo")
    # A picture needs nothing from the network: the reader's own monospaced font will do.
    text = re.sub(r"@font-face \{.*?\}\s*", "", text, flags=re.S)
    PICTURE.write_text(text, encoding="utf-8")
