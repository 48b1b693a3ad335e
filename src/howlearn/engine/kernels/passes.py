"""One pass over the trials: on a grid of rates, or at given points with the gradient.

Trials outside, the cells that contain the trial's context inside: independent cells hide each
other's latency. What a visit does to a cell comes from ``pair`` or from ``general``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from howlearn.engine.kernels.general import (
    forget,
    grid_buffer,
    log_likelihood,
    move_exponents,
    on_offer,
    probe_buffer,
    probe_forget,
    probe_gradient,
    probe_log_likelihood,
    probe_move_exponents,
    probe_visit,
    scratch_space,
    visit,
)
from howlearn.engine.kernels.numeric import CACHED, FLAGS, LANES, LEARNED, RESET, SCORED, unowned


@njit(**FLAGS)
def rows_by_context(units, unit_starts, unit_contexts, unit_slots, unit_rows, n_contexts):
    """Lay the cells of ``units`` out in rows, and list for each context the rows it belongs to.

    Returns (first entry of each context, row of each entry, first row of each unit).
    """
    starts = np.zeros(n_contexts + 1, np.int64)
    first_row = np.zeros(len(units) + 1, np.int64)
    for i in range(len(units)):
        unit = units[i]
        first_row[i + 1] = first_row[i] + unit_rows[unit]
        for e in range(unit_starts[unit], unit_starts[unit + 1]):
            starts[unit_contexts[e] + 1] += 1
    for c in range(n_contexts):
        starts[c + 1] += starts[c]
    rows = np.empty(starts[n_contexts], np.int64)
    filled = starts[:-1].copy()
    for i in range(len(units)):
        unit = units[i]
        for e in range(unit_starts[unit], unit_starts[unit + 1]):
            context = unit_contexts[e]
            rows[filled[context]] = first_row[i] + unit_slots[e]
            filled[context] += 1
    return starts, rows, first_row


@njit(**FLAGS)
def next_mark(marks, t):
    """The first mark after t; marks need not be in order."""
    mark = np.int64(2**62)
    for j in range(len(marks)):
        if t < marks[j] < mark:
            mark = marks[j]
    return mark


@njit(**FLAGS, inline="always")
def grid_one(
    context,
    action,
    feedback,
    flags,
    offered,
    marks,
    starts,
    rows,
    first_row,
    rates,
    n_actions,
    every,
    out,
):
    """One learner: log-likelihoods out[mark, unit, rate] of the trials before each mark."""
    owner = grid_buffer(first_row[-1], n_actions, rates)
    scratch = scratch_space(n_actions, rates, offered)
    grid_trials(
        context,
        action,
        feedback,
        flags,
        offered,
        marks,
        starts,
        rows,
        first_row,
        n_actions,
        every,
        owner,
        scratch,
        out,
    )


@njit(**FLAGS)
def grid_trials(
    context,
    action,
    feedback,
    flags,
    offered,
    marks,
    starts,
    rows,
    first_row,
    n_actions,
    every,
    owner,
    space,
    out,
):
    """The trials of ``grid_one``, one after the other, in the cells of ``owner``."""
    buffer, scratch = unowned(owner), unowned(space)
    forget(buffer, n_actions)
    visits = np.zeros(len(buffer), np.int64)
    mark = next_mark(marks, -1)
    for t in range(len(context) + 1):
        if t == mark:
            for j in range(len(marks)):
                if marks[j] == t:
                    for unit in range(len(first_row) - 1):
                        total = out[j, unit]
                        total[:] = 0.0
                        for row in range(first_row[unit], first_row[unit + 1]):
                            log_likelihood(buffer[row], n_actions, total)
            mark = next_mark(marks, t)
        if t == len(context):
            break
        if flags[t] & RESET:
            forget(buffer, n_actions)
        scored = (flags[t] & SCORED) != 0
        learned = (flags[t] & LEARNED) != 0
        if len(offered):
            on_offer(scratch, n_actions, offered, t)
        for e in range(starts[context[t]], starts[context[t] + 1]):
            row = rows[e]
            cell = buffer[row]
            visit(cell, scratch, n_actions, action[t], feedback[t], scored, learned)
            visits[row] += 1
            if visits[row] == every:
                move_exponents(cell, n_actions)
                visits[row] = 0


@njit(**CACHED)
def grid(
    offsets, context, action, feedback, flags, offered, marks, units, rates, n_actions, every, out
):
    """Log-likelihoods out[learner, mark, unit, rate] of every unit at rates[parameter, rate]."""
    unit_starts, unit_contexts, unit_slots, unit_rows, n_contexts = units
    every_unit = np.empty(len(unit_rows), np.int64)  # arange takes a fifth of a second to compile
    for i in range(len(every_unit)):
        every_unit[i] = i
    starts, rows, first_row = rows_by_context(
        every_unit, unit_starts, unit_contexts, unit_slots, unit_rows, n_contexts
    )
    for i in range(len(offsets) - 1):
        a, b = offsets[i], offsets[i + 1]
        grid_one(
            context[a:b],
            action[a:b],
            feedback[a:b],
            flags[a:b],
            offered[a:b],
            marks[i],
            starts,
            rows,
            first_row,
            rates,
            n_actions,
            every,
            out[i],
        )


@njit(**FLAGS)
def probe_record(buffer, first_row, n_actions, stops, t, values, gradients):
    """Values and gradients of every unit in the lanes that stop at trial t."""
    for k in range(len(first_row) - 1):
        for i in range(LANES):
            if stops[k, i] == t:
                values[k, i] = 0.0
                gradients[k, :, i] = 0.0
                for row in range(first_row[k], first_row[k + 1]):
                    values[k, i] += probe_log_likelihood(buffer[row], n_actions, i)
                    for d in range(gradients.shape[1]):
                        gradients[k, d, i] += probe_gradient(buffer[row], n_actions, d, i)


@njit(**FLAGS, inline="always")
def probe_one(
    context,
    action,
    feedback,
    flags,
    offered,
    starts,
    rows,
    first_row,
    points,
    stops,
    n_actions,
    every,
    values,
    gradients,
    totals,
):
    """One learner: values and gradients at ``stops``, and the value of all trials, of each lane."""
    owner = probe_buffer(first_row, n_actions, points)
    scratch = scratch_space(n_actions, points[0], offered)
    probe_trials(
        context,
        action,
        feedback,
        flags,
        offered,
        starts,
        rows,
        first_row,
        stops,
        n_actions,
        every,
        owner,
        scratch,
        values,
        gradients,
        totals,
    )


@njit(**FLAGS)
def probe_trials(
    context,
    action,
    feedback,
    flags,
    offered,
    starts,
    rows,
    first_row,
    stops,
    n_actions,
    every,
    owner,
    space,
    values,
    gradients,
    totals,
):
    """The trials of ``probe_one``, one after the other, in the cells of ``owner``."""
    buffer, scratch = unowned(owner), unowned(space)
    probe_forget(buffer, n_actions)
    visits = np.zeros(len(buffer), np.int64)
    flat_stops = stops.reshape(-1)
    mark = next_mark(flat_stops, -1)
    for t in range(len(context) + 1):
        if t == mark:
            probe_record(buffer, first_row, n_actions, stops, t, values, gradients)
            mark = next_mark(flat_stops, t)
        if t == len(context):
            break
        if flags[t] & RESET:
            probe_forget(buffer, n_actions)
        scored = (flags[t] & SCORED) != 0
        learned = (flags[t] & LEARNED) != 0
        if len(offered):
            on_offer(scratch, n_actions, offered, t)
        for e in range(starts[context[t]], starts[context[t] + 1]):
            row = rows[e]
            cell = buffer[row]
            probe_visit(cell, scratch, n_actions, action[t], feedback[t], scored, learned)
            visits[row] += 1
            if visits[row] == every:
                probe_move_exponents(cell, n_actions)
                visits[row] = 0
    for k in range(len(first_row) - 1):
        for i in range(LANES):
            totals[k, i] = 0.0
            for row in range(first_row[k], first_row[k + 1]):
                totals[k, i] += probe_log_likelihood(buffer[row], n_actions, i)


@njit(**CACHED)
def probe(
    offsets,
    context,
    action,
    feedback,
    flags,
    offered,
    units,
    task_learner,
    task_unit,
    points,
    stops,
    n_actions,
    every,
    values,
    gradients,
    totals,
):
    """Evaluate tasks, one unit of one learner at LANES points each; tasks are sorted by learner.

    points[task, parameter, lane] are parameters, stops[task, lane] the trial before which a lane's
    value and gradient are taken; ``totals`` are the values of all trials.
    """
    unit_starts, unit_contexts, unit_slots, unit_rows, n_contexts = units
    first = 0
    while first < len(task_learner):
        last = first
        while last < len(task_learner) and task_learner[last] == task_learner[first]:
            last += 1
        starts, rows, first_row = rows_by_context(
            task_unit[first:last], unit_starts, unit_contexts, unit_slots, unit_rows, n_contexts
        )
        a, b = offsets[task_learner[first]], offsets[task_learner[first] + 1]
        probe_one(
            context[a:b],
            action[a:b],
            feedback[a:b],
            flags[a:b],
            offered[a:b],
            starts,
            rows,
            first_row,
            points[first:last],
            stops[first:last],
            n_actions,
            every,
            values[first:last],
            gradients[first:last],
            totals[first:last],
        )
        first = last


@njit(**CACHED)
def scan(
    offsets,
    context,
    action,
    feedback,
    flags,
    offered,
    units,
    task_learner,
    task_unit,
    points,
    stops,
    n_actions,
    every,
    out,
):
    """Log-likelihoods out[task, 0, 0, rate] of single units at points[task, parameter, rate].

    Each task is one unit of one learner up to its own stop, with values of its own in the lanes.
    """
    unit_starts, unit_contexts, unit_slots, unit_rows, n_contexts = units
    for k in range(len(task_learner)):
        starts, rows, first_row = rows_by_context(
            task_unit[k : k + 1], unit_starts, unit_contexts, unit_slots, unit_rows, n_contexts
        )
        a = offsets[task_learner[k]]
        b = a + stops[k]
        grid_one(
            context[a:b],
            action[a:b],
            feedback[a:b],
            flags[a:b],
            offered[a:b],
            stops[k : k + 1],
            starts,
            rows,
            first_row,
            points[k],
            n_actions,
            every,
            out[k],
        )
