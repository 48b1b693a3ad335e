"""What a model must offer, and all that your own model needs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from howlearn.core.registry import Registry
from howlearn.core.rule import Parameter
from howlearn.engine.model_source import FUNCTIONS, code_of

if TYPE_CHECKING:
    from howlearn.models.adjustments import Part
    from howlearn.models.mixture import Expert
    from howlearn.models.partition_model import Unit

# any: each cell may have its own parameters; shared: cells share them, since what happens in one
# changes the others; none: it makes no use of cells.
Cells = Literal["any", "shared", "none"]


EVERY_TASK = "every task"


class Model:
    """Whatever gives a probability to every next choice.

    Your own model says what its ``parameters`` are and has three functions, written once and
    compiled for fits, predictions and simulations alike:

    - ``start(world)`` or ``start(world, theta)`` gives the state before the first trial: an array,
      or a (named) tuple of arrays. It is called again where learning restarts.
    - ``log_policy(state, shown, theta, out)`` fills ``out`` with the log-probability of every
      action. It sees what is ``shown``, not what will be chosen, and leaves the state as it is (but
      for a field called ``room``, where any function may compute).
    - ``update(state, trial, theta)`` changes the state after a choice and its outcome.

    ``theta.NAME`` is the value of a parameter. What ``world``, ``shown`` and ``trial`` hold is said
    in ``howlearn.core.world``. Two more functions are possible:

    - ``observe(state, trial, theta, out)`` fills ``out`` with the ``latents``, before the update. A
      latent written ``value(action)`` has one entry per action, ``attention(feature)`` one per
      feature.
    - ``gradient(state, shown, theta, action, out)`` fills ``out`` with the derivatives of the
      log-probability of ``action`` in every parameter; without it they are differences.

    >>> class Fair(Model):
    ...     parameters = ()
    >>> Fair().name, Fair().n_parameters(n_actions=2)
    ('Fair', 0)
    """

    registry: ClassVar[Registry[Any]] = Registry("model")
    name: str
    title: ClassVar[str] = ""  # what it is, in a few words
    phrase: ClassVar[str] = ""  # what it is in the methods section; else the title
    cites: ClassVar[tuple[str, ...]] = ()  # keys of references.toml, or citations as they are
    parameters: Any = ()  # a tuple of Parameter, or a property that gives one
    latents: tuple[str, ...] = ()
    needs: ClassVar[frozenset[str]] = frozenset()  # of what the data must tell: see NEEDS
    # Kinds of tasks (howlearn.reading.guess.kinds), or traits of them, in which it competes unless
    # other candidates are named; EVERY_TASK: in all that tell what it needs.
    default_for: ClassVar[frozenset[str]] = frozenset()

    # The name of a model that it is where its parameters with a smallest size are neutral
    simpler: ClassVar[str] = ""

    smooth: ClassVar[bool] = False  # whether its likelihood has few tops: searches are shorter
    cells: ClassVar[Cells] = "any"  # how it may be used in the cells of a partition

    # What the package's own kinds of models say of themselves; your own model needs none of it
    way: Any = "whole"  # how it is fitted: the name of a way in howlearn.fitting.ways
    units: tuple[Unit, ...] = ()  # of a partition: what is fitted on its own
    experts: tuple[Expert, ...] = ()  # of a mixture
    strategies: tuple[str, ...] = ()  # their names
    adjustments: tuple[Part, ...] = ()  # what was put on it
    carries: Any = frozenset()  # parameters of parts that its functions can read
    fixed: ClassVar[bool] = False  # whether nothing of it is ever fitted
    adds_up: ClassVar[bool] = False  # its parameters are probabilities whose sum is at most 1
    asks_others: Any = False  # whether parameters are still to come from other learners
    abrupt: ClassVar[bool] = False  # whether one strategy follows another all at once
    not_adjusted: Any = ""  # why it cannot be adjusted, in words

    start: ClassVar[Callable[..., Any]]
    log_policy: ClassVar[Callable[..., None]]
    update: ClassVar[Callable[..., None]]
    observe: Any = None
    gradient: Any = None
    kernel: ClassVar[str] = ""  # of howlearn.engine.kernels: likelihoods and slopes, in one

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        made_up = hasattr(getattr(cls, "name", None), "__get__")  # by a property of a base
        if "name" not in {**cls.__dict__, **inspect.get_annotations(cls)} and not made_up:
            cls.name = cls.__name__

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    @classmethod
    def for_features(cls, n_features: int) -> Model:
        """The model as its name alone means it, for contexts with so many features."""
        return cls()

    def owners(self, actions: Sequence[str]) -> tuple[tuple[str, Parameter], ...]:
        """Every parameter with the cell it belongs to: ``all`` where all cells share it."""
        return tuple(("all", parameter) for parameter in self.parameters)

    def reads(self, actions: Sequence[str], zero: float = 0.0) -> Mapping[str, str | float]:
        """What its functions find in theta, where that is not simply its parameters.

        ``zero`` is the reward that is neither gain nor loss. For each name the parameter that
        stands there, or the value at which it is held. Models that differ only in what they hold
        share their compiled code.
        """
        return {}

    def carrying(self, parts: Sequence[Parameter]) -> Model:
        """The model whose functions read the parameters of these parts, too."""
        return self

    def contains(self, other: Model, actions: Sequence[str]) -> tuple[str, ...]:
        """Its parameters that are neutral where it says the same as the other; none: nowhere."""
        return sized(self.parameters) if self.simpler == other.name else ()

    def neutral(self, parameter: Parameter, rewards: tuple[float, float]) -> float | str:
        """Where one of its parameters makes no difference, with rewards between these."""
        return parameter.neutral

    def repeats(self, other: Model) -> bool:
        """Whether the other can say all that it says."""
        return same(self, other)

    def n_parameters(self, n_actions: int) -> int:
        """D: how many parameters are fitted."""
        return len(self.owners([str(a) for a in range(n_actions)]))

    def horizon(self, epsilon: float, actions: int, rewards: tuple[float, float]) -> int | None:
        """T_ε: trials that keep every probability at ε or above; None: no proposition covers it."""
        return None

    @property
    def no_horizon(self) -> str:
        """Why there is no ``horizon``, after "the paper's formula for …"."""
        return "does not exist: it is for bandits in the cells of a partition"

    @property
    def one_by_one(self) -> bool:
        """Whether it learns about contexts, or sets of them, one by one."""
        return self.cells != "none"

    @property
    def in_words(self) -> str:
        """What it is, in a few words."""
        return self.title or self.name

    def describe(self) -> dict[str, Any]:
        """All that decides its results, for a manifest."""
        bounds = {"bounds": bounds_of(self.parameters)} if self.parameters else {}
        return {"name": self.name, **bounds, **code(self)}

    @property
    def described_form(self) -> dict[str, str]:
        """The form of what learns in a cell, for a manifest: models have none."""
        return {}

    @property
    def meaning(self) -> object:
        """What decides its probabilities: two models that mean the same are one."""
        return type(self), vars(self)

    def is_like(self, other: Model) -> bool:
        """Whether two mixtures are one, whatever their names."""
        return False

    @property
    def unadjusted(self) -> Model:
        """The model without adjustments."""
        return self

    @property
    def parts(self) -> tuple[Model, ...]:
        """The models that it is made of: what it adjusts, mixes, or has learn in its cells."""
        return ()

    @property
    def fitted_first(self) -> tuple[Model, ...]:
        """Those of its parts whose own fits it starts from."""
        return ()

    def check_covers(self, contexts: Sequence[str]) -> None:
        """Refuse contexts of which the model says nothing."""

    @property
    def has_max_rate(self) -> bool:
        """Whether its cells have a largest learning rate."""
        return False

    def with_max_rate(self, bound: float) -> Model:
        """The model with this largest rate in every cell; as it is, where it has no such bound."""
        return self


def own(part: object) -> bool:
    """Whether a model or rule is a user's: compiled loops trust those of the package."""
    return not type(part).__module__.startswith("howlearn.")


def code(part: object) -> dict[str, str]:
    """Of a user's own model or rule a hash of all its code: with another, results change."""
    names = (*FUNCTIONS, "differential")
    return {"code": f"sha256:{code_of(part, names)}"} if own(part) else {}


def bounds_of(parameters: Sequence[Parameter]) -> dict[str, list[float]]:
    """The bounds by parameter.

    >>> bounds_of([Parameter("beta", 1, 9)])
    {'beta': [1, 9]}
    """
    return {parameter.name: [parameter.lower, parameter.upper] for parameter in parameters}


def sized(parameters: Sequence[Parameter]) -> tuple[str, ...]:
    """The names of those of which it is known how much is too little to make a difference."""
    return tuple(each.name for each in parameters if not math.isnan(each.smallest))


def same(one: Model, other: Model) -> bool:
    """Whether two models are one, made twice."""
    return one == other or (type(one) is type(other) and vars(one) == vars(other))


ONLY_EXPERTS = (
    "a mixture is not adjusted itself, but its experts can be, as in "
    "exp4(ByShape+lapse, ByPattern+lapse)"
)
NEEDS = {
    "features": "features of the contexts: --features COL,COL, or a task file that describes them",
    "correct": "the right answer: two different rewards, for right and wrong, or a task file in "
    "which every context has a correct action",
    "load": "the number of stimuli in each block: --load COL",
    "no-go": "an action that is called nogo, which is not to respond; where 0 stands for that, "
    "--recode action:0=nogo",
    "losses": "rewards that are losses: below 0 where they were recorded",
    "contexts": "more than one context",
}
