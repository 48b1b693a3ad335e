"""Models that are fitted whole: likelihoods, their slopes, records replayed and played."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.core.world import keep_offered
from howlearn.engine.kernels.frame import (
    ACTION,
    ALL_FEATURES,
    ALL_FORGONE,
    ALL_OFFERED,
    CELL,
    CONTEXT,
    CORRECT,
    DURATION,
    EACH,
    ENDS,
    FEATURES,
    FORGONE,
    LEARN,
    LOAD,
    LOG_P,
    N_ACTIONS,
    N_CONTEXTS,
    N_EACH,
    N_FEATURES,
    N_OFFERED,
    N_POINTS,
    OFFERED,
    OWN_SIZE,
    POLICY,
    REWARD,
    SLOPE,
    START,
    STATE,
    STATE_SIZE,
    TASK,
    array,
    call,
    hold,
    put,
)
from howlearn.engine.kernels.numeric import (
    BARE,
    CACHED,
    LANES,
    LEARNED,
    RESET,
    SCORED,
    n_together,
)

# What is the same for all learners comes first: the addresses of the parts' steps; a frame; the
# parts' own words; the start state; the places of each cell's parameters and of the adjustments',
# whether those of all cells are the same; whether the start state depends on them; the rewards for
# wrong and right; the right answers; the cell of every context (−1: none). Then come the trials:
# context, action, reward, flags, ends, duration, load.


@njit(**BARE)
def begin(steps, frame, own, block, state, x, index, edges, again):
    """The state of every part before the first trial, at parameters x[point]."""
    for i in range(frame[N_POINTS]):
        for k in range(len(block)):
            state[i, k] = block[k]
        for part in range(1, len(steps)):
            own[i, part, 0] = x[i].ctypes.data + 8 * edges[part - 1]
            own[i, part, 1] = edges[part] - edges[part - 1]
    set_theta(frame, own, x, index, 0)
    if again:
        frame[TASK] = START
        call(steps[0], frame.ctypes.data, own.ctypes.data)


@njit(**BARE)
def set_theta(frame, own, x, index, cell):
    """The parameters of a cell, for the first part."""
    for i in range(frame[N_POINTS]):
        for d in range(index.shape[1]):
            put(own[i].ctypes.data, d, x[i, index[cell, d]])


@njit(**BARE)
def show(frame, t, context, cell, load):
    """What is known before a choice."""
    n = frame[N_ACTIONS]
    frame[CONTEXT] = context
    frame[CELL] = cell
    frame[FEATURES] = frame[ALL_FEATURES] + 8 * context * frame[N_FEATURES]
    frame[N_OFFERED] = n
    put(frame.ctypes.data, LOAD, load[t] if len(load) else float(frame[N_CONTEXTS]))
    if frame[ALL_OFFERED]:
        frame[OFFERED] = frame[ALL_OFFERED] + t * n
        offered = array(frame[OFFERED], (n,), np.bool_)
        for a in range(n):
            if not offered[a]:
                frame[N_OFFERED] -= 1


@njit(**BARE)
def policy(steps, frame, own, log_p):
    """Log-probabilities [point, action]."""
    frame[TASK] = POLICY
    for part in range(len(steps)):
        call(steps[part], frame.ctypes.data, own[0, part].ctypes.data)
        if frame[N_OFFERED] < frame[N_ACTIONS]:
            for i in range(frame[N_POINTS]):
                keep_offered(log_p[i], array(frame[OFFERED], (frame[N_ACTIONS],), np.bool_))


@njit(**BARE)
def tell(frame, told, answers, action, reward, ends, duration, t):
    """What is known after a choice; which action was right is told by the outcome, or the task."""
    frame[ACTION] = action
    put(frame.ctypes.data, REWARD, reward)
    put(frame.ctypes.data, DURATION, duration[t] if len(duration) else math.nan)
    frame[ENDS] = 1 if len(ends) == 0 or ends[t] else 0
    if frame[ALL_FORGONE]:
        frame[FORGONE] = frame[ALL_FORGONE] + 8 * t * frame[N_ACTIONS]
    correct = answers[frame[CONTEXT]]
    if reward == told[1]:
        correct = action
    elif reward == told[0] and frame[N_OFFERED] == 2:
        offered = array(frame[OFFERED], (frame[N_ACTIONS],), np.bool_)
        for a in range(len(offered)):
            if offered[a] and a != action:
                correct = a
                break
    frame[CORRECT] = correct


@njit(**BARE)
def learn(steps, frame, own, first):
    """Change the state of the first part, where a trial teaches, and those of adjustments."""
    frame[TASK] = LEARN
    for part in range(first, len(steps)):
        call(steps[part], frame.ctypes.data, own[0, part].ctypes.data)


@njit(**BARE)
def add_slopes(steps, frame, own, index, cell, action, log_p, each, out):
    """Add the derivatives of the log-probability of an action, to out[point]."""
    frame[TASK] = SLOPE
    frame[ACTION] = action
    call(steps[0], frame.ctypes.data, own.ctypes.data)
    for i in range(frame[N_POINTS]):
        for d in range(index.shape[1]):
            out[i, index[cell, d]] += each[i, d]
    if frame[N_OFFERED] == frame[N_ACTIONS]:
        return
    # d log(p / Σ p) = d log p − Σ p·d log p / Σ p, the sums being over what is on offer.
    for a in range(frame[N_ACTIONS]):
        frame[ACTION] = a
        call(steps[0], frame.ctypes.data, own.ctypes.data)
        for i in range(frame[N_POINTS]):
            for d in range(index.shape[1] if log_p[i, a] > -np.inf else 0):
                out[i, index[cell, d]] -= math.exp(log_p[i, a]) * each[i, d]


@njit(**BARE)
def passes(
    steps, frame, own, block, state, log_p, each, total, index, edges, same, again, told, answers,
    cell_of, context, action, reward, flags, ends, duration, load,
    offsets, learner, x_, marks, out, slopes,
):  # fmt: skip
    """What ``likelihoods`` does once there is room for it."""
    p = n = 0
    while p < len(learner):
        n = n_together(p, learner, marks, LANES)
        frame[N_POINTS] = n
        first, last = offsets[learner[p]], offsets[learner[p] + 1]
        x, slope = x_[p : p + n], slopes[p : p + n]
        begin(steps, frame, own, block, state, x, index, edges, again)
        total[:n] = 0.0
        slope[:] = 0.0
        j = 0
        for t in range(first, last):
            while j < marks.shape[1] and marks[p, j] <= t - first:
                for i in range(n):
                    out[p + i, j] = total[i]
                j += 1
            if j == marks.shape[1]:
                break
            if flags[t] & RESET and t > first:
                begin(steps, frame, own, block, state, x, index, edges, again)
            cell = cell_of[context[t]]
            if cell < 0:
                continue
            if not same:
                set_theta(frame, own, x, index, cell)
            show(frame, t, context[t], cell, load)
            if flags[t] & SCORED:
                policy(steps, frame, own, log_p)
                for i in range(n):
                    total[i] += log_p[i, action[t]]
                if len(slopes):
                    add_slopes(steps, frame, own, index, cell, action[t], log_p, each, slope)
            tell(frame, told, answers, action[t], reward[t], ends, duration, t)
            learn(steps, frame, own, 0 if flags[t] & LEARNED else 1)
        for rest in range(j, marks.shape[1]):
            for i in range(n):
                out[p + i, rest] = total[i]
        p += n


@njit(**BARE)
def placed(frame, own, state, log_p):
    """Write into a frame where own words, states and log-probabilities of its points are."""
    frame[N_POINTS] = len(own)
    frame[OWN_SIZE] = 8 * own.shape[1] * own.shape[2]
    frame[STATE_SIZE] = 8 * state.shape[1]
    frame[STATE] = state.ctypes.data
    frame[LOG_P] = log_p.ctypes.data


@njit(**CACHED)
def likelihoods(
    steps, frame_, own_, block, index, edges, same, again, told, answers, cell_of,
    context, action, reward, flags, ends, duration, load,
    offsets, learner, x_, marks, out, slopes,
):  # fmt: skip
    """Of problem p, learner[p] at x[p]: out[p, j], of the scored trials before marks[p, j].

    Marks ascend. With ``slopes`` there is one mark; they are the gradient, as the model gives it.
    """
    frame, own = frame_.copy(), np.empty((LANES, *own_.shape), np.int64)
    for i in range(LANES):  # own[:] = own_ would compile a message on shapes, for two seconds
        for part in range(own_.shape[0]):
            for k in range(own_.shape[1]):
                own[i, part, k] = own_[part, k]
    state, total = np.empty((LANES, len(block)), np.int64), np.empty(LANES)
    log_p, each = np.empty((LANES, frame[N_ACTIONS])), np.empty((LANES, index.shape[1]))
    placed(frame, own, state, log_p)
    frame[EACH] = each.ctypes.data
    frame[N_EACH] = index.shape[1]
    passes(
        steps, frame, own, block, state, log_p, each, total, index, edges, same, again, told,
        answers, cell_of, context, action, reward, flags, ends, duration, load,
        offsets, learner, x_, marks, out, slopes,
    )  # fmt: skip
    hold((frame, own, state, log_p, each))


@njit(**CACHED)
def replay(
    steps, frame_, own_, block, index, edges, same, again, told, answers, cell_of,
    context, action, reward, flags, ends, duration, load,
    look, x, out, latents,
):  # fmt: skip
    """Log-probabilities out[trial, action] and latents[trial, …] before the trial's update."""
    own, state = np.expand_dims(own_.copy(), 0), np.expand_dims(block.copy(), 0)
    frame = frame_.copy()
    placed(frame, own, state, out)
    frame[N_EACH] = latents.shape[1]
    begin(steps, frame, own, block, state, x, index, edges, again)
    for t in range(len(context)):
        if flags[t] & RESET and t > 0:
            begin(steps, frame, own, block, state, x, index, edges, again)
        cell = cell_of[context[t]]
        if cell < 0:
            continue
        set_theta(frame, own, x, index, cell)
        show(frame, t, context[t], cell, load)
        frame[LOG_P] = out[t].ctypes.data
        policy(steps, frame, own, out[t : t + 1])
        seen = reward[t] if flags[t] & LEARNED else math.nan
        tell(frame, told, answers, action[t], seen, ends, duration, t)
        if look:
            frame[EACH] = latents[t].ctypes.data
            call(look, frame.ctypes.data, own.ctypes.data)
        learn(steps, frame, own, 0 if flags[t] & LEARNED else 1)
    hold((frame, own, state))


@njit(**CACHED)
def play(
    steps, frame_, own_, block, index, edges, same, again, told, answers, cell_of,
    context, action, reward, flags, ends, duration, load,
    draws, gains, first_gains, tells, x, actions, rewards,
):  # fmt: skip
    """Draw actions and pay what they earn, as kernels.single does; ``tells``: all gains are seen.

    An instructed trial (one that is not scored) keeps the action and the reward that are there.
    """
    own, state = np.expand_dims(own_.copy(), 0), np.expand_dims(block.copy(), 0)
    frame = frame_.copy()
    n_actions = frame[N_ACTIONS]
    log_p, others = np.empty((1, n_actions)), np.empty(n_actions)
    placed(frame, own, state, log_p)
    frame[ALL_FORGONE] = 0
    frame[FORGONE] = others.ctypes.data
    visited = np.zeros(len(index), np.bool_)
    begin(steps, frame, own, block, state, x, index, edges, again)
    for t in range(len(context)):
        if flags[t] & RESET and t > 0:
            begin(steps, frame, own, block, state, x, index, edges, again)
        cell = cell_of[context[t]]
        if cell < 0:
            continue
        set_theta(frame, own, x, index, cell)
        show(frame, t, context[t], cell, load)
        offered = array(frame[OFFERED], (n_actions,), np.bool_)
        if flags[t] & SCORED:
            policy(steps, frame, own, log_p)
            last = n_actions - 1
            while not offered[last]:
                last -= 1
            drawn = last
            cumulated = 0.0
            for a in range(last):
                cumulated += math.exp(log_p[0, a])
                if draws[t] < cumulated:
                    drawn = a
                    break
            actions[t] = drawn
            rewards[t] = gains[t, drawn]
            if len(first_gains) and not visited[cell]:
                rewards[t] = first_gains[t, drawn]
        visited[cell] = True
        if not flags[t] & LEARNED:
            rewards[t] = math.nan
        for a in range(n_actions):
            others[a] = gains[t, a] if tells and offered[a] and a != actions[t] else math.nan
        tell(frame, told, answers, int(actions[t]), rewards[t], ends, duration, t)
        learn(steps, frame, own, 0 if flags[t] & LEARNED else 1)
    hold((frame, own, state, log_p, others))
