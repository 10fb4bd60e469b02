"""Figure 2 of Liao, He and Gu (2021): LDP-UCRL-VTR and UCRL-VTR in two RiverSwims, S in {3, 5}.

What the paper shows: cumulative regret over K = 10^4 episodes is sublinear, and nearer to that of UCRL-VTR the larger epsilon
is; 10 runs, H = 2S, delta = .1, the constant c of every curve chosen by grid search. Here every curve's c was chosen by
`confide tune` on seeds of a root of its own; the grids and the choices stand below as data. Schedules are the default ones: a
plan for every person without privacy and in `sound`, as in the paper; at every 1 % of growth in `tight`; batches under joint
privacy, which the paper does not have.
"""

from __future__ import annotations

from ..privacy import Guarantee, Joint, Local, NoPrivacy
from .experiment import Curve, Experiment

EPISODES, SEEDS, DELTA = 10_000, 10, 0.1
ROOT = 20211019
"""The root of the reported seeds, which nothing was chosen by: neither c, nor the defaults of the learner."""

EPSILONS = (0.1, 1.0, 10.0)

GRIDS: dict[str, tuple[float, ...]] = {
    "no privacy": (0.05, 0.1, 0.15, 0.2, 0.3),
    "sound": (0.01, 0.1, 1.0, 10.0, 100.0),  # S = 5, where a run takes long: 0.1, 1 and 10
    "tight": (0.0, 0.003, 0.01, 0.03, 0.1),
    "joint": (0.0, 0.003, 0.01, 0.03, 0.1),
}
TUNING_SEEDS = {"no privacy": 3, "sound": 3, "tight": 6, "joint": 3}  # sound with S = 5: 1

# Chosen by tuning: without privacy, then for each epsilon.
CONSTANTS: dict[str, tuple[float, tuple[float, ...], tuple[float, ...], tuple[float, ...]]] = {
    "riverswim-mixture/3": (0.15, (10.0, 1.0, 1.0), (0.003, 0.01, 0.0), (0.0, 0.0, 0.0)),
    "riverswim-mixture/3?inhomogeneous=true": (0.15, (10.0, 1.0, 0.1), (0.01, 0.0, 0.0), (0.003, 0.0, 0.01)),
    "riverswim-mixture/5": (0.1, (1.0, 0.1, 0.1), (0.0, 0.01, 0.1), (0.0, 0.0, 0.0)),
    "riverswim-mixture/5?inhomogeneous=true": (0.15, (1.0, 0.1, 0.1), (0.0, 0.03, 0.0), (0.0, 0.0, 0.0)),
}


def _curve(world: str, label: str, privacy: Guarantee, calibration: str, c: float) -> Curve:
    return Curve(label, "ucrl-vtr", world, privacy, EPISODES, {"calibration": calibration, "c": c, "seed": ROOT})


def _panel(world: str) -> Experiment:
    """One panel of the figure: no privacy; local, sound and tight; joint."""
    exact, *noisy = CONSTANTS[world]
    curves = [_curve(world, "no privacy", NoPrivacy(), "tight", exact)]
    for kind, promise, constants in zip(("sound", "tight", "joint"), (Local, Local, Joint), noisy, strict=True):
        calibration = "tight" if kind == "joint" else kind
        curves += [
            _curve(world, f"{kind}, epsilon {epsilon:g}", promise(epsilon, DELTA), calibration, c)
            for epsilon, c in zip(EPSILONS, constants, strict=True)
        ]
    name = world.removeprefix("riverswim-mixture/").replace("?inhomogeneous=true", "-inhomogeneous")
    many = len(EPSILONS)
    return Experiment(
        f"ldp-ucrl-vtr/figure-2-{name}",
        f"{world}, {EPISODES:,} people, local delta {DELTA:g}: LDP-UCRL-VTR sound and tight, UCRL-VTR, and joint privacy.",
        tuple(curves),
        SEEDS,
        tuple((1 + i, 1 + many + i) for i in range(many)),
    )


EXPERIMENTS = {experiment.address: experiment for experiment in map(_panel, CONSTANTS)}
