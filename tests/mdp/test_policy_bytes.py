"""Policies as bytes: compact where nothing is left to chance, addressed by their hash, refused if they are of another problem."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from confide.errors import FormatError
from confide.mdp import Policy, Spec

SPEC = Spec(3, 2, 4)


def test_a_policy_that_always_takes_one_action_is_a_byte_an_entry() -> None:
    chosen = Policy.deterministic(np.arange(12).reshape(4, 3) % 2, 2)
    data = chosen.to_bytes()
    assert len(data) == 17 + 12
    assert np.array_equal(Policy.from_bytes(data, SPEC).probabilities, chosen.probabilities)


def test_actions_beyond_a_byte_take_two() -> None:
    chosen = Policy.deterministic(np.array([[299]]), 300)
    data = chosen.to_bytes()
    assert len(data) == 17 + 2
    assert Policy.from_bytes(data, Spec(1, 300, 1)).actions[0, 0] == 299


def test_chances_come_back_to_the_last_bit() -> None:
    table = np.random.default_rng(0).dirichlet([1.0, 1.0], (4, 3))
    assert np.array_equal(Policy.from_bytes(Policy(table).to_bytes(), SPEC).probabilities, table)


def test_golden_bytes() -> None:
    """Devices of every version must read what was published before."""
    chosen = Policy.deterministic(np.array([[0, 1], [1, 1]]), 2)
    assert chosen.to_bytes().hex() == "6366703101" + "020000000200000002000000" + "00010101"
    assert chosen.digest == hashlib.sha256(chosen.to_bytes()).hexdigest()
    mixed = Policy(np.array([[[0.25, 0.75]]]))
    assert mixed.to_bytes().hex() == "6366703100" + "010000000100000002000000" + "000000000000d03f" + "000000000000e83f"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data + b"\x00",
        lambda data: b"x" + data[1:],
        lambda data: data[:4] + b"\x07" + data[5:],
        lambda data: data[:-1] + b"\x02",
        lambda data: data[:5] + b"\x05" + data[6:],
    ],
    ids=["empty", "cut", "longer", "start", "form", "action", "horizon"],
)
def test_anything_else_is_refused(damage) -> None:
    data = Policy.deterministic(np.zeros((4, 3), dtype=int), 2).to_bytes()
    with pytest.raises(FormatError):
        Policy.from_bytes(damage(data), SPEC)


def test_chances_that_are_none_are_refused() -> None:
    data = Policy(np.full((4, 3, 2), 0.5)).to_bytes()
    with pytest.raises(FormatError):
        Policy.from_bytes(data[:-8] + np.array([np.nan]).tobytes(), SPEC)
