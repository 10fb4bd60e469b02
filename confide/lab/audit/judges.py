"""Targets made of people who judge: steps of a log in, all that those who judge ever release out.

Two people do the opposite of each other at every step of an adoption that is made for them, so that their scores, weights and
numbers of the test lie at opposite ends; they are scored and summed by the code that real ones meet.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...analysis.fitting.adopting import JudgePlan, part_of
from ...data.privatizers.judged import JudgedAggregate
from ...mdp.adoption import BY_PREVIOUS, SIGNS, Adoption, Episodes, Specification, contrasts, scores
from ...mechanisms.noise import NoiseSource
from ...privacy import Guarantee, Loss, compose
from ...protocol.kinds.judged import EACH, GAIN, GROUPS, RESIDUALS, SIZES, SQUARE_UNIT, SQUARES, WEIGHT, JudgedRelease
from .auditing import MANY, WHOLE, Target
from .end_to_end import SHARE
from .events import DECIMALS, Array, Statistic
from .fits import ZERO_NOISE, ManySteps
from .likelihood import exact_loss, log_likelihood_ratio

HORIZON = 3
FAR = 100.0
"""Times the numbers of the test, so that both people's are shortened."""
SHARE_OF_PEOPLE = 0.3


def judges() -> tuple[Adoption, Specification]:
    """An adoption of "always the second action", which practice takes half of the time, and the test of a table that is wrong."""
    kept, taken = np.zeros((HORIZON, 1)), np.zeros((HORIZON, 1, 2))
    taken[..., 1] = 1.0
    practice, q = np.full((3, 1, 2), 0.5), np.zeros((HORIZON, 1, 2))
    signs, before = np.full((SIGNS, 1, 1, 2), 0.5), np.full((SIGNS, 3, 1), 0.5)
    test = Specification(np.zeros((HORIZON + 1, 1)), q + 0.5, taken, practice, BY_PREVIOUS, 0.0, signs, before)
    return Adoption(1.0, kept, taken, practice, BY_PREVIOUS, q, 0.0), test


def person(action: int, paid: float) -> Episodes:
    """A user who takes the same action at every step, is paid alike, and is in the group of that number."""
    actions = np.full(HORIZON, action, dtype=np.int64)
    return Episodes(
        np.array([0, HORIZON]),
        np.zeros(HORIZON, dtype=np.int64),
        actions,
        np.full(HORIZON, paid),
        np.zeros(0),
        actions[:1],
    )


def numbers_of(episodes: Episodes) -> dict[str, Array]:
    """What a person is asked for, part by part, in shares of clips that both people exceed."""
    adoption, test = judges()
    found, weights = scores(adoption, episodes)
    octaves = np.ceil(np.log2(np.abs(found) + 1e-6)) + 5
    grouped = np.column_stack([found, episodes.group])
    residuals = FAR * contrasts(test, episodes)
    return {SIZES: octaves, GAIN: found, WEIGHT: weights, RESIDUALS: residuals, GROUPS: grouped}


def cells_of(release: JudgedRelease) -> Array:
    """(cells,) the numbers of a release, in the units in which its noise was drawn."""
    cells = np.array(release.sums, dtype=np.float64)
    if release.part == GAIN:
        cells[1] = (cells[1] - release.users / 2) * SQUARES / SQUARE_UNIT
    if release.part == GROUPS:
        cells[1::3] = (cells[1::3] - cells[2::3] / 2) * SQUARES / SQUARE_UNIT
        cells[2::3] *= EACH
    return cells


def judged_targets(name: str, promise: Guarantee, mechanism: str, groups: tuple[str, ...] = ()) -> list[Target]:
    """Targets of all that those who judge release, on two people of whom one gains by the adoption and the other loses. groups: the
    public groups that people are in, these two in different ones."""
    plan = JudgePlan.of(SHARE_OF_PEOPLE, promise, mechanism, groups=groups)
    people = person(1, 1.0), person(0, 0.4)
    return [_target(name, plan, people, share) for share in (1.0, SHARE)]


def _released(plan: JudgePlan, episodes: Episodes, noise: NoiseSource) -> Array:
    """Everything of one run, flat."""
    assert plan.designs is not None
    found = []
    answers = numbers_of(episodes)
    for name, design in plan.designs.items():
        numbers = answers[part_of(name)]
        aggregate = JudgedAggregate(design, noise, simulated=True)
        aggregate.take_numbers(numbers, np.full(numbers.shape, 0.5))
        found.append(cells_of(aggregate.close()))
    return np.concatenate(found)


def _many(plan: JudgePlan, episodes: Episodes, copies: int, noise: NoiseSource) -> Array | None:
    """Many runs whose mechanisms draw many times, as in `fits`; None if what is released is not what they drew."""
    assert plan.designs is not None
    drawing = {part: ManySteps(design.additive, copies) for part, design in plan.designs.items()}
    designs = {
        part: replace(design, act=replace(design.act, mechanism=drawing[part])) for part, design in plan.designs.items()
    }
    first = _released(replace(plan, designs=designs), episodes, noise)
    drawn = np.concatenate(
        [drawing[part].outputs[0] * design.mechanism.grid for part, design in plan.designs.items()], axis=1
    )
    exact = _released(plan, episodes, ZERO_NOISE)
    if not np.allclose(first, exact + drawn[0], rtol=0, atol=10.0**-DECIMALS):
        return None
    return np.asarray(exact + drawn)


def _target(name: str, plan: JudgePlan, people: tuple[Episodes, Episodes], share: float) -> Target:
    assert plan.designs is not None
    inputs = [_released(plan, one, ZERO_NOISE) for one in people]
    ratios: list[tuple[slice, Statistic]] = []
    losses: list[Loss] = []
    start = 0
    for design in plan.designs.values():
        part = slice(start, start + design.question.cells)
        start = part.stop
        both, trials = (inputs[0][part], inputs[1][part]), design.question.trials
        ratio, loss = log_likelihood_ratio(design.mechanism, both, trials), exact_loss(design.mechanism, both, trials)
        assert ratio is not None and loss is not None
        ratios.append((part, ratio))
        losses.append(loss)

    def claimed(outputs: Array) -> Array:
        return np.asarray(sum(ratio(outputs[:, part]) for part, ratio in ratios))

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        outputs = _many(plan, people[world], count, noise) if share == 1 else None
        return np.stack([_released(plan, people[world], noise) for _ in range(count)]) if outputs is None else outputs

    whole = compose([act.loss for act in plan.acts])
    how = MANY if share == 1 else WHOLE
    return Target(name, whole, sample, claimed, compose(losses), "central", "tight", 1.0, share, how)
