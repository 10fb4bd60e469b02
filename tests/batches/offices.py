"""Shufflers and curators for tests: small contracts, a clock that a test moves, and what ticket holders hand over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from confide.batches import Office
from confide.batches.folder import RoleFolder
from confide.contracts import Contract, Intermediary, Ticket, keys
from confide.contracts.files import write_whole
from confide.contracts.intermediary import CURATOR, ROLES, SHUFFLER
from confide.contracts.tickets import parcel
from confide.curator import EpisodeBatches
from confide.designs import Design, Mixing, Request, make
from confide.mdp import Spec
from confide.privacy import Guarantee, Schedule
from confide.privacy.guarantee import JOINT, SHUFFLE
from confide.privatizers import respond
from confide.questions import CountQuestion
from confide.shuffler import ReportBatches
from confide.trajectories import Trajectory, episode_bytes
from tests.contracts.example import PRIVATE, contract

SPEC = Spec(3, 2, 4)
BETWEEN = bytes(range(32, 64))
DEADLINE, PUBLICATION, PATIENCE, WINDOW = 100.0, 5.0, 30.0, 50.0


class SetClock:
    """Shows the time that a test has set."""

    def __init__(self, now: float = 1e9) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def joint_design(sizes: int = 5, batches: int = 3, mechanism: str = "auto", spec: Spec = SPEC) -> Design:
    promise = Guarantee(JOINT, 1.0, 0.0 if mechanism == "tree-laplace" else 1e-6)
    schedule = Schedule.batches(sizes * batches, batches)
    return make(Request(CountQuestion(spec), promise, schedule, mechanism=mechanism))


def shuffle_design(batch: int = 400, batches: int = 3, honest: float = 0.5, spec: Spec = SPEC) -> Design:
    promise = Guarantee(SHUFFLE, 1.0, 1e-6)
    schedule = Schedule.sized(batch * batches, batch)
    return make(Request(CountQuestion(spec), promise, schedule, mixing=Mixing(batch, honest)))


def contract_of(design: Design, operator: str = "Between Ltd", **changes: Any) -> Contract:
    """A contract with a shuffler or a curator."""
    options = {"deadline": DEADLINE, "publication": PUBLICATION, "patience": PATIENCE, **changes}
    about = Intermediary(ROLES[design.trust], operator, keys.public_key(BETWEEN), **options)
    return contract(design, window=min(WINDOW, about.deadline), intermediary=about)


def folder_of(path: Path, made: Contract) -> RoleFolder:
    """The folder of a service: the contract, and both keys."""
    path.mkdir(parents=True, exist_ok=True)
    about = made.intermediary
    assert about is not None
    if not (path / "key").exists():
        keys.save_key(path / "key", PRIVATE)
        keys.save_key(path / f"{about.role}.key", BETWEEN)
        write_whole(path / "contract.json", made.data)
    return RoleFolder(path, about.role)


def office_of(path: Path, made: Contract, clock: SetClock, database: str | None = None, begin: bool = True) -> Office:
    """An office whose first round is open."""
    hold: dict[str, Any] = {CURATOR: EpisodeBatches, SHUFFLER: ReportBatches}
    folder = folder_of(path, made)
    office = Office(folder, hold[folder.role](made.design), database, clock)
    if begin:
        office.begin()
        office.store.know_round(1)
    return office


def episode(seed: int, steps: int = 4, spec: Spec = SPEC) -> Trajectory:
    luck = np.random.default_rng(seed)
    return Trajectory.checked(
        spec,
        luck.integers(spec.states, size=steps + 1),
        luck.integers(spec.actions, size=steps),
        luck.integers(2, size=steps).astype(float),
    )


def message(design: Design, lived: Trajectory) -> bytes:
    """What a ticket holder hands over about an episode."""
    made = respond(design, None, lived)
    if design.trust == JOINT:
        return episode_bytes.to_bytes(made, design.question.spec)
    return bytes(made[0].report.to_bytes(design))


def hand_over(office: Office, ticket: Ticket, lived: Trajectory) -> str:
    """Take it through the same reading as the door does."""
    return office.take(*office.read(parcel(ticket.to_bytes(), message(office.contract.design, lived))))


def tickets(office: Office, many: int) -> list[Ticket]:
    issued = [ticket for ticket in office.issue(many) if ticket is not None]
    assert len(issued) == many
    return issued
