"""No file of a curator holds anything from which an episode could be read: not the database, its log, or anything beside it."""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from confide.data.statistics.answers import answer
from confide.data.trajectories import trajectory
from confide.errors import FormatError
from confide.mechanisms.noise import SecureNoise
from confide.service.contract import Contract
from confide.service.intermediary import sealing
from tests.service.intermediary.offices import (
    DEADLINE,
    PUBLICATION,
    SPEC,
    SetClock,
    contract_of,
    episode,
    hand_over,
    joint_design,
    office_of,
    tickets,
)

PEOPLE = 5


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def exact(made: Contract, seeds: range) -> list[np.ndarray]:
    """What each person's episode adds to the sums."""
    design = made.design
    results = []
    for seed in seeds:
        _, cells = answer(
            design.question.kind, design.question, episode(seed), design.mechanism.grid, SecureNoise().integers
        )
        results.append(cells.astype("<i8"))
    return results


def traces(data: bytes, made: Contract, seeds: range) -> list[str]:
    """What is found of people: an episode as it was sent, what it adds to the sums, or a sum of some of them."""
    results = []
    cells = exact(made, seeds)
    for seed in seeds:
        body = trajectory.to_bytes(episode(seed), SPEC)
        if body in data or body[trajectory.HEADER.size :] in data:
            results.append(f"episode {seed}")
    for many in range(1, len(cells) + 1):
        for some in itertools.combinations(range(len(cells)), many):
            if np.sum([cells[index] for index in some], axis=0).astype("<i8").tobytes() in data:
                results.append(f"sum of {some}")
    return results


@pytest.mark.parametrize("mechanism", ["toeplitz", "tree-laplace"])
def test_no_file_tells_of_an_episode(tmp_path: Path, mechanism: str) -> None:
    made, clock = contract_of(joint_design(PEOPLE, 3, mechanism)), SetClock()
    office = office_of(tmp_path, made, clock)
    states = []
    for batch in range(2):
        for ticket in tickets(office, PEOPLE):
            hand_over(office, ticket, episode(PEOPLE * batch + ticket.place))
            for name, data in files(tmp_path).items():
                assert not traces(data, made, range(PEOPLE * batch, PEOPLE * (batch + 1))), name
        clock.now += DEADLINE + PUBLICATION
        assert office.step()
        newest = office.store.newest()
        states.append(sealing.opened(office.keys.seal, office._place(batch + 1), bytes(newest.state)))
        for name, data in files(tmp_path).items():
            assert not traces(data, made, range(PEOPLE * batch, PEOPLE * (batch + 1))), name
            assert states[-1] not in data and states[0] not in data, name
    assert (tmp_path / "curator.db-wal").stat().st_size == 0  # an earlier state would lie here
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir() if path.name.startswith("curator.key"))


def test_the_search_finds_what_would_be_written_down(tmp_path: Path) -> None:
    """The mutant: a curator that commits every new sum writes every episode down, as the difference of two of them."""
    made = contract_of(joint_design(PEOPLE))
    total = np.zeros(made.design.question.width, dtype="<i8")
    with sqlite3.connect(tmp_path / "open.db") as store:
        store.execute("PRAGMA journal_mode=WAL")
        store.execute("CREATE TABLE open (total BLOB)")
        for cells in exact(made, range(PEOPLE)):
            total += cells
            store.execute("DELETE FROM open")
            store.execute("INSERT INTO open VALUES (?)", (total.tobytes(),))
            store.commit()
        seen = [trace for data in files(tmp_path).values() for trace in traces(data, made, range(PEOPLE))]
    store.close()
    assert {f"sum of {tuple(range(many))}" for many in range(1, PEOPLE + 1)} <= set(seen)


def test_a_sealed_state_is_opened_in_its_place_only() -> None:
    key = bytes(32)
    kept = sealing.sealed(key, b"place 1", b"state")
    assert sealing.opened(key, b"place 1", kept) == b"state" and b"state" not in kept
    for wrong in ((bytes([1] * 32), b"place 1", kept), (key, b"place 2", kept), (key, b"place 1", kept[:-1] + b"x")):
        with pytest.raises(FormatError):
            sealing.opened(*wrong)
