"""The random streams of a simulation: the world's and the learner's, and apart from them that of privacy noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...mechanisms.noise import ReplayableNoise


@dataclass(frozen=True)
class Streams:
    """Independent streams of one seed: how people fare, how a learner chooses, and how noise falls."""

    world: np.random.Generator
    policy: np.random.Generator
    noise: np.random.Generator
    replayable: ReplayableNoise


def root_of(entropy: int, index: int) -> np.random.SeedSequence:
    """The root of one seed of a run: the same at any number of seeds and workers."""
    return np.random.SeedSequence(entropy, spawn_key=(index,))


def spawn(entropy: int, seeds: int) -> list[np.random.SeedSequence]:
    """The roots of all seeds of a run."""
    return [root_of(entropy, index) for index in range(seeds)]


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
