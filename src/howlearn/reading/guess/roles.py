"""The action and the reward, chosen together: an outcome hangs on the choice that it is of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from howlearn.core.expression_values import FALSE_WORDS, TRUE_WORDS
from howlearn.core.text import few
from howlearn.reading.columns import is_answer, named_like
from howlearn.reading.guess.action import (
    KEYS,
    action_candidates,
    are_plain_numbers,
    find_go_or_not,
    from_right_and_wrong,
)
from howlearn.reading.guess.behaviour import (
    FEWEST,
    LOOKED_AT,
    NEARLY,
    are_right_and_wrong,
    goes_on,
    hangs_on,
    purity,
    words_of,
)
from howlearn.reading.guess.column_checks import (
    examples,
    follows,
    materialise,
    repeats,
    runs_within,
    same_values,
    tell_the_same,
)
from howlearn.reading.guess.described import ask_what_was_told
from howlearn.reading.guess.draft import (
    BY_CONTENT,
    BY_NAME,
    CLEAR,
    SAID,
    Answer,
    Candidate,
    Draft,
    Guess,
    in_expression,
    shares,
)
from howlearn.reading.guess.options_outcomes import (
    ask_about_both,
    ask_what_was_chosen,
    ask_what_was_earned,
    compared,
    compares_choices,
)
from howlearn.reading.guess.reward import (
    are_amounts,
    ask_about_unknown_words,
    ask_good_word,
    came_true,
    earnings,
    either_may_be,
    find_reward_in_mistakes,
    is_binary,
    reward_candidates,
    says_right,
    sums_of,
    turned_round,
    unreadable_rewards,
)
from howlearn.reading.guess.sample import together

FOLLOWS = 0.03  # how much likelier a choice is at least repeated after a success, to be learned
SURELY = 1e-4  # a dependence that is less likely by chance is one
SURELY_FOLLOWS = 0.15
FOLLOWED = "it is chosen again more often after a success"
FOR_HANGING, FOR_FOLLOWING = 1.5, 1.0
AGAINST_IDLE = 1.0  # where the outcome hangs on another column, and not on this one
AGAINST_AMOUNTS = 6.0  # gains and losses that hang on no choice are what was on offer
LEAST = 0.4  # log odds: with less nothing speaks for a candidate
NONE = -2.0  # with less it is none, even alone
MOST = 6  # candidates of a role that are looked at together


def find_action_and_reward(draft: Draft) -> None:
    """The pair of columns for which names and what they do together speak most."""
    draft.answer = next((c for c in draft.free if is_answer(c)), None)
    rewards = reward_candidates(draft) if draft.open("reward") else _said(draft, "reward")
    first = rewards[0].column if rewards else None
    if _from_right_and_wrong_options(draft):
        rewards = [r for r in rewards if r.column != draft.column("action")]
    actions = action_candidates(draft, first) if draft.open("action") else _said(draft, "action")
    if draft.open("action"):
        actions = [*_from_right_answers(draft, rewards), *actions]
    actions, rewards = _together(draft, actions[:MOST], rewards[:MOST])
    taken = {each.column for each in (*actions[:1], *rewards[:1])}
    taken |= {c for guess in draft.guesses.values() for c in guess.columns}
    draft.sample = draft.sample.lacking([c for c in draft.computed if c not in taken])
    rewards = [r for r in rewards if r.column in draft.sample.columns]
    actions = [a for a in actions if a.column in draft.sample.columns]
    _put(draft, "reward", rewards)
    ask_about_unknown_words(draft)
    if draft.open("reward"):
        find_reward_in_mistakes(draft)
    if draft.open("reward"):
        unreadable_rewards(draft)
    if actions and actions[0].reasons[:1] == (KEYS,) and draft.open("action"):
        told = draft.column("reward")
        same = [] if told is None else compared(draft, told)[0]
        if len(actions[0].reasons) == 1 or (same and actions[0].column not in same):
            ask_what_was_chosen(draft)  # no outcome hangs on them, or says that two are the same
    _put(draft, "action", actions)
    if draft.open("action"):
        find_go_or_not(draft)
    if draft.open("action"):
        ask_what_was_chosen(draft)
    if draft.open("action") and draft.open("reward"):
        ask_about_both(draft)
    reward = draft.column("reward")
    if draft.open("action") and reward is not None and draft.answer and not draft.named("action"):
        text = from_right_and_wrong(draft, draft.answer, reward)
        if text is not None:
            materialise(draft, "action", text)
            yes = text.split(" == ")[1].rstrip(")").strip("'\"")
            why = "computed from the right answer and whether the choice was right: yes is "
            draft.put("action", text, BY_CONTENT, f"{why}{yes}")
    if draft.open("action") and reward is not None:
        draft.odd(
            f"{reward} says what a choice earned or whether it was right, and no column says which "
            "it was: models of learning need the choices themselves",
            "--action COL",
        )


FOR_DERIVED = 1.9
SLOW = 4.0  # trials for which the same stays right, on average


def _from_right_answers(draft: Draft, rewards: list[Candidate]) -> list[Candidate]:
    """What was chosen, from what was right and whether the choice was: where sides hide it.

    In a reversal task the keys say left or right, and what is learned is the shape.
    """
    sample = draft.sample
    found = []
    marks = [c for c in sample.columns if _is_mark(draft, c)]
    for answer in [c for c in draft.free if is_answer(c) and len(sample.counts(c)) == 2]:
        if runs_within(draft.learners(), sample.codes(answer))[0] < SLOW:
            continue
        for mark in marks:
            text = from_right_and_wrong(draft, answer, mark)
            if text is not None:
                materialise(draft, "action", text)
                why = f"computed from {answer} and {mark}"
                found.append(Candidate(text, FOR_DERIVED, (why,)))
    return found[:1]


def _is_mark(draft: Draft, column: str) -> bool:
    """Whether a column says only whether a choice was right."""
    return says_right(column) and not is_answer(column) and is_binary(draft, column)


def _from_right_and_wrong_options(draft: Draft) -> bool:
    """What was right, what was wrong and whether the choice was right: then it names its option."""
    named = [*draft.columns("action")]
    marks = [c for c in named or draft.free if _is_mark(draft, c)]
    if not are_right_and_wrong(draft.on_offer) or not marks or draft.one_of:
        return False
    right = next(iter({"cor", "correct", "better", "good"} & {*words_of(draft.on_offer[0])}), None)
    values = [*draft.sample.counts(marks[0])]
    yes = next((v for v in values if v.lower() in TRUE_WORDS), None)
    no = next((v for v in values if v.lower() in FALSE_WORDS), None)
    if yes is None or no is None or len(values) != 2:
        return False
    options = draft.on_offer if right else draft.on_offer[::-1]
    why = f"{marks[0]} says which of {' and '.join(options)} was chosen"
    draft.put("action", marks[0], BY_CONTENT, why)
    draft.put("offered", tuple(options), BY_CONTENT, why)
    draft.put("positions", (yes, no), BY_CONTENT, f"{yes} is {options[0]}")
    draft.put("context", ("none",), BY_CONTENT, "what is shown is on offer")
    return True


PAINFUL = {*"punish punishment punished shock shocks pain painful aversive".split()}
TEXT = 150  # characters of a name and its description
AVOIDED = 0.05  # how much less often a choice is at least repeated after a higher outcome


def ask_what_is_good(draft: Draft) -> None:
    """Choices that are given up after a higher outcome: is more of it worse?"""
    action, reward = draft.column("action"), draft.column("reward")
    guess = draft.guesses.get("reward")
    if action is None or reward is None or guess is None or guess.how == SAID:
        return
    told = [c for c in draft.sample.columns if c not in draft.computed]
    texts = {c: f"{c} {draft.about[c].text if c in draft.about else ''}"[:TEXT] for c in told}
    about = [c for c in told if not PAINFUL.isdisjoint(words_of(texts[c]))]
    if any(turned_round(draft, c) == reward for c in told):
        about = []  # it is turned round already
    if _follows(draft, action, reward) > -AVOIDED and not about:
        return
    name = draft.written(reward) or reward
    why = "choices are repeated less often after a higher value, as after punishments"
    why = f"{about[0]} sounds like punishments" if about else why
    draft.ask(
        "reward",
        f"is more of {reward} better? {why}",
        [
            Answer("reward", reward, "more of it is better"),
            Answer("reward", f"0 - {name}", "more of it is worse"),
        ],
    )


def _said(draft: Draft, role: str) -> list[Candidate]:
    """What the user named, as the only candidate."""
    column = draft.column(role)
    return [] if column is None else [Candidate(column, 0.0, ("you said so",))]


def _together(
    draft: Draft, actions: list[Candidate], rewards: list[Candidate]
) -> tuple[list[Candidate], list[Candidate]]:
    """Both lists with what the best of the other speaks for each, the likeliest first."""
    if not actions or not rewards:
        kept = [a for a in actions if _speaks_by_itself(draft, a)]
        return kept, rewards
    bonus = {
        (a.column, r.column): _bonus(draft, a, r)
        for a in actions
        for r in rewards
        if a.column != r.column
    }
    if not bonus:  # one column for both
        return [], rewards
    score = {**{a.column: a.score for a in actions}, **{r.column: r.score for r in rewards}}
    idle = {a.column for a in actions if not any(bonus[p][0] for p in bonus if p[0] == a.column)}
    bonus = {p: b for p, b in bonus.items() if p[0] not in idle & draft.computed} or bonus
    best = max(bonus, key=lambda pair: bonus[pair][0] + score[pair[0]] + score[pair[1]])
    hangs = {a for (a, r), (extra, _) in bonus.items() if r == best[1] and extra >= FOR_HANGING}
    actions = [
        replace(
            a,
            score=a.score + extra - AGAINST_IDLE * bool(hangs and a.column not in hangs),
            reasons=(*a.reasons, *why),
        )
        for a in actions
        if (a.column, best[1]) in bonus
        for extra, why in [bonus[a.column, best[1]]]
        if extra > 0 or (_speaks_by_itself(draft, a) and a.column not in draft.computed)
    ]
    rewards = [
        replace(r, score=r.score + extra, reasons=(*r.reasons, *why))
        for r in rewards
        if (best[0], r.column) in bonus
        for extra, why in [bonus[best[0], r.column]]
    ]
    actions = _without_required(draft, actions, best[1])
    actions.sort(key=lambda each: -each.score)
    rewards.sort(key=lambda each: (each.column != best[1], -each.score))
    return actions, [r for r in rewards if r.score > LEAST or (r is rewards[0] and r.score > NONE)]


def _without_required(draft: Draft, actions: list[Candidate], reward: str) -> list[Candidate]:
    """The candidates but for what was required: to choose the same pays, and it is not learned.

    Choices are repeated after a success; what was laid down is not, whatever it was laid down by.
    """
    learned = [a for a in actions if FOLLOWED in a.reasons]
    others = [a for a in actions if FOLLOWED not in a.reasons and a.column not in draft.computed]
    found = {o.column for o in others for a in learned if _was_due(draft, o, a, reward)}
    draft.design |= found
    return [a for a in actions if a.column not in found]


def _was_due(draft: Draft, due: Candidate, made: Candidate, reward: str) -> bool:
    """Whether a choice that is what another column says earns more than any other choice."""
    sample = draft.sample
    told = ~sample.missing(due.column) & ~sample.missing(made.column)
    one, other = (sample.texts(c.column)[told] for c in (due, made))
    if len({*one}) < 2 or not {*one} <= {*other}:
        return False
    same, worth = one == other, earnings(sample, reward)[told]
    hits, misses = worth[same & ~np.isnan(worth)], worth[~same & ~np.isnan(worth)]
    if not len(hits) or not len(misses) or hits.mean() <= misses.mean():
        return False
    return hangs_on(worth, same.astype(np.intp), draft.learners()[told]) < SURELY


def _speaks_by_itself(draft: Draft, action: Candidate) -> bool:
    """Whether a candidate has more than values that could be keys: numbers could be anything."""
    return action.score > 1 or not are_plain_numbers(draft.sample, action.column)


def _bonus(draft: Draft, action: Candidate, reward: Candidate) -> tuple[float, list[str]]:
    """What speaks for an outcome's being the one of a choice, as log odds and in words."""
    sample = draft.sample
    if action.column in draft.computed and (in_expression(reward.column) or "") in action.column:
        return 0.0, []  # the choice was computed from it
    rows = np.flatnonzero(~sample.missing(action.column) & ~sample.missing(reward.column))
    rows = rows[:LOOKED_AT]
    worth = earnings(sample, reward.column)[rows]
    codes = sample.codes(action.column)[rows]
    shown = [c for c in draft.shown() if repeats(sample, c)]
    shown = [c for c in shown if c not in (action.column, reward.column)]
    shown = shown if draft.columns("context") else shown[:1]
    learner = draft.learners()[rows]
    place = together(*(sample.codes(c)[rows] for c in shown)) if shown else np.zeros_like(learner)
    own = together(learner, place)
    parts = [c for c in sums_of(draft, reward.column) if c != reward.column]
    outcomes = [worth, *(sample.numbers(c)[rows] for c in parts)]  # of gain + loss each alone, too
    chance = min(
        test(each, codes, at)
        for each in outcomes
        for test, at in ((hangs_on, place), (hangs_on, own), (goes_on, own))
    )
    score, reasons = 0.0, []
    if chance < SURELY:
        score += FOR_HANGING
        reasons.append(f"{reward.column} depends on it")
    elif are_amounts(draft, reward.column, worth):
        return -AGAINST_AMOUNTS, ["amounts that do not depend on any choice"]
    if _follows(draft, action.column, reward.column) > FOLLOWS:
        score += FOR_FOLLOWING
        reasons.append(FOLLOWED)
    return score, reasons


def _follows(draft: Draft, action: str, reward: str) -> float:
    trial = Draft(draft.sample, draft.given, refused=draft.refused)
    trial.guesses = {**draft.guesses, "reward": Guess("reward", reward, BY_CONTENT)}
    told = draft.sample.columns[reward].missing()
    rows = draft.sample.only(~told) if not told.all() else draft.sample
    return follows(trial, rows, action)


def _put(draft: Draft, role: str, found: list[Candidate]) -> None:
    """Take the first candidate; ask where another one is nearly as likely."""
    if not found or not draft.open(role):
        return
    first, rest = found[0], [c for c in found[1:] if c.score > LEAST]
    rest = [c for c in rest if not _say_the_same(draft, role, c.column, first.column)]
    if role == "action":
        rest = [c for c in rest if not _is_place_of(draft, c.column, first.column)]
    kept = (first, *rest)
    by_name = first.reasons and first.reasons[0] in ("its name", "its description")
    why = "; ".join(first.reasons[1:] if by_name else first.reasons)
    how = BY_NAME if by_name else BY_CONTENT
    others = tuple(c.column for c in found[1:] if c.score > LEAST)
    draft.put(role, first.column, how, why, others, kept)
    likely = shares(kept)
    better = [c for c in rest if role == "action" and _hangs_instead(draft, first, c)]
    finer = better + [c for c in rest if role == "reward" and either_may_be(draft, first, c)]
    if len(kept) > 1 and (likely[0] < CLEAR or finer):
        near = [c for c, share in zip(kept, likely, strict=True) if share > likely[0] / 8]
        near += [c for c in finer if c not in near]
        draft.ask(
            role,
            f"which column is the {role}: {few([c.column for c in near], 4)}?",
            [Answer(role, c.column, _says(draft, c)) for c in near[:4]],
        )


def _hangs_instead(draft: Draft, first: Candidate, other: Candidate) -> bool:
    """Whether only the other one is repeated after a success: the option, beside its side."""
    again = [FOLLOWED in c.reasons for c in (first, other)]
    return again == [False, True] and len(other.reasons) > 2 and not draft.on_offer


def _say_the_same(draft: Draft, role: str, one: str, other: str) -> bool:
    """Whether two columns tell the same of each learner, but for a few mistakes."""
    sample = draft.sample
    if tell_the_same(sample, one, other):
        return True
    rows = ~sample.missing(one) & ~sample.missing(other)
    if role == "reward":  # one of them may also say "too slow"
        rows &= np.isfinite(earnings(sample, one)) & np.isfinite(earnings(sample, other))
    owner = draft.learners()[rows]
    a, b = sample.codes(one)[rows], sample.codes(other)[rows]
    return (
        len(a) > 0
        and purity(a, together(owner, b)) >= NEARLY
        and purity(b, together(owner, a)) >= NEARLY
    )


def _is_place_of(draft: Draft, place: str, thing: str) -> bool:
    """Whether a column says only where the chosen thing stood, and outcomes hang on the thing."""
    sample, reward = draft.sample, draft.column("reward")
    if thing not in draft.one_of or reward is None:
        return False
    rows = ~np.any([sample.missing(c) for c in (place, thing, *draft.on_offer)], axis=0)
    a, b = sample.codes(place)[rows], sample.codes(thing)[rows]
    screen = together(*(sample.codes(c)[rows] for c in draft.on_offer))
    both = (a, together(b, screen)), (b, together(a, screen))
    if len(a) < FEWEST or any(purity(one, others) < NEARLY for one, others in both):
        return False
    worth, owner = earnings(sample, reward)[rows], draft.learners()[rows]
    chance = [min(hangs_on(worth, c, owner), goes_on(worth, c, owner)) for c in (a, b)]
    return chance[1] < min(chance[0], SURELY)


def _says(draft: Draft, candidate: Candidate) -> str:
    """Values of a candidate, and what speaks for it."""
    reasons = "; ".join(candidate.reasons)
    return f"values {examples(draft.sample, candidate.column)}" + (
        f" ({reasons})" if reasons else ""
    )


# Without a telling name for the reward.


def find_reward_by_content(draft: Draft) -> None:
    """Whether the choice is the right answer, or what choices follow."""
    action = draft.column("action")
    if "reward" in draft.guesses or action is None:
        return
    answer = draft.answer
    names = draft.written(action), in_expression(answer or "")
    if answer not in (None, action) and None not in names:
        shared = {*draft.sample.counts(action)} & {*draft.sample.counts(answer)}
        if len(shared) >= 2:
            text = f"{names[0]} == {names[1]}"
            draft.put("reward", text, BY_CONTENT, "the choice is compared with the right answer")
            materialise(draft, "reward", text)
            ask_what_was_told(draft, text)
            return
    if came_true(draft, action) or ask_good_word(draft):
        return
    same_values(draft, action)
    likely = [c for c in draft.free if is_binary(draft, c) and not named_like("context", [c])]
    likely = [c for c in likely if c not in draft.design and c not in draft.on_offer]
    likely = [c for c in likely if not compares_choices(draft, action, c)]
    score = {column: _follows(draft, action, column) for column in likely}
    best = max(score, key=lambda c: score[c], default=None)
    if best is not None and score[best] > FOLLOWS:
        others = tuple(c for c in likely if c != best)
        draft.put("reward", best, BY_CONTENT, "it has two values that choices follow", others)
    if draft.open("reward"):
        ask_what_was_earned(draft, action)
    if best is not None and FOLLOWS < score[best] < SURELY_FOLLOWS:
        says = f"values {examples(draft.sample, best)}, after which choices are repeated or not"
        draft.ask("reward", f"is {best} what a choice earned?", [Answer("reward", best, says)])
