"""Models that are fitted whole: likelihoods, their slopes, records replayed and played."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from howlearn.core.world import Shown, Trial, World
from howlearn.engine.kernels.numeric import CACHED, FLAGS, LEARNED, RESET, SCORED
from howlearn.engine.kernels.parts import begin, learn, look, note, policy, slope

# What is the same for all learners comes as `stage`: number of actions and of cells; features,
# levels, numbers of levels, which are numeric; lowest and highest reward; the rewards for wrong and
# right; the right answers; the cell of every context (−1: none); the places of each cell's
# parameters and of the adjustments'. Trials come as `trials`: context, action, reward, flags,
# forgone, ends, duration, offered, load.


@intrinsic
def borrowed(typingctx, value):
    """Arrays, or tuples of them, whose references are not counted.

    Counting costs far more than the arithmetic of a small model. The owner must be held for as long
    as what was borrowed is used.
    """

    def borrow(context, builder, kind, given):
        if isinstance(kind, types.Array):
            array = cgutils.create_struct_proxy(kind)(context, builder, given)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            array.parent = cgutils.get_null_value(array.parent.type)
            return array._getvalue()
        if isinstance(kind, types.BaseTuple):
            members = [
                borrow(context, builder, member, builder.extract_value(given, i))
                for i, member in enumerate(kind.types)
            ]
            return context.make_tuple(builder, kind, members)
        if context.enable_nrt:
            context.nrt.incref(builder, kind, given)
        return given

    def generate(context, builder, signature, arguments):
        return borrow(context, builder, signature.args[0], arguments[0])

    return value(value), generate


@intrinsic
def hold(typingctx, value):
    """Keep an owner alive until here."""

    def generate(context, builder, signature, arguments):
        return context.get_dummy_value()

    return types.void(value), generate


@njit(**FLAGS)
def world_of(stage):
    """What a start state may depend on."""
    n_actions, n_cells, features, levels, n_levels, numeric, lowest, highest = stage[:8]
    return World(
        n_actions, n_cells, len(features), features, levels, n_levels, numeric, lowest, highest
    )


@njit(**FLAGS)
def answer(told, answers, context, action, reward, offered, n_offered):
    """The action that was right: the outcome tells, or the task; −1 if neither does."""
    wrong, right = told
    if reward == right:
        return action
    if reward == wrong and n_offered == 2:
        for a in range(len(offered)):
            if offered[a] and a != action:
                return a
    return answers[context]


@njit(**FLAGS)
def count(offered):
    """How many actions are on offer."""
    n = 0
    for a in range(len(offered)):
        n += 1 if offered[a] else 0
    return n


@njit(**FLAGS)
def follow(stage, trials, first, last, x_, marks_, out_):
    """Log-likelihoods out[j] of the scored trials before first + marks[j]; marks ascend."""
    context, action, reward, flags, forgone, ends, duration, offered, load = borrowed(trials)
    features, answers, cell_of, index, edges = borrowed((stage[2], *stage[10:]))
    n_actions, extent, told = stage[0], stage[6:8], stage[8:10]
    x, marks, out = borrowed((x_, marks_, out_))
    own = (np.full(n_actions, np.nan), np.empty(n_actions), np.ones(n_actions, np.bool_))
    unknown, log_p, everything = borrowed(own)
    world = world_of(stage)
    owner = begin(world, x, index)
    state = borrowed(owner)
    total = 0.0
    j = 0
    for t in range(first, last):
        while j < len(marks) and marks[j] <= t - first:
            out[j] = total
            j += 1
        if j == len(marks):
            break
        if flags[t] & RESET and t > first:
            owner = begin(world, x, index)
            state = borrowed(owner)
        c, a = context[t], action[t]
        cell = cell_of[c]
        if cell < 0:
            continue
        row = features[c]
        on_offer = offered[t] if len(offered) else everything
        n_offer = count(on_offer) if len(offered) else n_actions
        size = load[t] if len(load) else float(len(features))
        if flags[t] & SCORED:
            policy(state, Shown(c, cell, row, on_offer, n_offer, size), x, index, edges, log_p)
            total += log_p[a]
        correct = answer(told, answers, c, a, reward[t], on_offer, n_offer)
        others = forgone[t] if len(forgone) else unknown
        last_one = ends[t] if len(ends) else True
        time = duration[t] if len(duration) else math.nan
        trial = Trial(
            c, cell, row, on_offer, n_offer, size, a, reward[t], correct, others, last_one, time
        )
        if flags[t] & LEARNED:
            learn(extent, state, trial, x, index)
        note(state, trial, x, edges)
    for rest in range(j, len(marks)):
        out[rest] = total
    hold(owner)
    hold(own)


@njit(**CACHED)
def likelihoods(stage, trials, offsets, learner, x, marks, out):
    """Of problem p, learner[p] at x[p]: out[p, j], the trials before marks[p, j]."""
    for p in range(len(learner)):
        i = learner[p]
        follow(stage, trials, offsets[i], offsets[i + 1], x[p], marks[p], out[p])


@njit(**CACHED)
def shifted(stage, trials, offsets, learner, x, to, marks, out):
    """The likelihood before marks[p, 0] with one parameter after the other moved to to[p, d]."""
    value = np.empty(1)
    for p in range(len(learner)):
        i = learner[p]
        point = x[p].copy()
        for d in range(to.shape[1]):  # what is held does not move
            point[d] = to[p, d]
            follow(stage, trials, offsets[i], offsets[i + 1], point, marks[p], value)
            out[p, d] = value[0]
            point[d] = x[p, d]


@njit(**CACHED)
def slopes(stage, trials, offsets, learner, x_, marks, value, out_):
    """The likelihood before marks[p, 0] and its gradient, as the model gives it."""
    context, action, reward, flags, forgone, ends, duration, offered, load = borrowed(trials)
    features, answers, cell_of, index, edges = borrowed((stage[2], *stage[10:]))
    n_actions, extent, told = stage[0], stage[6:8], stage[8:10]
    everything = np.ones(n_actions, np.bool_)
    own = (np.full(n_actions, np.nan), np.empty(index.shape[1]), np.empty(n_actions), everything)
    unknown, each, log_p, everything = borrowed(own)
    world = world_of(stage)
    for p in range(len(learner)):
        first, last = offsets[learner[p]], offsets[learner[p] + 1]
        x, out = borrowed((x_[p], out_[p]))
        out[:] = 0.0
        value[p] = 0.0
        owner = begin(world, x, index)
        state = borrowed(owner)
        for t in range(first, min(last, first + marks[p, 0])):
            if flags[t] & RESET and t > first:
                owner = begin(world, x, index)
                state = borrowed(owner)
            c, a = context[t], action[t]
            cell = cell_of[c]
            if cell < 0:
                continue
            row = features[c]
            on_offer = offered[t] if len(offered) else everything
            n_offer = count(on_offer) if len(offered) else n_actions
            size = load[t] if len(load) else float(len(features))
            if flags[t] & SCORED:
                shown = Shown(c, cell, row, on_offer, n_offer, size)
                policy(state, shown, x, index, edges, log_p)
                value[p] += log_p[a]
                slope(state[0], shown, x, index, a, log_p, each, out)
            if flags[t] & LEARNED:
                correct = answer(told, answers, c, a, reward[t], on_offer, n_offer)
                others = forgone[t] if len(forgone) else unknown
                last_one = ends[t] if len(ends) else True
                time = duration[t] if len(duration) else math.nan
                trial = Trial(
                    c,
                    cell,
                    row,
                    on_offer,
                    n_offer,
                    size,
                    a,
                    reward[t],
                    correct,
                    others,
                    last_one,
                    time,
                )
                learn(extent, state, trial, x, index)
        hold(owner)
    hold(own)


# The two below are called once per learner: references may be counted.


@njit(**CACHED)
def replay(stage, trials, x, out, latents):
    """Log-probabilities out[trial, action] and latents[trial, …] before the trial's update."""
    context, action, reward, flags, forgone, ends, duration, offered, load = trials
    features, answers, cell_of, index, edges = (stage[2], *stage[10:])
    n_actions, extent, told = stage[0], stage[6:8], stage[8:10]
    unknown, everything = np.full(n_actions, np.nan), np.ones(n_actions, np.bool_)
    world = world_of(stage)
    state = begin(world, x, index)
    for t in range(len(context)):
        if flags[t] & RESET and t > 0:
            state = begin(world, x, index)
        c, a = context[t], action[t]
        cell = cell_of[c]
        if cell < 0:
            continue
        on_offer = offered[t] if len(offered) else everything
        n_offer = count(on_offer) if len(offered) else n_actions
        size = load[t] if len(load) else float(len(features))
        policy(state, Shown(c, cell, features[c], on_offer, n_offer, size), x, index, edges, out[t])
        seen = reward[t] if flags[t] & LEARNED else math.nan
        correct = answer(told, answers, c, a, seen, on_offer, n_offer)
        others = forgone[t] if len(forgone) else unknown
        last_one = ends[t] if len(ends) else True
        time = duration[t] if len(duration) else math.nan
        trial = Trial(
            c, cell, features[c], on_offer, n_offer, size, a, seen, correct, others, last_one, time
        )
        if latents.shape[1]:
            look(state[0], trial, x, index, latents[t])
        if flags[t] & LEARNED:
            learn(extent, state, trial, x, index)
        note(state, trial, x, edges)


@njit(**CACHED)
def play(stage, trials, draws, gains, first_gains, tells, x, actions, rewards):
    """Draw actions and pay what they earn, as kernels.single does; ``tells``: all gains are seen.

    An instructed trial (one that is not scored) keeps the action and the reward that are there.
    """
    context, flags = trials[0], trials[3]
    ends, duration, offered, load = trials[5:]
    features, answers, cell_of, index, edges = (stage[2], *stage[10:])
    n_actions, extent, told = stage[0], stage[6:8], stage[8:10]
    log_p, everything = np.empty(n_actions), np.ones(n_actions, np.bool_)
    visited = np.zeros(stage[1], np.bool_)
    world = world_of(stage)
    state = begin(world, x, index)
    for t in range(len(context)):
        if flags[t] & RESET and t > 0:
            state = begin(world, x, index)
        c = context[t]
        cell = cell_of[c]
        if cell < 0:
            continue
        on_offer = offered[t] if len(offered) else everything
        n_offer = count(on_offer) if len(offered) else n_actions
        size = load[t] if len(load) else float(len(features))
        if flags[t] & SCORED:
            policy(
                state, Shown(c, cell, features[c], on_offer, n_offer, size), x, index, edges, log_p
            )
            last = n_actions - 1
            while not on_offer[last]:
                last -= 1
            action = last
            cumulated = 0.0
            for a in range(last):
                cumulated += math.exp(log_p[a])
                if draws[t] < cumulated:
                    action = a
                    break
            actions[t] = action
            rewards[t] = gains[t, action]
            if len(first_gains) and not visited[cell]:
                rewards[t] = first_gains[t, action]
        visited[cell] = True
        if not flags[t] & LEARNED:
            rewards[t] = math.nan
        others = np.full(n_actions, np.nan)
        if tells:
            for a in range(n_actions):
                if on_offer[a] and a != actions[t]:
                    others[a] = gains[t, a]
        correct = answer(told, answers, c, int(actions[t]), rewards[t], on_offer, n_offer)
        last_one = ends[t] if len(ends) else True
        time = duration[t] if len(duration) else math.nan
        chosen, row = int(actions[t]), features[c]
        trial = Trial(
            c,
            cell,
            row,
            on_offer,
            n_offer,
            size,
            chosen,
            rewards[t],
            correct,
            others,
            last_one,
            time,
        )
        if flags[t] & LEARNED:
            learn(extent, state, trial, x, index)
        note(state, trial, x, edges)
