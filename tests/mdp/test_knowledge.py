"""Public knowledge: tables over the declared states, completed by the end state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from confide.errors import FormatError
from confide.mdp import Spec
from confide.mdp.knowledge import Knowledge, read_table
from tests.refusals import refused

SPEC = Spec(3, 2, 4)


def test_the_end_state_is_added_to_every_table() -> None:
    support = np.zeros((3, 2, 3), dtype=bool)
    support[..., 0] = True
    known = Knowledge.declared(SPEC, support, None, np.full((3, 2), 0.5), np.array([1.0, 0, 0]), end_reward=0.25)
    assert known.spec == Spec(4, 2, 4) and known.states == 3 and known.end == 3
    assert known.support[:3, :, 3].all()  # an episode may end anywhere
    assert not known.support[:3, :, 1:3].any()
    assert known.support[3].tolist() == [[False, False, False, True]] * 2
    assert known.rewards is not None and known.initial is not None
    assert known.rewards[:, 3].tolist() == [[0.25, 0.25]]
    assert known.initial.tolist() == [1, 0, 0, 0]


def test_a_wider_support_says_where_an_episode_may_end() -> None:
    support = np.ones((3, 2, 4), dtype=np.int8)
    support[:2, :, 3] = 0
    known = Knowledge.declared(SPEC, support)
    assert known.support[:, 0, 3].tolist() == [False, False, True, True]


def test_nothing_is_added_where_every_episode_has_all_its_steps() -> None:
    known = Knowledge.declared(SPEC, ends=False)
    assert known.spec == SPEC and known.end is None and known.states == 3


def test_per_step_rewards() -> None:
    per_step = SPEC.with_dynamics("per-step")
    rewards = np.linspace(0, 1, 24).reshape(4, 3, 2)
    known = Knowledge.declared(per_step, rewards=rewards)
    assert known.rewards is not None and np.array_equal(known.rewards[:, :3], rewards)
    with refused("rewards-per-step"):
        known.with_dynamics("stationary")
    spread = Knowledge.declared(SPEC, rewards=rewards[0]).with_dynamics("per-step").rewards
    assert spread is not None and spread.shape == (4, 4, 2)


def test_tables_that_cannot_be() -> None:
    for words, says in (
        (
            {"support": np.ones((3, 2, 2), dtype=bool)},
            "wrong-shape: support",
        ),
        ({"support": np.full((3, 2, 3), 0.5)}, "not-true-or-false"),
        ({"support": np.full((3, 2, 3), 2)}, "not-true-or-false"),
        ({"allowed": np.zeros((3, 2), dtype=bool)}, "allowed-empty"),
        ({"support": np.zeros((3, 2, 4), dtype=bool)}, "support-empty"),
        ({"rewards": np.full((3, 2), 2.0)}, "scaled-rewards-out-of-range"),
        ({"rewards": np.zeros((4, 3, 2))}, "wrong-shape: rewards"),
        ({"initial": np.array([1.0, 1.0, 0.0])}, "probabilities-not-summing-to-one: initial"),
        ({"end_reward": 2.0}, "out-of-range: reward after the end"),
    ):
        with refused(says):
            Knowledge.declared(SPEC, **words)  # type: ignore[arg-type]


def test_tables_from_files(tmp_path: Path) -> None:
    table = np.ones((3, 2), dtype=bool)
    np.save(tmp_path / "one.npy", table)
    np.savez(tmp_path / "one.npz", table)
    np.savez(tmp_path / "named.npz", support=~table, allowed=table)
    np.savez(tmp_path / "others.npz", first=table, second=table)
    (tmp_path / "words.npy").write_text("hello")
    np.save(tmp_path / "pickled.npy", np.array([{"a": 1}], dtype=object))
    for name in ("one.npy", "one.npz", "named.npz"):
        assert read_table(tmp_path / name, "allowed").all()
    with pytest.raises(FormatError, match=r"one called 'allowed'"):
        read_table(tmp_path / "others.npz", "allowed")
    for name in ("words.npy", "pickled.npy", "none.npy"):
        with refused("public-table-unreadable", match="allowed"):
            read_table(tmp_path / name, "allowed")
