"""The smoother of Figure 2c against R 4.2.2.

Every case is ``predict(loess(FORMULA))[at]`` with ``i <- 1:100`` where nothing else is said and
``noise <- function(i) (37 * i) %% 101 / 101``, printed with ``sprintf("%.16g", …)``.
"""

from __future__ import annotations

import numpy as np
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.paper.versions import loess

INDEX = np.arange(1, 101)
LONG = np.arange(1, 138)
AT = np.array([1, 2, 13, 14, 37, 50, 51, 76, 99, 100])


def noise(i):
    return 37 * i % 101 / 101


# formula, x, y, options, at, what R gives there
CASES = [
    (
        "as.numeric(i > 40) ~ i",
        INDEX,
        INDEX > 40,
        {},
        AT,
        [
            0.05764316632312053,
            0.041103315023314,
            -0.05163962239622087,
            -0.05104286448470104,
            0.3632858540992725,
            0.8754392433058937,
            0.8989577756338075,
            1.051202503019796,
            0.9593151988280562,
            0.9522778547279988,
        ],
    ),
    (
        "pmin(i, 20) / 20 ~ i",
        INDEX,
        np.minimum(INDEX, 20) / 20,
        {},
        AT,
        [
            0.1088328641518345,
            0.1593159751447506,
            0.623964088678759,
            0.6572893483444646,
            1.023063370881762,
            1.000929252345449,
            1.00096245362805,
            1.000000000000001,
            0.9999999999999986,
            0.9999999999999983,
        ],
    ),
    (
        "round(10 / (1 + exp((30 - i) / 6))) / 10 ~ i",
        INDEX,
        np.round(10 / (1 + np.exp((30 - INDEX) / 6))) / 10,
        {},
        AT,
        [
            -0.1342818880316148,
            -0.1147298087074774,
            0.1118281137745799,
            0.1342465698894109,
            0.7215756254396978,
            0.9702690453598606,
            0.9809027924736677,
            1.017646298391705,
            0.9845467912654944,
            0.9817450823508368,
        ],
    ),
    (
        "noise(i) ~ i",
        INDEX,
        noise(INDEX),
        {},
        AT,
        [
            0.4697401837196053,
            0.4723969472466134,
            0.4956347085440876,
            0.4970671518639885,
            0.5038158183228205,
            0.5001051957629463,
            0.4996290888302212,
            0.493922325876834,
            0.5276030527533854,
            0.5302598162803932,
        ],
    ),
    (
        "noise(i) ~ i, span = 0.2",
        INDEX,
        noise(INDEX),
        {"span": 0.2},
        AT,
        [
            0.4371856948524494,
            0.4565923949561403,
            0.4389834822131253,
            0.4624544355536949,
            0.4894207589959363,
            0.5096818484943535,
            0.4980704603695854,
            0.4878711516532699,
            0.5434076050438594,
            0.5628143051475499,
        ],
    ),
    (
        "noise(i) ~ i, span = 1.5",
        INDEX,
        noise(INDEX),
        {"span": 1.5},
        AT,
        [
            0.4855597310289435,
            0.4864216843456743,
            0.4946509939290726,
            0.4952784578233422,
            0.5022326610118168,
            0.5003407787372545,
            0.5001674091534134,
            0.4992845326540441,
            0.5135786134465229,
            0.5144403029460504,
        ],
    ),
    (
        "noise(i) ~ i, degree = 1",
        INDEX,
        noise(INDEX),
        {"degree": 1},
        AT,
        [
            0.4888286367599761,
            0.4893278869194334,
            0.4950550699568817,
            0.4954587622989648,
            0.5057072036572239,
            0.5004074395643109,
            0.4998916924006611,
            0.499879110823864,
            0.5106721130805663,
            0.5111713632400234,
        ],
    ),
    (
        "noise(i) ~ i, degree = 0",
        INDEX,
        noise(INDEX),
        {"degree": 0},
        AT,
        [
            0.4996562685743635,
            0.4996737113920001,
            0.500153241078208,
            0.5001722950761993,
            0.505592644679362,
            0.5004074395643109,
            0.5003051014541733,
            0.4987142125148032,
            0.5003262886079993,
            0.5003437314256358,
        ],
    ),
    (
        "noise(i) ~ i   with i <- 1:6",
        INDEX[:6],
        noise(INDEX[:6]),
        {},
        INDEX[:6],
        [
            0.3663366336633669,
            0.7326732673267324,
            0.09900990099009888,
            0.4653465346534652,
            0.8316831683168316,
            0.1980198019801984,
        ],
    ),
    (
        "noise(i) ~ i   with i <- 1:13",
        INDEX[:13],
        noise(INDEX[:13]),
        {},
        INDEX[:13],
        [
            0.4463712906995589,
            0.4404581216999521,
            0.445774071671467,
            0.4459311385621855,
            0.4710148915524469,
            0.558688078744583,
            0.5643564356435644,
            0.6290087218877563,
            0.600968950620512,
            0.4124424072649291,
            0.3878215783389318,
            0.4610309437245019,
            0.6453308868506705,
        ],
    ),
    (
        "noise(i) ~ i   with i <- 1:137",
        LONG,
        noise(LONG),
        {},
        AT,
        [
            0.4781603478696339,
            0.4797434390795171,
            0.4943464135773035,
            0.4953980671298472,
            0.506618140125929,
            0.499385561578807,
            0.4988853545179188,
            0.4911052430831823,
            0.4841286029339701,
            0.4844207445038627,
        ],
    ),
    (
        "noise(i) ~ x   with i <- 1:60; x <- (7 * i) %% 23",
        7 * INDEX[:60] % 23,
        noise(INDEX[:60]),
        {},
        INDEX[:11],
        [
            0.5097406736929505,
            0.5056649319884895,
            0.4974793857893853,
            0.5166248922656957,
            0.5344465925596114,
            0.464967085190157,
            0.529562829977518,
            0.5342626725841185,
            0.4590760295764702,
            0.5493938977689613,
            0.5087834835840344,
        ],
    ),
]


@pytest.mark.parametrize(
    ("x", "y", "options", "at", "expected"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_equal_to_r(x, y, options, at, expected):
    found = loess(x, y, **options)
    assert found.shape == x.shape
    np.testing.assert_allclose(found[at - 1], expected, rtol=0, atol=1e-13)


def test_order_of_the_points_does_not_matter():
    shuffled = np.random.default_rng(1).permutation(INDEX)
    np.testing.assert_allclose(
        loess(shuffled, noise(shuffled)),
        loess(INDEX, noise(INDEX))[shuffled - 1],
        rtol=0,
        atol=1e-13,
    )


def test_several_curves_at_once():
    curves = np.stack([INDEX > 40, noise(INDEX), noise(INDEX) ** 2], axis=1)
    together = loess(INDEX, curves)
    assert together.shape == (100, 3)
    for k in range(3):
        np.testing.assert_allclose(together[:, k], loess(INDEX, curves[:, k]), rtol=0, atol=1e-14)


def test_smoothed_shares_may_leave_the_unit_interval():
    """What happens to the published curves (SPEC 8.B3)."""
    smoothed = loess(INDEX, INDEX > 40)
    assert smoothed.min() < -0.05
    assert smoothed.max() > 1.05


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (INDEX, INDEX[:50], {}, r"x has shape \(100,\) and y \(50,\)"),
        (INDEX, np.where(INDEX == 3, np.nan, INDEX), {}, "finite"),
        (INDEX, INDEX, {"degree": 3}, "degree 3 is not 0, 1 or 2"),
        (INDEX, INDEX, {"span": 0.02}, "span 0.02 of 100 points leaves too few for degree 2"),
        (INDEX // 50, INDEX, {"span": 0.1, "degree": 1}, "span 0.1 all neighbours of a point"),
        (INDEX * 0, INDEX, {}, "3 different x are needed, 1 found"),
    ],
)
def test_what_cannot_be_smoothed(x, y, options, message):
    with pytest.raises(HowlearnError, match=message):
        loess(x, y, **options)
