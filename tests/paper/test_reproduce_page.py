"""``reproduction.html``: one file with everything in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from howlearn.paper import reproduce as module
from howlearn.paper.page import page
from howlearn.paper.reproduce import reasons, reproduce

VOID = {"meta", "br", "hr", "img", "link", "input"}
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


class Page(HTMLParser):
    """Tags that are opened are closed; attributes and texts are kept."""

    def __init__(self, text):
        super().__init__()
        self.open, self.attributes, self.texts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def made(original):
    """Without an archive and with one: the result, and its page."""
    pytest.importorskip("vl_convert")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CLAIM_LEARNERS", 6)
        alone, both = reproduce(learners=6), reproduce(learners=6, archive=original)
    return [(result, page(result, "howlearn reproduce --out <x>")) for result in (alone, both)]


def test_it_is_one_well_formed_file(made):
    for _, text in made:
        assert text.startswith("<!doctype html>")
        read = Page(text)
        assert read.open == []
        assert "howlearn reproduce --out <x>" in " ".join(read.texts)  # escaped
        assert "{{" not in text
        assert "None" not in " ".join(read.texts)


def test_it_needs_no_network(made):
    for _, text in made:
        assert set(re.findall(r"https?://[^\s\"'<>)]+", text)) <= NAMESPACES
        for name, value in Page(text).attributes:
            if name in ("src", "href", "xlink:href", "data", "action"):
                assert value is not None
                assert value.startswith(("#", "data:")), (name, value)
        assert not re.search(r"<(script|link|iframe|object|embed)\b", text)
        assert "@import" not in text
        assert not re.search(r"url\((?!#|['\"]?#|data:)", text)


def test_every_figure_stands_there_three_times(made):
    for result, text in made:
        sections = re.findall(r"<section>(.*?)</section>", text, flags=re.DOTALL)
        titles = [re.search(r"<h3>(.*?):", section)[1] for section in sections]
        assert titles == [
            *("Figure 2a", "Figure 2b", "Figure 2c", "Figure 2c, smoothed"),
            *("Figure 3a", "Figure 3b", "Appendix", "Appendix", "Appendix"),
            *("Figure 3c", "Figure 3d"),
        ]
        for title, section in zip(titles, sections, strict=True):
            captions = re.findall(r"<figcaption>(.*?)</figcaption>", section)
            assert captions == ["As published", "From the archive", "Corrected"]
            figures = re.findall(r"<figure>(.*?)</figure>", section, flags=re.DOTALL)
            drawn = ["<svg" in figure for figure in figures]
            assert all("<svg" in f or 'class="none"' in f for f in figures)
            if title in ("Figure 3c", "Figure 3d"):
                assert drawn == [True, False, False]  # no participants here
            else:
                assert drawn[1:] == [result.archive is not None, True]
            if title in ("Figure 2a", "Figure 2b", "Figure 2c", "Figure 3a", "Figure 3b"):
                assert drawn[0]


def test_claims_reasons_and_times(made):
    for result, text in made:
        words = " ".join("".join(Page(text).texts).split())
        for claim in result.claims:
            for cell in (claim.statement, claim.with_fault, claim.corrected, claim.verdict):
                assert str(cell) in words
        for name, why in reasons(result):
            assert name in words
            assert why in words
        for part in ("simulation, figures", "estimation, figures", "selections and errors"):
            assert part in words
        assert re.search(r"charts ?\d+\.\d\d s", words)
        assert re.search(r"all of this ?\d+\.\d s", words)
        assert "about 6 hours" in words
        assert ("The archive" in words) == (result.archive is not None)


def test_best_settings_of_the_published_curves_are_the_published_ones(made):
    """Of Figure 2c three constants are known, and the best ones lie between them."""
    _, text = made[0]
    section = text.partition("Figure 2c:")[2].partition("</figure>")[0]
    words = " ".join(Page(section.partition("</h3>")[2].partition("<figure>")[2]).texts)
    assert "smallest largest error: 0.013" in words
    assert "smallest mean error: 0.023" in words
