"""How a run is started, how far it is, and what to type next."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from howlearn.cli import Written
from howlearn.cli.options import CANDIDATES, FORMAT, LEARNING, SETTINGS
from howlearn.core.errors import HowlearnError
from howlearn.core.options import Repeated
from howlearn.reading.analysis_options import MODELS as ANALYSIS
from howlearn.reading.analysis_options import TASK
from howlearn.reading.options import DATA

if TYPE_CHECKING:
    from howlearn.cli.build import Given
    from howlearn.results.analysis import Analysis
    from howlearn.runs.folder import Format, RunFolder, Start
    from howlearn.runs.parts import Progress

Found = TypeVar("Found", bound="Analysis")

EVERY = 60.0  # seconds between lines


class Lines:
    """Says how far the work is, and about how long it will go on.

    >>> now = iter([0.0, 0.0, 30.0, 70.0])
    >>> lines = Lines("fitting", print, lambda: next(now))
    >>> lines.update(200, 1_000)  # of an earlier run
    >>> lines.update(400, 1_000)
    >>> lines.say()
    fitting: 400 of 1,000 (40%), about 4 min left
    """

    def __init__(
        self, what: str, tell: Callable[[str], object], clock: Callable[[], float] = monotonic
    ) -> None:
        self.what, self.tell, self.clock = what, tell, clock
        self._start = clock()
        self._first: tuple[float, int] | None = None
        self._now = (0, 0)

    def update(self, done: int, total: int) -> None:
        """Count."""
        now = self.clock()
        if self._first is None or done < self._first[1]:
            self._first = (now, done)
        self._now = (done, total)

    def say(self) -> None:
        """Tell how far it is."""
        now, (done, total) = self.clock(), self._now
        if self._first is None or not total:
            self.tell(f"{self.what}: {_words(now - self._start)} so far")
            return
        since, before = self._first
        left = ""
        if before < done < total:
            left = f", about {_words((now - since) * (total - done) / (done - before))} left"
        self.tell(f"{self.what}: {done:,} of {total:,} ({100 * done // total}%){left}")


@contextmanager
def in_lines(what: str, tell: Callable[[str], object]) -> Iterator[Callable[[int, int], None]]:
    """A line every minute, whether or not the work goes on."""
    lines, over = Lines(what, tell), threading.Event()

    def watch() -> None:
        while not over.wait(EVERY):
            lines.say()

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield lines.update
    finally:
        over.set()


def _words(seconds: float) -> str:
    """A duration, roughly.

    >>> _words(40), _words(200), _words(30_000)
    ('1 min', '3 min', '8.3 h')
    """
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 120 else f"{seconds / 3600:.1f} h"


# How a run is started: here or on a cluster, the whole of it or a share.


@contextmanager
def starting(given: Given) -> Iterator[Start]:
    """What ``--fresh``, ``--workers``, ``--dask`` and ``--shard`` ask for."""
    from howlearn.runs.folder import Start
    from howlearn.runs.parts import Threads
    from howlearn.runs.shards import MERGE, Nobody, Shard

    if given.shard == MERGE:  # as howlearn merge asks
        yield Start(False, given.workers, Nobody(given.out))
        return
    share = Shard.named(given.shard) if given.shard else None
    if given.dask is None:
        yield Start(given.fresh, given.workers, Threads(given.workers), share, sys.argv[1:])
        return
    from howlearn.runs.cluster import cluster_at

    if share is not None:
        raise HowlearnError("--shard and --dask both spread the work: give one of them")
    with cluster_at(given.dask) as cluster:
        yield Start(given.fresh, given.workers, cluster, None)


def run_in_folder(
    given: Given,
    manifest: Mapping[str, Any],
    analysis: type[Found],
    work: Callable[[RunFolder, int | None, Progress], Found],
    what: str = "simulating and fitting",
    format: Format = "csv",
) -> None:
    """Do the work in the folder of the results, where finished parts are kept, and show it."""
    from howlearn.cli import show
    from howlearn.runs.folder import RunFolder

    with (
        starting(given) as start,
        RunFolder(given.out, manifest, analysis.outputs(), start) as folder,
    ):
        with show.progress_bar(what) as progress:
            found = work(folder, given.workers, progress)
        found.write_files(given.out, format)
    show.found(found, given.out)


# Commands as a user would type them again, from their options: the next one worth typing.


KNOWN = {**DATA, **ANALYSIS, FORMAT.name: FORMAT, SETTINGS.name: SETTINGS}
MODELS = tuple(each.name for each in (TASK, *LEARNING, *CANDIDATES))
MOST = 3  # files that are named one by one


def not_usual(options: Mapping[str, Any], names: Iterable[str] | None = None) -> dict[str, Any]:
    """The options that are not as they are by themselves.

    >>> not_usual({"rule": "exp3", "form": "gain", "by": ()})
    {'rule': 'exp3'}
    """
    return {
        name: value
        for name, value in options.items()
        if (names is None or name in names)
        and value not in EMPTY
        and not (name in KNOWN and value == KNOWN[name].default)
    }


EMPTY: tuple[object, ...] = (None, (), [], False)


def option(name: str) -> str:
    """The option as it is typed.

    >>> option("max_rate"), option("settings")
    ('--max-rate', '--set')
    """
    return KNOWN[name].word if name in KNOWN else f"--{name.replace('_', '-')}"


def select_command(files: Sequence[str], options: Mapping[str, Any], *more: str) -> str:
    """``howlearn select`` with these options.

    >>> select_command(["my trials.csv"], {"by": ["a", "b"], "missing": ["-1"]}, "--out", "results")
    "howlearn select 'my trials.csv' --by a,b --missing=-1 --out results"
    """
    words = ["howlearn", "select", *(files if len(files) <= MOST else ["FILES"])]
    for name, value in not_usual(options).items():
        if name == "missing":  # its values may look like options
            words.append(f"--missing={','.join(value)}")
        elif value is True:
            words.append(option(name))
        elif name in KNOWN and isinstance(KNOWN[name].kind, Repeated):
            words += [word for one in value for word in (option(name), str(one))]
        else:
            several = isinstance(value, list | tuple)
            words += [option(name), ",".join(map(str, value)) if several else f"{value}"]
    return shlex.join([*words, *more])


def refuse_beside_like(options: Mapping[str, Any], names: Iterable[str], like: object) -> None:
    """Doubles are as the results say, so what says otherwise is refused."""
    found = [option(name) for name in not_usual(options, names)]
    if found:
        raise HowlearnError(
            f"{', '.join(found)} beside --like: the task, the order, the trials, the parameters "
            f"and the models are those of {like}; leave one of the two out"
        )


def following(*words: object, why: str = "") -> None:
    """Show the command, and what it is good for."""
    show_following(shlex.join(["howlearn", *map(str, words)]), why)


def show_following(command: str, why: str = "") -> None:
    """The same for a command that is one text."""
    from howlearn.cli.show import console

    if Written.is_step:
        return
    text = f"Next: {command}" + (f"   ({why})" if why else "")
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def with_models(options: Mapping[str, Any]) -> list[str]:
    """The task and the models as they are typed.

    >>> with_models({"task": "shepard-2", "model": ["A", "B"], "rule": "gradient"})
    ['--task', 'shepard-2', '--model', 'A', '--model', 'B']
    """
    words: list[str] = []
    for name, value in not_usual(options, MODELS).items():
        several = value if isinstance(value, list | tuple) else [value]
        typed = [option(name)] if value is True else []
        words += typed or [word for one in several for word in (option(name), f"{one}")]
    return words


def selecting(files: Sequence[Path], options: Mapping[str, Any]) -> str:
    """``howlearn select`` on the data that a command has just used."""
    from howlearn.reading.project_file import NAME, outside, read_study_file

    names = [str(file) for file in files]
    try:
        if read_study_file(Path(NAME)).files == tuple(names):
            typed = [*names, "--study", NAME] if outside(Path(NAME), names) else []
            return shlex.join(["howlearn", "select", *typed])
    except HowlearnError:
        pass
    return select_command(names, {n: v for n, v in options.items() if n in (*DATA, *MODELS)})
