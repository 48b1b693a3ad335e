"""Sums and maxima over all partitions of a set, one step per pair of a set and a cell of it.

A set is a mask of bits. A cell of S that holds its last element leaves a set that comes before S
among the numbers, so that one loop over the numbers meets everything after what it needs.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.numeric import (
    CACHED,
    FLAGS,
    LN2,
    LOG2_E,
    ROUND,
    bits_of,
    exp,
    exponent_of,
    float_of,
    mantissa_of,
)

TIE = 1e-9  # nats; a score must be larger by more than this to come before another
NOTHING = -1e15  # the power of two that stands for a weight of 0


@njit(**FLAGS)
def power(k):
    """2^k for a whole number k from −1022 to 0, as a float; less than that counts as −1022."""
    return float_of((bits_of(max(k, -1022.0) + ROUND) + 1023) << 52)


@njit(**FLAGS)
def split(log_weight, mantissa, exponent):
    """Logs as mantissas times powers of two: products and sums then need no exponential."""
    for c in range(1, len(log_weight)):
        for a in range(log_weight.shape[1]):
            if log_weight[c, a] == -np.inf:
                mantissa[c, a], exponent[c, a] = 1.0, NOTHING
            else:
                k = (log_weight[c, a] * LOG2_E + ROUND) - ROUND
                mantissa[c, a], exponent[c, a] = exp(log_weight[c, a] - k * LN2), k


@njit(**FLAGS)
def sum_over(whole, wm, we, zm, ze, top):
    """Z(whole) = Σ w(C) Z(whole \\ C) over the cells C that hold its last element."""
    last = 1
    while 2 * last <= whole:
        last *= 2
    rest = whole - last
    n = wm.shape[1]
    for a in range(n):
        top[a] = we[whole, a]
    left = rest
    while left > 0:  # what the cell leaves: every subset of the rest
        c = whole - left
        for a in range(n):
            top[a] = max(top[a], we[c, a] + ze[left, a])
        left = (left - 1) & rest
    for a in range(n):
        zm[whole, a] = wm[whole, a] * power(we[whole, a] - top[a])
    left = rest
    while left > 0:
        c = whole - left
        for a in range(n):
            zm[whole, a] += wm[c, a] * zm[left, a] * power(we[c, a] + ze[left, a] - top[a])
        left = (left - 1) & rest
    for a in range(n):
        ze[whole, a] = top[a] + exponent_of(zm[whole, a])
        zm[whole, a] = mantissa_of(zm[whole, a])


@njit(**CACHED)
def plain_totals(weight, every, z):
    """As ``totals``, in plain floats: z[S, a] from the weights themselves."""
    whole = len(weight) - 1
    z[0] = 1.0
    for s in range(1, whole if every else len(weight) // 2):
        add_up(s, weight, z)
    add_up(whole, weight, z)


@njit(**FLAGS)
def add_up(whole, weight, z):
    """Z(whole) from those of smaller sets, in plain floats, two of them at a time."""
    n = weight.shape[1]
    rest = rest_of(whole)
    one = rest & -rest
    rest -= one
    for a in range(n):
        z[whole, a] = weight[whole, a]
    left = rest
    while one > 0:
        c, d = whole - left, whole - left - one
        if left == 0:
            for a in range(n):
                z[whole, a] += weight[d, a] * z[one, a]
            break
        for a in range(n):
            z[whole, a] += weight[c, a] * z[left, a] + weight[d, a] * z[left + one, a]
        left = (left - 1) & rest


@njit(**FLAGS)
def rest_of(whole):
    """A set without its last element."""
    last = 1
    while 2 * last <= whole:
        last *= 2
    return whole - last


@njit(**FLAGS)
def tops(weight, top):
    """top[S, a], the largest product of weights among all partitions of S."""
    top[0] = 1.0
    for s in range(1, len(top)):
        rest = rest_of(s)
        for a in range(weight.shape[1]):
            top[s, a] = weight[s, a]
        left = rest
        while left > 0:
            for a in range(weight.shape[1]):
                top[s, a] = max(top[s, a], weight[s - left, a] * top[left, a])
            left = (left - 1) & rest


@njit(fastmath={"contract", "reassoc"}, error_model="numpy", nogil=True)
def bound(a, b, c):
    """Σ a·b·c, in any order."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i] * c[i]
    return total


@njit(**CACHED)
def best_of_sum(weight, factor, least, limit, score, cells):
    """The partitions with the largest Σ_a factor[a]·Π weight[C, a], if larger than ``least``.

    Cells are chosen one after the other. What the contexts that are left can add is at most, in
    each column, the product of the best partition there: a choice is followed only while that might
    beat the last of the best so far. False if ``limit`` choices were not enough.
    """
    n, depth = weight.shape[1], 0
    n_contexts = cells.shape[1]
    top = np.empty((len(weight) // 2, n))  # what is left never has the last context
    tops(weight, top)
    so_far = np.empty((n_contexts + 1, n))
    so_far[0] = factor
    of, left = np.zeros(n_contexts + 1, np.int64), np.zeros(n_contexts + 1, np.int64)
    of[0] = len(weight) - 1
    chosen = np.zeros(n_contexts, np.int32)
    score[:], cells[:] = least, 0
    tried = 0
    while depth >= 0:
        if left[depth] < 0:  # all choices were made
            depth -= 1
            continue
        others, rest = left[depth], rest_of(of[depth])
        c = of[depth] - others
        left[depth] = (others - rest) & rest  # large cells first
        if left[depth] == 0:
            left[depth] = -1
        tried += 1
        if tried > limit:
            return False
        value = bound(so_far[depth], weight[c], top[others])
        if not value > score[-1] * (1.0 + TIE):
            continue
        chosen[depth] = c
        if others == 0:
            i = len(score) - 1
            while i > 0 and value > score[i - 1] * (1.0 + TIE):
                score[i], cells[i] = score[i - 1], cells[i - 1]
                i -= 1
            score[i] = value
            cells[i] = 0
            cells[i, : depth + 1] = chosen[: depth + 1]
            continue
        depth += 1
        of[depth], left[depth] = others, 0
        for a in range(n):
            so_far[depth, a] = so_far[depth - 1, a] * weight[c, a]
    return True


@njit(**CACHED)
def totals(log_weight, every, log_z):
    """log_z[S, a], the log of the sum over all partitions of S.

    Without ``every`` only sets without the last element, and the whole, are summed.
    """
    shape = log_weight.shape
    wm, we = np.empty(shape), np.empty(shape)
    zm, ze = np.empty(shape), np.empty(shape)
    top = np.empty(shape[1])
    split(log_weight, wm, we)
    whole = len(log_weight) - 1
    stop = whole if every else len(log_weight) // 2
    for s in range(1, stop):
        sum_over(s, wm, we, zm, ze, top)
    sum_over(whole, wm, we, zm, ze, top)
    log_z[0] = 0.0
    for s in range(1, whole + 1):
        if s < stop or s == whole:
            for a in range(shape[1]):
                nothing = ze[s, a] < NOTHING / 2
                log_z[s, a] = -np.inf if nothing else math.log(zm[s, a]) + ze[s, a] * LN2


@njit(**CACHED)
def totals_by_size(log_weight, log_z):
    """log_z[S, k], the log of the sum over all partitions of S into k cells."""
    n = log_z.shape[1]
    top, total = np.empty(n), np.empty(n)
    log_z[:] = -np.inf
    log_z[0, 0] = 0.0
    for s in range(1, len(log_weight)):
        last = 1
        while 2 * last <= s:
            last *= 2
        rest = s - last
        top[:] = -1e300
        total[:] = 0.0
        for again in range(2):
            left = rest
            while True:
                w = log_weight[s - left]
                for k in range(1, n):
                    x = w + log_z[left, k - 1]
                    if again:
                        total[k] += exp(x - top[k]) if x > -np.inf else 0.0
                    else:
                        top[k] = max(top[k], x)
                if left == 0:
                    break
                left = (left - 1) & rest
        for k in range(1, n):
            if total[k] > 0.0 and top[k] > -1e300:
                log_z[s, k] = top[k] + math.log(total[k])


@njit(**FLAGS)
def offer(score, cell, rank, value, c, r):
    """Put a value that beats the last of the best ones in its place; equal ones come after."""
    i = len(score) - 1
    while i > 0 and value > score[i - 1] + TIE:
        score[i], cell[i], rank[i] = score[i - 1], cell[i - 1], rank[i - 1]
        i -= 1
    score[i], cell[i], rank[i] = value, c, r


@njit(**FLAGS)
def best_lists(weight, by_size, score, cell, rank):
    """The best partitions of every S: score[S, k, i] with its last cell, and the rank of the rest.

    Without ``by_size`` all numbers of cells k are in one list, k = 0.
    """
    whole = len(weight) - 1
    sizes = score.shape[1]
    score[:] = -np.inf
    score[0, 0, 0] = 0.0
    for s in range(1, whole + 1):
        if s >= len(weight) // 2 and s != whole:
            continue
        last = 1
        while 2 * last <= s:
            last *= 2
        rest = s - last
        left = 0  # large cells first: of partitions that tie, one with few cells
        while True:
            w = weight[s - left]
            for k in range(1 if by_size else 0, sizes):
                before = k - 1 if by_size else 0
                for r in range(score.shape[2]):
                    value = w + score[left, before, r]
                    if not value > score[s, k, -1] + TIE:
                        break
                    offer(score[s, k], cell[s, k], rank[s, k], value, s - left, r)
            left = (left - rest) & rest
            if left == 0:
                break


@njit(**FLAGS)
def read_list(cell, rank, k, by_size, cells):
    """The cells of the partitions in the list of the whole set with k, cells[i, :], filled by 0."""
    whole = len(cell) - 1
    cells[:] = 0
    for i in range(len(cells)):
        left, size, r, n = whole, k, i, 0
        while left > 0:
            c = cell[left, size, r]
            cells[i, n] = c
            n += 1
            r = rank[left, size, r]
            left -= c
            if by_size:
                size -= 1


@njit(**CACHED)
def best_of_columns(weight, count, score, cells):
    """The best partitions by each column: score[column, i] and cells[column, i, :], filled by 0.

    A list that is longer than there are partitions ends with scores of −inf.
    """
    shape = (len(weight), 1, count)
    scores, last = np.empty(shape), np.zeros(shape, np.int32)
    rank = np.zeros(shape, np.int32)
    column = np.empty(len(weight))
    for a in range(weight.shape[1]):
        column[:] = weight[:, a]
        best_lists(column, False, scores, last, rank)
        found = 0
        while found < count and scores[-1, 0, found] > -np.inf:
            found += 1
        score[a] = scores[-1, 0]
        cells[a] = 0
        read_list(last, rank, 0, False, cells[a, :found])


@njit(**CACHED)
def best_by_size(weight, count, score, cells):
    """The best partitions with each number of cells k: score[k, i] and cells[k, i, :]."""
    shape = (len(weight), len(score), count)
    scores, last = np.empty(shape), np.zeros(shape, np.int32)
    rank = np.zeros(shape, np.int32)
    best_lists(weight, True, scores, last, rank)
    cells[:] = 0
    for k in range(len(score)):
        found = 0
        while found < count and scores[-1, k, found] > -np.inf:
            found += 1
        score[k] = scores[-1, k]
        read_list(last, rank, k, True, cells[k, :found])
