"""Who is in which batch: one for every user, or one on each of some levels of a tree; and batches that widen."""

from __future__ import annotations

import numpy as np
import pytest

from confide.protocol.trusts.mixing import Mixing
from tests.refusals import refused

USERS = [47, 320, 1000, 5000]


@pytest.mark.parametrize("users", USERS)
def test_batches_that_widen_are_the_groups_of_their_schedule(users: int) -> None:
    mixing = Mixing(10, widening=True)
    ends = mixing.schedule(users).ends
    assert ends[-1] == users
    starts = np.concatenate([[0], ends[:-1]])
    levels = mixing.closing_levels(len(ends))
    for group, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        (batch,) = mixing.batches_of(group, users)
        assert (10 * batch.first, levels[group]) == (start, batch.level)
        assert end - start == 10 << batch.level or group == len(ends) - 1  # the last may be short
    sizes = np.diff(ends[:-1], prepend=0)
    assert (np.diff(sizes) >= 0).all() and set(sizes[16:][::8] // sizes[8:-8][::8][: len(sizes[16:][::8])]) <= {2}


def test_sixteen_batches_then_eight_of_each_size() -> None:
    sizes = np.diff(Mixing(3, widening=True).schedule(3 * 128).ends, prepend=0)
    assert sizes.tolist() == [3] * 16 + [6] * 8 + [12] * 8 + [24] * 8


@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize("kind", [{}, {"tree": True}, {"widening": True}])
def test_shufflers_open_for_the_batches_that_people_are_in(kind: dict[str, bool], users: int) -> None:
    """Every level's batches, one after the other, are those to which people of full groups report."""
    mixing = Mixing(10, **kind)
    groups = len(mixing.schedule(users).ends)
    reported = {batch for group in range(groups) for batch in mixing.batches_of(group, users)}
    for level in range(mixing.levels(users)):
        firsts = sorted(batch.first for batch in reported if batch.level == level)
        done = 0
        for first in firsts:
            assert mixing.opening(level, done) == first
            done = first + (1 << level)


@pytest.mark.parametrize("kind", [{}, {"tree": True}, {"widening": True}])
def test_sums_cover_every_full_batch_once(kind: dict[str, bool]) -> None:
    mixing, users = Mixing(10, **kind), 10 * 128
    full = mixing.schedule(users).ends // 10
    covered = sum(mixing.covered(level, full) for level in range(mixing.levels(users)))
    np.testing.assert_array_equal(covered, full)
    between = np.arange(129)
    told = sum(mixing.covered(level, between) for level in range(mixing.levels(users)))
    inside = np.searchsorted(full, between, side="right")
    np.testing.assert_array_equal(told, np.concatenate([[0], full])[inside])  # a batch counts once it is full


def test_a_tree_over_batches_that_widen_is_refused() -> None:
    with refused("widening-and-tree"):
        Mixing(10, tree=True, widening=True)
