"""``howlearn path``: how far does the answer depend on price, bound and prior?"""

from __future__ import annotations

from pathlib import Path

from howlearn.cli.build import Given, command
from howlearn.cli.next_command import selecting, show_following
from howlearn.cli.options import (
    CANDIDATES,
    DATA,
    FILES,
    FORMAT,
    FRESH,
    LEARNING,
    OUT,
    STUDY,
    WORKERS,
)
from howlearn.core.options import Kind, Number, Panel
from howlearn.reading.analysis_options import CRITERION, TASK
from howlearn.reading.options import DATA as READING

MAX_RATES = Panel.models.option(
    "max_rates",
    Kind("RATE,RATE…"),
    "The largest learning rates that are tried, up to 20.",
    "0.5,1,2,5,20",
)
MAX_KAPPA = Panel.models.option(
    "max_kappa", Number("NATS"), "The largest price of a parameter; it starts at 0.", 10.0
)
JUDGES = CRITERION.but(
    help="What judges the candidates at every largest rate, named as for howlearn select; may be "
    "repeated. By default penalized(c=0.012), aic, bic, evidence and, for ten learners or more, "
    "population."
)


@command(
    FILES, STUDY, TASK, MAX_RATES, MAX_KAPPA, JUDGES, *CANDIDATES, *LEARNING, *DATA,
    OUT.but(default=Path("path")), FORMAT, FRESH, WORKERS,
)  # fmt: skip
def path(given: Given) -> None:
    """See whether the selected models depend on what one has to choose beforehand.

    Along three axes: the price of a parameter from 0 to 10 nats, exactly, with the paper's c, AIC
    and BIC marked; the largest learning rate, which is a convention; and the prior of the evidence.
    --max-rate is the largest rate for the price and the prior.
    """
    from howlearn.analyses.path import PathWork, check_bounds, check_price, path_into
    from howlearn.cli import show
    from howlearn.cli.options import parse_numbers
    from howlearn.results.inputs import load
    from howlearn.results.manifest import manifest_of
    from howlearn.runs.folder import Start
    from howlearn.selection.select import check_criteria

    bounds = check_bounds(parse_numbers(given.max_rates, MAX_RATES.word))
    check_price(given.max_kappa)
    criteria = check_criteria(given.criterion) if given.criterion else None
    options = {
        **given.of(TASK, *READING.values()),
        "max_rates": list(bounds),
        **given.of(MAX_KAPPA, *LEARNING, FORMAT, *CANDIDATES),
    }
    with show.progress_bar("reading"):
        inputs = load([str(file) for file in given.files], options)
    study, candidates, out = inputs.study, inputs.candidates, given.out
    work = PathWork(study, candidates, bounds, criteria, given.max_kappa, given.workers)
    options["criteria"] = [repr(each) for each in work.criteria]
    show.reading(study)
    show.same_models(candidates)
    manifest = manifest_of(given.files, study, candidates, options, "path")
    with show.progress_bar("following the path") as progress:
        found = path_into(out, work, manifest, given.format, Start(given.fresh), progress)
    show.found(found, out)
    show_following(selecting(given.files, options), "a model for every learner, in tables")
