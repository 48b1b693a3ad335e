"""--bin: numbers become labels of bins, where a context or a feature is meant."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from howlearn.core.errors import DataError, HowlearnError
from howlearn.reading.labels import natural_key
from howlearn.reading.read import read


def frame(**columns: list) -> pl.DataFrame:
    n = len(next(iter(columns.values())))
    basis = {"id": [1] * n, "choice": ["A", "B"] * (n // 2) + ["A"] * (n % 2)}
    return pl.DataFrame({**basis, "reward": [i % 2 for i in range(n)], **columns}, strict=False)


def shown(study) -> list[str]:
    """The context of every trial."""
    return [study.contexts[code] for code in study.context]


def test_bins_of_equal_width() -> None:
    study = read(frame(size=[0, 0.2, 0.25, 0.6, 1.0]), context="size", bin="size:4")
    assert study.contexts == ("0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1")
    assert shown(study) == ["0–0.25", "0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1"]
    assert study.notes == ("size is cut into 4 bins: 0–0.25, 0.25–0.5, 0.5–0.75, 0.75–1",)


def test_bins_between_cut_points() -> None:
    study = read(frame(size=[-3, 0.2, 0.5, 9]), context="size", bin="size:0.2,0.50")
    assert study.contexts == ("<0.2", "0.2–0.5", "≥0.5")
    assert shown(study) == ["<0.2", "0.2–0.5", "≥0.5", "≥0.5"]
    assert study.notes == ("size is cut into 3 bins: <0.2, 0.2–0.5, ≥0.5",)


def test_one_cut_point() -> None:
    study = read(frame(size=[1, 2, 3, 4]), context="size", bin="size:2.5")
    assert shown(study) == ["<2.5", "<2.5", "≥2.5", "≥2.5"]


def test_as_python_writes_it() -> None:
    data = frame(size=[0, 1, 2, 3], hue=[0, 1, 2, 4])
    study = read(data, context=["size", "hue"], bin={"size": 3, "hue": [1.0, 3]})
    assert shown(study) == ["0–1:<1", "1–2:1–3", "2–3:1–3", "2–3:≥3"]


def test_labels_are_true_and_short() -> None:
    study = read(frame(size=[0, 3.3, 3.34, 6.6, 6.7, 10]), context="size", bin="size:3")
    assert shown(study) == ["0–3.33"] * 2 + ["3.33–6.67"] * 2 + ["6.67–10"] * 2


@pytest.mark.parametrize(
    "labels",
    [
        ["<-1.5", "-1.5–-0.25", "-0.25–0.3", "0.3–2", "2–10", "10–30", "≥30"],
        ["<2:red", "2–10:blue", "2–10:red", "10–30:blue", "≥30:blue"],
        ["b2:<5", "b2:≥5", "b10:<5"],
    ],
)
def test_natural_order(labels: list[str]) -> None:
    mixed = labels[1::2] + labels[::2]
    assert sorted(mixed, key=natural_key) == labels


def test_the_range_is_that_of_all_files(tmp_path: Path) -> None:
    for name, sizes in (("a", [0, 1, 1]), ("b", [9, 8, 5])):
        frame(size=sizes).drop("id").write_csv(tmp_path / f"{name}.csv")
    study = read(tmp_path, context="size", bin="size:2")
    assert study.contexts == ("0–4.5", "4.5–9")
    assert shown(study) == ["0–4.5"] * 3 + ["4.5–9"] * 3


def test_the_range_in_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("howlearn.reading.streaming.BATCH_ROWS", 2)
    study = read(frame(size=[0, 1, 9, 8, 5]), context="size", bin="size:2")
    assert shown(study) == ["0–4.5"] * 2 + ["4.5–9"] * 3


def test_rows_that_are_left_out_do_not_count() -> None:
    data = frame(size=[0, 1, 2, 999], phase=[*"mmmp"])
    study = read(data, context="size", bin="size:2", where="phase == 'm'")
    assert shown(study) == ["0–1", "1–2", "1–2"]


def test_expressions_and_conditions_see_the_numbers() -> None:
    data = frame(size=[0, 1, 2, 3, 4, 5], trial=[6, 5, 4, 3, 2, 1])
    study = read(data, context="size", bin="size:2", test_when="size > 4", where="size != 0")
    assert shown(study) == ["3–5", "3–5", "3–5", "1–3", "1–3"]
    assert study.learned.tolist() == [False, True, True, True, True]
    study = read(data.with_columns(size=pl.col("size") // 2), context="size", bin="size:0.5",
                 by="size")  # fmt: skip
    assert study.about["size"].to_list() == [0, 1, 2]


def test_recoded_and_missing_values() -> None:
    data = frame(size=["none", "-1", "2", "10"], choice=["A", None, "B", "A"])
    study = read(data, context="size", bin="size:2", recode="size:none=0", missing="size:-1")
    assert shown(study) == ["0–5", "0–5", "5–10"]
    with pytest.raises(DataError, match="column size: found nothing; allowed: a context in every"):
        read(frame(size=[None, 1, 2]), context="size", bin="size:2")


def test_features_may_have_bins() -> None:
    data = frame(item=[1, 2, 3, 1], size=[0.1, 0.2, 0.9, 0.1])
    study = read(data, features="size", bin="size:0.5")
    assert study.contexts == ("1", "2", "3")
    assert [study.features[c]["size"] for c in study.contexts] == ["<0.5", "<0.5", "≥0.5"]


def test_features_that_are_the_context() -> None:
    data = frame(size=[1, 2, 3, 4], hue=[*"rbrb"])
    study = read(data, features=["size", "hue"], bin="size:2")
    assert study.contexts == ("1–2.5:b", "1–2.5:r", "2.5–4:b", "2.5–4:r")
    assert study.features["2.5–4:b"] == {"size": "2.5–4", "hue": "b"}
    assert study.roles["context"] == "size, hue (the features)"


def test_there_and_back() -> None:
    study = read(frame(size=[-2, -1, 0.25, 0.3, 7]), context="size", bin="size:-1.5,0,0.3")
    again = read(study.frame())
    assert (again.contexts, shown(again)) == (study.contexts, shown(study))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("size:1", "--bin 'size:1': from 2 to 1,000 bins are possible; write COL:N for N bins of "
         "equal width (at least 2), or COL:CUT,CUT… with cut points"),
        ("size:0", "--bin 'size:0': from 2 to 1,000 bins are possible"),
        ("size:-3", "--bin 'size:-3': from 2 to 1,000 bins are possible"),
        ("size", "--bin 'size': write COL:N"),
        ("size:", "--bin 'size:': write COL:N"),
        (":4", "--bin ':4': write COL:N"),
        ("size:a,b", "--bin 'size:a,b': write COL:N"),
        ("size:0.1,inf", "--bin 'size:0.1,inf': write COL:N"),
        ("size:0.5,0.2", "--bin 'size:0.5,0.2': cut points are written from the smallest to the "
         "largest"),
        ("size:0.5,0.5", "--bin 'size:0.5,0.5': cut points are written"),
        ("weight:4", "--bin 'weight:4': there is no column weight; the columns: id, choice, "
         "reward, size, rt, same"),
        ("rt:4", "--bin 'rt:4': rt is neither a context nor a feature; name it with --context "
         "COL[,COL] or --features COL[,COL]"),
        (["size:2", "size:0.5"], "--bin 'size:0.5': size has its bins already"),
        ("same:2", "--bin same:2: same has one value only (7)"),
    ],
)  # fmt: skip
def test_bins_that_cannot_be(given: str | list[str], message: str) -> None:
    data = frame(size=[0, 1, 2], rt=[1, 2, 3], same=[7, 7, 7])
    with pytest.raises(HowlearnError) as caught:
        read(data, context=["size", "same"], bin=given)
    assert str(caught.value).startswith(message)


def test_numbers_too_close_together() -> None:
    close = [1e15, 1e15 + 0.125, 1e15 + 0.25]
    with pytest.raises(HowlearnError, match="are too close together for 9 bins"):
        read(frame(size=close), context="size", bin="size:9")


def test_what_is_no_number_is_told_with_its_row() -> None:
    with pytest.raises(DataError) as caught:
        read(frame(size=["1", "big", "2", "0,5"]), context="size", bin="size:2")
    assert str(caught.value).splitlines()[1:] == [
        "  data frame, row 5, column size: found 0,5; allowed: a number, since --bin size:2 makes "
        "bins of them (helps: decimal commas must be saved as decimal points)",
        "  data frame, row 3, column size: found big; allowed: a number, since --bin size:2 makes "
        "bins of them (helps: --missing size:VALUE, --recode size:OLD=NEW, or no --bin for it)",
    ]
    with pytest.raises(DataError, match="row 2, column size: found big; allowed: a number, since"):
        read(frame(size=["big", "bigger"]), context="size", bin="size:2")
