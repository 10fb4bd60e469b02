"""What a learner hears of a group of simulated people: drawn at once, exactly, for each kind of trust.

An answer is a function (policy, people) -> release. It keeps the running sums of its trust model and draws from the world's
stream and the noise's stream, never from one for the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..mdp import Model
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.unary import SampledStep
from ..planning.evaluation import flow_visits
from ..privacy import Guarantee
from ..privatizers import CentralPrivatizer, LocalPrivatizer, ShufflePrivatizer
from ..releases import CountQuestion, CountRelease, Radius, unpack
from ..releases.reading import estimated_cells, sum_shape, trials
from .draws import World, draw_counts, draw_sampled, layout_of
from .shuffled import shuffled
from .streams import Streams

Array = NDArray[np.float64]
Answer = Callable[[Array, int], CountRelease]
RadiusAt = Callable[[int], Radius]


def answers(
    model: Model,
    question: CountQuestion,
    privatizer: LocalPrivatizer | CentralPrivatizer | ShufflePrivatizer | None,
    radius_at: RadiusAt,
    failure: float,
    streams: Streams,
) -> Answer:
    """The answer that fits the privatizer; None is no privacy. `radius_at(people so far)` is looked up, not computed."""
    world = World(model.transitions, model.rewards, model.initial)
    if isinstance(privatizer, LocalPrivatizer):
        if isinstance(privatizer.mechanism, SampledStep):
            return _sampled(world, privatizer, privatizer.mechanism, radius_at, failure, streams)
        return _local(world, privatizer, privatizer.mechanism, radius_at, failure, streams)
    if isinstance(privatizer, CentralPrivatizer):
        return _central(world, privatizer, radius_at, failure, streams)
    if isinstance(privatizer, ShufflePrivatizer):
        return shuffled(world, privatizer, radius_at, failure, streams)
    return _open(world, question, streams)


def _open(world: World, question: CountQuestion, streams: Streams) -> Answer:
    layout, cells, seen = layout_of(question), np.zeros(question.cells), 0

    def answer(policy: Array, users: int) -> CountRelease:
        nonlocal seen
        draw_counts(world, policy, users, layout, streams.world, cells)
        seen += users
        return CountRelease(question, seen, unpack(question, cells.copy()), Radius.zero(), 0.0, Guarantee.none())

    return answer


def _local(
    world: World,
    privatizer: LocalPrivatizer,
    mechanism: Randomizer,
    radius_at: RadiusAt,
    failure: float,
    streams: Streams,
) -> Answer:
    question = privatizer.question
    layout, bits, promise = layout_of(question), trials(question), privatizer.guarantee
    summed, seen = np.zeros(question.cells), 0

    def answer(policy: Array, users: int) -> CountRelease:
        nonlocal seen, summed
        totals = np.zeros(question.cells)
        draw_counts(world, policy, users, layout, streams.world, totals)
        summed += mechanism.sum_of(totals, users, bits, streams.noise)
        seen += users
        cells = mechanism.estimate(summed, seen, bits)
        return CountRelease(question, seen, unpack(question, cells), radius_at(seen), failure, promise)

    return answer


def _sampled(
    world: World,
    privatizer: LocalPrivatizer,
    mechanism: SampledStep,
    radius_at: RadiusAt,
    failure: float,
    streams: Streams,
) -> Answer:
    question = privatizer.question
    layout, promise = layout_of(question), privatizer.guarantee
    summed = np.zeros(sum_shape(question, mechanism))
    heard = np.zeros(len(summed), dtype=np.int64)

    def answer(policy: Array, users: int) -> CountRelease:
        visits = np.empty_like(policy)
        flow_visits(world.transitions, world.initial, policy, np.empty((2, policy.shape[1])), visits)
        totals = np.zeros(summed.shape, dtype=np.int64)
        draw_sampled(world, visits, users, layout, streams.world, totals)
        for row, people in enumerate(totals):
            summed[row] += mechanism.sum_of(people, streams.noise)
            heard[row] += people.sum()
        cells = estimated_cells(question, mechanism, summed, heard)
        seen = int(heard.sum())
        return CountRelease(question, seen, unpack(question, cells), radius_at(seen), failure, promise)

    return answer


def _central(
    world: World, privatizer: CentralPrivatizer, radius_at: RadiusAt, failure: float, streams: Streams
) -> Answer:
    question, counter = privatizer.question, privatizer.counter
    layout, promise = layout_of(question), privatizer.guarantee
    state, seen = counter.init(question.cells), 0

    def answer(policy: Array, users: int) -> CountRelease:
        nonlocal state, seen
        totals = np.zeros(question.cells)
        draw_counts(world, policy, users, layout, streams.world, totals)
        state, cells = counter.next(state, np.rint(totals / counter.grid).astype(np.int64), streams.replayable)
        seen += users
        return CountRelease(question, seen, unpack(question, cells), radius_at(seen), failure, promise)

    return answer
