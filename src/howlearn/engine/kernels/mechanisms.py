"""A learner with every part that it may have: likelihood, and play.

One loop over trials knows all parts; a part that is off stands at its neutral value. Values are
kept as distances from the middle of the rewards, where they start and to which they fade.
``natural`` turns coordinates into parameters, and what is joined above this file (``OWN``,
``own_adjust``, ``own_update``) are the parts of the user.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.example import OWN, own_adjust, own_start, own_update
from howlearn.engine.kernels.numeric import FLAGS, LEARNED, RESET, SCORED, exp

# Places of parameters; then a bias for every action, then what the parts of the user have.
(
    ALPHA, BETA, ETA, STICKINESS, TRACE, PHI, ASYMMETRY, LAPSE, GENERALISATION, FICTIVE, ATTENTION,
    DRIFT, PAVLOVIAN, RESTING, BIAS,
) = range(15)  # fmt: skip
SHARE, POSITIVE, SIGNED, VECTOR = range(4)  # kinds of coordinates
DELTA, GRADIENT = range(2)  # bases
# What only passes arrays on does not count references: that costs more than the arithmetic
INSIDE = {**FLAGS, "_nrt": False}
TRACE_RATE = 0.2  # of a choice trace
SMALL = 1e-100  # a product of probabilities below which its logarithm is taken
FURTHEST = 12.0  # a logit, or a log: further is at a bound


@njit(**INSIDE)
def natural(x, on, kinds, places, directions, theta):
    """Parameters from coordinates; what is off is neutral."""
    for s in range(len(theta)):
        theta[s] = 0.0
    for j in range(len(kinds)):
        if not on[j]:
            continue
        if kinds[j] == SHARE:
            theta[places[j]] = 1.0 / (1.0 + exp(-min(max(x[j], -FURTHEST), FURTHEST)))
        elif kinds[j] == POSITIVE:
            theta[places[j]] = exp(min(max(x[j], -FURTHEST), 5.0))
        elif kinds[j] == SIGNED:
            theta[places[j]] = min(max(x[j], -20.0), 20.0)
        else:
            for a in range(len(directions)):
                theta[places[j] + a] += directions[a, j] * min(max(x[j], -20.0), 20.0)


@njit(**INSIDE)
def _on_offer(offered, t, a):
    return len(offered) == 0 or offered[t, a]


@njit(**INSIDE)
def _forget_all(values, attention, level, trace, seen):
    for c in range(len(values)):
        level[c] = 0.0
        seen[c] = 0
        for a in range(values.shape[1]):
            values[c, a] = 0.0
            attention[c, a] = 1.0
            trace[c, a] = 0.0


@njit(**INSIDE)
def _softmax(offered, t, p):
    """From scores to probabilities, in place: of what is not on offer they are 0."""
    if len(offered) == 0 and len(p) == 2:  # one exponential will do
        gap = p[1] - p[0]
        small = exp(-abs(gap))
        large = 1.0 / (1.0 + small)
        p[0], p[1] = (small * large, large) if gap > 0.0 else (large, small * large)
        return
    top, total = -1e300, 0.0
    for a in range(len(p)):
        if _on_offer(offered, t, a):
            top = max(top, p[a])
    for a in range(len(p)):
        p[a] = exp(p[a] - top) if _on_offer(offered, t, a) else 0.0
        total += p[a]
    for a in range(len(p)):
        p[a] /= total


@njit(**INSIDE)
def _policy(theta, base, c, t, last, offered, when, no_go, values, level, trace, p):
    """Probabilities of the actions, but for lapses."""
    beta = theta[BETA] if base == DELTA else 1.0
    if theta[DRIFT] != 0.0:
        beta *= exp(theta[DRIFT] * when[t])
    for a in range(len(p)):
        p[a] = beta * values[c, a] + theta[BIAS + a] + theta[TRACE] * trace[c, a]
        if a != no_go:
            p[a] += theta[PAVLOVIAN] * level[c]
    if last >= 0:
        p[last] += theta[STICKINESS]
    _softmax(offered, t, p)


@njit(**INSIDE)
def _pull(h, o, p, offered, t, k, step, phi):
    """The gradient bandit: h_a ← h_a + η·r·(1{a chosen} − p_a), p the softmax of h."""
    for a in range(len(p)):
        p[a] = h[o, a]
    _softmax(offered, t, p)
    for a in range(len(p)):
        if a != k:
            h[o, a] *= 1.0 - phi
        h[o, a] += step * ((1.0 if a == k else 0.0) - p[a])


@njit(**INSIDE)
def _learn(theta, base, c, t, k, r, up, down, offered, forgone, zero, q, attention, level, p):
    """What is learned from an outcome in its context."""
    phi = theta[PHI]
    if base == GRADIENT:
        _pull(q, c, p, offered, t, k, theta[ETA] * (r + 0.5), phi)
        return
    for a in range(len(p)):
        outcome = r
        if a != k:
            outcome = forgone[t, a] - theta[RESTING] if len(forgone) else np.nan
        if math.isnan(outcome):
            if theta[FICTIVE] > 0.0 and _on_offer(offered, t, a):
                error = -r - 2.0 * theta[RESTING] - q[c, a]
                q[c, a] += theta[FICTIVE] * (up if error > 0.0 else down) * error
            q[c, a] *= 1.0 - phi
            continue
        error = outcome - q[c, a]
        rate = up if error > 0.0 else down
        if theta[ATTENTION] > 0.0:
            rate *= attention[c, a]
            attention[c, a] += theta[ATTENTION] * (min(1.0, abs(error)) - attention[c, a])
        q[c, a] += rate * error
    if theta[PAVLOVIAN] != 0.0:
        error = r + theta[RESTING] - zero - level[c]
        level[c] += (up if error > 0.0 else down) * error


@njit(**INSIDE)
def _generalise(theta, base, c, t, k, r, up, down, clock, offered, alike, q, seen, power, p):
    """What is learned in other contexts, after these were forgotten for a trial."""
    for o in range(len(q)):
        if o == c:
            continue
        if seen[o] < clock:
            for a in range(len(p)):
                q[o, a] *= power[clock - seen[o]]
            seen[o] = clock
        weight = theta[GENERALISATION] * alike[c, o]
        if weight > 0.0 and base == GRADIENT:
            _pull(q, o, p, offered, t, k, weight * theta[ETA] * (r + 0.5), 0.0)
        elif weight > 0.0:
            error = r - q[o, k]
            q[o, k] += weight * (up if error > 0.0 else down) * error


@njit(**INSIDE)
def _drawn(p, u):
    """An action, from its probabilities."""
    k = len(p) - 1
    for a in range(len(p)):
        u -= p[a]
        if u < 0.0:
            k = a
            break
    while p[k] <= 0.0:  # rounding
        k -= 1
    return k


@njit(**INSIDE)
def run(theta, base, trials, world, room, own, each, lane, keep, play, draws, gains):
    """The log-likelihood of one learner; ``keep``: each[trial, action, lane] are probabilities.

    ``play``: choices are drawn instead, and ``gains[trial, action]`` are earned.
    """
    context, action, reward, flags, offered, forgone, when = trials
    alike, no_go, zero = world
    values, attention, level, trace, seen, power, p, now = room
    up = down = theta[ALPHA]
    if theta[ASYMMETRY] != 0.0:
        odds, lift = theta[ALPHA] / (1.0 - theta[ALPHA]), exp(0.5 * theta[ASYMMETRY])
        up, down = odds * lift / (1.0 + odds * lift), odds / (lift + odds)
    fades = theta[PHI] > 0.0 and len(values) > 1
    if fades or theta[GENERALISATION] > 0.0:
        power[0] = 1.0
        for t in range(1, len(power)):
            power[t] = power[t - 1] * (1.0 - theta[PHI])
    lapse, total, product, last, clock = theta[LAPSE], 0.0, 1.0, -1, 0
    for t in range(len(context)):
        if t == 0 or flags[t] & RESET:
            _forget_all(values, attention, level, trace, seen)
            last, clock = -1, 0
            own_start(own)
        c, k, scored = context[t], np.int64(action[t]), flags[t] & SCORED
        if fades and seen[c] < clock:
            for a in range(len(now)):
                values[c, a] *= power[clock - seen[c]]
            seen[c] = clock
        if scored:
            _policy(theta, base, c, t, last, offered, when, no_go, values, level, trace, now)
            if OWN:
                own_adjust(own, theta, len(now), c, t, offered, now)
            if lapse > 0.0:
                count = len(now)
                for a in range(len(now) if len(offered) else 0):
                    count -= not offered[t, a]
                for a in range(len(now)):
                    if _on_offer(offered, t, a):
                        now[a] = lapse / count + (1.0 - lapse) * now[a]
            if play:
                k = _drawn(now, draws[t])
                action[t], reward[t] = k, gains[t, k]
                for a in range(len(now) if len(forgone) else 0):
                    forgone[t, a] = np.nan if a == k else gains[t, a]
            product *= now[k]
            if product < SMALL:
                total += math.log(product)
                product = 1.0
        if keep:
            for a in range(len(now)):
                each[t, a, lane] = now[a] if scored else 0.0
        if not flags[t] & LEARNED:
            continue
        r = reward[t] - theta[RESTING]
        if not math.isnan(r):
            clock += 1
            _learn(
                theta, base, c, t, k, r, up, down, offered, forgone, zero, values, attention, level,
                p,
            )  # fmt: skip
            seen[c] = clock
            if theta[GENERALISATION] > 0.0:
                _generalise(
                    theta, base, c, t, k, r, up, down, clock, offered, alike, values, seen, power, p
                )
        if OWN:
            own_update(own, theta, len(now), c, t, k, reward[t], offered)
        if theta[TRACE] != 0.0:
            for a in range(len(now)):
                trace[c, a] += TRACE_RATE * ((1.0 if a == k else 0.0) - trace[c, a])
        last = k
    return total + math.log(product)


@njit(**FLAGS)
def room_for(n, world, n_actions):
    """Working memory of a learner with n trials."""
    cells = len(world[0])
    return (
        np.zeros((cells, n_actions)), np.ones((cells, n_actions)), np.zeros(cells),
        np.zeros((cells, n_actions)), np.zeros(cells, np.int64), np.ones(n + 1),
        np.zeros(n_actions), np.zeros(n_actions),
    )  # fmt: skip


@njit(**FLAGS)
def of_learner(i, starts, data):
    """The trials of one learner; what is empty stays so."""
    s, e = starts[i], starts[i + 1]
    context, action, reward, flags, offered, forgone, when = data
    return (
        context[s:e], action[s:e], reward[s:e], flags[s:e],
        offered[s:e] if len(offered) else offered, forgone[s:e] if len(forgone) else forgone,
        when[s:e],
    )  # fmt: skip
