"""Draw docs/images/summary.svg: what ``howlearn demo`` prints. Run from the project's root."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from howlearn.cli import demo, show

if __name__ == "__main__":
    show.console.record = True
    show.console.width = 100
    with tempfile.TemporaryDirectory() as folder:
        demo.demo(Path(folder) / "demo", learners=10, seed=1, fresh=False)
        text = show.console.export_svg(title="howlearn demo").replace(f"{folder}/", "")
    # A picture needs nothing from the network: the reader's own monospaced font will do.
    text = re.sub(r"@font-face \{.*?\}\s*", "", text, flags=re.S)
    Path("docs/images/summary.svg").write_text(text, encoding="utf-8")
