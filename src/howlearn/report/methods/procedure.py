"""Sentences on what was done: estimation, exclusions, the plan, simulations, software."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from howlearn.core.text import in_words
from howlearn.report.methods.candidates import short
from howlearn.report.methods.data import EXCLUDED
from howlearn.report.methods.references import SOFTWARE, Citing
from howlearn.report.methods.words import clean, count, listed, opening, quoted, unit_of

LEVEL = 0.95  # of intervals, unless another was asked for
NAMES = {"python": "Python", "numpy": "NumPy", "numba": "Numba", "polars": "Polars"}


def estimation_sentences(
    manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], cite: Citing
) -> Iterator[str]:
    """How parameters were estimated, and with what intervals."""
    models = manifest.get("models") or ()
    exact = bool(models) and all(_exact(model) for model in models)
    how = "exact maximum likelihood" if exact else "maximum likelihood"
    yield (
        f"Parameters were estimated by {how} within their bounds, for each {unit_of(manifest)} and "
        f"model separately {cite('wilson2019', before='see ')}"
        + ("." if exact else f"; {_searched(models)}.")
    )
    estimates = tables.get("estimates")
    if estimates is not None and "lower" in estimates.columns and _any(estimates["lower"]):
        level = (manifest.get("options") or {}).get("intervals") or LEVEL
        yield f"Intervals of estimates were {level * 100:.4g}% profile-likelihood intervals."


def _searched(models: Sequence[Mapping[str, Any]]) -> str:
    """How likelihoods that can have several tops were searched."""
    cells = any(not _exact(m) for m in models if m.get("units") and "+" not in str(m.get("name")))
    whole = any(not m.get("units") or "+" in str(m.get("name")) for m in models)
    ways = ["on fine grids of their parameters, cell by cell"] if cells else []
    ways += ["from many starts"] if whole else []
    return f"likelihoods that can have several tops were searched {' or '.join(ways)}"


def _exact(model: Mapping[str, Any]) -> bool:
    """Whether the fit is known to be the global maximum: gradient bandits in gain form."""
    if "+" in str(model.get("name", "")):
        return False
    units = model.get("units") or ()
    return bool(units) and all(
        (u.get("rule"), u.get("form")) == ("gradient", "gain") for u in units
    )


def _any(column: pl.Series) -> bool:
    return column.null_count() < len(column)


def exclusion_sentences(
    manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]
) -> Iterator[str]:
    """Who was left out of the shares and by which condition."""
    given = (manifest.get("options") or {}).get("exclude") or []
    conditions = [given] if isinstance(given, str) else [*given]
    if not conditions:
        return
    rows = manifest.get("rows") or {}
    counted = {found[1]: n for name, n in rows.items() if (found := EXCLUDED.fullmatch(str(name)))}
    learners = tables.get("learners")
    total = None
    if learners is not None and "excluded" in learners.columns:
        total = int((learners["excluded"].cast(pl.String).fill_null("") != "").sum())
    many = len(conditions) > 1
    each = listed(
        quoted(text) + (f" ({in_words(counted[text])})" if many and text in counted else "")
        for text in conditions
    )
    unit = "sequence" if (manifest.get("options") or {}).get("by") else "learner"
    who = f"{unit.capitalize()}s" if total is None else opening(count(total, unit))
    if total == 0:
        yield f"No {unit} fulfilled the condition for exclusion {each}."
        return
    were = "was" if total == 1 else "were"
    yield (
        f"{who} {were} excluded by {'the conditions' if many else 'the condition'} "
        f"{each}; shares are reported with and without them."
    )


def plan_sentences(
    manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]
) -> Iterator[str]:
    """Whether there was a plan that was frozen before, and what deviates from it."""
    options = manifest.get("options") or {}
    deviations = manifest.get("deviations")
    frozen = options.get("frozen") or manifest.get("frozen")
    if deviations is None and not frozen:
        return
    found: Sequence[Any] = deviations or []
    code = frozen.get("sha256") if isinstance(frozen, Mapping) else None
    plan = "a plan that was frozen beforehand" + (f" (SHA-256 {short(code)})" if code else "")
    if not found:
        yield f"The analysis followed {plan}, without deviations."
        return
    yield (
        f"The analysis followed {plan}, with "
        f"{count(len(found), 'deviation')}: {'; '.join(_deviation(each) for each in found)}."
    )


def _deviation(found: Any) -> str:
    if isinstance(found, Mapping) and "what" in found:
        planned, done = found.get("planned"), found.get("done")
        return f"{clean(found['what'])} (planned: {_shown(planned)}; done: {_shown(done)})"
    return clean(found)


def _shown(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return "none"
    if isinstance(value, list):
        return clean(", ".join(map(str, value)))
    return clean(value)


def simulation_sentences(
    manifest: Mapping[str, Any],
    tables: Mapping[str, pl.DataFrame],
    cite: Citing,
    doubled: int | None = None,
) -> Iterator[str]:
    """Calibration of the constants, recovery, doubles of the learners."""
    options = manifest.get("options") or {}
    confusion = tables.get("confusion")
    calibrated = [clean(text) for text in options.get("calibrated") or ()]
    if calibrated:
        yield (
            f"The constants of {listed(calibrated)} were chosen by a calibration on simulated "
            f"learners of every candidate {cite('aubert2025', 'wilson2019')}."
        )
    if confusion is not None and {"true_model", "learners"} <= {*confusion.columns}:
        least, most = confusion["learners"].min(), confusion["learners"].max()
        size = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        yield (
            f"How often each model was recovered was determined with {size} simulated learners of "
            f"each {cite('wilson2019', before='model recovery; ')}."
        )
    if doubled is not None:
        yield (
            "Learning curves were compared with those of simulated doubles, who followed each "
            f"learner's selected model at its estimates (seed {doubled})."
        )
    doubles = options.get("stability")
    if doubles:
        seed = options.get("seed")
        at = f" (seed {seed})" if seed is not None else ""
        yield (
            f"Stability was the share of {in_words(int(doubles))} simulated doubles of each "
            f"learner, who followed the selected model at its estimates{at}, that were given the "
            "same model."
        )


def software_sentences(manifest: Mapping[str, Any], cite: Citing) -> Iterator[str]:
    """Versions, and hashes of the data."""
    version = clean(manifest.get("howlearn", "unknown"))
    others = {str(k): v for k, v in (manifest.get("versions") or {}).items() if k != "howlearn"}
    parts = [f"{NAMES.get(name, clean(name))} {clean(v)}" for name, v in others.items()]
    work = cite(SOFTWARE)
    yield f"All computations were made with howlearn {version} {work}" + (
        f", {listed(parts)}." if parts else "."
    )
    files = {str(k): str(v) for k, v in (manifest.get("input") or {}).items()}
    if files:
        hashes = listed(f"{short(code)} for {clean(_base(name))}" for name, code in files.items())
        what = (
            "The SHA-256 hash of the data began"
            if len(files) == 1
            else ("The SHA-256 hashes of the data began")
        )
        yield f"{what} with {hashes}."


def _base(path: str) -> str:
    """The file's own name: folders tell about a machine, not about the data."""
    return re.split(r"[/\\]", path)[-1]
