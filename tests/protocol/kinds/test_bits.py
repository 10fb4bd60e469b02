"""Counts reported in bits, and one sampled step: how many bits there are, and how many of them one person changes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from confide.data.statistics import count, round_rewards
from confide.data.statistics.answers import answer
from confide.data.trajectories import Trajectory
from confide.errors import FormatError, InvalidInput, PrivacyError
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.protocol.kinds import CountQuestion, StepQuestion, read
from confide.protocol.kinds.bits import BitQuestion
from confide.protocol.kinds.counts import CENTRED, COUNTED, DROPPED, END, REWARDS, TRANSITIONS, VISITS
from tests.refusals import refused


def everyone(spec: Spec, levels: int) -> list[Trajectory]:
    """Every episode of full length whose rewards are multiples of 1/levels."""
    states = itertools.product(range(spec.states), repeat=spec.horizon + 1)
    actions = itertools.product(range(spec.actions), repeat=spec.horizon)
    rewards = itertools.product(np.arange(levels + 1) / levels, repeat=spec.horizon)
    return [Trajectory(*(np.array(part) for part in parts)) for parts in itertools.product(states, actions, rewards)]


def encoded(question: CountQuestion, person: Trajectory) -> list[np.ndarray]:
    """All bits of a report one by one, for every step apart: written from the paper's equations (4) and (5)."""
    spec, given = question.spec, []
    for h in range(spec.horizon):
        s, a, level = person.states[h], person.actions[h], round(person.rewards[h] * question.levels)
        visits, rewards = np.zeros((2, 2)), np.zeros((2, 2, question.levels))
        moves = np.zeros((2, 2, 2))
        visits[s, a] = 1
        rewards[s, a, :level] = 1
        moves[s, a, person.states[h + 1]] = 1
        parts = {VISITS: visits, REWARDS: rewards, TRANSITIONS: moves if h < question.transition_steps else 0 * moves}
        given += [parts[part].ravel() for part in question.parts]
    return given


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("last", [DROPPED, COUNTED])
@pytest.mark.parametrize("parts", [(VISITS, REWARDS, TRANSITIONS), (REWARDS, TRANSITIONS)])
def test_bits_that_change_by_brute_force(levels: int, last: str, parts: tuple[str, ...]) -> None:
    spec = Spec(2, 2, 2)
    question = CountQuestion(spec, parts, last, levels)
    codes = np.array([np.concatenate(encoded(question, person)) for person in everyone(spec, levels)])
    most = max(int(np.abs(codes - code).sum(axis=1).max()) for code in codes)
    assert BitQuestion(question).price().l1 == most
    if parts == (VISITS, REWARDS, TRANSITIONS) and last == DROPPED:
        assert most == (4 + 2 * levels) * spec.horizon - 2


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("last", [DROPPED, COUNTED, END])
@pytest.mark.parametrize("parts", [(VISITS, REWARDS, TRANSITIONS), (REWARDS, TRANSITIONS), (VISITS,)], ids="+".join)
@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 1, 3)])
def test_how_far_one_person_moves_the_counters_by_brute_force(
    sizes: tuple[int, int, int], model: str, parts: tuple[str, ...], last: str, levels: int
) -> None:
    """All pairs of episodes: l1, l2, the largest change of one counter, how many change; and all of them are reached."""
    question = BitQuestion(CountQuestion(Spec(*sizes, model), parts, last, levels))
    people = [person for person in everyone(question.spec, levels) if levels == 1 or set(person.rewards) <= {0, 1}]
    sent = {tuple(answer("bits", question, person, 1.0, ReplayableNoise(0).integers)[1]) for person in people}
    counters = np.array(sorted(sent), dtype=np.int64)
    price, most = question.price(), np.zeros(4)
    for one in counters:
        apart = np.abs(counters - one)
        each = apart.sum(axis=1), (apart**2).sum(axis=1), apart.max(axis=1), (apart > 0).sum(axis=1)
        most = np.maximum(most, [far.max() for far in each])
    assert most[0] == price.l1 and most[1] == pytest.approx(price.l2**2)
    assert most[2] == max(size for size, _ in price.shifts) and most[3] <= price.cells
    assert sum(size * many for size, many in price.shifts) == price.l1


@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_what_a_report_counts_is_the_sum_of_these_bits(model: str) -> None:
    question = CountQuestion(Spec(2, 2, 2, model), last=DROPPED, levels=3)
    for person in everyone(Spec(2, 2, 2), 1):
        levels = round_rewards(person.rewards, 3, np.zeros(2))
        cells = count(question, person, levels) * BitQuestion(question).weights / question.resolution
        assert cells.sum() == sum(part.sum() for part in encoded(question, person))
        assert (cells == np.rint(cells)).all()


def test_a_sampled_step_changes_two_bits() -> None:
    assert StepQuestion(CountQuestion(Spec(3, 2, 9))).price().l1 == 2


def test_counts_told_in_bits() -> None:
    question = CountQuestion(Spec(2, 1, 3), last=DROPPED, levels=4)
    by_bits = BitQuestion(question)
    assert by_bits.weights.tolist() == [1, 1, 4, 4, 1, 1, 1, 1]
    assert by_bits.trials.tolist() == by_bits.range.high.tolist() == [3, 3, 12, 12, 2, 2, 2, 2]
    pairs = BitQuestion(question.having(parts=(REWARDS, TRANSITIONS), last="counted"))
    assert pairs.trials.tolist() == [12, 12, 3, 3, 3, 3]
    with refused("bits-parts"):
        BitQuestion(question.having(parts=(CENTRED, TRANSITIONS)))


def test_categories_of_a_sampled_step() -> None:
    assert StepQuestion.of(CountQuestion(Spec(6, 2, 20))).width == 2 * 6 * 2 * 6 + 1
    assert StepQuestion.of(CountQuestion(Spec(6, 2, 20), last=END)).width == 2 * 6 * 2 * 7 + 1
    assert StepQuestion.of(CountQuestion(Spec(6, 2, 20, PER_STEP))).rows == 20
    with pytest.raises(InvalidInput, match="one bit"):
        StepQuestion(CountQuestion(Spec(6, 2, 20), levels=2))
    with pytest.raises(InvalidInput, match="next state"):
        StepQuestion(CountQuestion(Spec(6, 2, 20), last=DROPPED))


@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("kind", [BitQuestion, StepQuestion, CountQuestion.tight])
def test_every_answer_lies_in_the_range_of_its_question(model: str, kind: object) -> None:
    """Every episode with rewards of 0 and 1, and in some cell every end of the range is reached."""
    asked = kind(CountQuestion(Spec(2, 2, 2, model)))  # type: ignore[operator]
    noise, grid = ReplayableNoise(0), 1 / getattr(asked, "resolution", 1)
    values = np.array(
        [answer(asked.kind, asked, one, grid, noise.integers)[1] * grid for one in everyone(asked.spec, 1)]
    )
    assert values.shape[1] == asked.width
    assert (values >= asked.range.low).all() and (values <= asked.range.high).all()
    assert (values.max(axis=0) == asked.range.high).any() and (values.min(axis=0) == asked.range.low).any()


def test_the_same_counts_told_in_other_ways_have_other_fingerprints_and_are_read_back() -> None:
    counts = CountQuestion(Spec(2, 1, 3))
    ways = [counts, BitQuestion(counts), StepQuestion(counts)]
    assert len({one.digest for one in ways}) == 3
    for one in ways:
        assert read(one.kind, one.to_bytes()) == one
        assert one.member(one) is one and one.member_for(counts) is one
        for other in ways:
            if other is not one:
                with refused("question-not-priced"):
                    one.member(other)
        with pytest.raises(PrivacyError, match="another problem"):
            one.member_for(CountQuestion(Spec(2, 1, 4)))
    with refused("kind-unknown"):
        read("riddles", counts.to_bytes())
    with pytest.raises(FormatError, match="not a statistic"):
        read("bits", b"x")
