"""Mutations of rows of text: quotes, separators, names, values, and how many there are."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from fuzz.mutations.chance import size, token
from fuzz.mutations.encodings import bytes_of, text_of

SEPARATORS = (",", "\t", ";", "|", " ")
MOST = 12_000_000  # letters that a mutated text has


def _on_lines(change: Callable[[list[str], Random], list[str]]) -> Callable[[bytes, Random], bytes]:
    """A mutation of lines as one of bytes."""

    def mutation(content: bytes, rng: Random) -> bytes:
        lines = change(text_of(content).splitlines() or [""], rng)
        return bytes_of("\n".join([*lines, ""])[:MOST], content)

    mutation.__name__ = change.__name__
    mutation.__module__ = __name__
    mutation.__doc__ = change.__doc__
    return mutation


def _separator(lines: list[str]) -> str:
    return max(SEPARATORS, key=lines[0].count)


def _place(lines: list[str], rng: Random) -> int:
    return rng.randrange(len(lines))


@_on_lines
def quote_added(lines: list[str], rng: Random) -> list[str]:
    """A quote that nothing closes."""
    i = _place(lines, rng)
    place = rng.randint(0, len(lines[i]))
    lines[i] = lines[i][:place] + rng.choice(['"', '""', '"""', "'", '\\"']) + lines[i][place:]
    return lines


@_on_lines
def quoted_wrong(lines: list[str], rng: Random) -> list[str]:
    """Values in quotes with quotes and line ends inside, rows in quotes as a whole."""
    separator = _separator(lines)
    i = _place(lines, rng)
    cells = lines[i].split(separator)
    j = rng.randrange(len(cells))
    inner = rng.choice(['a"b', 'a""b', "a\nb", f"a{separator}b", '"', "\r", "a" * size(rng)])
    cells[j] = f'"{inner}"' + rng.choice(["", "x", '"', " "])
    lines[i] = separator.join(cells)
    if rng.random() < 0.2:
        lines = [f'"{line}"' for line in lines]
    return lines


@_on_lines
def separators_mixed(lines: list[str], rng: Random) -> list[str]:
    """Other separators, in some rows or in all."""
    old, new = _separator(lines), rng.choice((*SEPARATORS, ",,", "\x1f", ":", "\\t", "  "))
    share = rng.choice([1.0, 0.5, 0.1])
    return [line.replace(old, new) if rng.random() < share else line for line in lines]


@_on_lines
def value_changed(lines: list[str], rng: Random) -> list[str]:
    """Other values in a few cells."""
    separator = _separator(lines)
    for _ in range(rng.choice([1, 1, 3, 10])):
        i = _place(lines, rng)
        cells = lines[i].split(separator)
        cells[rng.randrange(len(cells))] = token(rng)
        lines[i] = separator.join(cells)
    return lines


@_on_lines
def column_changed(lines: list[str], rng: Random) -> list[str]:
    """One value in a whole column, or chance in it."""
    separator = _separator(lines)
    rows = [line.split(separator) for line in lines]
    j = rng.randrange(len(rows[0]))
    values = [token(rng) for _ in range(rng.choice([1, 2, 5]))]
    for row in rows[rng.choice([0, 1, 1, 1]) :]:
        if j < len(row):
            row[j] = rng.choice(values)[:20_000]
    return [separator.join(row) for row in rows]


@_on_lines
def name_changed(lines: list[str], rng: Random) -> list[str]:
    """Another name of a column; that of another one, or nothing."""
    separator = _separator(lines)
    names = lines[0].split(separator)
    for _ in range(rng.choice([1, 1, 2, len(names)])):
        other = rng.choice(names) if rng.random() < 0.3 else token(rng)
        names[rng.randrange(len(names))] = other
    return [separator.join(names), *lines[1:]]


@_on_lines
def header_lost(lines: list[str], rng: Random) -> list[str]:
    """No names, or names twice, or in the middle, or at the end."""
    head, rest = lines[0], lines[1:]
    where = rng.randint(0, len(rest))
    return rng.choice([rest, [head, head, *rest], [*rest[:where], head, *rest[where:]], [head]])


@_on_lines
def ragged(lines: list[str], rng: Random) -> list[str]:
    """Rows with more or fewer values."""
    separator = _separator(lines)
    for _ in range(rng.choice([1, 2, 5])):
        i = _place(lines, rng)
        cells = lines[i].split(separator)
        more = [rng.choice(["", "x"])] * min(size(rng), 100_000)
        cells = [*cells, *more] if rng.random() < 0.5 else cells[: rng.randint(0, len(cells))]
        lines[i] = separator.join(cells)
    return lines


@_on_lines
def many_columns(lines: list[str], rng: Random) -> list[str]:
    """Further columns, of one kind or of many."""
    separator = _separator(lines)
    count = min(size(rng), rng.choice([300] * 15 + [3_000] * 4 + [20_000]))
    stem = rng.choice(["x", "choice_", "reward_", "1_", "", "x y", "response.Q", "_"])
    names = [f"{stem}{i}" if rng.random() < 0.99 else stem for i in range(count)]
    if rng.random() < 0.2:
        names = [stem] * count
    values = separator.join([rng.choice(["1", "", "L", "{}"])] * count)
    return [
        separator.join([line, separator.join(names) if i == 0 else values])
        for i, line in enumerate(lines)
    ]


@_on_lines
def many_rows(lines: list[str], rng: Random) -> list[str]:
    """The rows again and again, or one of them."""
    times = min(size(rng), 50_000)
    body = lines[1:] if rng.random() < 0.5 else [lines[-1]]
    count = 3_000_000 // (sum(map(len, body)) + 1)
    return [*lines, *(body * min(times, count))]


@_on_lines
def shuffled(lines: list[str], rng: Random) -> list[str]:
    """Rows in another order, the names among them or not."""
    start = rng.choice([0, 1, 1])
    rest = lines[start:]
    rng.shuffle(rest)
    return [*lines[:start], *rest]


@_on_lines
def lines_above(lines: list[str], rng: Random) -> list[str]:
    """A title, comments or a line for Excel above the names."""
    above = ["#", "# a comment", "sep=;", "sep=,", "Title", "", ",,,", '"', "#,#", "---", "sep=\t"]
    return [*(rng.choice(above) for _ in range(rng.choice([1, 2, 5, 40, 300]))), *lines]


@_on_lines
def one_value_huge(lines: list[str], rng: Random) -> list[str]:
    """A value of very many letters."""
    separator = _separator(lines)
    i = _place(lines, rng)
    cells = lines[i].split(separator)
    letter = rng.choice(["a", "1", "0.", "_", " ", "é", "{", "\\", "x_1 ", "-", "1_"])
    cells[rng.randrange(len(cells))] = letter * size(rng)
    lines[i] = separator.join(cells)
    return lines


@_on_lines
def letters_changed(lines: list[str], rng: Random) -> list[str]:
    """A few letters are others: brackets, quotes, equal signs, marks."""
    for _ in range(rng.choice([1, 2, 6])):
        i = _place(lines, rng)
        place = rng.randint(0, len(lines[i]))
        new = rng.choice([*"\"'[]{}=,.#\\\0\t -0eE_", token(rng)])
        lines[i] = lines[i][:place] + new + lines[i][place + rng.choice([0, 1]) :]
    return lines


@_on_lines
def line_again(lines: list[str], rng: Random) -> list[str]:
    """A line comes twice or is missing."""
    i = _place(lines, rng)
    return [*lines[:i], *([lines[i]] * rng.choice([0, 2, 3])), *lines[i + 1 :]]


@_on_lines
def value_of_other_type(lines: list[str], rng: Random) -> list[str]:
    """In a file of options: a value of another type, or deep inside brackets."""
    i = _place(lines, rng)
    name, equals, _ = lines[i].partition("=")
    deep = min(size(rng), 5_000)
    values = [
        "1",
        "-1",
        "nan",
        "inf",
        "1e999",
        "true",
        '""',
        "[]",
        "{}",
        "1979-05-27",
        "[[1], [2]]",
    ]
    values += ["9" * 5000, "[" * deep + "]" * deep, "{a = " * deep + "1" + "}" * deep, '"\\u0000"']
    values += [
        '"/etc/passwd"',
        '".."',
        '"a.csv#x"',
        '["a.csv", "a.csv"]',
        "'''",
        '"""',
        "0x" + "f" * 99,
    ]
    lines[i] = f"{name}= {rng.choice(values)}" if equals else token(rng)
    return lines


LINES = (
    letters_changed,
    line_again,
    value_of_other_type,
    value_of_other_type,
    shuffled,
    one_value_huge,
    quote_added,
)
ALL = (
    quote_added,
    quoted_wrong,
    separators_mixed,
    value_changed,
    column_changed,
    name_changed,
    header_lost,
    ragged,
    many_columns,
    many_rows,
    shuffled,
    lines_above,
    one_value_huge,
    letters_changed,
    line_again,
)
