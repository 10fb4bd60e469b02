"""The law of everything that is drawn, seen in whole separate runs: its scale both ways, and that no two draws share noise.

Replayable noise makes outcomes the same for everyone. Where secure noise is drawn the false-alarm rate is `FALSE_ALARM`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from confide.data.privatizers import open_aggregate
from confide.data.statistics.answers import answer
from confide.data.trajectories import Trajectory
from confide.lab.audit.asking import noise_of
from confide.lab.audit.catalogue import WHOLES
from confide.lab.audit.counters import mixing
from confide.lab.audit.fits import ZERO_NOISE, FitRuns, count_plan, linear_plan
from confide.lab.audit.grams import gram_targets, questions
from confide.lab.audit.people import pairs
from confide.lab.audit.reservoir import Reservoir
from confide.mdp import Spec
from confide.mechanisms.noise import LightNoise, ReplayableNoise, SecureNoise
from confide.privacy import Central, Guarantee, Joint, Local, Schedule, Shuffle
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion, StepQuestion
from confide.protocol.trusts.mixing import Mixing

FALSE_ALARM = 1e-6
RUNS = 800
# A variance estimated from this many draws is off by less than this factor, also for Laplace noise: by 5.6 deviations.
OFF = 1.5

Array = NDArray[np.float64]
PERSON, PERSON_OF_TWO = pairs(Spec(2, 2, 3))[1][0], pairs(Spec(2, 2, 2))[1][0]


def designed(promise: Guarantee, mechanism: str, releases: int = 1, **more: Any) -> Design:
    schedule = Schedule.batches(releases, releases)
    return make(Request(CountQuestion(Spec(2, 2, 3)), promise, schedule, mechanism=mechanism, **more))


def noises(design: Design) -> Array:
    """(runs, draws) every draw of a run: of two people's reports, of all releases, or of two data sets."""
    whole, noise = WHOLES[design.trust](design), Reservoir(ReplayableNoise(1))
    drawn = np.stack([whole.play(PERSON, noise) for _ in range(RUNS)]) - whole.play(PERSON, ZERO_NOISE)
    if design.trust == "joint":
        mixed = mixing(design.mechanism)
        assert mixed is not None
        stacked = drawn.reshape(RUNS, design.schedule.releases, -1)
        drawn = np.einsum("st,ntc->nsc", np.linalg.inv(mixed), stacked).reshape(RUNS, -1)
    if design.trust == "local":  # the row that a report tells of is not drawn here
        width = design.question.width
        assert not drawn[:, [width, -1]].any()
        drawn = np.delete(drawn, [width, drawn.shape[1] - 1], axis=1)
    return drawn


def deviation(design: Design) -> float:
    mechanism: Any = design.mechanism
    if hasattr(mechanism, "node"):
        return float(mechanism.scale * (np.sqrt(2) if mechanism.node == "laplace" else 1))
    return float(mechanism.sigma) if design.trust == "joint" else float(np.sqrt(mechanism.variance()))


def shared(columns: Array, alarm: float = FALSE_ALARM) -> list[tuple[int, int]]:
    """Pairs of draws whose signs agree, or disagree, too often: both are fair coins where they are independent."""
    signs = np.sign(columns)
    many = columns.shape[1]
    results, allowed = [], alarm / (many * (many - 1))
    for first in range(many):
        for second in range(first + 1, many):
            product = signs[:, first] * signs[:, second]
            ups, all_of = int((product > 0).sum()), int((product != 0).sum())
            if 2 * min(binom.cdf(ups, all_of, 0.5), binom.sf(ups - 1, all_of, 0.5)) < 2 * allowed:
                results.append((first, second))
    return results


def of_scale(columns: Array, size: float | Array) -> bool:
    ratio = columns.var(axis=0) / np.square(size)
    return bool((ratio > 1 / OFF).all() and (ratio < OFF).all())


DESIGNS: dict[str, Callable[[], Design]] = {
    "local laplace": lambda: designed(Local(1.0), "laplace"),
    "local gaussian": lambda: designed(Local(1.0, 1e-3), "gaussian"),
    "joint tree": lambda: designed(Joint(1.0), "tree-laplace", 3),
    "joint gaussian tree": lambda: designed(Joint(1.0, 1e-3), "tree-gaussian", 4, budget=0),
    "joint toeplitz": lambda: designed(Joint(1.0, 1e-3), "toeplitz", 3, budget=0),
    "joint buffered": lambda: designed(Joint(1.0, 1e-3), "buffered-toeplitz", 3, budget=5),
    "central laplace": lambda: designed(Central(1.0), "laplace"),
    "central gaussian": lambda: designed(Central(1.0, 1e-3), "gaussian"),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_cells_releases_and_people_have_noise_of_their_own_and_of_the_right_size(name: str) -> None:
    design = DESIGNS[name]()
    columns = noises(design)
    assert columns.shape[1] == max(design.schedule.releases, 2) * design.question.width
    size = deviation(design)
    assert of_scale(columns, size)
    assert not of_scale(columns, 1.5 * size) and not of_scale(columns, size / 1.5)
    assert shared(columns) == []
    if design.trust != "joint":  # a counter's releases are mixed, so what was drawn is known to rounding only
        steps = np.rint(columns / design.mechanism.grid).astype(np.int64)
        assert np.gcd.reduce(steps.ravel()) == 1, "noise leaves points of the grid out"


@pytest.mark.parametrize("steps", [3, 1], ids=["three steps", "propensities"])
def test_all_releases_of_a_fit_have_noise_of_their_own_and_of_the_right_size(steps: int) -> None:
    spec, declared = Spec(2, 2, steps), {} if steps > 1 else {"propensity": "p", "propensity_floor": 0.25}
    plan = count_plan(spec, Central(1.0, 1e-3), **declared)
    assert ("weighed" in plan.designs) == (steps == 1)
    person = PERSON if steps > 1 else pairs(spec)[0][0]
    runs, noise = FitRuns(plan, spec, **declared), Reservoir(ReplayableNoise(2))
    drawn = np.stack([runs.play(person, noise) for _ in range(RUNS)]) - runs.exact(person)
    sizes = np.concatenate([np.full(one.question.width, deviation(one)) for one in plan.designs.values()])
    possible = [
        np.ones(one.question.width, np.bool_) if one.possible is None else one.possible for one in plan.designs.values()
    ]
    used = np.concatenate(possible)
    assert used.sum() > 10 and not drawn[:, ~used].any()
    assert of_scale(drawn[:, used], sizes[used])
    assert not of_scale(drawn[:, used], 1.5 * sizes[used]) and not of_scale(drawn[:, used], sizes[used] / 1.5)
    assert shared(drawn[:, used]) == []


def test_devices_flip_bits_for_every_shuffler_as_often_as_is_priced() -> None:
    schedule, mixing_of = Schedule.sized(12, 4), Mixing(4, tree=True)
    design = make(Request(CountQuestion(Spec(2, 2, 1)), Shuffle(1.0, 0.01), schedule, mixing=mixing_of))
    assert len(design.devices) == 2
    for device, crowd in zip(design.devices, design.mechanism.crowds, strict=True):
        assert device.flip == pytest.approx(crowd.flip)
        drawn = device.randomize(np.zeros(4000), np.ones(4000, dtype=np.int64), ReplayableNoise(3)).mean()
        assert abs(drawn - crowd.flip) < 6 * np.sqrt(0.25 / 4000)


def test_gram_sums_and_worth_have_noise_of_their_own_and_of_the_right_size() -> None:
    """Asked about value functions that are fixed beforehand, so that what was released without noise is known."""
    spec = Spec(2, 2, 2, "per-step")
    plan = linear_plan(spec, Central(1.0, 1e-3))
    target, noise = gram_targets("gram", plan, spec, fixed_length=True)[0], Reservoir(ReplayableNoise(3))
    gram = target.sample(0, RUNS, noise) - target.sample(0, 1, ZERO_NOISE)
    logged = plan.logged(FitRuns(plan, spec, fixed_length=True).counted(PERSON_OF_TWO))
    promised = next(one.values for one in questions(plan.design.question) if one.values is not None)

    def worth(source: Any) -> list[float]:
        aggregate: Any = open_aggregate(plan.values, source, simulated=True)
        aggregate.take_sum(logged)
        release = aggregate.close(promised)
        return [release.returned, release.predicted]

    earned = np.array([worth(noise) for _ in range(RUNS)]) - worth(ZERO_NOISE)
    drawn, sizes = (
        np.concatenate([gram, earned], axis=1),
        np.append(noise_of(plan.design), [deviation(plan.values)] * 2),
    )
    used = sizes > 0
    assert used.sum() > 10 and not drawn[:, ~used].any()
    assert of_scale(drawn[:, used], sizes[used])
    assert not of_scale(drawn[:, used], 1.5 * sizes[used]) and not of_scale(drawn[:, used], sizes[used] / 1.5)
    assert shared(drawn[:, used]) == []


def test_which_step_is_told_does_not_depend_on_how_many_were_taken() -> None:
    question, asked = StepQuestion.of(CountQuestion(Spec(2, 2, 3, "per-step"))), []
    short = Trajectory(PERSON.states[:2], PERSON.actions[:1], PERSON.rewards[:1])

    def integers(high: int, many: int) -> NDArray[np.int64]:
        asked.append(high)
        return np.full(many, high - 1)

    rows = [answer("step", question, person, 1.0, integers)[0] for person in (PERSON, short)]
    assert rows == [2, 2] and asked.count(3) == 2


@pytest.mark.parametrize("mechanism", ["k-ary", "unary", "subset", "asked-k-ary", "randomised-response"])
def test_people_lie_for_themselves(mechanism: str) -> None:
    """No cell of a person's report goes with any of another's. Six deviations: 1e-6 over all pairs, and noise is replayable."""
    whole, noise = WHOLES["local"](designed(Local(1.0), mechanism)), Reservoir(ReplayableNoise(4))
    runs = np.stack([whole.play(PERSON, noise) for _ in range(RUNS)])

    def together(hers: Array, others: Array) -> bool:
        both = [one[:, one.std(axis=0) > 0] for one in (hers, others)]
        mixed = np.corrcoef(*both, rowvar=False)[: both[0].shape[1], both[0].shape[1] :]
        return bool(np.abs(mixed).max() * np.sqrt(RUNS) > 6)

    hers, others = np.split(runs, 2, axis=1)
    assert not together(hers, others)
    assert together(hers, hers)


@pytest.mark.parametrize("how", ["same", "negated", "half"])
def test_noise_that_is_shared_is_found(how: str) -> None:
    columns = np.random.default_rng(0).laplace(size=(RUNS, 6))
    assert shared(columns) == []
    other = {"same": columns[:, 1], "negated": -columns[:, 1], "half": columns[:, 1] + columns[:, 4]}[how]
    columns[:, 4] = other
    assert shared(columns) == [(1, 4)]


DRAWING = """
import json, os, sys
from confide.mechanisms.noise import LightNoise, SecureNoise
noise = {"secure": SecureNoise, "light": LightNoise}[sys.argv[1]]()
first = noise.discrete_laplace(20.0, 10).tolist() + noise.integers(2, 10).tolist()
drawn = []
for child in range(3):
    read, write = os.pipe()
    if os.fork() == 0:
        told = [noise.discrete_laplace(20.0, 400).tolist(), noise.integers(1 << 30, 400).tolist()]
        os.write(write, json.dumps(told).encode())
        os._exit(0)
    os.close(write)
    drawn.append(json.loads(os.fdopen(read).read()))
    os.wait()
print(json.dumps(drawn))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.parametrize("kind", ["secure", "light"])
def test_forked_processes_draw_noise_of_their_own(kind: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", DRAWING, kind], capture_output=True, text=True, check=True, timeout=300
    ).stdout
    laplace, words = (np.array([child[law] for child in json.loads(process)], dtype=np.float64).T for law in (0, 1))
    assert shared(laplace) == []
    assert shared(words - (1 << 29)) == []
    # A source whose stream was copied by the fork would draw the same in all of them.
    assert shared(np.repeat(laplace[:, :1], 3, axis=1)) == [(0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize("kind", [SecureNoise, LightNoise])
def test_threads_draw_noise_of_their_own(kind: Callable[[], Any]) -> None:
    source, together = kind(), threading.Barrier(4, timeout=60)

    def draw(_: int) -> NDArray[np.int64]:
        together.wait()  # so that each of the four is drawn by a thread of its own
        return np.asarray(source.discrete_laplace(20.0, 400))

    with ThreadPoolExecutor(4) as pool:
        drawn = np.array(list(pool.map(draw, range(4))), dtype=np.float64).T
    assert shared(drawn) == []
    assert len(shared(np.repeat(drawn[:, :1], 4, axis=1))) == 6
