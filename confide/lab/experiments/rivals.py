"""Algorithms of 2023 to 2025 beside ours, in worlds of `ours/worlds`, with fewer worlds and seeds.

DP-UCBVI (Qiao and Wang 2023), under joint privacy: its own bonus and its own way to make a distribution of noisy counts, with
noise that is raised until the claim is true, at our guarantee, in the Gaussian tree that suits it better than the Laplace noise it
prints.
SDP-PE (Bai, Talebi, Zhao, Cheng and Chen 2024), under shuffling: policy elimination in stages that forget, as far as its public
text goes (`learning/learners/policy_elimination.py`), with the least noise on sums of bits that keeps the claim, as its own was not
found. Each has the scale of its bonus, or of its confidence width, that does best in that world on other seeds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...privacy import Joint, Shuffle
from ...protocol.papers import POOLED
from ...validation import Json
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
PEOPLE, SEEDS = 1e6, 5
JOINT, SHUFFLED = Joint(1.0, 1e-6), Shuffle(1.0, 1e-6)
EVERYBODY_HONEST: dict[str, Json] = {"honest": 1.0, "claimed": True}
TRIED = (0.0, *SCALES)
"""Scales of a rival's bonus or width: 0 is the least that there is, so that none of them lies at an edge but the largest."""
FIRST_BATCH = 1000
"""People in each of SDP-PE's first batches, which double eight by eight; its own length of a batch was not found."""


@dataclass(frozen=True)
class Rival(Contender):
    """A contender of which only the final regret is kept; a scale that was chosen is said with the guarantee."""

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Run, and keep regret."""
        result = super().compute(scale, seeds)
        chosen = f"; scale {result.x[1]:g}" if self.scales else ""
        return replace(result, x=result.x[:1], rows=result.rows[:, :1], guarantee=result.guarantee + chosen)


def _changes(world: str) -> bool:
    """Whether the world's steps differ, so that counts cannot be pooled over them."""
    return "inhomogeneous" in world


def _joint(world: str) -> tuple[Rival, Rival]:
    pooled = {} if _changes(world) else ALL_STEPS
    printed = {"calibration": "sound", "bonus": "dp-bernstein", "mechanism": "tree-gaussian", **GROWTH, **pooled}
    name = f"{world}, DP-UCBVI" + (f" {POOLED}" if pooled else "")
    return (
        Rival(f"{name}: sound", "ucbvi", world, JOINT, PEOPLE, printed, TRIED),
        Rival(f"{name}: tight", "ucbvi", world, JOINT, PEOPLE),
    )


def _shuffled(world: str) -> tuple[Rival, Rival]:
    """SDP-PE counts step by step as its model has it, or pools over steps, whichever does better on other seeds."""
    printed = {
        **{"calibration": "sound", "mechanism": "shuffled-bits", "model": "per-step"},
        **{"batch": FIRST_BATCH, "widening": True, **EVERYBODY_HONEST},
    }
    ways = (False,) if _changes(world) else (False, True)
    name = f"{world}, SDP-PE"
    return (
        Rival(f"{name}: sound", "policy-elimination", world, SHUFFLED, PEOPLE, printed, TRIED, pooled=ways),
        Rival(f"{name}: tight", "obi", world, SHUFFLED, PEOPLE, EVERYBODY_HONEST),
    )


NAMES = {"DP-UCBVI": "joint", "SDP-PE": "shuffle"}


def _seen(facts: Facts) -> list[Claim]:
    return [claim for name, trust in NAMES.items() for claim in _beside(facts, name, trust)]


def _beside(facts: Facts, name: str, trust: str) -> list[Claim]:
    """How ours stands beside one rival, and whether that has learned at all."""
    pairs = [(sound, tight) for sound, tight in pairs_of(facts.results) if f", {name}" in sound.label]
    worlds = [sound.label.partition(f", {name}")[0] for sound, _ in pairs]
    ratios = {world: ratio(tight, sound) for world, (sound, tight) in zip(worlds, pairs, strict=True)}
    ahead = [world for world, one in ratios.items() if one.below_one]
    behind = [world for world, one in ratios.items() if one.above_one]
    values = [one.value for one in ratios.values()]
    shares = [
        float(sound.final.mean()) / (random_loss(world) * float(sound.x[0]))
        for world, (sound, _) in zip(worlds, pairs, strict=True)
    ]
    why = {
        "DP-UCBVI": "A scale of 0 takes its bonus away, but not the error E that its estimate of transitions adds to every count",
        "SDP-PE": "Its stages forget, so that each has to outgrow the noise by itself, and all of its users explore what is left",
    }
    return [
        facts.judged(
            f"At the same true {trust} guarantee confide with default settings loses less than {name}, which is tuned in each "
            "world, in every world",
            len(ahead) == len(ratios),
            f"less in {len(ahead)} of {len(ratios)} worlds for sure, more in {', '.join(behind) or 'none'}; the ratio of "
            f"regrets is {min(values):.2g} to {max(values):.2g}",
        ),
        facts.judged(
            f"With this number of people {name} has learned: it loses less than half of what acting at random loses",
            max(shares) < 0.5,
            f"it loses {min(shares):.0%} to {max(shares):.0%} of that. {why[name]}",
        ),
    ]


EXPERIMENTS = (
    Experiment(
        "ours/rivals",
        "DP-UCBVI and SDP-PE beside ours",
        "How does confide stand beside algorithms that were published after those of the five papers? Of SDP-PE the constants, the "
        "noise and the exploration policies were not found: what stands here in their place is said in docs/rivals.md.",
        _seen,
        f"{len(WORLDS)} worlds of ours/worlds, joint privacy and shuffling, 10^6 people, {SEEDS} seeds and {SEEDS} others for "
        "scales",
        4.0,
        tuple(side for pair in (_joint, _shuffled) for world in WORLDS for side in pair(world)),
        SEEDS,
        Ratios("Regret of ours, with default settings, over that of newer algorithms, tuned"),
        quick_seeds=1,
    ),
)
