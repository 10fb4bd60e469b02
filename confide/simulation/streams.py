"""The random streams of a simulation: the world's and the learner's, and apart from them that of privacy noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..mechanisms.noise import ReplayableNoise


@dataclass(frozen=True)
class Streams:
    """Independent streams of one seed: how people fare, how a learner chooses, and how noise falls."""

    world: np.random.Generator
    policy: np.random.Generator
    noise: np.random.Generator
    replayable: ReplayableNoise


def spawn(entropy: int, seeds: int) -> list[np.random.SeedSequence]:
    """One root for each seed of a run; the same entropy gives the same roots at any number of workers."""
    return np.random.SeedSequence(entropy).spawn(seeds)


def streams(root: np.random.SeedSequence) -> Streams:
    """The streams of one seed. A root may be used again: it is copied before it spawns."""
    fresh = np.random.SeedSequence(root.entropy, spawn_key=root.spawn_key)
    world, policy, noise, replayable = fresh.spawn(4)
    return Streams(
        np.random.default_rng(world),
        np.random.default_rng(policy),
        np.random.default_rng(noise),
        ReplayableNoise(replayable),
    )
