"""How the shared loops and a model's own functions, compiled apart, tell each other of a trial.

The loops write what a model is told into a frame, words of eight bytes in memory, and call the
model's ``step`` by its address. So the loops are compiled once, whatever the models are. A step
does its task at several points, that is at several values of the parameters, one after the other:
what they compute is independent, so that the processor works on some of them at the same time.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from howlearn.engine.kernels.numeric import FLAGS

# What a step is asked for.
POLICY, LEARN, SLOPE, LOOK, START = 0, 1, 2, 3, 4

# The words of a frame; what is not a number is an address.
TASK, STATE, LOG_P, EACH, N_EACH = 0, 1, 2, 3, 4
CONTEXT, CELL, FEATURES, OFFERED, N_OFFERED = 5, 6, 7, 8, 9
ACTION, REWARD, CORRECT, FORGONE, ENDS, DURATION = 10, 11, 12, 13, 14, 15
N_ACTIONS, N_CELLS, N_CONTEXTS, N_FEATURES = 16, 17, 18, 19
ALL_FEATURES, LEVELS, N_LEVELS, NUMERIC, LOWEST, HIGHEST = 20, 21, 22, 23, 24, 25
ALL_OFFERED, ALL_FORGONE, LOAD = 26, 27, 28
N_POINTS, OWN_SIZE, STATE_SIZE, WORDS = 29, 30, 31, 32  # the sizes, in bytes, of one point's


def _place(builder, address, i, kind):
    at = builder.add(address, builder.mul(i, ir.Constant(i.type, 8)))
    return builder.inttoptr(at, kind.as_pointer())


@intrinsic
def word(typingctx, address, i):
    """The word at a place of a frame."""

    def generate(context, builder, signature, arguments):
        return builder.load(_place(builder, *arguments, ir.IntType(64)))

    return types.int64(types.int64, types.int64), generate


@intrinsic
def number(typingctx, address, i):
    """The number at a place of a frame."""

    def generate(context, builder, signature, arguments):
        return builder.load(_place(builder, *arguments, ir.DoubleType()))

    return types.float64(types.int64, types.int64), generate


@intrinsic
def put(typingctx, address, i, value):
    """Write a number at a place of a frame."""

    def generate(context, builder, signature, arguments):
        address, i, value = arguments
        builder.store(value, _place(builder, address, i, ir.DoubleType()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float64), generate


@intrinsic
def array(typingctx, address, shape, dtype):
    """The array at an address, which somebody else holds: its references are not counted.

    Counting costs far more than the arithmetic of a small model.
    """
    made = types.Array(dtype.dtype, len(shape), "C")

    def generate(context, builder, signature, arguments):
        found = context.make_array(made)(context, builder)
        item = context.get_constant(types.intp, context.get_abi_sizeof(
            context.get_data_type(made.dtype)))  # fmt: skip
        sizes, strides, step = cgutils.unpack_tuple(builder, arguments[1]), [], item
        for size in reversed(sizes):
            strides.insert(0, step)
            step = builder.mul(step, size)
        data = builder.inttoptr(arguments[0], found.data.type)
        populate_array(found, data, sizes, strides, item, None)
        return found._getvalue()

    sizes = types.UniTuple(types.int64, len(shape))
    return made(types.int64, sizes, dtype), generate


@intrinsic
def copied(typingctx, to, source):
    """Copy the numbers of an array into another one of the same size and layout."""

    def generate(context, builder, signature, arguments):
        there, here = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, arguments, strict=True)
        )
        cgutils.raw_memcpy(builder, there.data, here.data, here.nitems, here.itemsize)
        return context.get_dummy_value()

    return types.void(to, source), generate


@njit(**FLAGS)
def copy(to, source):
    """Copy a start state to where it is kept; its size may not depend on parameters."""
    if to.size != source.size:
        raise ValueError("the size of a start state may not depend on parameters")
    copied(to, np.ascontiguousarray(source))


@intrinsic
def call(typingctx, step, frame, own):
    """Call a step by its address; what it raises is raised here."""
    given = (types.int64, types.int64)

    def generate(context, builder, signature, arguments):
        step, *rest = arguments
        kind = context.call_conv.get_function_type(types.none, given)
        callee = builder.inttoptr(step, kind.as_pointer())
        status, _ = context.call_conv.call_function(builder, callee, types.none, given, rest)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.void(types.int64, *given), generate


@intrinsic
def hold(typingctx, value):
    """Keep an owner alive until here."""

    def generate(context, builder, signature, arguments):
        return context.get_dummy_value()

    return types.void(value), generate
