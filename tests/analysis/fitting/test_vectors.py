"""Fits where states are vectors: from rows to a policy that acts on vectors, and everything that is refused."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import confide as cf
from confide.analysis.fitting import Engine, refit
from confide.analysis.fitting.engines import count
from confide.analysis.fitting.learning import make_learner
from confide.analysis.fitting.linear import LinearPlan
from confide.analysis.results.fit import FILES
from confide.cli import run
from confide.errors import InvalidInput
from confide.learning.learners import Context
from confide.protocol.kinds.gram import GramRelease
from tests.refusals import refused

PEOPLE, HORIZON = 3000, 4
WORDS = ["--learner", "vapvi", "--actions", "2", "--horizon", str(HORIZON), "--state-columns", "x*", "--norm", "1"]
SPEND = ["--rho", "20", "--budget", "100"]


def columns(early: bool = False, seed: int = 0) -> dict[str, np.ndarray]:
    """A point on [-1, 1], and a second number that means nothing. Action 1 pushes right, 0 left; being right pays."""
    rng = np.random.default_rng(seed)
    x, rows = rng.uniform(-0.6, 0.6, size=(PEOPLE, 2)), []
    for h in range(HORIZON):
        action = rng.integers(2, size=PEOPLE)
        paid = (rng.random(PEOPLE) < 0.5 + x[:, 0] / 2).astype(float)
        after = np.clip(x + rng.normal(scale=0.05, size=x.shape), -0.7, 0.7)
        after[:, 0] = np.clip(after[:, 0] + 0.2 * (2 * action - 1), -0.7, 0.7)
        people = np.arange(PEOPLE)
        here = (people % 5 > 0) | (h < 2) if early else np.ones(PEOPLE, dtype=bool)
        rows.append(np.column_stack([people, np.full(PEOPLE, h), x, action, paid, after])[here])
        x = after
    table = np.concatenate(rows)
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    names = ("user", "step", "x1", "x2", "action", "reward", "next_x1", "next_x2")
    given = dict(zip(names, table.T, strict=True))
    return {name: given[name].astype(np.int64) if name in ("user", "step", "action") else given[name] for name in given}


def opened(changes=None, early=False, **words):
    options = {**columns(early), **(changes or {})}
    words = {"state_columns": "x*", "norm": 1.0, "intercept": True, "fixed_length": not early, **words}
    return cf.trajectories.read(options, actions=2, horizon=HORIZON, **words)


def learned(tmp_path, data=None, learner="vapvi", rho=20.0, **words):
    words = {"ledger": tmp_path / "ledger.json", "budget": 1e9, **words}
    return cf.fit(data or opened(), learner=learner, privacy=cf.Central(rho=rho), **words)


@pytest.mark.parametrize("learner", ["vapvi", "pevi"])
@pytest.mark.parametrize("early", [False, True])
def test_a_policy_for_vectors(tmp_path, learner, early):
    fit = learned(tmp_path, opened(early=early), learner, out=tmp_path / "policy")
    assert sorted(path.name for path in (tmp_path / "policy").iterdir()) == sorted(set(FILES) - {"policy.csv"})
    again = cf.load(tmp_path / "policy")
    for step in range(HORIZON - 1):  # at the last step no action matters
        for place in (-0.6, 0.0, 0.6):
            assert again.act(step, [place, 0.1]) == fit.act(step, np.array([place, 0.1])) == 1
    assert again.policy.value(0, [0.6, 0.0]) > again.policy.value(0, [-0.6, 0.0])
    assert again.config["vectors"] == {"columns": ["x1", "x2"], "norm": 1.0, "intercept": True}
    assert again.config["states"] is None and again.values is None
    assert any("vectors of 2 numbers, of length at most 1" in findings for findings in fit.certificate.assumptions)
    findings = fit.findings
    assert findings["low"] <= findings["value"] <= findings["high"] and findings["practice"]["value"] == pytest.approx(
        2.0, abs=0.6
    )
    page = (tmp_path / "policy" / "report.html").read_text()
    assert "a rule for any state of 2 numbers" in page


def test_at_little_noise_the_sums_are_those_of_the_rows(tmp_path):
    """The first Gram matrix released is that of the last step, block by block."""
    data, given = opened(intercept=False), columns()
    fit = learned(tmp_path, data, rho=1e5)
    from confide.protocol.kinds import gram
    from confide.protocol.kinds import values as values_kind
    from confide.protocol.kinds.gram import GramForm

    form = GramForm(data.vectors.features, HORIZON)
    answer = gram.release_from_bytes(fit.releases["gram-0000"], form)
    last = given["step"] == HORIZON - 1
    x = np.column_stack([given["x1"], given["x2"]])
    for action in range(2):
        rows = x[last & (given["action"] == action)]
        np.testing.assert_allclose(answer.matrix[action], rows.T @ rows, atol=0.3)
        paid = given["reward"][last & (given["action"] == action)]
        np.testing.assert_allclose(answer.vectors[0, action], paid @ rows, atol=0.3)
    worth = values_kind.values_from_bytes(fit.releases["values"])
    assert worth.returned == pytest.approx(given["reward"].sum(), abs=1)


def test_refit_and_split(tmp_path):
    fit = learned(tmp_path, split=True, out=tmp_path / "policy")
    same = refit(tmp_path / "policy")
    assert same.findings == fit.findings
    other = refit(tmp_path / "policy", scale=50.0)
    assert other.policy.value(0, [0.0, 0.0]) < fit.policy.value(0, [0.0, 0.0])
    assert other.policy.value(1, [0.0, 0.0]) == fit.policy.value(1, [0.0, 0.0])
    assert fit.certificate.mechanisms[0]["split"] is True


def test_one_episode_of_each_person(tmp_path):
    table = columns()
    fit = learned(tmp_path, opened({"user": table["user"] // 2, "episode": table["user"]}, users="limit"))
    assert fit.users == PEOPLE // 2


def test_sources_and_spellings_agree(tmp_path, capsys):
    table = pa.table(columns())
    parquet.write_table(table, tmp_path / "log.parquet")
    from pyarrow import csv

    csv.write_csv(table, tmp_path / "log.csv")
    for number, (path, names) in enumerate((("log.parquet", "x1,x2"), ("log.csv", "x*"), ("log.csv", "x1, x2"))):
        words = [*WORDS, *SPEND, "--out", str(tmp_path / f"p{number}"), "--fixed-length", "--json"]
        words[words.index("x*")] = names
        ledger = ["--ledger", str(tmp_path / f"ledger-of-{path}.json")]
        assert run(["fit", str(tmp_path / path), *words, *ledger]) == 0
        captured = capsys.readouterr()
        assert json.loads(captured.out)["users"] == PEOPLE and "--intercept" in captured.err


def spoiled(name: str) -> dict[str, np.ndarray]:
    table = columns()
    column, row, entry = {
        "nan": ("x1", 5, np.nan),
        "infinite": ("x2", 5, np.inf),
        "long": ("x2", 5, 1.2),
        "chain": ("next_x1", 4, 0.123),
        "next": ("next_x1", 5, np.inf),
        "reward": ("reward", 5, np.nan),
        "step": ("step", 5, 3),
        "action": ("action", 5, 2),
    }[name]
    table[column][row] = entry
    return table


SAYS = {
    "nan": "made of numbers, and no longer than 1, the declared norm. Row 6",
    "infinite": "made of numbers, and no longer than 1, the declared norm. Row 6",
    "long": "scale longer ones down with --clip",
    "chain": "begin in the next state of the row before it. Row 6",
    "next": "Every next state must be made of numbers",
    "reward": "none may be missing. Row 6",
    "step": "must go up by one from 0. Row 6",
    "action": "one of the 2 declared. Row 6",
}


@pytest.mark.parametrize("name", SAYS)
def test_bad_rows(name: str, tmp_path: Path, capsys) -> None:
    parquet.write_table(pa.table(spoiled(name)), tmp_path / "log.parquet")
    words = [*WORDS, *SPEND, "--out", str(tmp_path / "policy"), "--fixed-length", "--intercept"]
    assert run(["fit", str(tmp_path / "log.parquet"), *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and SAYS[name] in captured.err
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]
    assert run(["fit", str(tmp_path / "log.parquet"), *words, "--check"]) == 2
    assert SAYS[name] in capsys.readouterr().out


def test_long_vectors_are_scaled_down_on_request(tmp_path, capsys):
    parquet.write_table(pa.table(spoiled("long") | {"next_x2": columns()["next_x2"]}), tmp_path / "log.parquet")
    words = [*WORDS, *SPEND, "--out", str(tmp_path / "policy"), "--fixed-length", "--clip", "--columns", "next_state="]
    assert run(["fit", str(tmp_path / "log.parquet"), *words]) == 0
    captured = capsys.readouterr()
    assert "scaled down" not in (captured.out + captured.err).replace("longer ones were scaled down", "")
    assert cf.load(tmp_path / "policy").act(0, [30.0, 40.0]) in (0, 1)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"norm": None}, "norm-undeclared"),
        ({"norm": -1.0}, "not-positive: norm"),
        ({"states": 3}, "vectors-take-no-numbers"),
        ({"support": np.ones((3, 2, 3))}, "vectors-take-no-numbers"),
        ({"rewards": np.ones((3, 2))}, "vectors-take-no-numbers"),
        ({"state_columns": "y*"}, "state-column-missing"),
        ({"state_columns": "x*,step"}, "column-two-roles"),
        ({"state_columns": None, "norm": None, "states": 3}, "vector-flags-without-columns"),
    ],
)
def test_bad_declarations(words, says):
    with refused(says):
        opened(**words)


def test_bad_choices(tmp_path):
    for words, says in (
        ({"learner": "apvi"}, "learner-needs-counted-states"),
        ({"features": np.ones((1, 2, 3))}, "features-twice"),
    ):
        with refused(says):
            learned(tmp_path, **words)
    assert not (tmp_path / "ledger.json").exists()
    fit = learned(tmp_path, out=tmp_path / "policy")
    for state, says in (
        ([2.0, 0.0], "state-too-long"),
        ([0.1], "wrong-shape: state"),
        ([np.nan, 0.0], "not-finite: state"),
    ):
        with refused(says):
            fit.act(0, state)
    with pytest.raises(InvalidInput, match="step"):
        fit.act(HORIZON, [0.0, 0.0])


def test_evaluate_refuses_in_one_sentence(tmp_path, capsys):
    learned(tmp_path, out=tmp_path / "policy")
    assert run(["evaluate", str(tmp_path / "policy"), "--env", "clinic"]) == 2
    assert "for states that are vectors" in capsys.readouterr().err
    assert run(["report", str(tmp_path / "policy")]) == 0
    assert run(["certificate", str(tmp_path / "policy")]) == 0


@pytest.mark.parametrize("early", [False, True])
def test_what_was_paid_for_vectors_is_learned_from_after_a_failure(tmp_path, monkeypatch, early):
    def broken(*_, **__):
        raise RuntimeError("oh dear")

    monkeypatch.setattr("confide.analysis.results.fit.Fit._page", broken)
    with refused("fit-unfinished"):
        learned(tmp_path, opened(early=early), out=tmp_path / "policy")
    monkeypatch.undo()
    again = refit(tmp_path / "policy", out=tmp_path / "policy")
    assert again.act(0, [0.0, 0.1]) == 1 and cf.load(tmp_path / "policy").releases == again.releases
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["policy"]


class Promised:
    """What a worker would hold: sent there as bytes, worked out when it is asked for."""

    def __init__(self, cluster, work):
        self.cluster, self.work, self.found = cluster, work, None

    def result(self):
        if self.found is None or self.cluster.lost:
            function, words = pickle.loads(self.work)
            self.found = pickle.dumps(function(*[one.value() if isinstance(one, Kept) else one for one in words]))
        return pickle.loads(self.found)


class Kept:
    """A mark, in what is sent, of something that lies with the workers."""

    homes: ClassVar = {}

    def __init__(self, name):
        self.name = name

    def value(self):
        return self.homes[self.name].result()


class Cluster:
    """Stands for a client of a cluster: all that is sent is sent as bytes. lost: workers lose all they hold, always."""

    def __init__(self):
        self.lost, self.closed, self.travelled = False, False, []

    def scatter(self, value, broadcast):
        return value

    def submit(self, function, *words, pure):
        marked = []
        for one in words:
            if isinstance(one, Promised):
                Kept.homes[id(one)] = one
                one = Kept(id(one))
            marked.append(one)
        return Promised(self, pickle.dumps((function, marked)))

    def close(self):
        self.closed = True


def spread(monkeypatch):
    cluster = Cluster()

    def done(tasks):
        for task in reversed(tasks):
            cluster.travelled.append(task.result())
            yield cluster.travelled[-1]

    monkeypatch.setattr("confide.analysis.fitting.engines.connect", lambda scheduler: cluster)
    monkeypatch.setattr("confide.analysis.fitting.dask_parts.finished", done)
    return cluster, Engine("dask", "tcp://anywhere:1")


def parts(tmp_path):
    """The log in three files of unlike sizes."""
    table = columns(early=True)
    for number, (first, last) in enumerate(((0, 100), (100, 1500), (1500, PEOPLE))):
        mine = (table["user"] >= first) & (table["user"] < last)
        parquet.write_table(
            pa.table({key: value[mine] for key, value in table.items()}), tmp_path / f"{number}.parquet"
        )
    return str(tmp_path / "*.parquet")


@pytest.mark.parametrize("split", [False, True])
def test_workers_answer_as_one_machine_would(tmp_path, monkeypatch, split):
    """Whole numbers add up: wherever the rows lie, every sum is the same, and no row travels."""
    cluster, engine = spread(monkeypatch)
    words = {"state_columns": "x*", "norm": 1.0, "intercept": True, "actions": 2, "horizon": HORIZON}
    data = cf.trajectories.read(parts(tmp_path), **words)
    learner = make_learner("vapvi", data.knowledge, {"features": data.vectors.features, "split": split})
    plan = LinearPlan.of(data, cf.Central(rho=1.0), learner)
    here, there = (count(plan.data, plan.question, one) for one in (Engine(workers=1), engine))
    assert here.users == there.users == PEOPLE and all(partial.steps == () for _, partial in cluster.travelled)
    one, many = (counted.stored.logged(data.vectors.features, split) for counted in (here, there))
    if split:  # the same halves, or nothing could be compared
        many = replace(many, second=np.split(one.second, [100, 1500]))
    assert one.people == many.people
    state = plan.learner.begin(Context(plan.data.knowledge.spec, PEOPLE))
    while not state.done:
        asked = plan.learner.ask(state)
        matrix, vectors = one.sums(asked)
        theirs = many.sums(asked)
        assert np.array_equal(matrix, theirs[0]) and np.array_equal(vectors, theirs[1]) and np.abs(matrix).sum() > 0
        sizes = np.ones(len(vectors))
        state = plan.learner.learn(state, GramRelease(asked, PEOPLE, matrix * 1e-9, vectors * 1e-9, 1.0, sizes))
    assert np.array_equal(one.values(asked.form, state.critics[0]), many.values(asked.form, state.critics[0]))
    there.close()
    assert cluster.closed


def test_a_fit_on_workers(tmp_path, monkeypatch):
    cluster, engine = spread(monkeypatch)
    data = opened(early=True)
    fit = learned(tmp_path, data, "pevi", engine=engine)
    assert fit.act(0, [0.0, 0.1]) == 1 and cluster.closed
    twice, closed = columns(), Cluster()
    doubled = opened({"user": twice["user"] // 2, "episode": twice["user"]}, users="limit")
    monkeypatch.setattr("confide.analysis.fitting.engines.connect", lambda scheduler: closed)
    assert learned(tmp_path, doubled, "pevi", engine=engine).users == PEOPLE // 2 and closed.closed
    with pytest.raises(InvalidInput, match="no longer than"):
        learned(tmp_path, opened(norm=0.1), engine=engine)


def test_a_part_that_is_read_again_must_be_what_it_was(tmp_path, monkeypatch):
    """A lost worker's part is read again. The same rows are the same part; others are refused."""
    cluster, engine = spread(monkeypatch)
    words = {"state_columns": "x*", "norm": 1.0, "actions": 2, "horizon": HORIZON}
    data = cf.trajectories.read(parts(tmp_path), **words)
    plan = LinearPlan.of(
        data, cf.Central(rho=1.0), make_learner("pevi", data.knowledge, {"features": data.vectors.features})
    )
    counted = count(plan.data, plan.question, engine)
    logged = counted.stored.logged(data.vectors.features, False)
    asked = plan.learner.ask(plan.learner.begin(Context(plan.data.knowledge.spec, PEOPLE)))
    before = logged.sums(asked)
    cluster.lost = True
    assert np.array_equal(logged.sums(asked)[0], before[0])
    table = parquet.read_table(tmp_path / "0.parquet")
    parquet.write_table(table.set_column(5, "reward", pa.array(1 - table["reward"].to_numpy())), tmp_path / "0.parquet")
    with refused("dask-worker-lost"):
        logged.sums(asked)


@pytest.mark.slow
def test_a_real_cluster_learns_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    words = {"state_columns": "x*", "norm": 1.0, "intercept": True, "actions": 2, "horizon": HORIZON}
    data = cf.trajectories.read(parts(tmp_path), **words)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        engines = (Engine("dask", cluster.scheduler_address), Engine())
        results = [learned(tmp_path, data, "pevi", rho=1e4, engine=engine) for engine in engines]
    worth = [one.findings["value"] for one in results]
    assert worth[0] == pytest.approx(worth[1], abs=0.05) and [one.act(0, [0.0, 0.1]) for one in results] == [1, 1]
