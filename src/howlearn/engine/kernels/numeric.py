"""Exponentials and products of many probabilities, in a form that the compiler vectorises."""

from __future__ import annotations

import math

import numba
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.compiler import Compiler
from numba.core.imputils import impl_ret_untracked
from numba.extending import intrinsic

# It uses the inner workings of numba: only in versions in which it was tried.
if numba.__version__.startswith("0.68."):
    from howlearn.engine.parts import PartCompiler
else:
    PartCompiler = Compiler

# "contract" lets a·b + c be one operation. Full fast-math would remove the rounding trick in `exp`.
# What only compiled code calls needs no wrappers: they take as long as compiling a short function.
FLAGS = {
    "fastmath": {"contract"},
    "error_model": "numpy",
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": PartCompiler,
}
BARE = {**FLAGS, "_nrt": False}  # arrays are only passed on: references need not be counted
ENTRY = {**FLAGS, "pipeline_class": Compiler, "cache": True}  # machine code, by its address
CACHED = {**ENTRY, "no_cpython_wrapper": False}  # what Python calls

LOG2_E = 1.4426950408889634
LN2 = 0.6931471805599453
ROOT_HALF = 0.7071067811865476
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
ROUND = 6755399441055744.0  # 1.5 · 2⁵²: adding it rounds to an integer kept in the low bits
SCORED, LEARNED, RESET = 1, 2, 4  # bits of a trial's flags
LANES = 8  # points at which trials are gone through together


@intrinsic
def bits_of(typingctx, x):
    """The 64 bits of a float."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def float_of(typingctx, x):
    """The float with these 64 bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def unowned(typingctx, array):
    """The same array without a count of its users; the caller keeps the owner alive.

    Taking a row of a counted array is two atomic operations, which on every visit of every cell
    cost as much as the visit itself does to eight lanes.
    """

    def generate(context, builder, signature, arguments):
        make = context.make_array(signature.args[0])
        bare = make(context, builder, value=arguments[0])
        bare.meminfo = cgutils.get_null_value(bare.meminfo.type)
        bare.parent = cgutils.get_null_value(bare.parent.type)
        return impl_ret_untracked(context, builder, signature.return_type, bare._getvalue())

    return array(array), generate


@njit(**FLAGS)
def exp(x):
    """e^x for x ≤ 700 to about 1e-15; below −708 it stays at e^−708."""
    x = max(x, -708.0)
    t = x * LOG2_E + ROUND
    k = t - ROUND
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = 1 / 39916800.0
    p = p * r + 1 / 3628800.0
    p = p * r + 1 / 362880.0
    p = p * r + 1 / 40320.0
    p = p * r + 1 / 5040.0
    p = p * r + 1 / 720.0
    p = p * r + 1 / 120.0
    p = p * r + 1 / 24.0
    p = p * r + 1 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * float_of((bits_of(t) + 1023) << 52)


@njit(**FLAGS)
def exponent_of(x):
    """The power of two in a positive normal float."""
    return (bits_of(x) >> 52) - 1023


@njit(**FLAGS)
def mantissa_of(x):
    """x without its power of two: a number in [1, 2)."""
    return float_of(bits_of(x) - (exponent_of(x) << 52))


@njit(**FLAGS)
def log(x):
    """Of a positive normal number, to about 1e-15, in a form that vectorises."""
    k = (bits_of(x) - bits_of(ROOT_HALF)) >> 52
    m = float_of(bits_of(x) - (k << 52))  # between √½ and √2
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = 1 / 21.0
    p = p * z + 1 / 19.0
    p = p * z + 1 / 17.0
    p = p * z + 1 / 15.0
    p = p * z + 1 / 13.0
    p = p * z + 1 / 11.0
    p = p * z + 1 / 9.0
    p = p * z + 1 / 7.0
    p = p * z + 1 / 5.0
    p = p * z + 1 / 3.0
    p = p * z + 1.0
    return k * LN2 + 2.0 * s * p


@njit(**FLAGS)
def log_of_product(mantissa, exponent):
    """The log of a product whose power of two was moved into a counter."""
    return math.log(mantissa) + exponent * LN2


@njit(**BARE)
def n_together(p, learner, marks, most):
    """How many problems from p on are about the same trials."""
    n = 1
    while n < most and p + n < len(learner) and learner[p + n] == learner[p]:
        for j in range(marks.shape[1]):
            if marks[p + n, j] != marks[p, j]:
                return n
        n += 1
    return n
