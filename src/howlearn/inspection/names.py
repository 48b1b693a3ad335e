"""What the names of columns say: which role a column may play, and which it cannot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from howlearn.reading.roles import guess, plain

# Parts of names, from the most telling on; a part is a word between capitals and punctuation.
PARTS = {
    "learner": (
        "participant subject learner subj worker prolific player user person child animal proband "
        "probandin versuchsperson vpnr teilnehmer sujet sujeto participante proefpersoon"
    ),
    "context": (
        "stimulus stim stimuli item object cue context exemplar image picture img pic state "
        "stimfile file filename symbol pair target word sound shape "
        "reiz bild objekt hinweisreiz estimulo estímulo imagen stimolo"
    ),
    "action": (
        "choice chosen chose response resp action decision selected selection keys key keypress "
        "pressed button option arm bandit deck door side guess pick answer "
        "gamble gambled prediction predicted antwort wahl auswahl entscheidung reaktion taste "
        "vorhersage réponse reponse choix respuesta eleccion elección risposta scelta keuze"
    ),
    "reward": (
        "reward rewarded rew outcome feedback payoff points correct corr cor accuracy acc win won "
        "money earned score success hit result "
        "gewinn belohnung rückmeldung rueckmeldung punkte richtig korrekt ergebnis récompense "
        "recompense recompensa acierto correcto correcte"
    ),
    "trial": (
        "trial trialn trialnum trialnumber thisn thistrialn thistotaln trialindex round trl "
        "durchgang durchgangsnr versuch essai ensayo"
    ),
    "rt": "rt reactiontime responsetime latency rts reaktionszeit antwortzeit",
}
STEMS = {
    "context": ("stim", "cue", "item", "object", "symbol"),
    "action": ("chosen", "choice", "chose", "response", "action"),
    "reward": ("reward", "outcome", "feedback", "payoff", "correct"),
    "trial": ("thisn", "trialnum", "trialindex", "trialno"),
}
RT_NAMES = (
    "rt reactiontime responsetime respt latency keyresprt reacttime rtms choicert rtime "
    "reaktionszeit antwortzeit"
)
BLOCKS = (
    "block run session round part game problem set phase blocknr miniblock list day epoch blk "
    "durchlauf sitzung bloc bloque"
)
CONDITIONS = "condition cond task type problem game session environment schedule treatment"
KINDS = (
    "trial_type task test_part phase screen event event_type display zone_type component "
    "trial_category block_type trialtype stage part blocktype practice is_practice section "
    "procedure running blockproc trialproc abschnitt übung uebung prac is_prac"
)
FEATURES = (
    "shape colour color size pattern texture orientation fill border shading filling form hue "
    "brightness farbe größe groesse muster"
)
GROUPS = "group sex gender age diagnosis arm cohort handedness site version agegroup patient"
_FEATURE = re.compile(r"(feature|feat|dim|dimension|attribute|attr)s?[0-9a-z]?")
_NUMBERED = re.compile(r"(f|d|x|card|cue|symptom|input|component|element)s?[0-9]{1,2}")
_TIMES = re.compile(
    r"rt|rts|time|onset|offset|latency|duration|date|elapsed|clock|started|stopped|"
    r"(reaktions|antwort)?zeit"
)
_NO_ROLE = re.compile(
    r"prob|probability|total|cumulative|cum|mean|average|avg|expected|max|min|n|count|sum|url|"
    r"version|id|row|index|seed|next|prev|previous|last|other|unchosen|p|delay|since"
)
_MISTAKES = {
    *"error errors err errs incorrect wrong mistake mistakes fail failed failure failures".split(),
    *"loss losses lost lose punishment punished penalty fehler falsch erreur erreurs".split(),
}
_NO_MISTAKES = {
    *"prediction pe standard std message msg code log text rate aversion".split(),
    *"gain win won correct right or".split(),
}
_PRACTICE = re.compile(r"prac|practi[cs]e|demo|training|tutorial|warmup|übung|uebung")
_RIGHT = {"correct", "cor", "corr", "right", "expected", "optimal", "best", "true", "target"}
_WHAT = {*"choice response resp key answer ans action button option arm category a side".split()}
_ANSWERS = {"corrans", "cora", "corresp", "corans", "answer", "solution", "truth", "category"}


def parts_of(name: str) -> list[str]:
    """The words of a name, without case.

    >>> parts_of("key_resp.keys"), parts_of("TrialNumber2"), parts_of("RT")
    (['key', 'resp', 'keys'], ['trial', 'number2'], ['rt'])
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [part.lower() for part in re.split(r"[\W_]+", spaced) if part]


def is_rt(name: str) -> bool:
    """Whether a name is that of reaction times."""
    return plain(name) in RT_NAMES.split() or parts_of(name)[-1:] == ["rt"]


def is_time(name: str) -> bool:
    """Whether a name is about time, so that the column plays no role.

    >>> is_time("key_resp.rt"), is_time("onset"), is_time("stimulus")
    (True, True, False)
    """
    return any(_TIMES.fullmatch(part) for part in parts_of(name))


def is_answer(name: str) -> bool:
    """Whether a name is that of the right answer.

    >>> [is_answer(name) for name in ("correct_choice", "corrAns", "corA", "choice", "correct")]
    [True, True, True, False, False]
    >>> is_answer("key_resp.corr")  # whether the key was right
    False
    """
    *before, last = parts_of(name) or [""]
    return (
        plain(name) in _ANSWERS
        or last == "cresp"
        or (last in _WHAT and not _RIGHT.isdisjoint(before))
    )


def is_mistake(name: str) -> bool:
    """Whether a name says that more of it is worse.

    >>> [is_mistake(name) for name in ("error", "isIncorrect", "n_errors", "correct", "PE_error")]
    [True, True, False, False, False]
    >>> is_mistake("prediction_error"), is_mistake("win_loss"), is_mistake("my <b>error")
    (False, False, True)
    """
    parts = parts_of(name)
    against = any(_NO_ROLE.fullmatch(part) or part in _NO_MISTAKES for part in parts)
    return not _MISTAKES.isdisjoint(parts) and not against


def is_feature(name: str) -> bool:
    """Whether a name is that of a feature of what is shown."""
    parts = parts_of(name)
    return bool(_FEATURE.fullmatch("".join(parts))) or parts[-1:] in [[f] for f in FEATURES.split()]


def is_numbered(name: str) -> bool:
    """Whether a name is one of several that are only counted, as f1, f2 or card_3.

    >>> [is_numbered(name) for name in ("f1", "card_3", "Cue2", "stim1", "q1")]
    [True, True, True, False, False]
    """
    return bool(_NUMBERED.fullmatch("".join(parts_of(name))))


def is_practice(name: str) -> bool:
    """Whether a name is that of something in a practice part.

    >>> [is_practice(name) for name in ("key_resp_prac.keys", "PracticeResp", "resp", "practical")]
    [True, True, False, False]
    """
    return any(_PRACTICE.fullmatch(part) for part in parts_of(name))


def is_loop(name: str) -> bool:
    """Whether a name is that of a counter of PsychoPy's loops, as trials.thisRepN."""
    return "this" in parts_of(name)


def like(name: str, words: str) -> bool:
    """Whether a name, or one of its words, is in a list."""
    known = _known(words)
    return plain(name) in known or any(
        part.rstrip("0123456789") in known for part in parts_of(name)
    )


@cache
def _known(words: str) -> frozenset[str]:
    return frozenset(plain(word) for word in words.split())


def is_telling(name: str) -> bool:
    """Whether a name says anything at all about what a column may be."""
    lists = f"{BLOCKS} {CONDITIONS} {KINDS} {FEATURES} {GROUPS} gain loss win lose"
    return (
        any(named_like(role, [name]) for role in PARTS)
        or like(name, lists)
        or is_answer(name)
        or is_feature(name)
    )


def named_like(role: str, columns: Sequence[str]) -> dict[str, int]:
    """The columns whose names speak for a role: how strongly, 3 for a common name.

    >>> named_like("action", ["condchosen", "key_resp.keys", "rt", "Choice", "correct_key"])
    {'Choice': 3, 'key_resp.keys': 2, 'condchosen': 1}
    """
    exact = [*guess(role, columns)] if role != "rt" else [c for c in columns if is_rt(c)]
    found = dict.fromkeys(exact, 3)
    words = PARTS[role].split()
    ranked: list[tuple[int, int, str]] = []
    for column in columns:
        parts = parts_of(column)
        if column in found or (is_time(column) and role != "rt") or _bare(role, column, parts):
            continue
        places = [words.index(part) for part in parts if part in words]
        if places:
            ranked.append((2, min(places), column))
        elif any(stem in plain(column) for stem in STEMS.get(role, ())):
            ranked.append((1, 0, column))
    ranked = [(0, at, c) if is_practice(c) else (strength, at, c) for strength, at, c in ranked]
    ranked.sort(key=lambda one: (-one[0], one[1]))
    return found | {column: strength for strength, _, column in ranked}


def _bare(role: str, name: str, parts: Sequence[str]) -> bool:
    """Whether a word of the name speaks against a role of which another word speaks."""
    against = any(_NO_ROLE.fullmatch(part) for part in parts) and role not in ("learner", "trial")
    return against or (role in ("action", "reward", "context") and is_answer(name))
