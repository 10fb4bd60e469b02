"""Targets made of a whole device: a person's episode in, the report that leaves it out.

Outputs come from `privatizers.respond` itself. To see many, the mechanism inside is asked for many messages at each call
and hands on the first. That is only as good as the device's word that it sends what its mechanism said, so each call is
checked, and if a report carries anything else each output is a separate report.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...data.privatizers import respond
from ...data.statistics import round_rewards
from ...data.statistics.answers import category, first_visit, return_of
from ...data.trajectories import Trajectory
from ...errors import InvalidInput
from ...mechanisms.noise import NoiseSource
from ...mechanisms.randomizer import WHOLE, CategoryRandomizer, Randomizer
from ...mechanisms.unary import SampledStep
from ...privacy import Loss
from ...protocol.design import Design
from ...protocol.kinds import asked, asked_return, step
from ...protocol.kinds.asked import AskedQuestion
from ...protocol.kinds.asked_return import of_returns
from ...protocol.releases.report import clamped
from .auditing import Target
from .events import Array, Statistic
from .likelihood import Told, Trials, category_log_likelihood, category_loss, exact_loss, log_likelihood_ratio
from .mechanisms import CELL_BY_CELL, Standing, messages
from .people import Pair, audited_question, exact_message

Categories = Callable[[Trajectory, NDArray[np.int64]], list[int]]

# Among this many calls of the privatizer the outputs of one draw are shared.
CALLS = 64
# Of the samples, where every output takes a call of its own.
ONE_A_CALL = 0.25


def local_target(name: str, design: Design, people: Pair) -> Target:
    """The target of one device's report for either of two people; an output is its cells and the row it is about."""

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        many = _pair_by_pair if design.question.kind == asked.KIND else _many_a_call
        drawn = many(design, people[world], count, noise)
        return _one_a_call(design, people[world], count, noise) if drawn is None else drawn

    describe = _DESCRIBED.get(design.question.kind, _of_an_episode)
    claimed, exact = describe(design, people)
    quick = design.question.kind == asked.KIND or sharing(design, 1) is not None
    grid, share = design.mechanism.grid, 1.0 if quick else ONE_A_CALL
    return Target(name, design.act.loss, sample, claimed, exact, design.trust, design.calibration, grid, share)


@dataclass(frozen=True)
class ManyMessages(Standing, Randomizer):
    """A randomizer that makes many messages at each call, keeps them all and hands on the first."""

    inner: Randomizer
    copies: int
    outputs: list[Array] = field(default_factory=list)

    @property
    def packing(self) -> str:
        """That of the mechanism."""
        return self.inner.packing

    @property
    def categories(self) -> int:
        """Those of the mechanism."""
        return self.inner.categories

    def reach(self) -> float:
        """That of one message."""
        return self.inner.reach()

    def variance(self, trials: float = 1.0) -> float:
        """That of one message."""
        return self.inner.variance(trials)

    def radius(self, users: ArrayLike, failure: float, trials: float = 1.0, cells: float = 1.0) -> Array:
        """That of one message."""
        return self.inner.radius(users, failure, trials, cells)

    def estimate(self, summed: Array, users: int, trials: Trials) -> Array:
        """From messages of the mechanism."""
        return self.inner.estimate(summed, users, trials)

    def randomize(self, cells: Array, trials: Trials, noise: NoiseSource) -> Array:
        """The first of many messages about the same counts."""
        if self.inner.packing == WHOLE:
            self.outputs.append(messages(self.inner, cells, trials, self.copies, noise))
        else:  # of a category, which is one cell of many, messages are made one by one
            self.outputs.append(np.stack([self.inner.randomize(cells, trials, noise) for _ in range(self.copies)]))
        return np.asarray(self.outputs[-1][0])


def sharing(design: Design, copies: int) -> tuple[Design, ManyMessages] | None:
    """The same design with a mechanism that makes many messages at each call; None if messages must not share one."""
    mechanism = design.randomizer
    alone = type(mechanism) is SampledStep and design.question.kind == step.KIND and design.question.spec.horizon == 1
    if type(mechanism) not in CELL_BY_CELL and not alone:
        return None
    many = ManyMessages(mechanism, copies)
    return replace(design, act=replace(design.act, mechanism=many)), many


def _one_a_call(design: Design, person: Trajectory, count: int, noise: NoiseSource) -> Array:
    member = audited_question(design)
    reports = (respond(design, member, person, noise, simulated=True) for _ in range(count))
    return np.stack([np.append(report.cells * design.mechanism.grid, report.row) for report in reports])


def _many_a_call(design: Design, person: Trajectory, count: int, noise: NoiseSource) -> Array | None:
    """Outputs, many a call; None if messages must not share a call, or if a report is not the mechanism's message."""
    copies = math.ceil(count / CALLS)
    shared = sharing(design, copies)
    if shared is None:
        return None
    changed, many = shared
    rows, grid, member = [], design.mechanism.grid, audited_question(design)
    for call in range(math.ceil(count / copies)):
        report = respond(changed, member, person, noise, simulated=True)
        if len(many.outputs) != call + 1:
            return None
        stated = clamped(design, np.rint(many.outputs[-1][0] / grid).astype(np.int64))
        if not np.array_equal(report.cells, stated):
            return None
        rows.append(np.full(copies, float(report.row)))
    return np.column_stack([np.concatenate(many.outputs), np.concatenate(rows)])[:count]


def _pair_by_pair(design: Design, person: Trajectory, count: int, noise: NoiseSource) -> Array | None:
    """Outputs of asked pairs: the pairs are drawn first, then one call about each makes all its messages. None as above."""
    question, outputs = asked.ASKED.question_of(design), []
    edges = np.cumsum(question.law)
    drawn = np.searchsorted(edges, noise.integers(int(edges[-1]), count), side="right")
    for row, copies in enumerate(np.bincount(drawn, minlength=question.rows).tolist()):
        if not copies:
            continue
        many = ManyMessages(design.randomizer, copies)
        only = replace(question, weights=np.eye(question.rows, dtype=np.int64)[row])
        sharing_it = replace(design, act=replace(design.act, mechanism=many))
        report = respond(sharing_it, only, person, noise, simulated=True)
        if len(many.outputs) != 1 or report.row != row or not np.array_equal(report.cells, np.rint(many.outputs[0][0])):
            return None
        outputs.append(np.column_stack([many.outputs[0], np.full(copies, float(row))]))
    return np.concatenate(outputs)


Described = tuple[Statistic | None, Loss | None]


def _of_an_episode(design: Design, people: Pair) -> Described:
    """The loss of outputs, and of the two people, if a report covers the whole episode; unknown if it may not."""
    mechanism, most = design.randomizer, design.question.trials
    if design.question.rows > 1 or mechanism.packing != WHOLE:
        return None, None
    inputs = (exact_message(design, people[0], mechanism.grid), exact_message(design, people[1], mechanism.grid))
    ratio = log_likelihood_ratio(mechanism, inputs, most)
    exact = exact_loss(mechanism, inputs, most)
    return (None if ratio is None else lambda outputs: ratio(outputs[:, :-1])), exact


def _of_a_step(design: Design, people: Pair) -> Described:
    """The loss if a report is about one sampled step: which one is known per step, and one of H if steps are pooled."""
    horizon = design.question.spec.horizon

    def categories_of(person: Trajectory, levels: NDArray[np.int64]) -> list[int]:
        return [category(design.counts, person, levels, step) for step in range(horizon)]

    known = design.question.spec.layers > 1 or horizon == 1
    return _of_categories(design, people, categories_of, [1 / horizon] * horizon if known else None)


def _of_a_pair(design: Design, people: Pair) -> Described:
    """The loss if a report is about one asked pair, which is known."""
    question = asked.ASKED.question_of(design)
    law = question.law

    def categories_of(person: Trajectory, levels: NDArray[np.int64]) -> list[int]:
        return [first_visit(question, person, levels, row) for row in range(len(law))]

    return _of_categories(design, people, categories_of, (law / law.sum()).tolist())


def _of_a_pair_or_return(design: Design, people: Pair) -> Described:
    """The loss if a report is about one asked pair, or the return, and which is known. Of H equal parts of the range of returns
    that of a person covers some: her bit says whether one of them, drawn alike, is covered."""
    question = asked_return.ASKED_RETURN.question_of(design)
    law, horizon, bit = question.law / question.law.sum(), question.spec.horizon, of_returns(design.randomizer)
    about_pairs = (
        replace(design, question=AskedQuestion(question.counts, question.law[:-1])) if law[:-1].any() else None
    )
    ratio = None if about_pairs is None else _of_a_pair(about_pairs, people)[0]
    parts = [[int(place < return_of(question.counts, person)) for place in range(horizon)] for person in people]

    def of_bit(outputs: Array, hers: list[int]) -> Array:
        each = [category_log_likelihood(bit, outputs[:, : asked_return.BITS], one) for one in hers]
        return np.asarray(np.logaddexp.reduce(each, axis=0))

    def likelihood_ratio(outputs: Array) -> Array:
        about_return = outputs[:, -1] == question.pairs
        result = np.zeros(len(outputs))
        result[about_return] = of_bit(outputs[about_return], parts[0]) - of_bit(outputs[about_return], parts[1])
        if ratio is not None:
            result[~about_return] = ratio(outputs[~about_return])
        return result

    levels = [round_rewards(person.rewards, question.counts.levels, np.ones(person.steps)) for person in people]
    told = [
        [first_visit(question, one, each, row) for row in range(question.pairs)]
        for one, each in zip(people, levels, strict=True)
    ]
    rows: list[Told] = [(float(share), [one], [other]) for share, one, other in zip(law, *told, strict=False) if share]
    exact = category_loss(_by_category(design), rows, [(bit, (float(law[-1]), parts[0], parts[1]))] if law[-1] else [])
    return likelihood_ratio, exact


def _by_category(design: Design) -> CategoryRandomizer:
    """The mechanism of a design whose reports name one of several categories."""
    mechanism = design.randomizer.naming()
    if mechanism is None:
        raise InvalidInput(
            "audit-categories-unknown",
            f"{design.mechanism.name} does not name categories as ours do. Enter its loss by `describe`.",
        )
    return mechanism


def _of_categories(design: Design, people: Pair, categories_of: Categories, shares: list[float] | None) -> Described:
    """The loss of outputs about one of several categories. shares: how likely each row is, if an output says which it is about."""
    question, mechanism = design.counts, _by_category(design)
    ordered = []
    for person in people:
        levels = round_rewards(person.rewards, question.levels, np.ones(person.steps))
        ordered.append(categories_of(person, levels))

    def likelihood(outputs: Array, hers: list[int]) -> Array:
        each = np.stack([category_log_likelihood(mechanism, outputs[:, :-1], index) for index in hers])
        if shares is not None:
            return np.asarray(each[outputs[:, -1].astype(np.int64), np.arange(len(outputs))])
        return np.asarray(np.logaddexp.reduce(each, axis=0))

    rows: list[Told] = [(1.0, ordered[0], ordered[1])]
    if shares is not None:
        rows = [(share, [one], [other]) for share, one, other in zip(shares, *ordered, strict=True) if share]
    exact = category_loss(mechanism, rows)
    return lambda outputs: likelihood(outputs, ordered[0]) - likelihood(outputs, ordered[1]), exact


_DESCRIBED: dict[str, Callable[[Design, Pair], Described]] = {
    step.KIND: _of_a_step,
    asked.KIND: _of_a_pair,
    asked_return.KIND: _of_a_pair_or_return,
}
"""What is known of reports, by kind of question; those of others cover whole episodes."""


def describe(kind: str, described: Callable[[Design, Pair], Described]) -> None:
    """Enter the log-likelihood ratio of reports about a kind of question for two people, and their loss."""
    _DESCRIBED[kind] = described
