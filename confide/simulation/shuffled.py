"""What a learner hears of simulated people through shufflers: sums of flipped bits over full batches, drawn at once, exactly.

A counter over n people with N ones among nw bits becomes Binomial(N, 1-q) + Binomial(nw - N, q). Simulated rewards are 0
or 1, so all m bits of a reward are alike, and a count of N rewards is m N ones. A short last batch is held: nobody hears of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ..compiled import compiled
from ..designs import Design
from ..errors import InvalidInput
from ..planning.evaluation import flow_visits
from ..questions import bits
from .draws import Array, Layout, World, draw_counts, draw_sampled, layout_of


class Mixer(NamedTuple):
    """Shufflers as compiled code takes them.

    layout: where the estimated cells lie. flips: (levels,) chance of a flipped bit. bits, told: (cells,) bits a person,
    and bits a count. open: what nodes that are not full hold, and found: what full ones have told; (levels, cells), or
    (layers, k) for sampled steps.
    """

    layout: Layout
    batch: int
    tree: bool
    flips: Array
    bits: Array
    told: Array
    open: Array
    found: Array


def mixer_of(design: Design) -> Mixer:
    """Empty shufflers."""
    question, mixing = design.question, design.mixing
    if mixing is None:
        raise InvalidInput("This design has no shufflers. Make one under trust shuffle.")
    flips = np.array([crowd.flip for crowd in design.mechanism.crowds])
    shape, heads, told = (question.rows, question.width), np.zeros(0), np.zeros(0)
    if question.kind == bits.KIND:
        shape = (len(flips), question.width)
        heads, told = question.trials.astype(np.float64), question.weights.astype(np.float64)
    return Mixer(
        layout_of(question.counts), mixing.batch, mixing.tree, flips, heads, told, np.zeros(shape), np.zeros(shape)
    )


@compiled
def flipped(ones: int, zeros: int, flip: float, rng: Generator) -> int:
    """How many bits are one after flipping."""
    kept = rng.binomial(ones, 1.0 - flip) if ones > 0 else 0
    return kept + (rng.binomial(zeros, flip) if zeros > 0 else 0)


@compiled
def hear_bits(
    batches: int, mixer: Mixer, world: World, policy: Array, worlds: Generator, noises: Generator, cells: Array
) -> None:
    """Add batch number `batches`, counted from 1, and write the estimated cells over everybody.

    Bits of whole episodes. In a tree, after t batches, the nodes of the binary digits of t count; else one node grows.
    """
    level = 0
    while mixer.tree and (batches >> level) & 1 == 0:
        level += 1
    fresh = np.zeros(cells.size)
    draw_counts(world, policy, mixer.batch, mixer.layout, worlds, fresh)
    mixer.open[:] += fresh
    people, flip = mixer.batch << level, mixer.flips[level]
    if mixer.tree:
        mixer.found[: level + 1] = 0.0
    for i in range(cells.size):
        many, ones = people * int(mixer.bits[i]), int(mixer.open[level, i] * mixer.told[i])
        kept = flipped(ones, many - ones, flip, noises)
        mixer.found[level, i] += (kept - many * flip) / ((1.0 - 2.0 * flip) * mixer.told[i])
        cells[i] = mixer.found[:, i].sum()
    mixer.open[: level + 1] = 0.0


@compiled
def hear_steps(
    batches: int, mixer: Mixer, world: World, policy: Array, worlds: Generator, noises: Generator, cells: Array
) -> None:
    """The same for one sampled step of each person: rewards and transitions from the categories (s, a, s', paid)."""
    horizon, states, actions = policy.shape
    visits = np.zeros(policy.shape)
    flow_visits(world.transitions, world.initial, policy, np.zeros((2, states)), visits)
    rows, kinds = mixer.open.shape
    people = np.zeros((rows, kinds), dtype=np.int64)
    draw_sampled(world, visits, mixer.batch, mixer.layout, worlds, people)
    flip, everyone = mixer.flips[0], float(batches * mixer.batch)
    for i in range(cells.size):
        cells[i] = 0.0
    for row in range(rows):
        many = 0
        for c in range(kinds):
            many += people[row, c]
        mixer.open[row, 0] += many  # how many were heard
        heard = mixer.open[row, 0]
        scale = (float(horizon) if rows == 1 else everyone / max(heard, 1.0)) / (1.0 - 2.0 * flip)
        for c in range(kinds - 1):
            mixer.found[row, c] += flipped(people[row, c], many - people[row, c], flip, noises)
            guess = scale * (mixer.found[row, c] - heard * flip)
            move = row * states * actions * states + c // 2
            cells[mixer.layout.transitions + move] += guess
            if c % 2 == 1:
                cells[mixer.layout.rewards + move // states] += guess


def hearing(design: Design) -> Callable[..., None]:
    """How a batch is heard."""
    return hear_bits if design.question.kind == bits.KIND else hear_steps
