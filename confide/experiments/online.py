"""The cost of privacy online, at the same true guarantee: the published algorithms made sound, beside ours.

The sound side has the bonus scale of least mean final regret among 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3 and 10, tried
on twenty seeds in the random world and ten in RiverSwim, of root 500, while root 0 is reported. The scales stand here as
data. Where it is 0.001, none at all was no better. Ours has no scale.

At epsilon 20 twenty seeds were too few to see runs that settle on the wrong policy, one in forty. That was noticed when
root 0 had been looked at; so there scales were chosen again, on sixty seeds of root 600, and another root is reported.
"""

from __future__ import annotations

from ..privacy import Guarantee, Joint, Local
from .curve import Curve
from .experiment import Experiment
from .view import Regret

LATER = 1
"""The root that is reported at epsilon 20."""

# Scales chosen by tuning, for each curve of each experiment that has one.
SCALES: dict[tuple[str, str], float] = {
    ("ours/joint-riverswim", "joint: sound"): 0.001,
    ("ours/local-riverswim", "local, epsilon 1: sound"): 0.001,
    ("ours/local-riverswim", "local, epsilon 10: sound"): 0.001,
    ("ours/local-random-0.2", "laplace: sound"): 0.03,
    ("ours/local-random-0.2", "randomised-response: sound"): 0.1,
    ("ours/local-random-0.2", "gaussian: sound"): 0.01,
    ("ours/local-random-0.2", "bounded: sound"): 0.1,
    ("ours/local-random-2", "laplace: sound"): 0.1,
    ("ours/local-random-2", "randomised-response: sound"): 0.003,
    ("ours/local-random-2", "gaussian: sound"): 0.1,
    ("ours/local-random-2", "bounded: sound"): 0.1,
    ("ours/local-random-20", "laplace: sound"): 0.03,
    ("ours/local-random-20", "randomised-response: sound"): 0.3,
    ("ours/local-random-20", "gaussian: sound"): 0.3,
    ("ours/local-random-20", "bounded: sound"): 0.3,
}


def _curve(
    address: str,
    name: str,
    calibration: str,
    learner: str,
    world: str,
    privacy: Guarantee,
    episodes: float,
    **choices: object,
) -> Curve:
    label = f"{name}: {calibration}"
    scale = {"bonus_scale": SCALES[address, label]} if calibration == "sound" else {}
    return Curve(label, learner, world, privacy, episodes, {"calibration": calibration, **scale, **choices})


def _river(address: str, title: str, promises: dict[str, Guarantee], mechanism: str, seen: str) -> Experiment:
    """RiverSwim under each promise, sound and tight; `mechanism` is the sound one."""
    kinds = (("sound", mechanism), ("tight", "auto"))
    curves = [
        _curve(address, name, kind, "ucbvi", "riverswim/6", promise, 5e4, mechanism=chosen, horizon=20)
        for name, promise in promises.items()
        for kind, chosen in kinds
    ]
    pairs = tuple((2 * index, 2 * index + 1) for index in range(len(promises)))
    scale = "RiverSwim, 6 states, 20 steps, 50,000 people, 10 seeds"
    return Experiment(address, title, ASKED, seen, scale, 1.0, tuple(curves), 10, Regret(title, pairs))


def _random(epsilon: float, seen: str) -> Experiment:
    """LDP-OBI with each mechanism of its paper made sound, beside ours; pure, and at the delta of the paper's figures."""
    address = f"ours/local-random-{epsilon:g}"
    world = {"horizon": 2, "schedule": "growth:1.01", **({"seed": LATER} if epsilon == 20 else {})}
    mechanisms = (("laplace", 0.0), ("randomised-response", 0.0), ("gaussian", 0.1), ("bounded", 0.1))
    curves = [
        _curve(address, name, "sound", "obi", "random/2x2", Local(epsilon, delta), 1e8, mechanism=name, **world)
        for name, delta in mechanisms
    ]
    curves += [
        _curve(address, name, "tight", "obi", "random/2x2", Local(epsilon, delta), 1e8, **world)
        for name, delta in (("pure", 0.0), ("delta 0.1", 0.1))
    ]
    title = f"LDP-OBI, and ours, in a random world at local epsilon {epsilon:g}"
    scale = "2 states, 2 actions, 2 steps, 10^8 people, 20 seeds, a new policy at every 1 % of growth"
    pairs = ((0, 4), (1, 4), (2, 5), (3, 5))
    return Experiment(address, title, ASKED, seen, scale, 1.5, tuple(curves), 20, Regret(title, pairs))


ASKED = (
    "What does privacy cost at the same true guarantee? The published algorithm with the noise that its claim really "
    "needs (sound) and the bonus scale that did best on other seeds, and ours (tight), which has no scale."
)
EXPERIMENTS = (
    _river(
        "ours/joint-riverswim",
        "RiverSwim under joint privacy: UCB-VI with the tree of the papers, and ours",
        {"joint": Joint(1.0, 1e-6)},
        "tree-laplace",
        "Ours, at its default, has less than a twentieth of the regret of the published learner at its best scale: 6.2e3 "
        "against 1.6e5. Joint Gaussian noise through a square-root Toeplitz counter, re-used in all later releases, over "
        "few public batches does most of that; counting a person's repeated visits only while her budget lasts, and "
        "planning in drawn models instead of adding up worst cases, do the rest.",
    ),
    _river(
        "ours/local-riverswim",
        "RiverSwim under local privacy: UCB-VI with Laplace noise, and ours",
        {f"local, epsilon {epsilon:g}": Local(epsilon) for epsilon in (1.0, 10.0)},
        "laplace",
        "With the planner of version 0.1 at its best scale: "
        "at epsilon 10 ours has a fortieth of the regret. At epsilon 1 neither learns from 50,000 people: 0.93, with "
        "an interval that ends at 0.99. Reports of sampled steps take less noise than whole trajectories, and each "
        "pair of state and action listens only to those who may have been there.",
    ),
    _random(
        0.2,
        "With the planner of version 0.1 at its best scale: "
        "at pure epsilon 0.2 ours has 0.06 of the regret of LDP-OBI with Laplace noise and 0.08 with randomised "
        "response; with delta 0.1, 0.014 of Gaussian and 0.024 of bounded noise. Two policies of this world differ by "
        "0.025 a person, and most of the regret of the published learners comes from runs that settle on the wrong "
        "one.",
    ),
    _random(
        2.0,
        "With the planner of version 0.1 at its best scale: "
        "ours has less than a hundredth of the regret of LDP-OBI with any of its four mechanisms: 1e4 against 1.1e6 "
        "to 3.9e6.",
    ),
    _random(
        20.0,
        "With the planner of version 0.1 at its best scale: "
        "ours has 0.03 to 0.04 of the regret. Most of its runs lose next to nothing; the mean is made of a few that "
        "explored for long.",
    ),
)
