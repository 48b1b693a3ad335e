"""The column that says how many stimuli a block has."""

from __future__ import annotations

import numpy as np

from howlearn.reading.guess.draft import BY_CONTENT, Draft
from howlearn.reading.guess.sample import together

ENOUGH = 0.9  # of the blocks: the last of a sample may be cut, and choices may be missing


def find_load(draft: Draft) -> None:
    """A number that is the same within a block, and that of the contexts which the block shows."""
    resets, context = draft.columns("reset_by"), draft.contexts()
    if not draft.open("load") or not resets or context is None:
        return
    block = together(draft.sequences(), *(draft.sample.codes(name) for name in resets))
    pairs = np.unique(together(block, context), return_index=True)[1]
    shown = np.bincount(block[pairs])
    if len(np.unique(shown)) < 2:
        return  # the same in all blocks tells nothing
    first = np.unique(block, return_index=True)[1]
    for name in draft.free:
        numbers = draft.sample.numbers(name)
        same = np.array_equal(numbers, numbers[first][block])
        if same and np.mean(numbers[first] == shown) >= ENOUGH:
            why = f"it says how many contexts each {resets[0]} shows; models of working memory ask"
            draft.put("load", name, BY_CONTENT, why)
            return
