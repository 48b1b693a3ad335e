"""Task files that are wrong: every problem with its file, its place and what is allowed."""

from __future__ import annotations

import pytest

from howlearn.core.errors import HowlearnError

BASE = 'actions = ["A", "B"]\n'
PAIR = BASE + 'contexts = [{name = "x", correct = "A"}, {name = "y", correct = "B"}]\n'


TOP = (
    "name, description, actions, contexts, action_aliases, context_aliases, reward_range, trials, "
    "order, offers, reversals, stop, models"
)
MODEL_KEYS = (
    "name, kind, partition, by, cells, exceptions, rule, rules, form, rates, max_rate, "
    "transitions, experts, source, parameters"
)
BROKEN = [
    ("", [
        "actions: missing; needed: a list of two or more names",
        "contexts: missing; needed: a list of contexts, each a name or a table",
    ]),
    (PAIR + "colour = 3", [f"colour: unknown key; allowed: {TOP}"]),
    (
        BASE + '[[contexts]]\nname = "x"\ntrials = 5',
        [
            "contexts[1].trials (context x): unknown key; allowed: name, features, correct, "
            "rewards, offers (trials of the task itself stands above the first [table])"
        ],
    ),
    ('actions = ["A"]\ncontexts = [1]',
     ['actions: found ["A"]; allowed: a list of two or more names']),
    ('actions = ["A", "A"]\ncontexts = [1, "1"]', [
        'actions[2]: found "A"; allowed: a name that is not used above',
        'contexts[2].name: found "1"; allowed: a name that is not used above',
    ]),
    (BASE + 'contexts = [true, {correct = "A"}, ""]', [
        "contexts[1].name: found true; allowed: a name, as text or a number",
        "contexts[2].name: missing; needed: a name, as text or a number",
        'contexts[3].name: found ""; allowed: a name, as text or a number',
    ]),
    (BASE + 'contexts = [{name = "x", correct = "C"}, {name = "y"}]', [
        'contexts[1].correct (context x): found "C"; allowed: A, B',
        "contexts[2] (context y): has no rewards; needed: correct or rewards in every context, "
        "or in none",
    ]),
    (BASE + 'contexts = [{name = 1, correct = "A", rewards = {A = 1, C = 0}}]', [
        "contexts[1] (context 1): has correct and rewards; allowed: one of them",
        'contexts[1].rewards.C (context 1): found "C"; allowed: A, B',
        "contexts[1].rewards (context 1): lacks B; needed: a reward for every action",
    ]),
    (BASE + "contexts = [{name = 1, rewards = {}}]",
     ["contexts[1].rewards (context 1): lacks A, B; needed: a reward for every action"]),
    (BASE + "contexts = [{name = 1, rewards = {A = 5, B = {probability = 0.5, otherwise = -1}}}]", [
        "contexts[1].rewards.A (context 1): found 5; allowed: rewards from 0 to 1 "
        "(helps: reward_range = [lo, hi])",
        "contexts[1].rewards.B (context 1): found -1; allowed: rewards from 0 to 1 "
        "(helps: reward_range = [lo, hi])",
    ]),
    (BASE + 'contexts = [{name = 1, rewards = {A = "high", B = {prob = 0.5}}}]', [
        'contexts[1].rewards.A (context 1): found "high"; allowed: a number or '
        "{probability = 0.8} for every action",
        "contexts[1].rewards.B.probability (context 1): missing; needed: a number from 0 to 1",
        "contexts[1].rewards.B.prob (context 1): unknown key; allowed: probability, reward, "
        "otherwise",
    ]),
    (BASE + "contexts = [{name = 1, rewards = {A = nan, B = {probability = 1.5}}}]", [
        "contexts[1].rewards.A.reward (context 1): found nan; allowed: a number",
        "contexts[1].rewards.A.otherwise (context 1): found nan; allowed: a number",
        "contexts[1].rewards.B.probability (context 1): found 1.5; allowed: a number from 0 to 1",
    ]),
    (PAIR + "reward_range = [1, 0]",
     ["reward_range: found [1.0, 0.0]; allowed: [lo, hi] with lo below hi"]),
    (BASE + 'contexts = [{name = 1, features = {shape = "s", size = 1}}, {name = 2}]', [
        "contexts[2].features (context 2): lacks shape, size; needed: the same features for every "
        "context"
    ]),
    (PAIR + 'action_aliases = {1 = "C", B = "A"}', [
        'action_aliases.1: found "C"; allowed: A, B',
        "action_aliases.B: B is itself one of the names; allowed: other words",
    ]),
    (PAIR + 'action_aliases = {"" = "A"}',
     ['action_aliases.: found ""; allowed: a table such as {1 = "A"}']),
    (PAIR + 'trials = 2.5\norder = "random"\nstop = {correct_in_a_row = 0}', [
        "trials: found 2.5; allowed: a whole number from 1 to 1000000000",
        'order: found "random"; allowed: "periodic", "blocks" or "independent"',
        "stop.correct_in_a_row: found 0; allowed: a whole number from 1 to 1000000000",
    ]),
    (PAIR + 'reversals = [{trial = 1, swap = ["A"]}, {trial = 9}]', [
        "reversals[1].trial: found 1; allowed: a whole number from 2 to 1000000000",
        'reversals[1].swap: found ["A"]; allowed: two actions, such as ["A", "B"]',
    ]),
    (
        PAIR
        + """reversals = [
            {trial = 9}, {trial = 9, swap = ["A", "A"], contexts = ["z"]},
            {trial = 9, correct = {x = "C", z = "A"}, contexts = ["x"]},
        ]""",
        [
            "reversals[1]: needed: one of swap and correct",
            'reversals[2].contexts: found "z"; allowed: x, y',
            'reversals[2].swap: found ["A", "A"]; allowed: two different actions',
            "reversals[3].contexts: stands without swap; allowed: only beside swap",
            'reversals[3].correct.x: found "C"; allowed: A, B',
            'reversals[3].correct: found "z"; allowed: x, y',
        ],
    ),
    (BASE + 'contexts = [1]\nreversals = [{trial = 9, swap = ["A", "B"]}]', [
        "reversals[1]: there is nothing to reverse; needed: correct or rewards in every context"
    ]),
    (PAIR + '[[models]]\nname = "m"\nbuy = ["shape"]',
     [f"models[1].buy (model m): unknown key; allowed: {MODEL_KEYS}"]),
    (PAIR + '[[models]]\nname = "m"\nkind = "exp5"',
     ['models[1].kind (model m): found "exp5"; allowed: "partition", "exp4", "switch" or "hmm"']),
    (
        PAIR
        + """models = [
            {name = "Coin", partition = "all"}, {name = "m", by = ["shape"]},
            {name = "m", partition = "all", cells = [["x", "y"]]}, {name = "n"},
        ]""",
        [
            'models[3].name: found "m"; allowed: a name that is not used above',
            'models[1].name: "Coin" is known to every task; allowed: another name',
            'models[2].by (model m): found "shape"; allowed: none, since there are none',
            "models[3] (model m): has partition and cells; needed: one of partition, by and cells",
            "models[4] (model n): has no cells; needed: one of partition, by and cells",
        ],
    ),
    (
        PAIR
        + """models = [
            {name = "a", cells = [["x", "z"]]}, {name = "b", cells = [["x", "y"], ["x"]]},
            {name = "c", partition = "all", exceptions = ["z"]},
        ]""",
        [
            'models[1].cells (model a): found "z"; allowed: x, y',
            "models[1].cells (model a): lacks y; needed: every context in one cell",
            "models[2] (model b): a context belongs to one cell only, but these are in two: x",
            'models[3].exceptions (model c): found "z"; allowed: x, y',
        ],
    ),
    (
        PAIR
        + """models = [
            {name = "a", partition = "each", rule = "gradiant"},
            {name = "b", partition = "each", rules = ["exp3"]},
            {name = "c", partition = "each", rule = "exp3", rules = ["exp3", "exp3"]},
            {name = "d", partition = "each", form = "loss"},
            {name = "e", partition = "each", rule = "exp3", max_rate = 21},
            {name = "f", partition = "each", rules = ["exp3", "gradient"], rates = "shared"},
        ]""",
        [
            'models[1].rule (model a): found "gradiant"; allowed: gradient, exp3, exp3-ix, '
            "q-learning, q-two-rates, q-forgetting, q-perseveration, q-start, q-signed, "
            "pearce-hall, go-no-go, win-stay-lose-shift",
            "models[2] (model b): model b has 2 cells and 1 rules: give one rule, or one per cell",
            "models[3] (model c): has rule and rules; allowed: one of them",
            "models[4].form (model d): stands without a rule; needed: rule, one of gradient, exp3, "
            "exp3-ix",
            "models[5] (model e): the largest rate must be above 0 and at most 20, got 21",
            "models[6] (model f): model f: cells with different rules cannot share their rates",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "problems"), BROKEN)
def test_every_problem_of_a_file_is_listed_with_its_place(load, text, problems):
    with pytest.raises(HowlearnError) as error:
        load(text)
    count = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
    lines = [f"the task cannot be used as it is: {count}", *(f"  my.toml, {p}" for p in problems)]
    assert str(error.value).splitlines() == lines


def test_what_is_not_toml_is_refused_with_its_line(load):
    with pytest.raises(HowlearnError, match=r"^my\.toml is not a valid TOML file: .*line 2"):
        load('name = "x"\nactions = [A]')
    with pytest.raises(HowlearnError, match=r"^my\.toml is not a valid TOML file: "):
        load("trials = " + "9" * 5000)
