"""A share of a run's parts, for clusters that only know array jobs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from howlearn.core.errors import HowlearnError

MERGE = "merge"  # in the place of a shard: all of them are there


@dataclass(frozen=True)
class Shard:
    """The ``number``-th of ``count`` shares.

    >>> 6 in Shard(1, 3), 6 in Shard(2, 3), 7 in Shard.named("2/3")
    (True, False, True)
    """

    number: int
    count: int

    def __contains__(self, part: int) -> bool:
        return part % self.count == self.number - 1

    @property
    def name(self) -> str:
        return f"{self.number}-of-{self.count}"

    @classmethod
    def named(cls, text: str) -> Shard:
        """As ``--shard`` is given."""
        match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text)
        number, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= count:
            raise HowlearnError(
                f"--shard {text}: a shard is i/N with i from 1 to N, such as 3/10 for the third of "
                "ten (array jobs that count from 0: --shard $((SLURM_ARRAY_TASK_ID + 1))/10)"
            )
        return cls(number, count)


class ShardEnded(Exception):
    """A shard is finished, and with it this command: its folder is for ``howlearn merge``."""

    def __init__(self, folder: Path, shard: Shard, mine: int, parts: int) -> None:
        super().__init__(folder, shard, mine, parts)
        self.folder, self.shard, self.mine, self.parts = folder, shard, mine, parts

    def __str__(self) -> str:
        return (
            f"shard {self.shard.number} of {self.shard.count} is finished: {self.mine:,} of the "
            f"run's {self.parts:,} parts. When all shards are, the tables are made by: howlearn "
            f"merge {self.folder}"
        )
