"""Shufflers and curators for tests: small contracts, a clock that a test moves, and what ticket holders hand over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from confide.data.privatizers import respond
from confide.data.trajectories import Trajectory, trajectory
from confide.mdp import Spec
from confide.privacy import Guarantee, Schedule
from confide.privacy.guarantee import JOINT, SHUFFLE
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.trusts.mixing import Mixing
from confide.service.contract import Contract, Head, Intermediary, SignedClosing, SignedHead, Ticket, keys
from confide.service.contract.exchange import PeerHeads
from confide.service.contract.files import write_whole
from confide.service.contract.heads import FIRST
from confide.service.contract.intermediary import CURATOR, ROLES, SHUFFLER
from confide.service.contract.sealed import upload
from confide.service.intermediary import BatchManager
from confide.service.intermediary.curator import EpisodeBatches
from confide.service.intermediary.folder import RoleFolder
from confide.service.intermediary.shuffler import ReportBatches
from tests.service.contract.example import PRIVATE, contract

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


def office_of(
    path: Path, made: Contract, clock: SetClock, database: str | None = None, begin: bool = True
) -> BatchManager:
    """An intermediary whose first round is open."""
    hold: dict[str, Any] = {CURATOR: EpisodeBatches, SHUFFLER: ReportBatches}
    folder = folder_of(path, made)
    office = BatchManager(folder, hold[folder.role](made.design), database, clock)
    if begin:
        office.begin()
        confirm(office)
    return office


def first_head(made: Contract, private: bytes = PRIVATE) -> SignedHead:
    """The head of the first round, which is the same however often it is signed."""
    head = Head(made.digest.hex(), 1, "0" * 64, FIRST, None, 0, ended=False)
    return SignedHead.signed(head, private)


def confirm(office: BatchManager, head: SignedHead | None = None, private: bytes = PRIVATE) -> None:
    """What a collector does again and again: it shows its newest head, and the last closing that it has stored."""
    nonce = office.exchange(PeerHeads()).nonce
    newest = office.store.newest(office.clock())
    closing = None if newest is None else SignedClosing(bytes(newest.data), bytes(newest.signature))
    office.exchange(PeerHeads(head or first_head(office.contract, private), closing).signed(private, nonce))


def published(office: BatchManager, number: int) -> tuple[SignedClosing, bytes]:
    """A closing and its body, once the collector has stored it."""
    confirm(office)
    signed, body = office.public_closing(number), office.public_body(number)
    assert signed is not None and body is not None
    return signed, body


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
        return trajectory.to_bytes(made, design.question.spec)
    return bytes(made[0].report.to_bytes(design))


def hand_over(office: BatchManager, ticket: Ticket, lived: Trajectory) -> str:
    """Take it through the same reading as the endpoint does."""
    return office.take(*office.read(upload(office.about, ticket.to_bytes(), message(office.contract.design, lived))))


def tickets(office: BatchManager, many: int) -> list[Ticket]:
    issued = [ticket for ticket in office.issue([None] * many) if ticket is not None]
    assert len(issued) == many
    return issued
