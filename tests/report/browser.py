"""A real browser for the tests of pages: Debian's Chromium, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = "needs a browser: apt install chromium, and pip install playwright"
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")


@contextmanager
def started() -> Iterator[Any]:
    """A browser, or a skipped test that says what to install."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        found = None
    if found is None:
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*ARGUMENTS])
        yield browser
        browser.close()


class Visit:
    """A page that was opened, with everything that it complained of or asked for."""

    def __init__(self, browser: Any, file: Path, address: str = "", **settings: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.context = browser.new_context(accept_downloads=True, **settings)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri() + address)
        self.page.wait_for_selector("html[data-drawn=yes]", state="attached")

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    @property
    def abroad(self) -> list[str]:
        """Requests to anything but the file itself."""
        return [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]

    @property
    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        width = "document.scrollingElement.scrollWidth - window.innerWidth"
        return self.page.evaluate(width)

    def close(self) -> None:
        self.context.close()
