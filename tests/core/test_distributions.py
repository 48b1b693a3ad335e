"""Chances against scipy's, from few to many degrees of freedom."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import special as scipys
from scipy.special import chdtrc, stdtrit

from howlearn.core.arrays import chi_square_tail, special, student_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 11, 540, 1999])
def test_chi_square_is_scipys(freedom):
    for x in (1e-3, 1.0, 0.5 * freedom, 1.3 * freedom, 2.0 * freedom):
        assert chi_square_tail(freedom, x) == pytest.approx(chdtrc(freedom, x), rel=1e-9)
    assert chi_square_tail(freedom, 0.0) == 1.0
    assert chi_square_tail(freedom, np.inf) == 0.0


def test_quantiles_of_t_are_scipys():
    for freedom in (*range(1, 60), 200, 1001):
        wanted = stdtrit(freedom, 0.975)
        assert student_quantile(freedom, 0.95) == pytest.approx(wanted, rel=1e-10)


USED = (
    "ndtr", "ndtri", "gammaln", "psi", "stdtr", "betainc", "gammainc", "gammaincinv", "gammainccinv"
)  # fmt: skip


def test_special_functions_are_scipys_without_its_whole_package():
    """In a fresh process; and scipy itself is none the worse for it."""
    code = f"""if True:
        import sys
        from howlearn.core.arrays import special
        found = [getattr(special(), name) for name in {USED}]
        assert "scipy.special" not in sys.modules and "numpy.f2py" not in sys.modules
        import scipy.special
        assert found == [getattr(scipy.special, each.__name__) for each in found]
        assert scipy.special.logsumexp([0.0]) == 0.0
        """
    subprocess.run([sys.executable, "-c", code], check=True)
    assert special() is special()
    assert special().psi is scipys.psi
