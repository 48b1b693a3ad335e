"""How large things are, and what stands in the place of a value."""

from __future__ import annotations

from random import Random

SIZES = {3: 40, 40: 35, 300: 18, 5_000: 6, 70_000: 0.8, 1_000_000: 0.1, 10_000_000: 0.05}
DEEP = {5: 20, 60: 20, 900: 20, 5_000: 20, 100_000: 3}

TOKENS = (
    *("", " ", "NA", "NaN", "nan", "null", "None", "inf", "-inf", "Infinity", "1e999", "-1e999"),
    *("1e308", "1e-320", "-0", "0x1F", "1_000", "1,5", "1.5.5", "٣", "½", "²", "१", "true"),
    *("9223372036854775808", "18446744073709551616", "-9223372036854775809", "1" * 400, "FALSE"),
    *("0" * 5000, "9" * 5000, "1e" + "9" * 50, "." * 300, "-" * 300, "1." + "0" * 5000 + "1"),
    *('"', '""', "'", "`", "\\", "\\n", "\0", "\x01", "\x1b[31m", "\x7f", "\x85", "\u2028"),
    *("\ufeff", "\u202e", "\U0001f600", "é", "e\u0301", "ß", "İ", "\ufffe", "\U000e0001"),
    *("<script>alert(1)</script>", "../../x", "=HYPERLINK(1)", "{{7*7}}", "%s%n", "$(id)"),
    *("*", "^a$", "^.*$", "a.*", "[", "(", "{", "{}", "[]", '{"a": 1}', '{"a": {"a": {}}}'),
    *("{" * 3000, '{"a":' * 2000 + "1" + "}" * 2000, "[" * 3000, "2024-02-30", "25:61", "sep=;"),
    *("learner", "trial", "choice", "reward", "stimulus", "responseid", "subjID", "1", "0", "-1"),
    *("a_1", "1_a", "t_1_a", "_" * 3000 + "1", "a" + "_" * 3000, "a1" * 1500, "1_" * 1500),
    *("t.-_ " * 800, "#NAME?", "0000-00-00"),
)


def size(rng: Random) -> int:
    """How many: mostly few, seldom very many."""
    [most] = rng.choices([*SIZES], [*SIZES.values()])
    return rng.randint(1, most)


def depth(rng: Random) -> int:
    """How deep."""
    [most] = rng.choices([*DEEP], [*DEEP.values()])
    return rng.randint(1, most)


def token(rng: Random) -> str:
    """A value that somebody may have meant, or not."""
    if rng.random() < 0.1:
        return rng.choice(["a", "1", "é", " ", '"', "_", "-", "\t", "a,", "\n"]) * size(rng)
    return rng.choice(TOKENS)


def number(rng: Random) -> int:
    """A number that claims too much, or too little."""
    bits = rng.choice([7, 8, 15, 16, 20, 30, 31, 32, 33, 40, 47, 62, 63, 64])
    return rng.choice([0, 1, 10**9, 2**bits - 1, 2**bits, rng.getrandbits(bits)])
