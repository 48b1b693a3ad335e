"""What there is of one kind (rules, models, criteria, charts …), by the name that a user types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

from howlearn.core.errors import HowlearnError

T = TypeVar("T")
Thing = TypeVar("Thing")


class Registry(Mapping[str, T]):
    """Named things of one kind, in the order in which they were registered.

    >>> shapes = Registry("shape")
    >>> @shapes.register
    ... class Circle:
    ...     name = "circle"
    >>> shapes.named("circle") is Circle, [*shapes]
    (True, ['circle'])
    >>> shapes.named("ring")
    Traceback (most recent call last):
    howlearn.core.errors.HowlearnError: there is no shape 'ring'; the shapes are circle
    """

    def __init__(
        self,
        kind: str,
        plural: str = "",
        key: str = "name",
        built_in: Callable[[], object] | None = None,  # loads what is always there
    ) -> None:
        self.kind, self.plural, self.key = kind, plural or f"{kind}s", key
        self.built_in = built_in
        self._known: dict[str, T] = {}

    def register(self, thing: Thing) -> Thing:
        """Add something that has a name; it is given back, so that this can decorate a class.

        What is defined again, as in a notebook, takes the place of its earlier definition.
        """
        name = getattr(thing, self.key, None)
        if not isinstance(name, str) or not name:
            raise HowlearnError(f"{thing!r} needs a name to be registered as a {self.kind}")
        if name in self._known and _origin(self._known[name]) != _origin(thing):
            raise HowlearnError(f"there is a {self.kind} called {name!r} already")
        self._known[name] = cast(T, thing)
        return thing

    def named(self, name: str) -> T:
        """The thing of that name, or a sentence that says which there are."""
        if name not in self._known:
            there = ", ".join(self._known)
            raise HowlearnError(f"there is no {self.kind} {name!r}; the {self.plural} are {there}")
        return self._known[name]

    def forget(self, name: str) -> None:
        """Take something out again."""
        del self._known[name]

    def __getitem__(self, name: str) -> T:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def register(thing: Any) -> Any:
    """Make your own rule, model or criterion known by its name, as the built-in ones are.

    From then on its name is taken wherever theirs are, in Python and in the commands that are
    started from Python; tables, charts and the methods section have what it says of itself.

    >>> import howlearn as hl
    >>> @hl.register
    ... class Fair(hl.Model):
    ...     name = "fair"
    ...     title = "chooses all actions equally often"
    ...     parameters = ()
    >>> hl.Task.load("five-four").model("fair")
    <model fair>
    >>> hl.Model.registry.forget("fair")
    """
    registry = getattr(thing, "registry", None)
    if not isinstance(registry, Registry):
        raise HowlearnError(f"{thing!r} is neither a rule, a model, a criterion nor a kind of file")
    if registry.built_in is not None:  # so that their names are taken
        registry.built_in()
    return registry.register(thing)


def _origin(thing: Any) -> tuple[str, str]:
    return getattr(thing, "__module__", ""), getattr(thing, "__qualname__", repr(thing))
