"""What kind of task it is: named with reasons, and refused where no model here covers it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.core.world import FoundKind
from howlearn.models.partition_model import candidates_of
from howlearn.reading.guess import inspect
from howlearn.reading.guess.evidence import NOT_COVERED
from howlearn.reading.guess.kinds import KINDS

SEEDS = range(6)


def learners(
    seed: int,
    chances: Any,  # of a reward, by context and action
    people: int = 10,
    trials: int = 120,
    reverse: int = 0,
    drift: float = 0.0,
    rate: float = 0.3,
    reward: str = "reward",
) -> pl.DataFrame:
    """People who learn by Q-learning in a task of these chances."""
    rng, rows = np.random.default_rng(seed), []
    for person in range(people):
        chance = np.atleast_2d(np.array(chances, dtype=float))
        values = np.zeros_like(chance)
        for t in range(trials):
            if reverse and t and t % reverse == 0:
                chance = chance[:, ::-1]
            chance = np.clip(chance + drift * rng.normal(size=chance.shape), 0, 1)
            c = int(rng.integers(len(chance)))
            odds = np.exp(4 * values[c])
            a = int(rng.choice(len(odds), p=odds / odds.sum()))
            earned = int(rng.random() < chance[c, a])
            values[c, a] += rate * (earned - values[c, a])
            rows.append((person, t, f"thing {c}", f"k{a}", earned))
    names = ["subject", "trial", "stimulus", "choice", reward]
    made = pl.DataFrame(rows, schema=names, orient="row")
    return made if len(np.atleast_2d(chances)) > 1 else made.drop("stimulus")


def instructed(seed: int, people: int = 8, accuracy: float = 0.93, keys: int = 2) -> pl.DataFrame:
    """People who know what to do from the first trial on, as in a Stroop task."""
    rng, rows = np.random.default_rng(seed), []
    for person in range(people):
        for t in range(80):
            shown = int(rng.integers(8))
            right = bool(rng.random() < accuracy)
            key = shown % keys if right else (shown + 1) % keys
            rows.append((person, t, f"word{shown}", f"k{key}", int(right)))
    names = ["subject", "trial", "stimulus", "response", "correct"]
    return pl.DataFrame(rows, schema=names, orient="row")


def kind_in(data: Any, **options: Any) -> FoundKind:
    found = inspect(data, **options).kind
    assert found is not None
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_kinds_of_learning_are_named_and_never_stopped(seed: int) -> None:
    two = [[0.8, 0.2], [0.2, 0.8], [0.8, 0.2]]
    fixed = [[1, 0], [0, 1], [1, 0], [0, 1]]
    expected = {
        "bandit": [
            learners(seed, [0.7, 0.3]),
            learners(seed, [0.7, 0.3], people=2, trials=12),
            learners(seed, [0.9, 0.8], reward="correct"),
            learners(seed, [0.5, 0.5, 0.5, 0.5], drift=0.04),
        ],
        "reversal": [
            learners(seed, [0.8, 0.2], reverse=30),
            learners(seed, two, reverse=60, trials=300, reward="correct"),
            learners(seed, [0.8, 0.2], reverse=30, rate=0.8),  # who leave an arm and soon return
        ],
        "contextual learning": [learners(seed, two), learners(seed, fixed[:2], trials=40)],
        "category learning": [
            learners(seed, fixed, reward="correct"),
            learners(seed, fixed, people=30, trials=30, rate=1.0, reward="correct"),
        ],
    }
    for name, files in expected.items():
        for data in files:
            kind = kind_in(data)
            assert (kind.name, kind.stops) == (name, None), kind
            assert kind.reasons


@pytest.mark.parametrize("seed", SEEDS)
def test_drift_is_told(seed: int) -> None:
    drifting = kind_in(learners(seed, [0.5, 0.5], drift=0.06, trials=300))
    assert "what the options pay drifts" in drifting.reasons
    steady = kind_in(learners(seed, [0.6, 0.5], trials=300))
    assert "what the options pay drifts" not in steady.reasons


@pytest.mark.parametrize("name", hl.Task.shipped())
def test_simulated_learners_are_not_stopped(name: str) -> None:
    task = hl.Task.load(name)
    for seed, model in enumerate(task.models):
        for rate, trials in ((0.05, 100), (1.0, 24)):
            study = hl.simulate(task, model.name, {"eta": rate}, 12, trials, seed=seed)
            found = inspect(study.frame().rename({"reward": "correct"}))
            assert found.kind is not None
            assert found.kind.name == "category learning"
            assert found.study is not None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("keys", [2, 4])
def test_what_no_outcome_taught(seed: int, keys: int) -> None:
    found = inspect(instructed(seed, keys=keys))
    assert found.kind is not None
    assert found.kind.name == NOT_COVERED
    assert "not learned from outcomes" in found.problems
    assert found.study is None
    named = {"context": "stimulus", "action": "response", "reward": "correct"}
    assert inspect(instructed(seed, keys=keys), **named).study is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_two_stimuli_of_a_flanker_task(seed: int) -> None:
    data = instructed(seed, people=14)
    target = pl.col("stimulus").str.slice(-1).cast(pl.Int64) % 2
    found = inspect(data.with_columns(stimulus=pl.format("target {}", target)))
    assert "not learned from outcomes" in found.problems


@pytest.mark.parametrize("seed", SEEDS)
def test_decisions_about_what_is_seen_are_not_learned(seed: int) -> None:
    rng, rows = np.random.default_rng(seed), []
    for mouse in range(5):
        for _ in range(300):
            left, right = rng.permutation([rng.choice([0, 0.06, 0.12, 0.25, 1]), 0.0])
            chose = 1 if rng.random() < 1 / (1 + np.exp(-8 * (right - left))) else -1
            good = chose * (right - left) > 0 if right != left else rng.random() < 0.5
            rows.append((f"m{mouse}", left, right, chose, 1 if good else -1))
    names = ["mouse", "contrastLeft", "contrastRight", "choice", "feedbackType"]
    found = inspect(pl.DataFrame(rows, schema=names, orient="row"))
    assert found.kind is not None
    assert found.kind.name == NOT_COVERED
    assert found.kind.stops


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stimulus_that_is_missing(seed: int) -> None:
    for data in (
        instructed(seed).drop("stimulus"),
        learners(seed, [[1, 0], [0, 1]], reward="correct", trials=300).drop("stimulus"),
    ):
        found = inspect(data)
        assert found.kind is not None
        assert found.kind.name == NOT_COVERED
        assert "the stimulus is missing" in found.problems
        assert "--context COL" in found.problems
        assert inspect(data, context="none").study is not None


def test_no_outcome() -> None:
    data = learners(1, [0.7, 0.3]).drop("reward")
    found = inspect(data)
    assert found.kind is not None
    assert found.kind.name == NOT_COVERED
    assert found.problems.startswith("no outcome: these models need feedback")


@pytest.mark.parametrize("seed", SEEDS)
def test_described_gambles_with_outcomes(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 400
    safe, risky = rng.integers(5, 60, n), rng.integers(10, 150, n)
    gamble = (0.5 * risky - safe) / 10 + rng.logistic(size=n) > 0
    paid = np.where(gamble, risky * rng.integers(0, 2, n), safe)
    columns = {
        "subject": np.repeat(np.arange(4), n // 4),
        "safe_amount": safe,
        "risky_amount": risky,
        "choice": gamble.astype(int),
        "reward": paid,
    }
    found = inspect(pl.DataFrame(columns))
    assert found.study is None
    assert found.problems.startswith("no outcome: these models need feedback")
    assert "_amount" in found.problems
    assert inspect(pl.DataFrame(columns), action="choice", reward="reward").study is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_amounts_beside_chances_that_are_learned_do_not_stop(seed: int) -> None:
    """As in tasks of volatility: amounts are shown, and which option wins is learned."""
    data = learners(seed, [0.8, 0.2], reverse=30)
    rng = np.random.default_rng(seed)
    amounts = {f"{side}_amount": rng.integers(1, 100, data.height) for side in ("left", "right")}
    assert kind_in(data.with_columns(**amounts)).stops is None


@pytest.mark.parametrize("seed", SEEDS)
def test_cards_that_are_missing(seed: int) -> None:
    """As in the Wisconsin task: which pile is right hangs on a card that is not in the file."""
    rng, n = np.random.default_rng(seed), 600
    right = rng.integers(1, 5, n)
    chosen = np.where(rng.random(n) < 0.7, right, rng.integers(1, 5, n))
    columns = {
        "subjID": np.repeat(np.arange(6), n // 6),
        "choice": chosen,
        "outcome": (chosen == right).astype(int),
    }
    assert "the stimulus is missing" in inspect(pl.DataFrame(columns)).problems


@pytest.mark.parametrize("seed", SEEDS)
def test_amounts_on_offer_are_no_outcome(seed: int) -> None:
    """Described gambles: everybody sees the same amounts, whatever is chosen."""
    rng = np.random.default_rng(seed)
    gains, losses = np.repeat(np.arange(10, 34, 2), 10), np.tile(np.arange(5, 25, 2), 12)
    frames = []
    for person in range(5):
        order = rng.permutation(len(gains))
        gamble = gains[order] - 1.5 * losses[order] + rng.logistic(size=len(order)) > 0
        values = {"gain": gains[order], "loss": losses[order], "gamble": gamble.astype(int)}
        frames.append(pl.DataFrame({"subjID": [person] * len(order), **values}))
    found = inspect(pl.concat(frames))
    assert found.kind is not None
    assert found.kind.name == NOT_COVERED
    assert "no outcome" in found.problems


def test_gains_and_losses_go_no_go_and_pairs() -> None:
    rng = np.random.default_rng(1)
    n = 400
    who, trial = np.repeat(np.arange(4), n // 4), np.tile(np.arange(n // 4), 4)
    base = pl.DataFrame({"subjID": who, "trial": trial})
    deck = rng.integers(1, 5, n)
    gain, loss = np.where(deck < 3, 100, 50), -rng.choice([0, 0, 50, 250], n)
    igt = base.with_columns(choice=pl.Series(deck), gain=pl.Series(gain), loss=pl.Series(loss))
    assert kind_in(igt).name == "gambling with gains and losses"
    cue = rng.integers(1, 5, n)
    pressed = rng.integers(0, 2, n)
    paid = rng.integers(-1, 2, n)
    go = base.with_columns(
        cue=pl.Series(cue), keyPressed=pl.Series(pressed), outcome=pl.Series(paid)
    )
    assert kind_in(go).name == "go/no-go"
    pair = rng.choice(["12", "34", "56"], n)
    pst = base.with_columns(
        type=pl.Series(pair), choice=pl.Series(pressed), reward=pl.Series(rng.integers(0, 2, n))
    )
    assert kind_in(pst).name == "probabilistic selection"


def test_a_response_without_times_is_no_response() -> None:
    data = learners(1, [[0.8, 0.2], [0.2, 0.8]])
    times = pl.when(pl.col("choice") == "k1").then(pl.lit(0.4)).alias("rt")
    kind = kind_in(data.with_columns(times))
    assert kind.name == "go/no-go"
    assert kind.reasons == ("choice = k0 has no response times",)
    assert kind_in(data.with_columns(rt=pl.lit(0.4))).name == "contextual learning"
    pressed = data.with_columns(pl.col("choice").str.slice(1)).rename({"choice": "pressed"})
    assert kind_in(pressed).name == "go/no-go"
    assert kind_in(pressed.with_columns(rt=pl.lit(0.4))).name == "contextual learning"
    button = pressed.rename({"pressed": "button_pressed"})
    assert kind_in(button).name == "contextual learning"


def test_two_arms_with_gains_and_losses_are_a_bandit() -> None:
    data = learners(1, [0.6, 0.4])
    points = pl.Series("reward", np.random.default_rng(1).integers(-9, 9, data.height))
    kind = kind_in(data.with_columns(points + 5 * data["reward"]))
    assert kind.name == "bandit"
    assert "graded rewards from -9 to 13" in kind.reasons


def test_a_reward_that_is_always_the_same_beside_no_choice() -> None:
    """As in the balloon task, where it is what each pump is worth."""
    data = pl.DataFrame({"subjID": [1] * 30 + [2] * 30, "trial": [*range(30)] * 2})
    pumps = pl.Series("pumps", np.random.default_rng(1).integers(1, 60, 60))
    found = inspect(data.with_columns(pumps, reward=pl.lit(1)))
    assert "reward is the same in every row" in found.problems


def test_blocks_of_new_stimuli_with_their_size() -> None:
    rng, rows = np.random.default_rng(1), []
    for person in range(4):
        for block in range(1, 7):
            size = 2 + block % 3
            for shown in rng.permutation(np.repeat(np.arange(1, size + 1), 9)):
                key = int(rng.integers(3))
                rows.append((person, block, int(shown), key, int(key == (shown + block) % 3)))
    names = ["subno", "block", "stimseq", "choice", "rew"]
    kind = kind_in(pl.DataFrame(rows, schema=names, orient="row"))
    assert kind.name == "blocks of new stimuli"
    assert "set size: 2 to 4 stimuli in a block" in kind.reasons


def test_every_kind_says_what_it_is() -> None:
    for kind in KINDS:
        assert kind.name
        assert kind.about
        assert type(kind).__doc__


def test_files_of_other_tasks(shared_data: Path) -> None:
    expected = {
        "tasks/bandit2arm.txt": "bandit",
        "tasks/igt.txt": "gambling with gains and losses",
        "tasks/pst.txt": "probabilistic selection",
        "tasks/ts.txt": "two-step",
        "tasks/task2AFC.txt": NOT_COVERED,
        "hard/twostep.csv": "two-step",
        "bids_reversal": "reversal",
        "rlwm/Expe3.csv": "blocks of new stimuli",
        "badham2017/badham2017deficits.csv": "category learning",
    }
    stop = {"tasks/ts.txt", "hard/twostep.csv", "tasks/task2AFC.txt"}
    for name, wanted in expected.items():
        kind = kind_in(shared_data / name)
        assert kind.name == wanted, name
        assert (kind.stops is not None) == (name in stop), name


ROMAN = dict(zip(hl.Task.shipped()[1:], ("I", "II", "III", "IV", "V", "VI"), strict=True))


@pytest.mark.parametrize("name", ROMAN)
@pytest.mark.parametrize("seed", range(2))
def test_shepard_types_whatever_the_codes(name: str, seed: int) -> None:
    """Features, their values, categories and names change places; the type stays."""
    rng, task = np.random.default_rng(seed), hl.Task.load(name)
    words = [("white", "gray"), ("square", "star"), ("large", "small")]
    order, flips = rng.permutation(3), rng.integers(0, 2, 3)
    called = {
        c: "-".join(words[i][int(c[order[i]]) ^ int(flips[i])] for i in range(3))
        for c in task.contexts
    }
    keys = dict(zip(task.actions, rng.permutation(["f", "j"]), strict=True))
    study = hl.simulate(task, "OneForAll", {"eta": 0.1}, learners=3, trials=64, seed=seed)
    data = study.frame().with_columns(
        pl.col("context").replace_strict(called), pl.col("action").replace_strict(keys)
    )
    found = inspect(data)
    assert found.options["features"] == ("colour", "shape", "size")
    assert found.kind is not None
    assert found.kind.name == "category learning"
    assert found.kind.reasons[0].startswith(f"Shepard type {ROMAN[name]}: eight stimuli")
    assert found.study is not None
    mine = {
        frozenset(frozenset(cell) for cell in model.partition.cells)
        for model in candidates_of(found.study, "gradient")
    }
    assert mine == {
        frozenset(frozenset(called[c] for c in cell) for cell in model.partition.cells)
        for model in task.models
    }


def test_types_of_several_conditions(shared_data: Path) -> None:
    kind = kind_in(shared_data / "badham2017" / "badham2017deficits.csv")
    assert kind.reasons[0].startswith("Shepard types I, II, III, IV: eight stimuli")
    assert kind.cells == ()


def test_eight_stimuli_that_are_no_shepard_task() -> None:
    task = hl.Task.load("five-four")
    kind = kind_in(hl.simulate(task, "OneForAll", {"eta": 0.1}, 3, 90, seed=1).frame())
    assert "Shepard" not in str(kind)


def sustained_attention(seed: int, people: int = 20) -> pl.DataFrame:
    """One rare digit to which nobody shall respond, and half of the people do: nothing to learn."""
    rng, n = np.random.default_rng(seed), people * 150
    digit = rng.integers(1, 10, n)
    pressed = rng.random(n) < np.where(digit == 3, 0.5, 0.97)
    return pl.DataFrame(
        {
            "subject": np.repeat(np.arange(people), 150),
            "trial": np.tile(np.arange(150), people),
            "digit": digit,
            "response": pressed.astype(int),
            "correct": (pressed != (digit == 3)).astype(int),
        }
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_rare_answers_that_are_known_at_once_are_not_learned(seed: int) -> None:
    kind = kind_in(sustained_attention(seed))
    assert kind.name == NOT_COVERED
    assert "not learned from outcomes" in (kind.stops or "")


def test_few_people_who_know_the_answers_at_once_are_asked_about() -> None:
    asked = []
    for data in (instructed(seed, people=2, accuracy=0.85) for seed in SEEDS):
        found = inspect(data)
        if found.study is not None:
            asked.append([question.about for question in found.questions])
    assert asked
    assert asked.count(["reward"]) >= len(asked) - 1
    assert inspect(instructed(0, people=2, accuracy=0.85), reward="correct").questions == ()


def test_offers_that_are_accepted_or_not_are_no_outcomes() -> None:
    rng = np.random.default_rng(3)
    rows = []
    for person in range(10):
        for _ in range(60):
            effort, amount = int(rng.integers(1, 5)), int(rng.choice([1, 3, 5, 7]))
            rows.append(
                (person, effort, amount, int(rng.random() < 1 / (1 + np.exp(effort - amount))))
            )
    offers = pl.DataFrame(rows, schema=["id", "effort", "reward", "accepted"], orient="row")
    paid = offers.with_columns(payoff=pl.col("reward") * pl.col("accepted")).rename(
        {"reward": "offer"}
    )
    for data in (offers, paid):
        found = inspect(data)
        assert found.kind is not None
        assert found.kind.name == NOT_COVERED


@pytest.mark.parametrize("seed", SEEDS)
def test_a_weak_signal_that_is_detected(seed: int) -> None:
    rng = np.random.default_rng(seed)
    signal = rng.integers(0, 2, 1800)
    seen = (signal + rng.normal(0, 1.3, 1800) > 0.5).astype(int)
    columns = {"obs": np.repeat(np.arange(12), 150), "signal": signal, "resp": seen}
    found = inspect(pl.DataFrame({**columns, "correct": (seen == signal).astype(int)}))
    assert found.kind is not None
    assert found.kind.name == NOT_COVERED


@pytest.mark.parametrize("seed", SEEDS)
def test_offers_that_choices_follow_from_the_first_trials(seed: int) -> None:
    """What somebody proposes to share is told, and nothing about it is learned."""
    rng, n = np.random.default_rng(seed), 600
    share = rng.integers(1, 11, n)
    taken = rng.random(n) < 1 / (1 + np.exp(4 - share))
    columns = {"who": np.repeat(np.arange(10), n // 10), "share": share}
    answers = np.where(taken, "agree", "refuse")
    offers = pl.DataFrame({**columns, "response": answers, "payoff": share * taken})
    found = inspect(offers)
    assert found.kind is not None
    assert found.kind.name == NOT_COVERED
    assert "choices follow share from the first trials on" in found.problems


@pytest.mark.parametrize("seed", SEEDS)
def test_outcomes_of_both_options_do_not_look_like_offers(seed: int) -> None:
    """Each option's outcome is in the file, and choices follow the earlier ones only."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(10):
        value = np.zeros(2)
        for _ in range(80):
            paid = np.round(rng.normal((40, 55), 12)).astype(int)
            chosen = int(rng.random() < 1 / (1 + np.exp((value[0] - value[1]) / 5)))
            value += 0.3 * (paid - value)
            rows.append((person, *paid.tolist(), "AB"[chosen], int(paid[chosen])))
    names = ["id", "payA", "payB", "choice", "reward"]
    assert kind_in(pl.DataFrame(rows, schema=names, orient="row")).stops is None


@pytest.mark.parametrize("seed", SEEDS)
def test_a_reward_that_is_an_offer(seed: int) -> None:
    """Money for work that is done or not: all see the same, and each has a limit."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(16):
        limit = rng.uniform(2, 8)
        for _ in range(50):
            work, reward = int(rng.integers(1, 6)), int(rng.integers(1, 11))
            yes = rng.random() < 1 / (1 + np.exp(limit + work / 2 - 1.5 - reward))
            rows.append((person, work, reward, "yes" if yes else "no"))
    offers = pl.DataFrame(rows, schema=["id", "work", "reward", "choice"], orient="row")
    found = inspect(offers)
    assert found.kind is not None
    assert found.kind.name == NOT_COVERED
    assert "told before the choice" in found.problems


@pytest.mark.parametrize("seed", SEEDS)
def test_graded_outcomes_of_better_and_worse_options_are_no_offers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(16):
        value, careful = np.zeros(2), rng.uniform(0.2, 3)
        for _ in range(60):
            chosen = int(rng.random() < 1 / (1 + np.exp(careful * (value[0] - value[1]))))
            reward = int(rng.integers(1, 7)) + 3 * chosen
            value[chosen] += 0.3 * (reward - value[chosen])
            rows.append((person, "AB"[chosen], reward))
    assert (
        kind_in(pl.DataFrame(rows, schema=["id", "choice", "reward"], orient="row")).stops is None
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_computed_from_the_outcome_does_not_tell_what_was_right(seed: int) -> None:
    data = learners(seed, [[0.8, 0.2], [0.2, 0.8]], trials=80)
    found = inspect(data.with_columns(error=pl.col("reward") - 0.5))
    assert found.kind is not None
    assert found.kind.name == "contextual learning"
    assert not found.questions


def test_a_word_that_all_names_begin_with_says_nothing() -> None:
    data = learners(1, [[0.8, 0.2], [0.2, 0.8]])
    plain = inspect(data)
    found = inspect(data.rename(lambda name: f"task_{name}"))
    assert {r: g.columns for r, g in found.guesses.items()} == {
        r: tuple(f"task_{c}" for c in g.columns) for r, g in plain.guesses.items()
    }
    again = hl.read(data.rename(lambda name: f"task_{name}"))
    assert len(set(again.learners)) == 10


def test_two_sides_whose_names_tell_nothing() -> None:
    rng, rows = np.random.default_rng(4), []
    for person in range(8):
        values = np.zeros(4)
        for t in range(100):
            one, other = rng.permutation([[0, 1], [2, 3]][rng.integers(2)]).tolist()
            right = bool(rng.random() < 1 / (1 + np.exp(4 * (values[one] - values[other]))))
            took = other if right else one
            won = int(rng.random() < (0.8, 0.2, 0.7, 0.3)[took])
            values[took] += 0.3 * (won - values[took])
            rows.append((person, t, "wxyz"[one], "wxyz"[other], int(right), won))
    for names in (("STIML", "STIMR"), ("eins", "zwei")):
        data = pl.DataFrame(rows, ["id", "trial", *names, "key", "reward"], orient="row")
        found = inspect(data)
        assert found.guesses["offered"].columns == names


def test_neither_the_last_choice_nor_part_of_the_outcome_is_shown() -> None:
    data = learners(5, [[0.8, 0.2]]).with_columns(
        condition=pl.col("choice").shift(1).over("subject"),
        gain=pl.col("reward") * 2,
        stim_cost=-(pl.int_range(pl.len()) % 3 == 0).cast(pl.Int64),
    )
    found = inspect(data.drop("reward").rename({"stim_cost": "loss"}))
    assert found.guesses["context"].columns == ("none",)
    assert "where" not in found.guesses
