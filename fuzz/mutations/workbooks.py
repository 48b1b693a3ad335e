"""Mutations of spreadsheets: of the XML in them, and of what it claims."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from fuzz.mutations import archives, raw
from fuzz.mutations.chance import depth, size, token

_SHEETS = ("xl/worksheets/sheet1.xml", "content.xml")
_NUMBER = re.compile(rb"[0-9]+")
_CLAIMS = (
    *(b"XFD1048576", b"A1048576", b"ZZZZZZ1", b"A99999999999", b"A0", b"1", b"", b"a1", b"AAA"),
    *(b"A1:XFD1048576", b"XFD1048576:A1", b"B2:A1", b"F13", b"A4294967296", b"A1:A1"),
)
_REPEATED = (b"2", b"100", b"3000", b"1048576", b"4294967296", b"1000000000", b"-1", b"x")


def _changed(
    content: bytes, rng: Random, change: Callable[[bytes], bytes], sheet: bool = True
) -> bytes:
    members = archives.members_of(content)
    if not members:
        return content
    names = [name for name in members if not sheet or name in _SHEETS] or [*members]
    name = rng.choice(names)
    members[name] = change(members[name])
    return archives.zipped([*members.items()], rng)


def place_wrong(content: bytes, rng: Random) -> bytes:
    """Cells, rows and tables at places far away, or nowhere."""

    def change(xml: bytes) -> bytes:
        places = [*re.finditer(rb'\b(?:r|ref|s|t|spans)="([^"]*)"', xml)]
        for match in rng.sample(places, min(len(places), rng.choice([1, 1, 3, 20])))[:1]:
            xml = xml[: match.start(1)] + rng.choice(_CLAIMS) + xml[match.end(1) :]
        return xml

    return _changed(content, rng, change)


def claims_many(content: bytes, rng: Random) -> bytes:
    """Cells and rows that are said to come very often."""

    def change(xml: bytes) -> bytes:
        times = rng.choice(_REPEATED)
        cell = b'table:number-columns-repeated="' + times + b'"'
        row = b'table:number-rows-repeated="' + times + b'"'
        marks = {b"<table:table-cell": cell, b"<table:table-row": row, b"<row": b'spans="1:99999"'}
        there = [mark for mark in marks if mark in xml]
        if not there:
            return xml
        mark = rng.choice(there)
        places = [match.end() for match in re.finditer(re.escape(mark) + rb"(?=[\s>/])", xml)]
        place = rng.choice(places)
        return xml[:place] + b" " + marks[mark] + xml[place:]

    return _changed(content, rng, change)


def number_wrong(content: bytes, rng: Random) -> bytes:
    """A number in the XML is another one: an index of a text, a count, a version."""

    def change(xml: bytes) -> bytes:
        places = [*_NUMBER.finditer(xml)]
        if not places:
            return xml
        match = rng.choice(places)
        new = rng.choice([b"-1", b"0", b"999999", b"4294967296", b"9" * 50, b"1e999", b"NaN", b""])
        return xml[: match.start()] + new + xml[match.end() :]

    return _changed(content, rng, change, sheet=False)


def value_changed(content: bytes, rng: Random) -> bytes:
    """A value is another one."""

    def change(xml: bytes) -> bytes:
        places = [*re.finditer(rb">([^<>]+)<", xml)]
        if not places:
            return xml
        match = rng.choice(places)
        new = token(rng).encode("utf-8", "replace")
        return xml[: match.start(1)] + new + xml[match.end(1) :]

    return _changed(content, rng, change, sheet=False)


def markup_put_in(content: bytes, rng: Random) -> bytes:
    """Entities of entities, elements very deep or very many, types that nothing has."""

    def change(xml: bytes) -> bytes:
        deep, many = depth(rng), min(size(rng), 300_000)
        laughs = b"".join(
            b'<!ENTITY l%d "%s">' % (i, b"&l%d;" % (i - 1) * 10 if i else b"ha") for i in range(9)
        )
        pieces = [
            b"<a>" * deep,
            b"<a>" * deep + b"</a>" * deep,
            b'<?xml version="1.0"?><!DOCTYPE x [' + laughs + b"]>",
            b"&l8;",
            b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>&a;',
            b"<row/>" * many,
            b"<table:table-row/>" * many,
            b'<c r="A1" t="e"><v>#N/A</v></c>',
            b'<c r="B2" t="d"><v>2024-99-99</v></c>',
            b'<c r="B2" t="s"><v>99999</v></c>',
            b'<c t="b"><v>7</v></c>',
            b"<![CDATA[",
            b"<!--",
            b"\0",
            b"</sheetData>",
            b'<f t="shared" si="0" ref="A1:A99999999">A1</f>',
        ]
        place = rng.choice(
            [0, rng.randint(0, len(xml)), *(m.end() for m in re.finditer(b">", xml))]
        )
        return xml[:place] + rng.choice(pieces) + xml[place:]

    return _changed(content, rng, change, sheet=rng.random() < 0.7)


def bytes_changed(content: bytes, rng: Random) -> bytes:
    """Bytes of the XML are others."""
    how = rng.choice(raw.ALL)
    return _changed(content, rng, lambda xml: how(xml, rng), sheet=False)


def rarely_huge(content: bytes, rng: Random) -> bytes:
    """Now and then a part that unpacks to a gigabyte."""
    if rng.random() < 0.03:
        return archives.member_huge(content, rng)
    return bytes_changed(content, rng)


# -- records: a kind, a size and a body; most bodies of .xls begin with a row and a column

_OLD_START = b"\x09\x08\x10\0"  # of a book or a sheet in .xls
_FIELDS = (0, 1, 255, 256, 2**14, 2**15, 2**16 - 1)


def old_record_changed(content: bytes, rng: Random) -> bytes:
    """A record of an .xls file has another kind, size or place, or its sectors go elsewhere."""
    if rng.random() < 0.2 or _OLD_START not in content:
        at = rng.choice([*range(24, 112, 2), *range(512, 640, 4), *range(1024, 1280, 4)])
        width = rng.choice([2, 4])
    else:
        starts = [content.find(_OLD_START), content.rfind(_OLD_START)]
        place, places = rng.choice(starts), []
        while place + 4 <= len(content) and len(places) < 500:
            places.append(place)
            place += 4 + int.from_bytes(content[place + 2 : place + 4], "little")
        at = rng.choice(places) + rng.choice([0, 2, 4, 4, 6, 6, 8, 10, 12])
        width = rng.choice([2, 2, 2, 4])
    value = rng.choice([*_FIELDS, 2**32 - 1, 2**32 - 2, 2**31, rng.randrange(2**16)])
    return content[:at] + (value % 256**width).to_bytes(width, "little") + content[at + width :]


def record_changed(content: bytes, rng: Random) -> bytes:
    """A record of an .xlsb file has another kind, size, row or column; or bytes of it differ."""

    def change(part: bytes) -> bytes:
        if not part or rng.random() < 0.3:
            return rng.choice(raw.ALL)(part, rng)
        at, width = rng.randrange(len(part)), rng.choice([1, 1, 2, 4])
        value = rng.choice([*_FIELDS, 2**20, 2**20 - 1, 2**32 - 1, rng.randrange(256)])
        return part[:at] + (value % 256**width).to_bytes(width, "little") + part[at + width :]

    members = archives.members_of(content)
    if not members:
        return content
    name = rng.choice([n for n in members if n.endswith(".bin")] or [*members])
    members[name] = change(members[name])
    return archives.zipped([*members.items()], rng)


OLD = (old_record_changed,) * 4
BINARY = (record_changed, record_changed, record_changed, rarely_huge)
ALL = (
    place_wrong,
    claims_many,
    number_wrong,
    value_changed,
    markup_put_in,
    bytes_changed,
    rarely_huge,
)
