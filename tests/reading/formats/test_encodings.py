"""Letters of many languages: found by what the bytes would say, or named, never guessed wildly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from howlearn.core.errors import DataError, HowlearnError
from howlearn.reading.formats.encodings import encoding_of
from howlearn.reading.guess import inspect
from howlearn.reading.read import read

# names of columns (learner, context, action, reward), contexts, actions
WORDS = {
    "ja": (["参加者", "刺激", "選択", "報酬"], ["りんご", "みかん"], ["左ボタン", "右ボタン"]),
    "zh": (["被试编号", "刺激图片", "按键选择", "奖励"], ["苹果", "香蕉"], ["左边", "右边"]),
    "tw": (["受試者編號", "刺激圖片", "選擇", "獎勵"], ["蘋果", "香蕉"], ["左邊", "右邊"]),
    "ko": (["참가자", "자극", "선택", "보상"], ["사과", "바나나"], ["왼쪽", "오른쪽"]),
    "ru": (["Участник", "Стимул", "Выбор", "Награда"], ["яблоко", "груша"], ["левая", "правая"]),
    "fr": (["numéro", "stimulus", "réponse", "réussite"], ["forêt", "mère"], ["côté", "à droite"]),
    "de": (["Prüfling", "Reiz", "Wahl", "Größe"], ["Ärger", "Übung"], ["süß", "böse"]),
}
CASES = [
    ("ja", "shift_jis", "cp932"),
    ("ja", "euc_jp", "euc_jp"),
    ("zh", "gb18030", "gb18030"),
    ("zh", "gbk", "gb18030"),
    ("tw", "big5", "big5"),
    ("ko", "euc_kr", "cp949"),
    ("ru", "windows-1251", "cp1251"),
    ("ru", "koi8-r", "koi8-r"),
    ("fr", "windows-1252", "cp1252"),
    ("de", "latin-1", "cp1252"),
]
UTF16 = [(language, name, name) for language in WORDS for name in ("utf-16-le", "utf-16-be")]


def text_of(language: str) -> str:
    (who, shown, chosen, earned), contexts, actions = WORDS[language]
    rows = [
        f"{p},{contexts[t % 2]},{actions[(t + p) % 3 > 0]},{t % 2}"
        for p in range(1, 4)
        for t in range(20)
    ]
    return "\r\n".join([f"{who},{shown},{chosen},{earned}", *rows, ""])


@pytest.mark.parametrize(("language", "written", "found"), [*CASES, *UTF16])
def test_encodings_are_found(tmp_path: Path, language: str, written: str, found: str) -> None:
    raw = text_of(language).encode(written)
    encoding = encoding_of(raw)
    assert encoding is not None
    assert encoding.name == found
    path = tmp_path / "a.csv"
    path.write_bytes(raw)
    columns, contexts, actions = WORDS[language]
    roles = dict(zip(("learner", "context", "action", "reward"), columns, strict=True))
    study = read(path, **roles)
    assert {*study.contexts} == {*contexts}
    assert {*study.actions} == {*actions}
    assert any("were read as" in note for note in study.notes) == ("utf" not in written)
    said = read(path, encoding=written, **roles)
    assert said.contexts == study.contexts


def test_what_cannot_be_told_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    text = "who,item,choice,reward\n" + "1,山,左,1\n2,山,右,0\n" * 5
    path.write_bytes(text.encode("euc_jp"))  # which Chinese could be, too
    with pytest.raises(DataError, match=r"encoding that cannot be told.*--encoding NAME"):
        inspect(path)
    assert read(path, encoding="euc_jp").actions == ("右", "左")
    controls = "who,item,choice,reward\n" + "1,x,\x8d\x8d\x81,1\n2,y,b,0\n" * 5
    path.write_bytes(controls.encode("latin-1"))
    with pytest.raises(DataError, match="encoding that cannot be told"):
        read(path)


def test_an_encoding_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    rows = [
        {"who": 1, "item": "x", "choice": c, "reward": r} for c, r in (("左", 1), ("右", 0)) * 9
    ]
    path.write_bytes(json.dumps(rows, ensure_ascii=False).encode("big5"))
    assert read(path, encoding="big5").actions == ("右", "左")
    with pytest.raises(HowlearnError, match="--encoding klingon: there is no such encoding"):
        read(path, encoding="klingon")
    with pytest.raises(DataError, match="another encoding than ascii"):
        read(path, encoding="ascii")
