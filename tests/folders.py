"""What a run's folder holds."""

from __future__ import annotations

from pathlib import Path


def content(folder: Path | str = "results") -> dict[str, bytes]:
    """Every file but locks and leftovers, by its name in the folder."""
    root = Path(folder)
    files = [path for path in root.rglob("*") if path.is_file() and path.name[0] != "."]
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(files)}


def leftovers(folder: Path | str = "results") -> list[str]:
    """Locks and half files."""
    return sorted(path.name for path in Path(folder).rglob(".*"))


def stamps(folder: Path | str = "results") -> dict[str, int]:
    """When each finished part was written."""
    return {path.name: path.stat().st_mtime_ns for path in Path(folder, "parts").glob("*.parquet")}


def tables(files: dict[str, bytes]) -> dict[str, bytes]:
    """Without the manifest, which says of a run that is complete whether the models fit."""
    return {name: data for name, data in files.items() if name != "manifest.json"}
