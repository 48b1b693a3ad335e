"""How a context looks: shape, colour, size and pattern, from its features or its name."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from howlearn.report.style import PALETTE

Described = Mapping[str, Mapping[str, str]]
ROLES = ("shape", "colour", "size", "pattern")
CALLED = {
    "shape": ("shape", "form", "figure"),
    "colour": ("colour", "color", "hue"),
    "size": ("size",),
    "pattern": ("pattern", "fill", "filling", "texture"),
}
# Outlines in a square from −1 to 1.
SHAPES = {
    "square": "M-0.9,-0.9L0.9,-0.9L0.9,0.9L-0.9,0.9Z",
    "circle": "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z",
    "triangle": "M0,-1L1,0.8L-1,0.8Z",
    "diamond": "M0,-1L1,0L0,1L-1,0Z",
    "cross": "M-0.35,-1L0.35,-1L0.35,-0.35L1,-0.35L1,0.35L0.35,0.35L0.35,1L-0.35,1L-0.35,0.35"
    "L-1,0.35L-1,-0.35L-0.35,-0.35Z",
    "hexagon": "M-0.5,-0.87L0.5,-0.87L1,0L0.5,0.87L-0.5,0.87L-1,0Z",
    "star": "M0,-1L0.24,-0.32L0.95,-0.31L0.38,0.12L0.59,0.81L0,0.4L-0.59,0.81L-0.38,0.12"
    "L-0.95,-0.31L-0.24,-0.32Z",
    "rectangle": "M-1,-0.6L1,-0.6L1,0.6L-1,0.6Z",
}
SAME_SHAPE = {
    "round": "circle", "disc": "circle", "disk": "circle", "plus": "cross", "rhombus": "diamond",
    "box": "square",
}  # fmt: skip
COLOURS = {
    "blue": "#4C78C8", "red": "#E0524D", "green": "#3E9B57", "yellow": "#F2CF3B",
    "orange": "#EE8A2C", "purple": "#8A5DB5", "violet": "#8A5DB5", "pink": "#F29AC0",
    "brown": "#8C6239", "black": "#2B2B2B", "white": "#FFFFFF", "grey": "#9A9A9A",
    "gray": "#9A9A9A", "cyan": "#5BC3D8", "turquoise": "#3FB8AF", "magenta": "#C94BA8",
}  # fmt: skip
SIZES = {
    "tiny": 0.45, "small": 0.6, "little": 0.6, "medium": 0.8, "middle": 0.8, "big": 1.0,
    "large": 1.0, "tall": 1.0, "huge": 1.0,
}  # fmt: skip
PATTERNS = {
    "plain": "plain", "solid": "plain", "filled": "plain", "full": "plain", "striped": "striped",
    "stripes": "striped", "stripe": "striped", "hatched": "striped", "lined": "striped",
    "empty": "open", "open": "open", "hollow": "open", "outline": "open", "dotted": "dotted",
    "dots": "dotted", "spotted": "dotted",
}  # fmt: skip
WORDS: dict[str, Mapping[str, object]] = {
    "shape": {**SHAPES, **SAME_SHAPE},
    "colour": COLOURS,
    "size": SIZES,
    "pattern": PATTERNS,
}
INSTEAD = {  # for values that are no known words, in this order
    "shape": tuple(SHAPES),
    "colour": PALETTE,
    "size": (0.55, 1.0, 0.78),
    "pattern": ("plain", "striped", "open", "dotted"),
}
PLAIN_COLOUR = "#8FA3B5"


@dataclass(frozen=True)
class Glyph:
    """One context: an outline, what fills it, and what lies on top."""

    outline: str
    fill: str
    size: float  # of its width, up to 1
    lines: str  # a path of stripes or dots, in the same square; may be empty
    rest: tuple[str, ...] = ()  # features that are not drawn, as texts


def glyphs(contexts: Sequence[str], features: Described) -> tuple[dict[str, Glyph], list[str]]:
    """A glyph for every context, and what stands for which feature; none where nothing is known.

    A feature is drawn as what its name or its values say (shape, colour, size, pattern); others
    take the ways of drawing that are left. Without features the words of the names may tell.

    >>> found, key = glyphs(["a", "b"], {"a": {"size": "big"}, "b": {"size": "small"}})
    >>> found["a"].size, found["b"].size
    (1.0, 0.6)
    """
    table = _told(contexts, features)
    if not table:
        return {}, []
    roles = _roles(table)
    drawn: dict[str, dict[str, object]] = {
        role: _looks(role, table[n]) for role, n in roles.items()
    }
    rest = [name for name in table if name not in roles.values()]
    found = {}
    for k, context in enumerate(contexts):
        look = {role: drawn[role][table[name][k]] for role, name in roles.items()}
        pattern = str(look.get("pattern", "plain"))
        shape = str(look.get("shape", "circle"))
        colour = str(look.get("colour", PLAIN_COLOUR))
        found[context] = Glyph(
            SHAPES[shape],
            "#FFFFFF" if pattern == "open" else colour,
            float(look.get("size", 0.85)),  # type: ignore[arg-type]
            _texture(pattern, shape),
            tuple(f"{name} {table[name][k]}" for name in rest),
        )
    return found, _key(roles, table, drawn)


def _told(contexts: Sequence[str], features: Described) -> dict[str, list[str]]:
    """Features that all contexts have and that differ: from the study, else from the names."""
    described = [features.get(context, {}) for context in contexts]
    names = dict.fromkeys(name for mine in described for name in mine)
    table = {
        name: [str(mine[name]) for mine in described]
        for name in names
        if all(name in mine for mine in described)
    }
    read = _from_names(contexts)
    # Names such as "Big Black Square" tell more than features that are called 0 and 1.
    if len(read) >= max(2, len(table)) and not any(_known(table[name]) for name in table):
        table = read
    return {name: values for name, values in table.items() if len(set(values)) > 1}


def _from_names(contexts: Sequence[str]) -> dict[str, list[str]]:
    words = [re.findall(r"[^\W\d_]+", context.lower()) for context in contexts]
    found = {}
    for role in ROLES:
        mine = [[word for word in each if word in WORDS[role]] for each in words]
        if all(len(each) == 1 for each in mine) and mine:
            found[role] = [each[0] for each in mine]
    return found


def _known(values: Sequence[str]) -> str | None:
    """The way of drawing of which all values are words."""
    lower = {value.lower() for value in values}
    return next((role for role in ROLES if lower <= WORDS[role].keys()), None)


def _roles(table: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Which feature each way of drawing shows: by its name, its values, or what is left."""
    found: dict[str, str] = {}

    def give(role: str | None, name: str) -> None:
        fits = role is not None and (
            len(set(table[name])) <= len(INSTEAD[role]) or _known(table[name]) == role
        )
        if role is not None and fits and role not in found and name not in found.values():
            found[role] = name

    for name in table:
        give(next((r for r in ROLES if name.lower() in CALLED[r]), None), name)
    for name in table:
        give(_known(table[name]), name)
    for name in table:
        for role in ROLES:
            give(role, name)
    return found


def _looks(role: str, values: Sequence[str]) -> dict[str, object]:
    """What each value looks like: as its word says, or else in the order of the values."""
    known = WORDS[role]
    distinct = [*dict.fromkeys(values)]
    if all(value.lower() in known for value in distinct):
        looks: dict[str, object] = {value: known[value.lower()] for value in distinct}
        if role == "shape":
            looks = {v: SAME_SHAPE.get(v.lower(), v.lower()) for v in distinct}
        if len({str(look) for look in looks.values()}) == len(distinct):
            return looks
    with contextlib.suppress(ValueError):
        distinct.sort(key=float)  # numbers in their order, such as sizes
    if role == "size":
        steps = max(len(distinct) - 1, 1)
        return {value: 0.5 + 0.5 * k / steps for k, value in enumerate(distinct)}
    order = INSTEAD[role]
    return {value: order[k % len(order)] for k, value in enumerate(distinct)}


def _key(
    roles: Mapping[str, str],
    table: Mapping[str, Sequence[str]],
    drawn: Mapping[str, Mapping[str, object]],
) -> list[str]:
    """What stands for what, where the drawing does not say it by itself."""
    told = []
    for role, name in roles.items():
        values = [*dict.fromkeys(table[name])]
        if all(value.lower() in WORDS[role] for value in values):
            continue
        looks = [f"{_word(role, drawn[role][value])} {value}" for value in values[:6]]
        told.append(f"{name}: {', '.join(looks)}")
    return told


def _word(role: str, look: object) -> str:
    if role == "size":
        return "small" if float(look) < 0.7 else "medium" if float(look) < 0.95 else "big"  # type: ignore[arg-type]
    if role == "colour":
        names = ("blue", "orange", "green", "red", "pink", "light blue", "grey", "yellow")
        return names[PALETTE.index(str(look))] if look in PALETTE else str(look)
    return str(look)


def _texture(pattern: str, shape: str) -> str:
    if pattern == "striped":
        return "".join(_stripe(offset, shape) for offset in (-1.2, -0.6, 0.0, 0.6, 1.2))
    if pattern == "dotted":
        spots = ((-0.35, -0.2), (0.35, -0.2), (0.0, 0.35))
        return "".join(f"M{x - 0.12},{y}A0.12,0.12,0,1,1,{x + 0.12},{y}"
                       f"A0.12,0.12,0,1,1,{x - 0.12},{y}Z" for x, y in spots)  # fmt: skip
    return ""


def _stripe(offset: float, shape: str) -> str:
    """The piece of the line y = offset − x that lies inside a shape, as a path."""
    inside = [k / 100 for k in range(-100, 101) if _holds(shape, k / 100, offset - k / 100)]
    if len(inside) < 2:
        return ""
    low, high = inside[0], inside[-1]
    return f"M{low:.2f},{offset - low:.2f}L{high:.2f},{offset - high:.2f}"


def _holds(shape: str, x: float, y: float) -> bool:
    if shape == "circle":
        return math.hypot(x, y) <= 1
    points = [tuple(map(float, pair.split(","))) for pair in SHAPES[shape][1:-1].split("L")]
    odd = False
    for (ax, ay), (bx, by) in zip(points, [*points[1:], points[0]], strict=True):
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            odd = not odd
    return odd
