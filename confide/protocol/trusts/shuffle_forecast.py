"""Local epsilon, batch and epsilon of the sums: any one of them from the other two, for each kind of report."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ... import validation
from ...errors import InvalidInput
from ...mdp import Spec
from ...privacy import Shuffle
from ...privacy.shuffled_bits import solve
from ...privacy.shuffling import ShuffledCrowd
from ..kinds import CountQuestion, StepQuestion, step
from ..kinds.bits import BitQuestion
from ..kinds.counts import COUNTED, DROPPED, REWARDS, TRANSITIONS
from .mixing import HONEST, Mixing, people_in_sum
from .shuffle import BITS, SET_ASIDE, STEP, ShuffledQuestion, smallest_batch


@dataclass(frozen=True)
class ShuffleForecast:
    """A batch, a local epsilon and the epsilon of the sums that belong together. noise: std of one transition count, a batch."""

    mechanism: str
    epsilon: float
    delta: float
    local_epsilon: float
    batch: int
    honest: int
    flip: float
    changed_bits: int
    noise: float


def shuffle_forecast(
    spec: Spec,
    delta: float,
    *,
    epsilon: float | None = None,
    batch: int | None = None,
    local_epsilon: float | None = None,
    honest: float = HONEST,
    reward_bits: int = 1,
) -> tuple[ShuffleForecast, ...]:
    """The missing one of epsilon, batch and local epsilon: for bits of whole episodes, and for one sampled step.

    honest: as in `Mixing`; a number needs a batch that it is a number of.
    """
    if batch is None and honest > 1:
        raise validation.refusal(
            "honest-not-a-share", "honest", "a share of the batch while that is to be found", honest, "Use at most 1."
        )
    counts = CountQuestion(spec, last=DROPPED, levels=reward_bits)
    forecasts = [_forecast(BitQuestion(counts), delta, epsilon, batch, local_epsilon, honest)]
    if reward_bits == 1:
        sampled = StepQuestion(CountQuestion(spec, (REWARDS, TRANSITIONS), COUNTED))
        forecasts.append(_forecast(sampled, delta, epsilon, batch, local_epsilon, honest))
    return tuple(forecasts)


def _forecast(
    question: ShuffledQuestion,
    delta: float,
    epsilon: float | None,
    batch: int | None,
    local: float | None,
    honest: float,
) -> ShuffleForecast:
    """The forecast for one kind of report."""
    spec, changed, sampled = question.spec, round(question.price().l1), question.kind == step.KIND
    missing = SET_ASIDE * delta if sampled and spec.layers > 1 else 0.0
    if batch is None and epsilon is not None and local is not None:
        if local <= epsilon:
            solve(changed, delta, epsilon=epsilon, local=local)  # says why not
        batch = smallest_batch(question, Shuffle(epsilon, delta), local, honest)
        epsilon = None
    if batch is None:
        raise InvalidInput("batch-two-of-three", "Give two of epsilon, batch and local epsilon; the third is found.")
    mixing = Mixing(batch, honest)
    people = people_in_sum(mixing.honest_in(batch), spec, sampled, missing)
    solved = solve(changed, delta - missing, epsilon=epsilon, people=people, local=local)
    crowd = ShuffledCrowd(solved.flip, 1)
    if sampled:
        factor = spec.horizon**2 if spec.layers == 1 else spec.horizon
        variance = 2 * factor * crowd.variance  # two categories, paid and not
    else:
        variance = crowd.variance * (question.counts.transition_steps if spec.layers == 1 else 1)
    return ShuffleForecast(
        STEP if sampled else BITS,
        solved.epsilon,
        delta,
        solved.local_epsilon,
        batch,
        mixing.honest_in(batch),
        solved.flip,
        changed,
        math.sqrt(batch * variance),
    )
