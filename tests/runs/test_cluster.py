"""A real Dask cluster: a scheduler and workers as processes, which may die at any time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.core.errors import DataError, HowlearnError, Problem
from howlearn.results import select_into
from howlearn.runs import cluster, workers
from howlearn.runs import cluster as clusters
from howlearn.runs.cluster import Cluster, cluster_at
from howlearn.runs.parts import Memory, Part, Parts, Work
from howlearn.runs.workers import packed, unpacked
from machines import Machines, until
from own_models import Habit

distributed = pytest.importorskip("distributed")

QUICK = ("--criterion", "aic", "--model", "OneForAll", "--model", "ByShape")
# The command with parts of one learner each, which says when one is written, then waits a little.
SLOW = """
import sys, time
from howlearn.cli import main
from howlearn.results import select_into
from howlearn.runs import cluster
from howlearn.runs.parts import Parts
select_into.CHUNK, cluster.PATIENCE = 1, 1
write = Parts.write
def slowly(*words):
    write(*words)
    print("working", file=sys.stderr, flush=True)
    time.sleep(0.5)
Parts.write = slowly
if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Three workers; a part on which two of them die is given up."""
    made = Machines(tmp_path_factory.mktemp("machines"), 3)
    yield made
    made.close()


@pytest.fixture
def client(machines: Machines) -> Iterator[Any]:
    machines.ready(2)
    with cluster._connected(machines.address) as found:
        yield found


def test_a_local_cluster_is_closed_to_others() -> None:
    """Whoever finds its ports has neither its key nor a certificate that it accepts."""
    from distributed.comm import connect

    refused = pytest.raises(OSError, match=r"Timed out|TLS|reset|closed")
    with cluster_at("local:1") as mine:
        about = mine.client.scheduler_info()
        nannies = [worker["nanny"] for worker in about["workers"].values()]
        ports = [
            name.rpartition(":")[2] for name in (about["address"], *about["workers"], *nannies)
        ]
        assert len(ports) == 3
        others = distributed.Security.temporary()
        for start, security in (("tcp", distributed.Security()), ("tls", others)):
            with refused:
                address = f"{start}://127.0.0.1:{ports[0]}"
                distributed.Client(address, security=security, timeout=1, set_as_default=False)
            words = security.get_connection_args("client")
            for port in ports:
                with refused:
                    asyncio.run(connect(f"{start}://127.0.0.1:{port}", timeout=1, **words))
        pages = [about["services"]["dashboard"]]
        pages += [worker["services"]["dashboard"] for worker in about["workers"].values()]
        for port in pages:
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
        assert mine.client.submit(os.getpid).result(timeout=20) != os.getpid()


def _modules_from(dask_worker: Any) -> list[str]:
    return sys.path


def test_a_local_cluster_imports_nothing_from_folders_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask has its folder, which others may have made before, among those of modules."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "dask-scratch-space").mkdir(mode=0o777)
    before = [*sys.path]
    with cluster_at("local:1") as mine:
        (there,) = mine.client.run(_modules_from).values()
        found = [Path(path) for path in (*there, *sys.path) if path.startswith(str(tmp_path))]
        assert found
        for path in found:
            inside = path.relative_to(tmp_path).parts[0]
            assert inside.startswith("howlearn-")
            assert (tmp_path / inside).stat().st_mode & 0o777 == 0o700
    assert sys.path == before
    assert [path.name for path in tmp_path.iterdir()] == ["dask-scratch-space"]


def test_processes_import_nothing_from_the_current_folder(
    trials: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Which may be a stranger's; as a command, howlearn itself does not look there either."""
    trap = f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\nraise ImportError\n"
    for module in ("multiprocessing", "numpy", "tornado", "struct"):
        Path(f"{module}.py").write_text(trap)
    command = tmp_path_factory.mktemp("bin") / "howlearn"
    command.write_text(
        f"import sys\nsys.path.insert(0, {str(Path(hl.__file__).parents[1])!r})\n"
        "from howlearn.cli import main\nif __name__ == '__main__':\n    main()\n"
    )
    words = ("select", trials, "--task", "five-four", *QUICK, "--out", "results")
    ran = subprocess.run(
        [sys.executable, str(command), *words, "--dask", "local:1"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert not (tmp_path / "ran").exists()
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def study() -> hl.Study:
    return hl.simulate("five-four", "ByShape", {"eta": 0.05}, learners=8, trials=60, seed=1)


@pytest.fixture
def trials(study: hl.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(select_into, "CHUNK", 1)
    study.frame().write_csv("trials.csv")
    return "trials.csv"


def select(monkeypatch: pytest.MonkeyPatch, out: str, *words: object) -> int:
    """``howlearn select`` in this process."""
    from howlearn.cli import main

    typed = ("howlearn", "select", "trials.csv", "--task", "five-four", *QUICK, "--out", out)
    monkeypatch.setattr(sys, "argv", [*typed, *map(str, words)])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def content(folder: str | Path) -> dict[str, bytes]:
    """Every file of a run, its parts among them."""
    root = Path(folder)
    files = [file for file in root.rglob("*") if file.is_file()]
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


def after_parts(monkeypatch: pytest.MonkeyPatch, happenings: dict[int, Callable[[], Any]]) -> None:
    """Have something happen when so many parts are written."""
    write, count = Parts.write, 0

    def counting(*words: Any) -> None:
        nonlocal count
        write(*words)
        count += 1
        happenings.get(count, lambda: None)()

    monkeypatch.setattr(Parts, "write", counting)


def parts_of(run: Callable[..., Any], count: int = 3, common: Any = None) -> list[Part]:
    return [Part(k, ("table",), 1, lambda k=k: Work(run, common, k)) for k in range(count)]


def numbered(common: Any, own: int, threads: int | None, progress: Any) -> dict[str, pl.DataFrame]:
    assert threads == 1
    return {"table": pl.DataFrame({"own": [own], "process": [os.getpid()]})}


def refusing(common: Any, own: int, threads: int | None, progress: Any) -> Any:
    raise DataError([Problem("a.csv", 3, "x", "?", "numbers", "write one")])


def deadly(common: Any, own: int, threads: int | None, progress: Any) -> Any:
    os._exit(1)


def broken(common: Any, own: int, threads: int | None, progress: Any) -> Any:
    raise ZeroDivisionError("of one's own")


def test_calls_from_python_give_what_threads_give(client: Any, study: hl.Study, tmp_path: Path):
    few = {"parameters": {"eta": 0.1}, "learners": 6, "trials": 40}
    here, there = (hl.calibrate("shepard-1", **few, client=c) for c in (None, client))
    assert here.errors.equals(there.errors)
    assert here.estimates.equals(there.estimates)
    here, there = (
        hl.recover("shepard-1", **few, criteria=["aic"], client=c) for c in (None, client)
    )
    assert here.confusion.equals(there.confusion)
    here, there = (
        hl.plan("shepard-1", parameters={"eta": 0.1}, trials=[40], simulated=6, client=c)
        for c in (None, client)
    )
    assert here.recovered.equals(there.recovered)
    small = hl.simulate("shepard-1", "ByFeature1", {"eta": 0.1}, learners=3, trials=60, seed=1)
    here, there = (hl.discover(small, criteria=["ewens"], client=c) for c in (None, client))
    assert here.partitions.equals(there.partitions)
    assert here.population.equals(there.population)
    models = hl.Task.load("five-four").models[:2]
    for folder, who in (("here", None), ("there", client)):
        found = hl.select(study, models, ["aic"], client=who, folder=tmp_path / folder)
        assert set(found.selection["model"]) <= {model.name for model in models}
    assert content(tmp_path / "here") == content(tmp_path / "there")
    with pytest.raises(HowlearnError, match=r"holds the results of another run:(.|\n)*study: "):
        hl.select(study.part(0, 7), models, ["aic"], folder=tmp_path / "here")


def test_commands_give_what_threads_give(
    machines: Machines, trials: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert select(monkeypatch, "here", "--predictions") == 0
    assert select(monkeypatch, "there", "--predictions", "--dask", machines.file) == 0
    assert content("here") == content("there")
    assert len(content("there/parts")) > 8 * 4


def test_own_code_goes_with_the_work(client: Any, study: hl.Study, tmp_path: Path) -> None:
    """The class is the one of the tests' own file, which no worker can import."""
    seen = client.run(eval, f"__import__('importlib.util').util.find_spec({Habit.__module__!r})")
    assert set(seen.values()) == {None}
    models = [hl.models.Coin(), Habit()]
    for folder, who in (("here", None), ("there", client)):
        hl.select(study.part(0, 2), models, ["aic"], client=who, folder=tmp_path / folder)
    assert content(tmp_path / "here") == content(tmp_path / "there")


def test_every_part_is_done_once_by_whoever_is_free(client: Any) -> None:
    store, told = Memory(Cluster(client)), []
    store.complete(parts_of(numbered, 40), lambda done, total: told.append((done, total)))
    table = store.read("table").collect()
    assert table["own"].to_list() == list(range(40))
    assert table["process"].n_unique() > 1
    assert told[0] == (0, 40)
    assert told[-1] == (40, 40)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_refusals_arrive_as_their_sentences(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HowlearnError, match=r"a\.csv.*write one"):
        Memory(Cluster(client)).complete(parts_of(refusing))
    with pytest.raises(ZeroDivisionError, match="of one's own"):
        Memory(Cluster(client)).complete(parts_of(broken))
    monkeypatch.setattr(workers, "installed", lambda: ("0.0.1", {"numba": "0.1"}))
    with pytest.raises(HowlearnError, match=r"there is 0\.0\.1 \(numba 0\.1\): results could diff"):
        Memory(Cluster(client)).complete(parts_of(numbered))


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("local:0", "write local:4"),
        ("local:two", "write local:4"),
        ("nonsense", "neither an address"),
        ("tcp://127.0.0.1:9", "no Dask scheduler answers there"),
        ("127.0.0.1:9", "no Dask scheduler answers there"),
        ("ftp://here", "no Dask scheduler answers there"),
        ("none.json", "neither an address"),
        ("empty.json", "not a file of a Dask scheduler"),
        ("list.json", "not a file of a Dask scheduler"),
    ],
)
def test_a_wrong_address_is_told(
    where: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "CONNECTING", 0.3)
    Path("empty.json").write_text("")
    Path("list.json").write_text("[1]")
    with pytest.raises(HowlearnError, match=words) as told, cluster_at(where):
        pass
    assert str(told.value).startswith(f"--dask {where}: ")
    assert "\n" not in str(told.value)


def test_without_dask_the_extra_is_named(
    study: hl.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(HowlearnError, match="client is a Dask client"):
        hl.select(study, folder=tmp_path / "x", client="tcp://127.0.0.1:9")  # type: ignore[arg-type]
    assert not (tmp_path / "x").exists()
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(HowlearnError, match=r"pip install 'howlearn\[cluster\]'"),
        cluster_at("a:1"),
    ):
        pass


def test_a_part_that_kills_its_workers_is_given_up(client: Any) -> None:
    with pytest.raises(HowlearnError, match=r"part 0 .* given up: 2 workers died"):
        Memory(Cluster(client)).complete(parts_of(deadly, 1))


def test_the_run_survives_its_workers_and_its_scheduler(
    machines: Machines, trials: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is killed, then the scheduler; another one comes in its place, and workers later."""
    assert select(monkeypatch, "here") == 0
    machines.ready(2)
    monkeypatch.setattr(clusters, "AHEAD", 1)
    monkeypatch.setattr(clusters, "PATIENCE", 60.0)

    def restart() -> None:
        machines.restart()
        threading.Timer(0.5, machines.add).start()

    after_parts(monkeypatch, {2: machines.kill_one, 4: restart})
    assert select(monkeypatch, "there", "--dask", machines.address) == 0
    assert content("here") == content("there")


def test_a_scheduler_that_is_gone_ends_the_run_in_words(
    trials: str, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert select(monkeypatch, "here") == 0
    machines.ready(1)
    Path("slow.py").write_text(SLOW)
    typed = ("select", trials, "--task", "five-four", *QUICK, "--out", "there", "--dask")
    words = [sys.executable, "slow.py", *typed, machines.address]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "working" in line)
        machines.scheduler.kill()
        start = time.monotonic()
        said = process.stderr.read()
    assert process.returncode == 2
    assert time.monotonic() - start < 30
    lines = [line for line in said.splitlines() if line != "working"]
    assert len(lines) == 1, said
    assert lines[0].startswith(f"howlearn: the Dask scheduler at {machines.address} no longer answ")
    assert 0 < len(content("there/parts")) < len(content("here/parts"))
    assert select(monkeypatch, "there") == 0  # what is missing is done here
    assert content("here") == content("there")


@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_run_that_is_stopped_leaves_no_process_behind(
    trials: str, how: signal.Signals, status: int, tmp_path: Path
) -> None:
    """As a terminal stops it: all processes of the command are told; a kill hits one of them."""
    Path("slow.py").write_text(SLOW)
    dask = "local:2" if how == signal.SIGINT else "local:1"
    words = ("select", trials, "--task", "five-four", *QUICK, "--out", "r", "--dask", dask)
    process = subprocess.Popen(
        [sys.executable, "slow.py", *words],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with process:
        assert process.stderr is not None
        next(line for line in process.stderr if "working" in line)
        assert list(tmp_path.glob("howlearn-*"))  # the folder of its processes
        if how == signal.SIGINT:
            os.killpg(process.pid, how)
        else:
            process.kill()
        said = process.stderr.read()  # to its end: until nobody is there who could write
    assert process.returncode == status
    lines = [line for line in said.splitlines() if line != "working"]
    if how == signal.SIGINT:
        assert len(lines) == 1, said
        assert lines[0].startswith("howlearn: interrupted")
        assert not list(tmp_path.glob("howlearn-*"))
    until(lambda: _is_empty(process.pid), "the end of all processes", 20)


def _is_empty(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_what_is_packed_is_what_it_was() -> None:
    rng = np.random.default_rng(1)
    arrays = [
        rng.integers(0, 9, 10_000).astype(np.int32),
        rng.integers(0, 300, 10_000).astype(np.int16),
        rng.choice([0.0, -0.0, np.nan, 1.0, np.inf], 10_000),
        np.r_[np.zeros(9_999), 1e-300],  # a value that a look at some entries misses
        rng.normal(size=(50, 200)),
        rng.normal(size=(50, 200))[:, ::2],
        np.asfortranarray(rng.integers(0, 2, (100, 100))),
        np.ones(10_000, np.bool_),
        rng.integers(0, 2, 10_000).astype(np.bool_),
        rng.normal(size=10_000) + 1j,
        np.empty((0, 5)),
        np.arange(3),
        np.array(["a", "bc"] * 5_000),
        np.array([None, "x"] * 5_000),
    ]
    found = unpacked(packed(arrays))
    for array, again in zip(arrays, found, strict=True):
        assert (again.dtype, again.shape) == (array.dtype, array.shape)
        if array.dtype.hasobject:
            assert again.tolist() == array.tolist()
        else:
            assert again.tobytes() == array.tobytes()  # to the bit: −0 and NaN too
        assert again.flags.writeable
    assert len(packed(arrays[2])) < 12_000
    assert len(packed(arrays[7])) < 1_000


def test_trials_travel_in_a_few_bytes() -> None:
    study = hl.simulate("five-four", "ByShape", {"eta": 0.05}, learners=100, trials=200, seed=1)
    chunk = select_into.Chunk.of(study, 0, 100, with_rows=False)
    assert len(packed(chunk)) < 2 * len(study.context)
    here, there = chunk.study, unpacked(packed(chunk)).study
    assert all(np.array_equal(getattr(here, n), getattr(there, n)) for n in ("reward", "context"))
