"""--forgone: what each action would have earned, laid out when all actions are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.reading.problems import Problems, listed


def misfit(columns: Sequence[str], actions: Sequence[str]) -> tuple[str, str, str] | None:
    """What is wrong with that many columns for these actions: found, allowed, what helps.

    >>> misfit(["other"], ["A", "B"]), misfit(["a", "b"], ["A", "B"])
    (None, None)
    """
    if len(columns) == len(actions) or (len(columns) == 1 and len(actions) == 2):
        return None
    found = f"{len(columns)} column{'s' * (len(columns) > 1)} for {len(actions)} actions"
    one = ", or one for the other action" if len(actions) == 2 else ""
    allowed = f"one column per action, in the order {listed(actions)}{one}"
    return found, allowed, f"--forgone {','.join(['COL'] * min(len(actions), 5))}"


def check_chosen(
    values: Floats,
    columns: Sequence[str],
    arrays: dict[str, NDArray[Any]],
    rows: NDArray[np.integer] | None,
    problems: Problems,
) -> None:
    """Refuse what the chosen action's column says where it differs from the reward."""
    action, reward = arrays["action"], arrays["reward"]
    said = np.take_along_axis(values, action[:, None].astype(np.intp), axis=1)[:, 0]
    differs = np.flatnonzero((said != reward) & ~np.isnan(said) & arrays["rewarded"])
    for code in np.unique(action[differs]):
        mine = differs[action[differs] == code]
        pairs = pl.DataFrame({"said": said[mine], "reward": reward[mine]})
        kinds = pairs.unique(maintain_order=True).with_row_index("code")
        codes = pairs.join(kinds, on=["said", "reward"], how="left", maintain_order="left")
        shown = [f"{a:.15g} where the reward is {b:.15g}" for _, a, b in kinds.iter_rows()]
        problems.refuse(
            np.asarray(mine if rows is None else rows[mine], dtype=np.int64),
            codes["code"].to_numpy().astype(np.int32),
            np.ones(len(kinds), dtype=np.bool_),
            pl.Series(shown),
            columns[int(code)],
            "the reward itself for the action that was chosen, or nothing",
            "--forgone COL,COL in the order of the actions, --reward COL",
        )


def by_action(values: Floats, action: NDArray[np.integer], n_actions: int) -> Floats:
    """[trial, action] from one column for the other action or one per action; NaN if chosen.

    >>> by_action(np.array([[0.5], [1.0]]), np.array([0, 1]), 2)
    array([[nan, 0.5],
           [1. , nan]])
    """
    table = values if values.shape[1] == n_actions else np.repeat(values, n_actions, axis=1)
    table[np.arange(len(table)), action] = np.nan
    return table
