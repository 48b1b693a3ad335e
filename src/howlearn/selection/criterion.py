"""What a criterion must offer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.registry import Registry
from howlearn.fitting.fits import ALL, Truncation

if TYPE_CHECKING:
    from howlearn.core.study import Study
    from howlearn.fitting.fits import Fits
    from howlearn.models.model import Model

Progress = Callable[[int, int], None]  # learners done, learners in all
LOG_EVIDENCE, LATER = "log-evidence", "log-probability of the later trials"


class Likelihoods(Protocol):
    """What a criterion looks at: ``Fits``, or what a calibration keeps of them."""

    @property
    def n_scored(self) -> NDArray[np.int64]: ...

    def n_parameters_at(self, truncation: Truncation) -> NDArray[np.int64]: ...

    def n_fitted(self, truncation: Truncation) -> NDArray[np.int64]: ...

    def log_likelihood(self, truncation: Truncation) -> NDArray[np.float64]: ...

    def rest(self, truncation: Truncation) -> NDArray[np.float64]: ...

    def between(self, truncation: Truncation, following: Truncation) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Scores:
    """In nats, larger is better: score = log_likelihood − penalty; the axes are learner, model.

    >>> Scores(np.array([20]), np.array([[-9.0, -8.0]]), np.array([[1.0, 3.0]])).score.tolist()
    [[-10.0, -11.0]]
    """

    n_trials: NDArray[np.int64]  # [learner]: the trials that log_likelihood is of
    log_likelihood: NDArray[np.float64]
    penalty: NDArray[np.float64]
    n_parameters: NDArray[np.int64] | None = None  # those that are paid for, where not all of D
    probability: NDArray[np.float64] | None = None  # of the models, where the criterion knows it
    p_other: NDArray[np.float64] | None = None  # [learner]: that it is a partition not listed
    outside: Scores | None = None  # of such a partition as one more candidate, if it competes
    doubts: tuple[str, ...] = ()  # [learner]: why a clear answer is withheld; "" where it is not

    @property
    def score(self) -> NDArray[np.float64]:
        return self.log_likelihood - self.penalty


@dataclass(frozen=True)
class Told:
    """What a methods section knows of a run: its manifest, its tables, and who was looked at."""

    manifest: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    everybody: str = "all learners"


def _built_in() -> None:
    import howlearn.selection.criteria  # noqa: F401 - it registers the criteria that are always there


@dataclass(frozen=True, repr=False)
class Criterion:
    """Scores every model for every learner; may look at all learners at once.

    Your own is a dataclass with a name, a title, and a ``price`` in nats per parameter, or
    all of ``scores``. Once it is registered, a text with its name and options makes it.

    >>> import howlearn as hl
    >>> from dataclasses import dataclass
    >>> @hl.register
    ... @dataclass(frozen=True, repr=False)
    ... class Flat(hl.Criterion):
    ...     nats: float = 2.0
    ...     name = "flat"
    ...     title = "log-likelihood minus a flat price per parameter"
    ...
    ...     def price(self, n):
    ...         return 0 * n + self.nats
    >>> task = hl.Task.load("shepard-1")
    >>> study = hl.simulate(task, "ByFeature1", {"eta": 0.1}, learners=1, trials=100, seed=1)
    >>> hl.select(study, task.models, ["flat(nats=3)"]).selection["criterion", "model"].rows()
    [('flat(nats=3)', 'ByFeature1')]
    >>> hl.Criterion.registry.forget("flat")
    """

    registry: ClassVar[Registry[Any]] = Registry("criterion", "criteria", built_in=_built_in)
    name: ClassVar[str]  # as it is typed
    title: ClassVar[str] = "custom criterion"  # one sentence for the summary
    example: ClassVar[str] = ""  # its text with options, for messages; else its usual text
    cites: ClassVar[tuple[str, ...]] = ()  # keys of references.toml, or citations as they are
    gives_probabilities: ClassVar[bool] = False  # of the models, for every learner
    # What of it stands for the log-evidence of a model where shares are estimated: its
    # log_likelihood if that is the LOG_EVIDENCE, else its score; None: nothing does.
    evidence: ClassVar[str | None] = "the score, as an approximation"
    later: ClassVar[bool] = False  # whether it scores later trials, after fits to earlier ones
    tie: ClassVar[float] = 0.0  # nats within which the model with fewer parameters is preferred
    penalises: ClassVar[bool] = True  # whether models pay for their number of parameters
    priced: ClassVar[bool] = False  # whether it is the likelihood minus a price per parameter
    over_partitions: ClassVar[bool] = False  # whether it is a sum over cells, as discover needs it
    # Its place among the criteria of an analysis that names none ("select", "simulation", "path"),
    # if there are at least so many learners; of those with one place the first registered counts.
    places: ClassVar[tuple[tuple[str, int], ...]] = ()
    fewest: ClassVar[int] = 1
    learns: ClassVar[bool] = False  # whether it must see all learners first
    learned: ClassVar[Any] = None  # what it then knows of a population of rates, for its tables

    def __init_subclass__(cls) -> None:
        if "price" in vars(cls):
            cls.priced = cls.over_partitions = True

    @property
    def truncations(self) -> tuple[Truncation, ...]:
        """The truncations that must have been fitted."""
        return (ALL,)

    def price(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        """Nats per parameter for learners with n trials."""
        raise HowlearnError(f"the criterion {self.name} needs a price, or scores")

    def scores(self, fits: Likelihoods) -> Scores:
        """The score of every model for every learner: the log-likelihood minus the price of D."""
        upto = self.truncations[0]
        n, count = fits.n_fitted(upto), fits.n_parameters_at(upto)
        penalty = self.price(n.astype(float))[:, None] * count
        return Scores(n, fits.log_likelihood(upto), penalty, count)

    def of_nobody(self, n_models: int) -> Scores:
        """The scores of no learner, with the parts that those of others have."""
        nothing = np.empty((0, n_models))
        probability = nothing if self.gives_probabilities else None
        return Scores(np.empty(0, np.int64), nothing, nothing, probability=probability)

    def check(self, study: Study) -> None:
        """Refuse a study that the criterion cannot judge, before any work is done."""

    def learn(
        self,
        study: Study,
        models: Sequence[Model],
        fits: Fits | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        thorough: bool = True,
    ) -> Criterion:
        """A criterion that knows what all learners of a study tell; most need not know it.

        Unless it is ``thorough``, it only knows what it needs to select.
        """
        return self

    def knowledge(self) -> pl.DataFrame | None:
        """What ``learn`` found, to be kept; None for a criterion that learns nothing."""
        return None

    def knowing(self, knowledge: pl.DataFrame, models: Sequence[Model]) -> Criterion:
        """The criterion with what one like it has learned before."""
        return self

    def chance(self, fits: Likelihoods, scores: Scores) -> NDArray[np.float64] | None:
        """The score of a learner who does not learn; None: that of a coin's fit."""
        return None

    def sentences(self, told: Told) -> Iterator[str]:
        """What the methods section says of it; ``[@key]`` stands for a citation."""
        yield f"The criterion {self!r} was the {self.title}{self.citation}."

    @property
    def citation(self) -> str:
        """The works it cites, for ``sentences``, after a space; empty if there are none."""
        return f" [@{'; @'.join(self.cites)}]" if self.cites else ""

    def __repr__(self) -> str:
        values = ", ".join(f"{k}={_text(v)}" for k, v in vars(self).items() if v is not None)
        return f"{self.name}({values})" if values else self.name

    @property
    def key(self) -> str:
        """The text without brackets, for names of columns: ``penalized_0.012``."""
        words = [self.name, *(_text(v) for v in vars(self).values() if v is not None)]
        return "_".join(words).replace("(", "_").replace(")", "")


def _text(value: float | str) -> str:
    """Short, and exact: two criteria never have the same text; what is counted stays whole."""
    if isinstance(value, int | str):
        return str(value)
    return f"{value:g}" if float(f"{value:g}") == value else repr(float(value))
