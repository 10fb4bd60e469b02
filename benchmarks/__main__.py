"""`python -m benchmarks [service | fit [ROWS] | groups] [--json]`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import reference_vtr
from benchmarks.reference import episodes_per_second
from confide.data.privatizers import respond
from confide.data.trajectories import Trajectory
from confide.lab import environments
from confide.lab.simulation import simulate
from confide.mdp import Model, Spec
from confide.mechanisms.buffered import BufferedToeplitzCounter
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.privacy import Local, Schedule
from confide.protocol.design import Request, make
from confide.protocol.kinds import CountQuestion

BenchmarkRow = dict[str, Any]


def seconds(function: Callable[[], object], repeat: int = 3) -> float:
    """The best of a few runs, after one that warms up."""
    function()
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def at_most(name: str, ours: float, theirs: float, goal: float) -> BenchmarkRow:
    """How many times as long as a plain numpy draw; at most `goal` times."""
    ratio = ours / theirs
    return {
        "name": name,
        "ratio": ratio,
        "goal": goal,
        "ok": ratio <= goal,
        "seconds": {"confide": ours, "numpy": theirs},
    }


def at_least(name: str, ours: float, theirs: float, goal: float) -> BenchmarkRow:
    """How many times as many episodes a second; at least `goal` times."""
    ratio = ours / theirs
    return {
        "name": name,
        "ratio": ratio,
        "goal": goal,
        "ok": ratio >= goal,
        "per_second": {"confide": ours, "numpy": theirs},
    }


def noise() -> list[BenchmarkRow]:
    """Secure noise and the buffered counter beside plain numpy draws of as many normals."""
    rng = np.random.default_rng(0)
    secure = SecureNoise()
    rows = []
    spec = Spec(10, 4, 20, "per-step")
    question = CountQuestion(spec)
    design = make(Request(question, Local(1.0), Schedule.every(10), "sound", "laplace", "private-ucb"))
    walk = Trajectory(np.zeros(21, dtype=np.int64), np.zeros(20, dtype=np.int64), np.ones(20))
    cells = question.cells
    rows.append(
        at_most(
            f"a secure local report, {cells:,} cells",
            seconds(lambda: respond(design, None, walk, secure)),
            seconds(lambda: rng.standard_normal(cells), 20),
            3000,
        )
    )
    rows.append(
        at_most(
            "10^7 secure discrete Gaussians",
            seconds(lambda: secure.discrete_gaussian(100.0, 10**7), 1),
            seconds(lambda: rng.standard_normal(10**7)),
            100,
        )
    )
    million, steps = 10**6, 8
    counter = BufferedToeplitzCounter(1024, 100.0, 2.0**-10)
    replay, increment = ReplayableNoise(0), np.ones(million, dtype=np.int64)

    def count() -> None:
        state = counter.init(million)
        for _ in range(steps):
            state, _ = counter.next(state, increment, replay)

    rows.append(
        at_most(
            f"a buffered Toeplitz step, 10^6 cells, {counter.memory()} arrays",
            seconds(count) / steps,
            seconds(lambda: rng.standard_normal(million)),
            5,
        )
    )
    return rows


def random_model(states: int, actions: int, horizon: int) -> Model:
    """A dense random world."""
    rng = np.random.default_rng(1)
    transitions = rng.dirichlet(np.full(states, 0.3), (1, states, actions))
    return Model(transitions, rng.random((1, states, actions)), np.eye(states)[0], horizon)


def loops() -> list[BenchmarkRow]:
    """Every episode planned for and evaluated exactly, on one core, beside vectorised numpy."""
    cases: list[tuple[str, Any, int, int, float, float]] = [
        ("2,2,2", environments.make("random/2x2", 2), 3000, 2_000_000, 200, 100),
        ("5,2,10 riverswim", environments.make("riverswim/5", 10), 1000, 200_000, 100, 60),
        ("50,5,20", environments.Environment.known(random_model(50, 5, 20)), 200, 5_000, 3, 1.5),
    ]
    rows = []
    for name, world, few, many, goal, private_goal in cases:
        theirs = max(episodes_per_second(world.model, few, seed) for seed in range(3))

        def ours(learner: str, world: Any = world, many: int = many, **choices: Any) -> float:
            every: dict[str, Any] = {"seeds": 1, "schedule": "every", "engine": "stepwise", **choices}
            simulate(learner, world, episodes=100, **every)
            return max(many / simulate(learner, world, episodes=many, **every).seconds for _ in range(3))

        plain = {"calibration": "sound", "model": world.spec.dynamics, "bonus": "hoeffding"}
        rows.append(at_least(f"UCB-VI {name}", ours("ucbvi", **plain), theirs, goal))
        noisy = {"privacy": Local(1.0), "calibration": "sound", "mechanism": "laplace"}
        rows.append(at_least(f"LDP-OBI, Laplace, {name}", ours("obi", **noisy), theirs, private_goal))
    return rows


def batched() -> list[BenchmarkRow]:
    """10^8 people of LDP-OBI, a new policy at every 1 % of growth, beside the same people one by one in numpy."""
    world = environments.make("random/2x2", 2)
    choices: dict[str, Any] = {
        "privacy": Local(2.0),
        "calibration": "sound",
        "mechanism": "laplace",
        "schedule": "growth:1.01",
        "engine": "batched",
    }
    simulate("obi", world, episodes=1000, seeds=1, **choices)
    run = simulate("obi", world, episodes=1e8, seeds=3, **choices)
    theirs = episodes_per_second(world.model, 3000)
    return [at_least(f"10^8 people, batched ({run.seconds / 3:.2f} s a seed)", 3e8 / run.seconds, theirs, 1e8 / theirs)]


def mixtures() -> list[BenchmarkRow]:
    """LDP-UCRL-VTR with a new plan and the exact regret every episode, beside Algorithm 1 in plain Python."""
    rows = []
    for address, few, many, goal in (("hard-mixture/d5h6", 20, 4000, 100.0), ("riverswim-mixture/5", 20, 1000, 5.0)):
        world = environments.make(address)
        choices: dict[str, Any] = {"privacy": Local(1.0, 0.1), "calibration": "sound", "schedule": "every"}
        simulate("ucrl-vtr", world, episodes=10, seeds=1, **choices)
        ours = many / simulate("ucrl-vtr", world, episodes=many, seeds=1, **choices).seconds
        theirs = reference_vtr.episodes_per_second(world, 1.0, few)
        assert world.features is not None
        name = f"LDP-UCRL-VTR, d={world.features.dimension}, {ours:,.0f} episodes/s"
        rows.append(at_least(name, ours, theirs, goal))
    return rows


def main() -> int:
    """Print every row; exit 1 if a goal is missed."""
    rows: list[BenchmarkRow] = []
    parts: tuple[Callable[[], list[BenchmarkRow]], ...] = (noise, loops, batched, mixtures)
    if "service" in sys.argv[1:]:
        from benchmarks.service import admission, collectors, service

        parts = (service, admission, collectors)
    if sys.argv[1:2] == ["fit"]:
        from benchmarks.fitting import ROWS, fitting

        many = int(float(sys.argv[2])) if sys.argv[2:3] not in ([], ["--json"]) else ROWS
        parts = (partial(fitting, many),)
    if "groups" in sys.argv[1:]:
        from benchmarks.groups import groups

        parts = (groups,)
    for part in parts:
        rows += part()
        print(f"benchmarks: {getattr(part, '__name__', 'fits')} done", file=sys.stderr)
    if "--json" in sys.argv[1:]:
        print(json.dumps({"rows": rows}))
    else:
        for row in rows:
            both = row.get("seconds") or {key: 1 / value for key, value in row["per_second"].items()}
            other = next(key for key in both if key != "confide")
            mark = "ok" if row["ok"] else "MISSED"
            print(
                f"{row['name']:<48} ratio {row['ratio']:>9.3g}  goal {row['goal']:>9.3g}  {mark:<6}"
                f"  confide {both['confide']:.3g} s, {other} {both[other]:.3g} s"
            )
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
