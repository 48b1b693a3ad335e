"""The lowest versions of what the package needs, as constraints for pip; see ``make lowest``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).parents[1] / "pyproject.toml"
BOUND = re.compile(r"(?P<name>[A-Za-z0-9_-]+)(\[\w+\])?>=(?P<version>[0-9][0-9.]*)")
ITSELF = re.compile(r"howlearn\[(.*)\]")


def lowest(extra: str = "all") -> Iterator[str]:
    """NAME==VERSION for the dependencies and those of an extra, each at its lower bound."""
    project = tomllib.loads(FILE.read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]

    def within(name: str) -> Iterator[str]:
        for each in extras[name]:
            inner = ITSELF.fullmatch(each)
            if inner is None:
                yield each
            else:
                for one in inner[1].split(","):
                    yield from within(one)

    for each in dict.fromkeys([*project["dependencies"], *within(extra)]):
        bound = BOUND.fullmatch(each)
        if bound is None:
            raise SystemExit(f"pyproject.toml: {each} has no lower bound, such as {each}>=1.2")
        yield f"{bound['name']}=={bound['version']}"


if __name__ == "__main__":
    print("\n".join(lowest()))
