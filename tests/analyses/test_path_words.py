"""What is said about paths made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from howlearn.analyses.path_result import Path
from howlearn.core.columns import of


def path_of(prices, bounds=(), priors=(), n: int = 4, conditions: bool = False) -> Path:
    rows = [("1", "kappa", None, "kappa", low, high, model) for low, high, model in prices]
    rows += [("1", "max_rate", v, c, None, None, m) for v, c, m in bounds]
    rows += [("1", "prior", None, c, None, None, m) for c, m in priors]
    marks = [("penalized(c=0.012)", 0.46, 0.4, 0.5), ("aic", 1.0, 1.0, 1.0), ("bic", 3.1, 3.0, 3.2)]
    return Path(
        pl.DataFrame(
            rows, schema={"learner": pl.String, **of("path-learners", "path").types}, orient="row"
        ),
        ("Fine", "Coarse"),
        ("aic", "bic"),
        n,
        10.0,
        pl.DataFrame(marks, schema=["criterion", "kappa", "lowest", "highest"], orient="row"),
        conditions,
    )


CHANGING = [(0.0, 1.4, "Fine"), (1.4, 10.0, "Coarse")]
STAYING = [(0.0, 10.0, "Coarse")]


def test_a_leader_who_changes_with_the_price() -> None:
    price, meaning, *_ = path_of(CHANGING * 3 + STAYING).sentences
    assert price == (
        "Price: the leading model is Fine from 0 to 1.4 nats per parameter and Coarse beyond "
        "(up to 10)."
    )
    assert meaning == (
        "The paper's penalized(c=0.012) stands at 0.46 nats (0.4 to 0.5 over learners), aic at 1 "
        "and bic at 3.1 (3 to 3.2 over learners). The leading model depends on which of them is "
        "taken (Fine at 0.46, Fine at 1 and Coarse at 3.1): report it, and the path. Between 0.46 "
        "and 3.1 nats the selection changes for 3 of 4 learners."
    )


def test_a_leader_who_stays() -> None:
    price, meaning, *_ = path_of(CHANGING + STAYING * 3, conditions=True).sentences
    assert price == (
        "Price: Coarse leads at every price from 0 to 10 nats per parameter, with 75% to 100% of "
        "the sequences."
    )
    assert "Coarse leads at all of these prices" in meaning
    assert "changes for 1 of 4 sequences" in meaning


def test_a_change_that_no_criterion_sees() -> None:
    price, meaning, *_ = path_of([(0.0, 5.0, "Fine"), (5.0, 10.0, "Coarse")], n=1).sentences
    assert "Fine from 0 to 5 nats per parameter and Coarse beyond" in price
    assert "Fine leads at all of these prices" in meaning


def test_many_changes_are_counted() -> None:
    names = "Fine", "Coarse"
    prices = [(float(k), k + 1.0, names[k % 2]) for k in range(10)]
    assert path_of(prices, n=1).sentences[0] == (
        "Price: the leading model changes 9 times between 0 and 10 nats per parameter, first "
        "at 1 from Fine to Coarse, last at 9 to Coarse (path-leaders has all)."
    )


def test_bounds() -> None:
    bounds = [(v, c, "Coarse") for v in (0.5, 1.0) for c in ("aic", "bic")]
    bounds += [(20.0, "aic", "Fine"), (20.0, "bic", "Coarse")]
    said = path_of(STAYING, bounds, n=1).sentences[2]
    assert said == (
        "Largest rate: between 0.5 and 20 the leading model changes by 1 of 2 criteria: Coarse "
        "with 0.5 to 1 and Fine with 20 by aic; Coarse by bic. The bound is a convention, and a "
        "wide one favours finer partitions: report which one was used, and that it matters."
    )
    said = path_of(STAYING, bounds[:4], n=1).sentences[2]
    assert said == (
        "Largest rate: between 0.5 and 1 the leading model stays: Coarse by aic and bic."
    )
    said = path_of(STAYING, bounds[:2], n=1).sentences[2]
    assert said == "Largest rate: with 0.5, the only one tried, Coarse by aic and bic."


@pytest.mark.parametrize("name", ["Coarse", "Black and white"])
def test_priors(name: str) -> None:
    priors = [("evidence", name), ("evidence, spread 0.1", name), ("population", name)]
    said = path_of(STAYING, priors=priors, n=1).sentences[-1]
    assert said == f"Prior: {name} leads whatever is assumed about learning rates."
    priors[1] = ("evidence, spread 0.1", "white and Fine")
    said = path_of(STAYING, priors=priors, n=1).sentences[-1]
    assert said.startswith(
        f"Prior: {name} leads by evidence, which averages over spreads, but white and Fine with "
        "“evidence, spread 0.1”."
    )
    level = [("evidence", "Fine"), ("evidence", "Coarse"), ("evidence, spread 0.1", "Fine")]
    level += [("evidence, spread 0.1", "Fine")]
    said = path_of(STAYING, priors=level, n=2).sentences[-1]
    assert "Fine and Coarse lead whatever" in said
