"""The sweep: what a design gives away of two people, exactly, over all people of a small world. Nothing is missed by chance.

An attack draws outputs for a few pairs; here every person of the world is looked at, and the pairs that are furthest apart in l1,
in l2, in one cell and in the number of cells that differ are worked out, by the densities of `likelihood` and not by the price.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product

import numpy as np

from ...errors import InvalidInput
from ...privacy import Loss, Sensitivity
from ...privacy.guarantee import JOINT
from ...protocol.design import Design
from ...protocol.kinds import judged, returns, step, values
from ...protocol.kinds.judged import CELLS, GAIN, GROUPS, SIZES, TESTS, WEIGHT, JudgedQuestion
from ...protocol.kinds.returns import ReturnsQuestion
from ...protocol.kinds.values import ValuesForm
from ...protocol.trusts import trust as trusts
from . import catalogue
from .curators import joint_target
from .events import Array
from .likelihood import exact_loss
from .people import Pair, all_episodes, exact_message, pairs

MOST_PEOPLE = 1024
"""All of a world of 2 states, 2 actions and 3 steps."""
RETURNS = 512
"""In how many steps the range of returns is gone through."""
TOLD_ONE = 24
"""How many pairs are looked at where a message tells one category: any two categories are hidden equally well."""


def swept(design: Design) -> float:
    """The largest delta of any two people at the requested epsilon: at most the requested delta if the price holds."""
    epsilon = design.requested.epsilon
    if epsilon is None:
        raise InvalidInput("sweep-needs-epsilon", "A sweep compares designs that guarantee an epsilon. Ask for one.")
    told = _TOLD.get(design.question.kind)
    if told is not None:
        messages, trials = told(design.question), design.question.trials
        pairs_told = [(messages[one], messages[other]) for one, other in _apart(messages)]
        losses = [loss for both in pairs_told if (loss := exact_loss(design.mechanism, both, trials)) is not None]
    else:
        losses = [loss for people in furthest(design) for loss in _losses(design, people)]
    if not losses:
        raise InvalidInput(
            "likelihood-unknown",
            f"Nothing is known of what {design.mechanism.name} gives away exactly. Enter its likelihood.",
        )
    return max(loss.delta(epsilon) for loss in losses)


def furthest(design: Design) -> list[Pair]:
    """The two people who are furthest apart in each norm, and those of `pairs`."""
    spec, known = design.question.spec, pairs(design.question.spec)
    people = all_episodes(spec, MOST_PEOPLE)
    if design.kind.first_visits or design.question.kind == step.KIND:
        order = np.random.default_rng(0).permutation(len(people))[:TOLD_ONE]
        return [*known, *pairwise(people[place] for place in order)]
    grid = design.mechanism.grid
    shown = np.stack([exact_message(design, person, grid) for person in people])
    different, first = np.unique(shown, axis=0, return_index=True)
    return [*known, *((people[first[one]], people[first[other]]) for one, other in _apart(different))]


def _apart(messages: Array) -> list[tuple[int, int]]:
    """The two of messages (n, cells) that are furthest apart in each norm."""
    found = set()
    for norm in (_l1, _l2, _largest, _cells):
        distances = [norm(messages - one) for one in messages]
        here = int(np.argmax([far.max() for far in distances]))
        found.add((here, int(distances[here].argmax())))
    return sorted(found)


def _losses(design: Design, people: Pair) -> list[Loss]:
    """What the two people's outputs give away, as far as it is known; of a curator wherever in the stream the person is."""
    if design.trust == JOINT:
        batches = range(1, design.schedule.releases + 1)
        targets = [joint_target("sweep", design, people, batch) for batch in batches]
    else:
        targets = [catalogue.TARGETS[trusts.find(design.trust).attack]("sweep", design, people)]
    known = [target.exact for target in targets if target.exact is not None]
    whole = design.question.rows == 1 and design.devices and design.mixing is None
    return known or ([_own_account(design, people)] if whole else [])


def _own_account(design: Design, people: Pair) -> Loss:
    """The loss that a mechanism of a user's own states for exactly these two people. Whether that is true its tests say."""
    first, second = (exact_message(design, person, design.mechanism.grid) for person in people)
    apart = np.abs(first - second)
    sizes, many = np.unique(apart[apart > 0], return_counts=True)
    l1, l2, shifts = (
        float(apart.sum()),
        float(np.linalg.norm(apart)),
        tuple(zip(sizes.tolist(), many.tolist(), strict=True)),
    )
    loss: Loss = design.mechanism.loss(Sensitivity(l1, l2, shifts, int(many.sum())))
    return loss


def _returns(question: ReturnsQuestion) -> Array:
    """What episodes of returns all over the range say, with its ends and its middle."""
    points = range(-question.points // 2, question.points // 2 + 1, max(1, question.points // RETURNS))
    return np.array([question.units((u, u * u, 1)) for u in points], dtype=np.float64) * question.grid


def _value_sums(question: ValuesForm) -> Array:
    """Returns and values at the ends of their range, together."""
    return np.array(list(product((0.0, float(question.gram.horizon)), repeat=2)))


def _judged(question: JudgedQuestion) -> Array:
    """What people say whose scores lie anywhere: in every octave; all over the clip, and beyond it; in many directions."""
    if question.part == SIZES:
        numbers: Array = np.arange(-1.0, CELLS + 1)
    elif question.part == GROUPS:
        shares = np.linspace(-1.5, 1.5, RETURNS // 2)
        numbers = np.array([(one, float(group)) for group in (0, question.groups - 1) for one in shares])
    elif question.part in (GAIN, WEIGHT):
        numbers = np.linspace(-1.5, 1.5, RETURNS)
    else:
        ways = np.random.default_rng(0).normal(size=(TESTS, TESTS))
        numbers = 9.0 * np.concatenate(
            [ways, -ways, np.eye(TESTS), -np.eye(TESTS), np.ones((1, TESTS)), -np.ones((1, TESTS))]
        )
    rounded = [np.full(numbers[:1].shape, uniform) for uniform in (0.0, 1.0)]
    told = [question.units(numbers[one : one + 1], word) for word in rounded for one in range(len(numbers))]
    return np.asarray(np.array(told) * question.grid, dtype=np.float64)


_TOLD: dict[str, Callable[..., Array]] = {returns.KIND: _returns, values.KIND: _value_sums, judged.KIND: _judged}
"""Every message that matters, of kinds that fits ask for beside counts."""


def _l1(apart: Array) -> Array:
    return np.asarray(np.abs(apart).sum(axis=1))


def _l2(apart: Array) -> Array:
    return np.asarray((apart**2).sum(axis=1))


def _largest(apart: Array) -> Array:
    return np.asarray(np.abs(apart).max(axis=1))


def _cells(apart: Array) -> Array:
    return np.asarray((apart != 0).sum(axis=1))
