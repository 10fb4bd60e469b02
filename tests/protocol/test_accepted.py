"""What is accepted from outside is a table, and the prices of what is not in it are right all the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from confide.errors import InvalidInput
from confide.lab.audit.likelihood import category_loss, exact_loss
from confide.lab.audit.sweep import swept
from confide.mdp import Spec
from confide.mechanisms.bounded import Bounded, BoundedByPart
from confide.mechanisms.gaussian import Gaussian, sigma_for
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.shuffled_bits import ShuffledBits
from confide.mechanisms.tree import TreeCounter
from confide.privacy import Act, Guarantee, Local, Schedule, least_noise
from confide.privacy.shuffled_bits import calibrated
from confide.protocol import accepted
from confide.protocol.accepted import Combination, accept, row_of
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.asked import AskedQuestion
from confide.protocol.kinds.bits import BitQuestion
from confide.protocol.trusts.shuffle import _crowds
from tests.refusals import refused

from .combinations import BATCH, combinations, described, questions

DELTA = 1e-2


def label(design: Design) -> str:
    return "-".join(row_of(design))


@cache
def all_of_them() -> tuple[Design, ...]:
    return tuple(combinations())


@pytest.mark.parametrize("design", all_of_them(), ids=label)
def test_what_is_not_in_the_table_is_refused_on_reading(design: Design) -> None:
    """Whatever its noise is; of what is in the table everything else is still checked."""
    row = row_of(design)
    if row in accepted.rows():
        return
    with refused("design-unreadable", match="what is accepted|its table would") as caught:
        Design.from_bytes(design.to_bytes())
    too_large = (
        row.kind == "returns" and "bounded" in row.mechanism
    )  # whose noise on so fine a grid is refused by itself
    assert too_large or all(repr(part) in str(caught.value) for part in row)


def test_the_combinations_are_all_there_and_few_are_accepted() -> None:
    known = {row_of(design) for design in all_of_them()}
    assert len(known) == len(all_of_them()) == 11 * 18 * 3
    ours = (row for row in accepted.rows() if accepted.case_of(row) is None)
    services = {row for row in ours if row.trust in ("local", "shuffle", "joint")}
    assert services <= known and len(services) == 39


def sound(design: Design) -> bool:
    """Whether no two people are less hidden than is guaranteed, and the design says that it keeps the guarantee."""
    assert design.act.loss.delta(1.0) <= DELTA * (1 + 1e-6)
    return swept(design) <= DELTA * (1 + 1e-3)


def gaussian_bits(horizon: int = 3) -> Design:
    """Counters pooled over steps with Gaussian noise, as a hostile operator calibrates it: to the price."""
    question = BitQuestion(CountQuestion(Spec(2, 2, horizon), last="dropped"))
    sigma = sigma_for(Local(1.0, DELTA), question.price().l2, 1.0)
    return described(question, Gaussian(max(sigma, 16.0), 1.0), "local", (1.0, DELTA))


def bounded_bits() -> Design:
    question = BitQuestion(CountQuestion(Spec(2, 2, 3), ("rewards", "transitions"), levels=2))
    return described(question, Bounded.keeping(Local(1.0, DELTA), question.price(), 1.0), "local", (1.0, DELTA))


def tree_bits() -> Design:
    question = BitQuestion(CountQuestion(Spec(2, 2, 6), last="dropped"))
    sigma = sigma_for(Local(1.0, DELTA), question.price().l2, 1.0)
    return described(question, TreeCounter(1, "gaussian", sigma, 1.0), "joint", (1.0, DELTA))


@pytest.mark.parametrize("made", [gaussian_bits, bounded_bits, tree_bits], ids=lambda made: made.__name__)
def test_pooled_bits_are_priced_by_their_counters(made: Callable[[], Design]) -> None:
    """One person who never moves puts H bits into one counter. By the number of bits l2 is 6.6 and not 4 at H = 3."""
    assert sound(made())
    assert BitQuestion(CountQuestion(Spec(2, 2, 3), last="dropped")).price().l2 == pytest.approx(math.sqrt(44))


def test_noise_by_the_number_of_bits_hides_too_little() -> None:
    """The wrong price, put back by hand: the sweep sees it."""
    design = gaussian_bits(20)
    bits = design.act.sensitivity.l1
    wrong = replace(design.act.sensitivity, l2=math.sqrt(bits))
    less = Gaussian(sigma_for(Local(1.0, DELTA), wrong.l2, 1.0), 1.0)
    lying = replace(design, act=Act(less, wrong))
    assert not sound(lying)


def shuffled_pairs(batch: int = BATCH) -> Design:
    """Asked pairs to a shuffler, calibrated to the batch that the account states."""
    question = AskedQuestion.of(CountQuestion(Spec(2, 2, 3)))
    design = described(question, ShuffledBits(calibrated((batch,), 2, 1.0, DELTA, 0.0, False)), "shuffle", (1.0, DELTA))
    people = _crowds(question, design.mixing, design.schedule.users, 0.0)
    crowds = calibrated(people, 2, 1.0, DELTA, 0.0, False)
    return replace(design, act=Act(ShuffledBits(crowds, categories=question.width), design.act.sensitivity))


def test_a_person_may_be_alone_with_the_pair_she_is_asked_about() -> None:
    """Then the sum of that pair is her own report: its loss is that of the device, which the price must not be below."""
    design = shuffled_pairs()
    assert category_loss(design.devices[0]).delta(1.0) <= DELTA * (1 + 1e-3)
    assert design.act.loss.delta(1.0) <= DELTA * (1 + 1e-6)


def by_part(first: int | None) -> Design:
    """Bounded noise by part, calibrated to its own account, with the larger radius from `first` on."""
    question, promise = questions()["counts"], Local(1.0, DELTA)
    begins = question.before_transitions if first is None else first
    noise = least_noise(
        lambda bound: BoundedByPart(bound, 1.5 * bound, begins), question.price(), promise, 100.0, tolerance=0.02
    )
    return described(question, noise, "local", (1.0, DELTA))


def largest(design: Design) -> float:
    """The largest delta of two people who share no pair, by the densities of the cells as they are noised."""
    first, second = np.zeros(16), np.zeros(16)
    first[[0, 4, 8]] = (3, 3, 2)
    second[[3, 7, 15]] = (3, 3, 2)
    loss = exact_loss(design.mechanism, (first, second), design.question.trials)
    assert loss is not None
    return loss.delta(1.0)


def test_noise_by_part_is_refused_unless_its_parts_are_those_of_the_question() -> None:
    """The account takes visits and rewards for the narrow part, whatever `first` says: 12 takes transitions of one state, too."""
    true, false = by_part(None), by_part(12)
    assert true.verified() is true and largest(true) <= DELTA < largest(false)
    for first in (1, 12, 16):
        moved = replace(true, act=Act(replace(true.mechanism, first=first), true.act.sensitivity))
        with refused("mechanism-radius-by-part"):
            moved.verified()
    squares = replace(true, question=CountQuestion(Spec(2, 2, 3), ("visits", "rewards", "squares", "transitions")))
    with refused("mechanism-radius-by-part"):
        squares.verified()


def case(promise: Guarantee) -> Design:
    return make(Request(CountQuestion(Spec(2, 2, 3)), promise, Schedule.every(2), mechanism="laplace"))


def test_a_row_of_ones_own_is_entered_with_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    from confide.lab.audit import entries

    monkeypatch.setattr(accepted, "_CASES", {})
    row = Combination("bits", "laplace", "local")
    accept(*row, case)
    assert row in accepted.rows() and accepted.case_of(row) is case
    assert "local/bits/laplace" in {entry.name for entry in entries()}
    question = BitQuestion(CountQuestion(Spec(2, 2, 3)))
    design = described(question, Laplace(question.price().l1, 1.0), "local")
    assert Design.from_bytes(design.to_bytes()).digest == design.digest
    for again in (row, Combination("counts", "laplace", "local")):
        with pytest.raises(InvalidInput, match="accepted already"):
            accept(*again, case)
