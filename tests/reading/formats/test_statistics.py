"""SPSS and Stata: coded values with labels, missing values, dates and long texts."""

from __future__ import annotations

import zlib
from base64 import b85decode
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fuzz.statistics_seeds import sav

from howlearn.core.errors import DataError
from howlearn.reading.formats.open import open_tables
from howlearn.reading.guess import inspect
from howlearn.reading.read import read

# Written by ReadStat: four rows, with a range of missing values, a date, and a text of 300 letters.
SAV = (
    "c-rk%O>fgM7<T%hHmZg=?7#)d0uFE}%~pY`N>Lm7AtDV{B|)Rw0cDBXMp~09@z}<NzrvMY!6g0&H^hk@b|eY5<CF|G"
    "R564!lt+3M+t2%9zp>x<-f(NPd;jhOsE>3V_7y{cLv?Ea>u`qgB4{@nQwPru_8wZ^ys_iFF@5`)X*D!t+B!BdEC2xN"
    "L<Eqa1X7H<8!h<Udkr@qZ%A#a)own5R|N4|0OwJtmYIwc%}{&l=rX?dbX)BWAiRv%20Mz@|H0GqL~$H1c_Z1v8d>*I"
    "u<+afLF~*?vMm5kUY;bDryr<~S~f^cV4^E(pZcIYaUG|$a9d!K9+UA|`&eM28{67=Rr{RJ`JBJDyp(<alE8$$f9ZPc"
    "{~T)TO!~^0@kO#!T#~1q(mtBtw2lJME&I-NhST|-Zq4=JvgQ($czvdED%=-cs}fnymQ4a7qx&UH^i$m;*NNk=G5@}e"
    "_`Je>QQI<+7sjyOs_?>29o*tUs+s1u>KLpr7Wm=T_;{B{+T`Sg>0`%o7N(0|xd-z-<cmpzldYNOSV&CTne3xO(y&F%"
    "kbNxD_9F+TV~gw}$pQBKW0Cw6**1@9s2e;K4VkD&Qd5$ENXeUgUxf>r{b&9+5wgQD3d3afsq^uDav_d>LdbD+Mf@jz"
    "F3u0h;P0*219{gx6Q7_7+Kr-L<K}t(yLq0>QEEbP)-mC}=T70F=iB)`{}=g3_9VaOf0*ZQtLOPUEd@a8"
)
ZSAV = (
    "c-m8O^D%bNP}Wok4hRlbaB&QARB-e3aaGV&$S5f(D7MnqPtPpLC{5B!&d=2k&#X!;O7Trh)(=WeObISYEKy)$U|`S%"
    "Vh{}iEDSIZ>0oG~;Fn*fU}R=!U}a!oWo)WIAwaSR2ADWl!8pJ%D8$p*GXR&ovxmQ@v#WvvF8LtWaK|7Qgghe<|NH;{"
    "KU_Wp;sjoxcu{I`L4ICwszOO-ZYsoC3=9V%4nTB%*bg#;8`%<WMlcR`^mGB40g?wA{U0XHD9Z@OFmHn8k@f#)1moZk"
    "|DZ@>^^eMr%8$wqS$PBG{BOVr#^C&KFf`nc0=PxM*u^mtEYA!SVunk8uxH6hO)G(wqYMlVtVNmW86_~jk^^^Mz5=|="
    "1p*dm`3$m$9cmUxj01>8kc&+qU_?^;@-IX^Of551&Hw-J|3m5ee^5R<)GUx*Rv-=yanrS6hZgK010<l9a6lE2!e$_X"
    "%?R}zFO(e(#IQ=vwji;nBr`d)ATh5bKCd)4DYb|bQo-3KXXIxlr*cB7Guxuna$tqc85Ck$RKf|Wer$^qGgCOh3CXs&"
    "B)_PV6BsGBDT$RJtN5T+fvkimF)%PTFks*WNeV#S#f0P+SY`hl8k@dQPh5r4utZ!j$J^KU=kM?L@9*bH_;BFg2QOBG"
    "6%Nex3mIbPgc$goIVfj$K;X!FZ%4)zDUBb+{gz+Za^*$+e}lKOY7d=ti#7P3Z@CjPLrmdE()<+@CeNR~E?{2#6r)+^"
    "IGIl!wl`JHHJK~Sa^vt%{*MoN7?!U6uzU_QI+4;C*v&Bar9$Zwz?dxn(g63~lqU"
)


def column(path: Path, name: str) -> list[str | None]:
    [table], problems, _ = open_tables(path)
    assert not problems
    return [value for frame in table.frames([name]) for value in frame[name].to_list()]


@pytest.mark.parametrize(("ending", "content"), [("sav", SAV), ("zsav", ZSAV)])
def test_a_file_of_another_program(tmp_path: Path, ending: str, content: str) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_bytes(zlib.decompress(b85decode(content)))
    [table], _, _ = open_tables(path)
    assert table.columns == (
        *("participant_number", "choice", "reward", "rt", "said", "story", "day"),
    )
    assert table.about["rt"]["Description"] == "response time"
    assert column(path, "participant_number") == ["1", "1", "2", "2"]
    assert column(path, "choice") == ["left", "right", "no response", "left"]
    assert column(path, "rt") == ["0.5", None, "1.25", "2.0"]
    assert column(path, "said") == ["é", None, "a long word", None]
    assert column(path, "story") == ["x" * 300] * 4
    assert column(path, "day") == ["2024-05-01"] * 4


TRIALS = {
    "subject": [1, 1, 1, 1, 2, 2, 2, 2],
    "key": [1, 2, 9, 1, 2, 1, 2, 2],
    "reward": [0, 1, 0, 1, 1, 0, 0, 1],
}
KEYS = {1: "left", 2: "right", 9: "timeout"}


@pytest.mark.parametrize("packed", [0, 1, 2])
def test_labels_name_actions(tmp_path: Path, packed: int) -> None:
    path = tmp_path / "a.sav"
    path.write_bytes(sav(TRIALS, {"key": KEYS}, packed=packed))
    found = inspect(path)
    assert found.study is not None
    assert found.study.actions == ("left", "right")
    assert len(found.study.action) == 7
    assert found.options["missing"] == ("action:timeout",)


def test_declared_missing_values_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.sav"
    path.write_bytes(sav(TRIALS, {"key": KEYS}, {"key": [9.0], "reward": [float("nan"), 5, 99]}))
    assert column(path, "key") == ["left", "right", None, "left", "right", "left", "right", "right"]
    assert column(path, "reward")[1] == "1"
    assert read(path, context="none").actions == ("left", "right")
    path.write_bytes(sav(TRIALS, {}, {"reward": [float("nan"), 1, 99]}))
    assert column(path, "reward")[:3] == ["0", None, "0"]


@pytest.mark.parametrize(
    ("codes", "labels", "shown"),
    [
        ([0, 1, 0], {0: "leer", 1: "Taler"}, ["0", "1", "0"]),  # numbers are rewards
        ([0, 1, 0], {0: "correct", 1: "wrong"}, ["correct", "wrong", "correct"]),
        ([1, 2, 1], {1: "correct", 2: "wrong"}, ["correct", "wrong", "correct"]),
        ([1, 2, 1], {1: "correct"}, ["1", "2", "1"]),  # not all of them have labels
        ([1, 2, 9], {9: "no response"}, ["1", "2", "no response"]),
        ([1, 2, 1], {1: "same", 2: "same"}, ["1", "2", "1"]),  # labels that tell nothing apart
    ],
)
def test_labels_of_rewards(
    tmp_path: Path, codes: list[int], labels: dict[int, str], shown: list[str]
) -> None:
    path = tmp_path / "a.sav"
    path.write_bytes(sav({"reward": codes, "key": codes}, {"reward": labels}))
    assert column(path, "reward") == shown


@pytest.mark.parametrize("version", [114, 117, 118, 119])
def test_stata(tmp_path: Path, version: int) -> None:
    path = tmp_path / "a.dta"
    frame = pd.DataFrame(TRIALS)
    frame["key"] = frame["key"].astype("int8")
    frame["rt"] = [0.25, np.nan, 1, 2, 3, 4, 5, 6]
    frame["word"] = ["a", "", "b b", "c", "d", "e", "f", "g"]
    frame["day"] = datetime(2024, 5, 1, 12, 30)
    frame["story"] = "y" * 200
    frame.to_stata(
        path,
        write_index=False,
        version=version,  # type: ignore[arg-type]
        value_labels={"key": {1: "left", 2: "right"}},  # type: ignore[arg-type]
        variable_labels={"rt": "response time"},
        convert_dates={"day": "tc"},
        convert_strl=["story"] if version > 114 else None,
    )
    frame.loc[2, "key"] = np.nan
    assert column(path, "key")[:4] == ["1", "2", "9", "1"]  # not all of them have labels
    assert column(path, "rt")[:3] == ["0.25", None, "1.0"]
    assert column(path, "word")[:3] == ["a", None, "b b"]
    assert column(path, "day")[0] == "2024-05-01 12:30:00"
    assert column(path, "story")[0] == "y" * 200
    [table], _, _ = open_tables(path)
    assert table.about["rt"]["Description"] == "response time"
    frame.to_stata(path, write_index=False, value_labels={"key": {1: "left", 2: "right"}})  # type: ignore[arg-type]
    assert column(path, "key")[:4] == ["left", "right", None, "left"]
    assert read(path, action="key", context="none").actions == ("left", "right")


@pytest.mark.parametrize("cut", [3, 100, 400, 700])
def test_damaged(tmp_path: Path, cut: int) -> None:
    whole = {"a.sav": sav(), "b.zsav": sav(packed=2)}
    pd.DataFrame(TRIALS).to_stata(tmp_path / "c.dta", write_index=False)
    whole["c.dta"] = (tmp_path / "c.dta").read_bytes()
    for name, content in whole.items():
        (tmp_path / name).write_bytes(content[:cut])
        with pytest.raises(DataError, match=name):
            read(tmp_path / name)


def test_other_files_of_statistics_are_named(tmp_path: Path) -> None:
    for name, what in {
        "a.por": "SPSS portable",
        "a.xpt": "SAS transport",
        "a.sas7bdat": "SAS",
    }.items():
        (tmp_path / name).write_bytes(b"x\0y")
        with pytest.raises(DataError, match=f"an? {what} file"):
            read(tmp_path / name)
