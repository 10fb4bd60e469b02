"""Sizes that no machine can hold are refused by saying what they would take."""

from __future__ import annotations

import pytest

from confide.errors import InvalidInput
from confide.mdp import Spec
from confide.mdp.memory import COUNTS, LONGEST, check_memory, in_words, machine, needed
from tests.refusals import refused


def test_what_sizes_take() -> None:
    # By hand: (9+1) 2 (9+1) = 200 triples of 90 bytes, and 5 (9+1) 2 = 100 of 80 bytes.
    assert needed(Spec(9, 2, 5), COUNTS) == 200 * 90 + 100 * 80
    assert needed(Spec(9, 2, 5, "per-step"), COUNTS) == 5 * 200 * 90 + 100 * 80
    assert needed(Spec(9, 2, 5, "per-step")) == 200 + 100 * 80  # the public table has one layer


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.mdp.memory.machine", lambda: 16 * 10**9)
    check_memory(Spec(1000, 10, 20), COUNTS)
    with refused("memory-exceeded", match="2 TB.*16 GB"):
        check_memory(Spec(10**6, 2, 4))
    with pytest.raises(InvalidInput, match="--model stationary"):
        check_memory(Spec(1000, 10, 200, "per-step"), COUNTS)
    with refused("horizon-too-long", match="1,000,000 steps"):
        check_memory(Spec(3, 2, 10**6))
    check_memory(Spec(3, 2, LONGEST))


def test_this_machine_has_some() -> None:
    assert machine() > 10**8
    assert [in_words(size) for size in (1, 310 * 10**6, 23 * 10**9, 18 * 10**11)] == [
        "1 MB",
        "310 MB",
        "23 GB",
        "1.8 TB",
    ]
