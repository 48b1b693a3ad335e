"""Seeds of text: with any separator and encoding, long and wide, of the usual software."""

from __future__ import annotations

import json

from fuzz.rows import LEARNERS, TRIALS, rows, separated
from fuzz.seeds import Seed, Writer, one


def _csv(name: str, text: str, encoding: str = "utf-8", **options: str) -> Writer:
    return lambda: one(name, "text", text.encode(encoding), **options)


def _wide() -> str:
    numbers = range(1, TRIALS + 1)
    names = ["id", *(f"choice_{t}" for t in numbers), *(f"reward_{t}" for t in numbers)]
    lines = [",".join(names)]
    for learner in range(1, LEARNERS + 1):
        mine = [row for row in rows() if row[0] == learner]
        cells = [learner, *(row[3] for row in mine), *(row[4] for row in mine)]
        lines.append(",".join(map(str, cells)))
    return "\n".join(lines) + "\n"


def _jspsych() -> str:
    names = "trial_type,trial_index,time_elapsed,subject,stimulus,response,correct,reward,question"
    lines = [names]
    for learner, trial, stimulus, choice, reward, _ in rows():
        answer = json.dumps({"Q0": "yes", "Q1": trial}).replace('"', '""')
        lines.append(
            f"html-button-response,{trial},{1000 * trial},{learner},<p>{stimulus}</p>,{choice},"
            f'true,{reward},"{answer}"'
        )
    return "\n".join(lines) + "\n"


def _psychopy() -> str:
    names = "stimulus,trials.thisRepN,trials.thisTrialN,trials.thisN,key_resp.keys,key_resp.rt"
    lines = [f"{names},reward,participant,session,date,expName,psychopyVersion,frameRate"]
    lines += [
        f"{stimulus},0,{trial},{trial},{choice},{rt},{reward},{learner},001,2024-05-01,exp,2023.2,60"
        for learner, trial, stimulus, choice, reward, rt in rows()
    ]
    return "\n".join(lines) + "\n"


def _qualtrics() -> str:
    names = ["StartDate", "Status", "ResponseId", "choice_1", "choice_2", "choice_3"]
    names += ["reward_1", "reward_2", "reward_3"]
    asked = ["Start Date", "Response Type", "Response ID", *("What?\nPick one" for _ in range(6))]
    about = [json.dumps({"ImportId": f"QID{i}"}) for i in range(len(names))]
    people = [["2024-01-01", "0", f"R_{i}", "L", "R", "L", "1", "0", "1"] for i in range(3)]
    lines = [[*names], asked, about, *people]
    return "\n".join(",".join(_quoted(cell) for cell in line) for line in lines) + "\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def _eprime() -> str:
    head = ["*** Header Start ***", "VersionPersist: 1", "Subject: 7", "Session: 1"]
    lines = [*head, "*** Header End ***"]
    for _, trial, stimulus, choice, reward, rt in rows()[:TRIALS]:
        lines += ["Level: 2", "*** LogFrame Start ***", "Procedure: Trial", f"Trial: {trial}"]
        lines += [f"Stimulus: {stimulus}", f"Choice.RESP: {choice}", f"Reward: {reward}"]
        lines += [f"Choice.RT: {rt}", "*** LogFrame End ***"]
    lines += ["Level: 1", "*** LogFrame Start ***", "Experiment: x", "*** LogFrame End ***"]
    return "\r\n".join([*lines, ""])


HBAYESDM = ("subjID", "trial", "stimulus", "choice", "outcome", "rt")
SEEDS: dict[str, Writer] = {
    "csv": _csv("a.csv", separated()),
    "tsv": _csv("a.tsv", separated("\t")),
    "semicolon": _csv("a.csv", separated(";", comma=True)),
    "blanks": _csv("a.txt", separated(" ")),
    "log": _csv("a.log", "Scenario - x\n\n" + separated("\t")),
    "quoted": _csv("a.csv", "\n".join(f'"{line}"' for line in separated('","').splitlines())),
    "utf-16": _csv("a.txt", separated("\t").replace("\tb\t", "\tü\t"), "utf-16"),
    "windows": _csv("a.csv", separated(";").replace(";c;", ";é;"), "cp1252"),
    "wide": _csv("a.csv", _wide(), context="none"),
    "jspsych": _csv("a.csv", _jspsych()),
    "psychopy": _csv("a.csv", _psychopy(), action="key_resp.keys"),
    "qualtrics": _csv("a.csv", _qualtrics(), context="none"),
    "e-prime": _csv("a.txt", _eprime(), "utf-16", action="Choice.RESP"),
    "hbayesdm": _csv("a.txt", separated("\t", names=HBAYESDM)),
}


def study_file() -> Seed:
    """A howlearn.toml beside its data."""
    text = (
        'files = ["a.csv"]\n\n[data]\nlearner = "participant"\ncontext = ["stimulus"]\n'
        'action = "choice"\nreward = "reward"\ntrial = ["trial"]\nwhere = "rt < 5"\n'
        'recode = ["choice:L=left,R=right"]\nreward_range = [0, 1]\nmin_trials = 2\n\n[models]\n'
        "max_rate = 1.0\n"
    )
    files = {"howlearn.toml": text.encode(), "a.csv": separated().encode()}
    return Seed({"howlearn.toml": "toml", "a.csv": "text"}, files, "howlearn.toml")


def task_file() -> Seed:
    """A task's file beside the data."""
    contexts = "".join(
        f'[[contexts]]\nname = "{name}"\nfeatures = {{shape = "{shape}"}}\ncorrect = "L"\n\n'
        for name, shape in (("a", "round"), ("b", "round"), ("c", "square"))
    )
    text = (
        f'name = "small"\nactions = ["L", "R"]\n\n{contexts}'
        '[[models]]\nname = "ByShape"\nby = ["shape"]\n\n'
        '[[models]]\nname = "Own"\ncells = [["a"], ["b", "c"]]\n'
    )
    files = {"task.toml": text.encode(), "a.csv": separated().encode()}
    return Seed({"task.toml": "toml", "a.csv": "text"}, files, "a.csv", task="task.toml")


SEEDS |= {"study file": study_file, "task file": task_file}
