"""Make docs/images/report.png: the first screen of the report of ``howlearn demo``, in Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = Path(__file__).resolve().with_name("report.png")
QUIET = (
    "--headless --no-sandbox --disable-gpu --no-first-run --hide-scrollbars "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()

if __name__ == "__main__":
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or "google-chrome"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "howlearn", "demo", "--out", f"{folder}/demo"]
        subprocess.run(command, check=True)
        page = f"file://{folder}/demo/report.html"
        options = [f"--user-data-dir={folder}/browser", "--window-size=1100,900"]
        subprocess.run([browser, *QUIET, *options, f"--screenshot={PICTURE}", page], check=True)
