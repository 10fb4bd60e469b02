"""From trusting the server to trusting only the device, at one epsilon of the sums.

Table 1 of Garcelon, Perchet, Pike-Burke and Pirotta (2021), *Bridging the Gap between Local and Joint Differential Privacy in
RL*, as printed, and what it is about with guarantees that are true.

The table interpolates by its burn-in. The true way to interpolate is the batch: the noise of a device that keeps a local
epsilon suffices once enough people are summed. `BATCHES` says how many that are; larger batches promise more, so none is
smaller than `LEAST`. The ends are learners under joint privacy with a policy for every `LEAST` people, and under local
privacy with the epsilon of the sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..mdp import Spec
from ..privacy import Joint, Local, Shuffle
from ..privatizers.shuffle_design import BITS, STEP, smallest_batch
from ..releases import CountQuestion
from ..releases.question import REWARDS, TRANSITIONS
from ..reporting.tradeoff import tradeoff_figure
from ..results import Run
from .experiment import Curve, Experiment

PROMISE = Shuffle(1.0, 1e-6)
WORLD, HORIZON, EPISODES, SEEDS = "riverswim/6", 20, 1e7, 10
SPEC = Spec(6, 2, HORIZON)
LEAST = 1000

BATCHES: dict[str, dict[float, int]] = {
    STEP: {1.5: 28, 2.0: 53, 3.0: 134, 4.0: 275, 6.0: 907, 8.0: 2633, 10.0: 7331, 12.0: 20102, 14.0: 54821},
    BITS: {8.0: 15, 16.0: 59, 32.0: 236, 64.0: 980, 96.0: 2356, 128.0: 4585, 160.0: 8029, 200.0: 14920},
}
"""By mechanism and local epsilon: the smallest batch whose sums keep the promise."""

TABLE = (
    # algorithm, burn-in, what the paper states, and what is true: local, joint
    ("SHUFFLED-OBI", "O(K^(1/3))", "(O(ln(1 + e K^(1/6))), 0)", "(e, d)", "sqrt(K) + K^(1/3)/e"),
    ("SHUFFLED-OBI", "tau", "(e, 0)", "(e_c(tau), d)", "sqrt(K) + tau H + sqrt(2K) e^(e/2)/(e^e - 1)"),
    ("SHUFFLED-OBI", "0", "(e, 0)", "(e, d)", "sqrt(K)/(e^e - 1)"),
    ("PUCB", "", "none", "(e, 0)", "sqrt(K) + 1/e"),
    ("LDP-OBI", "", "(e, 0)", "(e, 0)", "sqrt(K)/e"),
)
"""Table 1 as printed: algorithm, burn-in, local guarantee, joint guarantee, regret."""

TRUTH = (
    "The joint column of the three rows of SHUFFLED-OBI is false; (e, 0), by the local guarantee alone, is true. PUCB as "
    "printed is (2e, 0)-joint."
)


def found_batch(mechanism: str, local: float) -> int:
    """What `BATCHES` holds, computed."""
    question = CountQuestion(SPEC, (REWARDS, TRANSITIONS))
    return smallest_batch(question, PROMISE, local, mechanism == STEP)


def _curve(mechanism: str, local: float) -> Curve:
    choices = {"batch": max(LEAST, BATCHES[mechanism][local]), "local_epsilon": local, "mechanism": mechanism}
    return Curve(f"{mechanism}, local {local:g}", "obi", WORLD, PROMISE, EPISODES, {"horizon": HORIZON, **choices})


def _ends() -> tuple[Curve, Curve]:
    often = {"horizon": HORIZON, "schedule": f"batches:{EPISODES / LEAST:.0f}"}
    joint, local = Joint(PROMISE.epsilon, PROMISE.delta), Local(PROMISE.epsilon)
    return (
        Curve("joint", "obi", WORLD, joint, EPISODES, often),
        Curve("local", "obi", WORLD, local, EPISODES, often),
    )


@dataclass(frozen=True)
class Interpolation(Experiment):
    """Regret against local epsilon at fixed epsilon of the sums; the last two curves are the ends."""

    def table(self, runs: list[Run]) -> list[str]:
        """Markdown rows: mechanism, local epsilon, batch, true epsilon of the sums, regret with its 95 % interval."""
        rows = ["| mechanism | local epsilon | batch | epsilon | regret | |", "|---|---|---|---|---|---|"]
        for run in runs:
            promises = [promise.true.epsilon for promise in run.certificate.promises]
            shuffling = run.trust == "shuffle"
            batch = f"{run.schedule['parameter']:,.0f}" if shuffling else ""
            local = promises[-1] if run.trust != "joint" else None
            found = run.summary()
            words = (
                run.config["mechanism"] if shuffling else run.trust,
                "" if local is None else f"{local:.3g}",
                batch,
                f"{promises[0]:.3g}",
                f"{found['mean']:.3g}",
                f"{found['low']:.3g} to {found['high']:.3g}",
            )
            rows.append(f"| {' | '.join(words)} |")
        return rows

    def draw(self, runs: list[Run], path: str | Path) -> Path:
        """Regret against local epsilon, with the ends as dashed lines."""
        final = {run.label: run.regret[:, -1] for run in runs}
        series = []
        for mechanism, batches in BATCHES.items():
            places = list(batches)
            rows = [final[f"{mechanism}, local {local:g}"] for local in places]
            series.append((mechanism, places, [list(seed) for seed in zip(*rows, strict=True)]))
        levels = [(f"{name} learner", final[name]) for name in ("joint", "local")]
        title = f"{WORLD}, {HORIZON} steps, {runs[0].episodes:,} people; the sums keep {PROMISE}"
        return tradeoff_figure(
            series, levels, path, title, "local epsilon, which each device keeps by itself", "regret"
        )


EXPERIMENTS: dict[str, Experiment] = {
    "shuffled-obi/table-1": Interpolation(
        "shuffled-obi/table-1",
        "RiverSwim at epsilon 1 of the sums: regret against local epsilon, from the local learner to the joint one.",
        (*(_curve(mechanism, local) for mechanism, batches in BATCHES.items() for local in batches), *_ends()),
        SEEDS,
    )
}
