"""Files that claim or unpack to far more than they are, and names of very many letters."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import signal
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl
import pytest
from fuzz.binary_workbooks import xls, xlsb
from fuzz.packed_seeds import ods, xlsx, zipped

from howlearn.core.errors import LONGEST_MESSAGE, DataError, HowlearnError, Problem
from howlearn.models.task import Task
from howlearn.reading.formats import detect, matlab5, workbook_sizes
from howlearn.reading.formats.delimited import Delimited
from howlearn.reading.formats.detect import Panic, no_panic
from howlearn.reading.formats.table import distinct_names
from howlearn.reading.formats.wide import families_in
from howlearn.reading.guess import inspect
from howlearn.reading.read import read
from workbooks import write_ods, write_xlsx

HEAD = "participant,trial,item,choice,reward\n"
ROWS = "".join(f"1,{trial},{trial % 3},{'AB'[trial % 2]},1\n" for trial in range(1, 9))
TABLE = [HEAD.strip().split(","), *(row.split(",") for row in ROWS.splitlines())]
LETTERS = [bytes([65 + i, 65 + j]) for i in range(3) for j in range(26)]  # of columns
MANY = 200_000  # of what should take no time


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if files that unpack to 100 kB were large."""
    for module in (detect, matlab5):
        monkeypatch.setattr(module, "FREE", 100_000)
    monkeypatch.setattr(workbook_sizes, "FREE_CELLS", 1000)
    monkeypatch.setattr(workbook_sizes, "FREE_REPEATED", 1000)


@pytest.fixture
def promptly() -> Iterator[None]:
    """What would take minutes is a failure."""

    def late(number: int, frame: object) -> None:
        raise TimeoutError("it takes too long")

    before = signal.signal(signal.SIGPROF, late)  # of processor time: others may be at work too
    signal.setitimer(signal.ITIMER_PROF, 30)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


def refusal(source: str) -> Problem:
    with pytest.raises(DataError) as caught:
        read(source)
    [problem] = caught.value.problems
    return problem


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.rds"])
def test_compressed_files(pack: Callable[[bytes], bytes], name: str) -> None:
    start = {"a.csv": HEAD + ROWS, "a.json": "[", "a.rds": "X\n\0\0\0\3"}[name].encode()
    Path(name).write_bytes(pack(start + b"\n" * 2_000_000))
    problem = refusal(name)
    assert problem.found == "a file that is more than 100 times larger inside than it looks"
    assert problem.remedy.endswith("save the table as CSV or Parquet")
    if name == "a.csv":
        Path(name).write_bytes(pack(start + b"\n" * 90_000))  # however well it packs
        assert len(read(name).context) == 8


@pytest.mark.usefixtures("little")
def test_matlab_files() -> None:
    import h5py

    packed = zlib.compress(bytes(2_000_000))
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM"
    Path("a.mat").write_bytes(head + struct.pack("<II", 15, len(packed)) + packed)
    assert "a variable that is more than 100 times larger inside" in refusal("a.mat").found
    with h5py.File("b.mat", "w") as file:
        file.create_dataset("d/reward", (1, 10**12), "f8", chunks=(1, 100))
    assert "more than 100 times larger inside than it looks" in refusal("b.mat").found
    with h5py.File("c.mat", "w") as file:
        refs = np.array([[file.create_group("d").ref] * 20], dtype=h5py.ref_dtype)
        file["d/x"], file["d/y"] = refs, refs
        file["d/x"].attrs["MATLAB_class"] = file["d/y"].attrs["MATLAB_class"] = np.bytes_("cell")
    assert "in circles" in refusal("c.mat").found


def test_compiled_code_in_r_files(tmp_path: Path) -> None:
    head = b"X\n" + struct.pack(">iii", 2, 0x40000, 0x20300)
    code = struct.pack(">iiiii", 21, 2**31 - 1, 13, 1, 5)  # code that repeats so many pieces
    Path("a.rds").write_bytes(head + code + struct.pack(">i", 0))
    assert "claims to hold more values than it has room for" in refusal("a.rds").found


def test_letters_of_matlab_beyond_the_first_plane() -> None:
    import h5py

    with h5py.File("a.mat", "w") as file:
        for name, letters in (("choice", "A\N{GRINNING FACE}"), ("reward", "10")):
            codes = np.frombuffer(letters.encode("utf-16-le"), dtype="<u2")
            kept = [codes[:1], codes[1:]]
            nodes = [file.create_dataset(f"#refs#/{name}{i}", data=c) for i, c in enumerate(kept)]
            for node in nodes:
                node.attrs["MATLAB_class"] = np.bytes_("char")
            file[f"d/{name}"] = np.array([[node.ref for node in nodes]], dtype=h5py.ref_dtype)
            file[f"d/{name}"].attrs["MATLAB_class"] = np.bytes_("cell")
    assert read("a.mat", context="none").actions == ("A", "\N{GRINNING FACE}")


def test_a_matlab_file_that_begins_like_an_older_one() -> None:
    from scipy.io import savemat

    savemat("a.mat", {"choice": [1.0, 2.0]})
    content = Path("a.mat").read_bytes()
    Path("a.mat").write_bytes(b"X" + content[1:])  # scipy's own parser may crash on damaged files
    assert "another version inside" in refusal("a.mat").found


def test_millions_of_letters_in_a_small_matlab_file() -> None:
    import h5py

    with h5py.File("a.mat", "w") as file:
        file.create_dataset("d/new", (1, 4_000_000), "u2", chunks=(1, 100_000), compression="gzip")
        file["d/new"].attrs["MATLAB_class"] = np.bytes_("char")
        for name in ("choice", "participant", "item"):
            file[f"d/{name}"] = np.arange(8.0)[None]
    begun = process_time()
    with pytest.raises(DataError, match="no column for the reward"):
        read("a.mat")
    assert process_time() - begun < 2.5


@pytest.mark.usefixtures("little")
def test_cells_far_away() -> None:
    write_xlsx(Path("a.xlsx"), {"A": TABLE})
    assert len(read("a.xlsx").context) == 8
    with zipfile.ZipFile("a.xlsx") as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    for far in (b'r="XFD1048576"', b"r='XFD1048576'", b'r = "XFD1048576"'):
        with zipfile.ZipFile("b.xlsx", "w") as book:
            for name, content in parts.items():
                found = content.replace(b'r="E9"', far) if name == sheet else content
                book.writestr(name, found)
        assert "room for 17,179,869,184 cells" in refusal("b.xlsx").found


def test_a_workbook_behind_something_else() -> None:
    write_xlsx(Path("a.xlsx"), {"A": TABLE})
    content = Path("a.xlsx").read_bytes()
    Path("a.xlsx").write_bytes(content + content)  # libraries differ in which of them they read
    assert "something before the archive" in refusal("a.xlsx").found


def test_rows_that_lack_nearly_all_values(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ",".join([*HEAD.strip().split(","), *(f"x{i}" for i in range(40))])
    Path("a.csv").write_text(names + "\n1;1" * 300_000)
    monkeypatch.setattr(pl, "read_csv", None)  # it would make room for 13 million values
    assert "1 value" in refusal("a.csv").found


def test_objects_in_hundreds_of_columns_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["trial_type", "trial_index", "time_elapsed", *(f"x{i}" for i in range(300))]
    row = ["html", "1", "1000", *['"{""a"": 1}"'] * 300]
    Path("a.csv").write_text("\n".join([",".join(names), *[",".join(row)] * 3]))
    read_csv, times = pl.read_csv, []
    monkeypatch.setattr(pl, "read_csv", lambda *a, **k: times.append(1) or read_csv(*a, **k))
    assert "x299.a" in Delimited(Path("a.csv")).columns
    assert len(times) == 1


@pytest.mark.usefixtures("little")
def test_cells_that_come_often() -> None:
    write_ods(Path("a.ods"), {"A": TABLE})
    assert len(read("a.ods").context) == 8
    with zipfile.ZipFile("a.ods") as book:
        parts = {name: book.read(name) for name in book.namelist()}
    row, cell = b"<table:table-row", b"<table:table-cell/>"
    empty = row + b' table:number-rows-repeated="1048000">' + cell + b"</table:table-row>"
    often = parts["content.xml"].replace(row, row + b' table:number-rows-repeated="100000"', 1)
    below = parts["content.xml"].replace(b"</table:table>", empty + b"</table:table>")
    for name, content in (("b.ods", often), ("c.ods", below)):
        with zipfile.ZipFile(name, "w") as book:
            for part, inside in {**parts, "content.xml": content}.items():
                book.writestr(part, inside)
    assert "room for 500,040 cells" in refusal("b.ods").found
    for cut in (
        200,
        600,
        len(parts["content.xml"]) - 20,
    ):  # the library waits for the end of some of them
        with zipfile.ZipFile("d.ods", "w") as book:
            for part, inside in {**parts, "content.xml": parts["content.xml"][:cut]}.items():
                book.writestr(part, inside)
        assert "XML that is broken" in refusal("d.ods").found
    bomb = b'<!DOCTYPE a [<!ENTITY b "x">]>' + parts["content.xml"]
    with zipfile.ZipFile("d.ods", "w") as book:
        for part, inside in {**parts, "content.xml": bomb}.items():
            book.writestr(part, inside)
    assert "declares its own document type" in refusal("d.ods").found
    assert len(read("c.ods").context) == 8  # empty rows below are what everybody has


FAR = struct.pack("<HHH", 12, 5, 0)  # the last cell of the trials in .xls
MANY_LETTERS = b"x" * 30_000


def changed(name: str, content: bytes, part: str = "", **new: tuple[bytes, bytes]) -> Path:
    """A workbook with something in its place, or in the place of something in one of its parts."""
    if part:
        with zipfile.ZipFile(io.BytesIO(content)) as book:
            parts = {each: book.read(each) for each in book.namelist()}
        content = parts[part]
    for old, other in new.values():
        assert old in content
        content = content.replace(old, other)
    if part:
        content = zipped({**parts, part: content})
    Path(name).write_bytes(content)
    return Path(name)


@pytest.mark.usefixtures("promptly")
def test_cells_far_away_in_binary_workbooks() -> None:
    for name, content in (("a.xls", xls()), ("a.xlsb", xlsb())):
        Path(name).write_bytes(content)
        assert len(read(name).context) == 12
    changed("b.xls", xls(), cell=(FAR, struct.pack("<HHH", 65535, 255, 0)))
    assert "room for 16,777,216 cells" in refusal("b.xls").found
    changed("b.xls", xls(), cell=(FAR, struct.pack("<HHH", 12, 256, 0)))
    assert "a sheet larger than sheets can be" in refusal("b.xls").found
    extent = b"\x00\x02\x0e\x00" + bytes(4)
    changed("b.xls", xls(), cell=(extent, extent[:4] + struct.pack("<I", 2**31)))
    assert "a sheet larger than sheets can be" in refusal("b.xls").found
    sheet = "xl/worksheets/sheet1.bin"
    row = struct.pack("<IIH", 12, 0, 300), struct.pack("<IIH", 2**20 - 1, 0, 300)
    cell = struct.pack("<II", 5, 0), struct.pack("<II", 2**14 - 1, 0)
    changed("b.xlsb", xlsb(), sheet, row=row, cell=cell)
    assert "room for 17,179,869,184 cells" in refusal("b.xlsb").found


@pytest.mark.usefixtures("promptly")
def test_old_workbooks_that_claim_or_go_in_circles() -> None:
    extent = struct.pack("<IIHHH", 0, 13, 0, 6, 0)
    changed("a.xls", xls(), extent=(extent, struct.pack("<IIHHH", 0, 2**31, 0, 2**15, 0)))
    assert "a sheet larger than sheets can be" in refusal("a.xls").found
    counts = struct.pack("<II", 6, 6)
    changed("b.xls", xls(), counts=(counts, struct.pack("<II", 6, 2**31 - 1)))
    assert "more texts than it has room for" in refusal("b.xls").found
    chain = struct.pack("<III", 3, 4, 5)
    changed("c.xls", xls(), chain=(chain, struct.pack("<III", 3, 4, 2)))
    assert "circles" in refusal("c.xls").found
    folders = struct.pack("<III", 0, 1, 1)
    changed("d.xls", xls(), folders=(folders, struct.pack("<III", 2**32 - 1, 1, 1)))
    assert "more sectors than there are" in refusal("d.xls").found


@pytest.mark.usefixtures("promptly")
def test_texts_that_come_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of many letters that many cells name, or that says how often it comes."""
    monkeypatch.setattr(workbook_sizes, "FREE_LETTERS", 1_000_000)
    long = (b"<t>a</t>", b"<t>" + MANY_LETTERS + b"</t>")
    changed("a.xlsx", xlsx(), "xl/sharedStrings.xml", text=long)
    assert len(read("a.xlsx").context) == 12
    content = Path("a.xlsx").read_bytes()
    with zipfile.ZipFile(io.BytesIO(xlsx())) as book:
        number = book.read("xl/sharedStrings.xml").partition(b"<t>a</t>")[0].count(b"<si>") - 1
    more = b"".join(b'<c r="%s30" t="s"><v>%d</v></c>' % (c, number) for c in LETTERS)
    end = b"</sheetData>", b'<row r="30">' + more + b"</row></sheetData>"
    changed("b.xlsx", content, "xl/worksheets/sheet1.xml", end=end)
    assert "the same texts stand so often" in refusal("b.xlsx").found
    text = b'<table:table-cell office:value-type="string"><text:p>' + MANY_LETTERS
    often = b'<table:table-row table:number-rows-repeated="90">' + text
    end = b"</table:table>", often + b"</text:p></table:table-cell></table:table-row></table:table>"
    changed("c.ods", ods(), "content.xml", end=end)
    assert "the same texts stand so often" in refusal("c.ods").found


@pytest.mark.usefixtures("little")
def test_sheets_that_come_often() -> None:
    """Many small tables, and many names of one sheet."""
    row = b"<table:table-row", b'<table:table-row table:number-rows-repeated="500"'
    table = b'<table:table table:name="A">', b'<table:table table:name="A%d">'
    with zipfile.ZipFile(io.BytesIO(ods())) as book:
        inside = book.read("content.xml").replace(*row)
    start, end = inside.index(table[0]), inside.index(b"</office:spreadsheet>")
    tables = b"".join(inside[start:end].replace(table[0], table[1] % i) for i in range(200))
    changed("a.ods", ods(), "content.xml", all=(b"</table:table>", b"</table:table>" + tables))
    assert "room for" in refusal("a.ods").found
    sheet = b'<sheet name="A" sheetId="1" r:id="rId1"/>'
    names = b"".join(sheet.replace(b'"A"', b'"A%d"' % i) for i in range(900))
    changed("b.xlsx", xlsx(), "xl/workbook.xml", sheets=(sheet, names))
    assert "room for" in refusal("b.xlsx").found


@pytest.mark.usefixtures("promptly")
def test_thousands_of_columns() -> None:
    """Two files of the fuzzer that claim 16,384 filled columns took half a minute each."""
    names = [*TABLE[0], *["rt"] * 16_000]
    lines = [names, *([*row, *["0.5"] * 16_000] for row in TABLE[1:])]
    Path("a.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    for look in (read, inspect):
        start = process_time()
        found = look("a.csv", context="item")
        assert process_time() - start < 8
    assert "columns, of which 600 were looked at" in "\n".join(map(str, found.oddities))


def test_numbers_that_are_none() -> None:
    """Names of columns that look like numbers, and are none to count with."""
    for odd in ("²", "9" * 5000):
        names = [f"choice_{i}" for i in range(1, 9)]
        Path("a.csv").write_text(",".join([odd, f"x{odd}", *names]) + "\n" + ",".join("12" * 5))
        with pytest.raises(HowlearnError):
            read("a.csv")
        Path("b.csv").write_text(",".join([odd] * 4) + "\n" + "1,2,3,4\n" * 3)
        with pytest.raises(HowlearnError):
            read("b.csv")


@pytest.mark.usefixtures("little")
def test_parts_of_a_workbook_that_lie_about_their_size() -> None:
    write_xlsx(Path("a.xlsx"), {"A": TABLE})
    with zipfile.ZipFile("a.xlsx", "a", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/sharedStrings.xml", b" " * 3_000_000)
    size = (3_000_000).to_bytes(4, "little")
    content = Path("a.xlsx").read_bytes()
    assert content.count(size) == 2
    Path("b.xlsx").write_bytes(content.replace(size, (9).to_bytes(4, "little")))
    for name in ("a.xlsx", "b.xlsx"):
        assert "more than 100 times larger inside" in refusal(name).found


@pytest.mark.usefixtures("promptly")
def test_names_of_very_many_letters() -> None:
    for name in ("_" * MANY, "a1" * MANY, "1_" * MANY, "a" + " " * MANY, "1" * MANY, "a_t" * MANY):
        assert families_in([name, "choice_1"]) is None
        Path("a.csv").write_text(f"{name},x\n1,2\n")
        with pytest.raises(DataError) as caught:
            read("a.csv")
        assert len(str(caught.value)) < 20_000


@pytest.mark.usefixtures("promptly")
def test_very_many_columns() -> None:
    assert distinct_names(["a"] * MANY)[-1] == f"a ({MANY})"
    assert distinct_names(["a", "a (2)", "a", "a"]) == ["a", "a (2)", "a (3)", "a (4)"]
    numbers = range(8_000)
    names = [*(f"choice_{i}" for i in numbers), *(f"reward_{i}" for i in numbers)]
    values = [*("AB"[i % 2] for i in numbers), *("1" for _ in numbers)]
    Path("a.csv").write_text("\n".join([",".join(names), ",".join(values)]))
    assert len(read("a.csv", context="none").context) == len(numbers)


def test_options_of_very_many_letters() -> None:
    Path("a.csv").write_text(HEAD + ROWS)
    for name, most in (("reward" * MANY + ":1=0", 1500), ("x" * MANY, LONGEST_MESSAGE)):
        Path("howlearn.toml").write_text(f'files = ["a.csv"]\n[data]\nrecode = ["{name}"]\n')
        with pytest.raises(HowlearnError, match="--recode ") as caught:
            read("howlearn.toml")
        assert len(str(caught.value)) <= most
        assert str(caught.value).endswith(("choice, reward", "write COL:OLD=NEW,OLD=NEW"))


def test_millions_of_empty_lines() -> None:
    for name, end in (("a.csv", "\n"), ("b.csv", "\r\n"), ("c.csv", '\n"END OF FILE"\n')):
        Path(name).write_text(HEAD + ROWS + end * (3_000_000 if name < "c" else 1) + "\n" * 5000)
        Path(f"{name}.gz").write_bytes(gzip.compress(Path(name).read_bytes(), 9))
        for each in (name, f"{name}.gz"):
            begun = process_time()
            assert len(read(each).context) == 8
            assert process_time() - begun < 1.5


def test_rows_are_counted_once() -> None:
    """Where the last column has gaps; this is done in Python, and slow."""
    Path("a.csv").write_text(HEAD + ROWS + "1,9,1,B,\n")
    table = Delimited(Path("a.csv"))
    assert next(iter(table.frames(["item"]))).height == 9
    table._records = None  # type: ignore[assignment,method-assign]
    assert next(iter(table.frames(["item", "reward"]))).height == 9


@pytest.mark.usefixtures("promptly")
def test_what_is_no_file() -> None:
    os.mkfifo("a.csv")
    Path("b.csv").symlink_to("/dev/zero")
    for name in ("a.csv", "b.csv"):
        assert refusal(name).found == "a pipe or a device"


@pytest.mark.usefixtures("promptly")
def test_what_stands_beside_data_is_no_file() -> None:
    os.mkfifo("howlearn.toml")
    os.mkfifo("task.toml")
    with pytest.raises(HowlearnError, match=r"howlearn\.toml: a pipe or a device"):
        read("howlearn.toml")
    with pytest.raises(HowlearnError, match=r"task\.toml cannot be read: a pipe or a device"):
        Task.load("task.toml")
    rows = "trial\tchoice\treward\n1\tA\t1\n2\tB\t0\n"
    Path("set/sub-1").mkdir(parents=True)
    Path("set/sub-1/sub-1_task-x_events.tsv").write_text(rows)
    os.mkfifo("set/task-x_events.json")
    Path("set/participants.tsv").symlink_to("/dev/zero")
    assert read("set", context="none").learners == ("1",)


def test_names_that_polars_would_take_for_patterns() -> None:
    Path("set/sub-1").mkdir(parents=True)
    rows = "trial\tchoice\treward\n1\tA\t1\n2\tB\t0\n"
    Path("set/sub-1/sub-1_task-x_events.tsv").write_text(rows)
    Path("set/participants.tsv").write_text("participant_id\t*\t^.*$\nsub-1\t30\tx\n")
    assert inspect("set", context="none").study is not None
    Path("a.csv").write_text("^a$1,^a$2,^a$3,choice1,choice2,choice3,r1,r2,r3\n1,2,3,A,B,A,1,0,1\n")
    assert len(read("a.csv", context="^a$", reward="r").context) == 3


def test_rows_without_a_learner_beside_short_learners() -> None:
    Path("a.csv").write_text(HEAD + ROWS + ",1,1,A,1\n2,1,1,A,1\n")
    with pytest.raises(DataError, match="column participant: found nothing"):
        read("a.csv", min_trials=2)


def test_times_that_pass_are_no_labels() -> None:
    frame = pl.DataFrame({"choice": [timedelta(1), timedelta(2)], "reward": [1, 0], "item": [1, 2]})
    with pytest.raises(DataError, match=r"column choice: found values of the type Duration"):
        read(frame)
    assert inspect(frame, action="choice").study is None


def panic() -> None:
    with no_panic():
        os.write(2, b"thread panicked\n")
        raise pl.exceptions.PanicException("it was unwrapped\nat some place")


def test_panics_are_told_and_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with no_panic():
        print("before", file=sys.stderr, flush=True)
    assert capfd.readouterr().err == "before\n"
    with pytest.raises(Panic, match="it was unwrapped"):
        panic()
    assert capfd.readouterr().err == ""
    with pytest.raises(KeyError), no_panic():
        raise KeyError("x")


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000 + "]" * 5000])
def test_values_of_options_that_python_cannot_hold(value: str) -> None:
    Path("howlearn.toml").write_text(f"files = {value}\n")
    Path("task.toml").write_text(f"name = {value}\n")
    with pytest.raises(HowlearnError, match=r"howlearn\.toml: not a TOML file"):
        read("howlearn.toml")
    with pytest.raises(HowlearnError, match=r"task\.toml is not a valid TOML file"):
        Task.load("task.toml")


def test_columns_that_are_called_like_patterns() -> None:
    frame = pl.DataFrame(
        {
            "learner": ["1"] * 8,
            "^a$": ["x", "y"] * 4,
            "*": ["L", "R", "R", "L"] * 2,
            "^r$": ["0,5", "1"] * 4,
        }
    )
    frame.write_csv("a.tsv", separator="\t")
    frame.with_columns(pl.Series("^r$", [0.5, 1.0] * 4)).write_parquet("a.parquet")
    for file in ("a.tsv", "a.parquet"):
        study = read(file, context="^a$", action="*", reward="^r$", trial="none")
        assert (study.contexts, study.actions) == (("x", "y"), ("L", "R"))
        assert study.reward.tolist() == [0.5, 1.0] * 4
