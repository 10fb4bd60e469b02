"""Algorithms of 2023 to 2025 beside ours, in worlds of `ours/worlds`, with fewer worlds and seeds.

DP-UCBVI (Qiao and Wang 2023): its own bonus and its own way to make a distribution of noisy counts, with noise that is raised
until the claim is true, at our guarantee, in the Gaussian tree that suits it better than the Laplace noise it prints; its bonus has
the scale that does best in that very world on other seeds. SDP-PE is not here: docs/rivals.md says what of its text was not found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...privacy import Joint
from ...protocol.papers import POOLED
from .experiment import Experiment
from .facts import Claim, Facts
from .part import PartResult
from .view import Ratios, pairs_of, ratio
from .world_view import random_loss
from .worlds import ALL_STEPS, GROWTH, SCALES, Contender

WORLDS = (
    *("random/3x2?seed=12", "random/6x2?seed=14", "chain/5", "grid/2x3"),
    *("riverswim/4", "riverswim/7", "riverswim-inhomogeneous/3", "clinic"),
)
PROMISE, PEOPLE, SEEDS = Joint(1.0, 1e-6), 1e6, 5


@dataclass(frozen=True)
class Rival(Contender):
    """A contender of which only the final regret is kept."""

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Run, and keep regret."""
        result = super().compute(scale, seeds)
        return replace(result, x=result.x[:1], rows=result.rows[:, :1])


def _pair(world: str) -> tuple[Rival, Rival]:
    pooled = {} if "inhomogeneous" in world else ALL_STEPS
    printed = {"calibration": "sound", "bonus": "dp-bernstein", "mechanism": "tree-gaussian", **GROWTH, **pooled}
    name = f"{world}, DP-UCBVI" + (f" {POOLED}" if pooled else "")
    return (
        Rival(f"{name}: sound", "ucbvi", world, PROMISE, PEOPLE, printed, SCALES),
        Rival(f"{name}: tight", "ucbvi", world, PROMISE, PEOPLE),
    )


def _seen(facts: Facts) -> list[Claim]:
    ratios = {sound.label.partition(", DP")[0]: ratio(tight, sound) for sound, tight in pairs_of(facts.results)}
    ahead = [world for world, one in ratios.items() if one.below_one]
    behind = [world for world, one in ratios.items() if one.above_one]
    values = [one.value for one in ratios.values()]
    shares = [
        float(sound.final.mean()) / (random_loss(sound.label.partition(", DP")[0]) * float(sound.x[0]))
        for sound, _ in pairs_of(facts.results)
    ]
    return [
        facts.judged(
            "At the same true joint guarantee confide with default settings loses less than DP-UCBVI, whose bonus is tuned in each "
            "world, in every world",
            len(ahead) == len(ratios),
            f"less in {len(ahead)} of {len(ratios)} worlds for sure, more in {', '.join(behind) or 'none'}; the ratio of "
            f"regrets is {min(values):.2g} to {max(values):.2g}",
        ),
        facts.judged(
            "With this number of people DP-UCBVI has learned: it loses less than half of what acting at random loses",
            max(shares) < 0.5,
            f"it loses {min(shares):.0%} to {max(shares):.0%} of that. A scale takes its bonus away, but not the error E that its "
            "estimate of transitions adds to every count",
        ),
    ]


EXPERIMENTS = (
    Experiment(
        "ours/rivals",
        "DP-UCBVI beside ours",
        "How does confide stand beside an algorithm that was published after those of the five papers?",
        _seen,
        f"{len(WORLDS)} worlds of ours/worlds, joint privacy, 10^6 people, {SEEDS} seeds and {SEEDS} others for scales",
        3.0,
        tuple(side for world in WORLDS for side in _pair(world)),
        SEEDS,
        Ratios("Regret of ours, with default settings, over that of DP-UCBVI made sound, tuned in each world"),
        quick_seeds=1,
    ),
)
