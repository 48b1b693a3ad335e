"""A reproduction as a folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl

from howlearn.analyses.calibrate import write_tables
from howlearn.paper.reproduce import Reproduction
from howlearn.paper.why import reasons
from howlearn.results.manifest import hash_of
from howlearn.runs.files import write_text

OUTPUTS = {
    "reproduction.csv",
    "claims.csv",
    "differences.csv",
    "findings.txt",
    "reproduction.html",
}


def write_reproduction(folder: Path, result: Reproduction) -> None:
    """The tables; that of differing selections only where there are stored fits."""
    tables: dict[str, pl.DataFrame] = {"claims": result.claims_table}
    if result.differences is not None:
        tables["differences"] = result.differences
    tables["reproduction"] = result.table
    write_tables(folder, tables)
    write_text(folder / "findings.txt", findings(result))


def findings(result: Reproduction) -> str:
    """The claims and the list of what differs and why, as plain text."""
    lines = ["What the correction does to the paper's claims", ""]
    for claim in result.claims:
        verdict = f"; {claim.verdict}" if claim.verdict else ""
        lines.append(
            f"- {claim.statement}: published {claim.published:g}, with the fault "
            f"{claim.with_fault}, corrected {claim.corrected}{verdict}"
        )
    lines += ["", "What differs, and why", ""]
    lines += [f"- {name}: {text}" for name, text in reasons(result)]
    return "\n".join(lines) + "\n"


def archive_described(path: Path | None, out: Path) -> dict[str, object] | None:
    """For the manifest: how many files, and a hash of all of them but those of the run itself."""
    if path is None:
        return None
    digest = hashlib.sha256()
    own = out.resolve()
    files = sorted(
        file for file in path.rglob("*") if file.is_file() and own not in file.resolve().parents
    )
    for file in files:
        digest.update(f"{file.relative_to(path)} {hash_of(file)}\n".encode())
    return {"path": str(path), "files": len(files), "hash": f"sha256:{digest.hexdigest()}"}
