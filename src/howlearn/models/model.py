"""What a model must offer, and all that a model of your own needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

from howlearn.core.registry import Registry
from howlearn.core.rule import Parameter

# any: each cell may have parameters of its own; shared: cells share them, since what happens in one
# changes the others; none: it makes no use of cells.
Cells = Literal["any", "shared", "none"]


class Model:
    """Whatever gives a probability to every next choice.

    A model of your own says what its ``parameters`` are and has three functions, written once and
    compiled for fits, predictions and simulations alike:

    - ``start(world)`` or ``start(world, theta)`` gives the state before the first trial: an array,
      or a (named) tuple of arrays. It is called again where learning starts anew.
    - ``log_policy(state, shown, theta, out)`` fills ``out`` with the log-probability of every
      action. It sees what is ``shown``, not what will be chosen, and leaves the state as it is.
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

    smooth: ClassVar[bool] = False  # whether its likelihood has few tops: searches are shorter
    cells: ClassVar[Cells] = "any"  # how it may be used in the cells of a partition

    start: ClassVar[Callable[..., Any]]
    log_policy: ClassVar[Callable[..., None]]
    update: ClassVar[Callable[..., None]]
    observe: Any = None
    gradient: Any = None

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


def same(one: Model, other: Model) -> bool:
    """Whether two models are one, made twice."""
    return one == other or (type(one) is type(other) and vars(one) == vars(other))


NEEDS = {
    "features": "features of the contexts: --features COL,COL, or a task file that describes them",
    "correct": "the right answer: two different rewards, for right and wrong, or a task file in "
    "which every context has a correct action",
}
