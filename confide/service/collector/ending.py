"""How a service ends: by its schedule, or when its operator says so; what follows it; and how it is deleted."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any

from ...errors import InvalidInput
from ...validation import Json
from ..contract.contract import Contract, weaker
from ..contract.files import write_whole
from ..contract.folder import Folder
from ..contract.heads import Head, SignedHead
from ..http.serving import exclusive_lock
from .adapters import learner_of
from .store import CollectorStore

TRIES = 5
"""How often an end is tried while collectors close rounds."""


def end(folder: Folder, database: str | None = None) -> dict[str, Any]:
    """End a service before its schedule does: reports of the open round are dropped, and the last policy stays.

    Collectors that run publish it within a second; submissions are answered 410 from the moment this returns.
    """
    contract = folder.contract()
    private = folder.key(contract)
    with _opened(folder, contract, database) as store:
        for _ in range(TRIES):
            newest = store.newest()
            if newest is None:
                raise InvalidInput(
                    "service-never-served",
                    "This service was never served, so there is nothing to end. Delete its folder.",
                )
            last = newest.head
            if last.ended:
                raise InvalidInput(
                    "service-ended-with-round", f"This service has ended already, with round {last.round}."
                )
            successor = store.successor()
            head = Head(
                contract=last.contract,
                round=last.round + 1,
                policy=last.policy,
                previous=newest.digest,
                release=None,
                people=last.people,
                ended=True,
                successor=None if successor is None else successor.hex(),
                question=last.question,
            )
            dropped = store.tally().people - last.people
            if store.end(SignedHead.signed(head, private)):
                return {"round": head.round, "people": head.people, "dropped": dropped, "successor": head.successor}
    raise InvalidInput("rounds-being-closed", "Rounds are being closed at the moment. Try again.")


def succeed(folder: Folder, following: Folder, database: str | None = None) -> dict[str, Json]:
    """Name the contract that follows this one: signed heads name it from the next round on, and devices may join it when this
    one has ended."""
    contract, new = folder.contract(), following.contract()
    folder.key(contract)
    less = weaker(new, contract)
    if less:
        raise InvalidInput(
            "successor-weaker",
            f"Devices would refuse a successor with a weaker guarantee: {less}. Give a guarantee at least as strong.",
        )
    if new.digest == contract.digest:
        raise InvalidInput(
            "successor-is-itself", "A contract cannot follow itself. Make a new one: confide service new."
        )
    with _opened(folder, contract, database) as store:
        newest = store.newest()
        if newest is not None and newest.head.ended:
            raise InvalidInput(
                "service-ended-already",
                "This service has ended, and its last head is signed. Name a successor before the end.",
            )
        store.name_successor(new.digest)
    return {"contract": contract.pin, "successor": new.pin}


def carry(folder: Folder, following: Folder, database: str | None = None) -> dict[str, Json]:
    """Let the learner of a service that was never served begin with what another published so far, and those before that one.

    Everything that is carried is public, or was computed from what is: it costs no user any privacy.
    """
    contract, new = folder.contract(), following.contract()
    if following.counts_here or following.earlier_file.exists():
        raise InvalidInput(
            "carry-too-late",
            f"{following.path} was served already, or begins with something. Carry before it is served.",
        )
    (_, adapter), (_, next_adapter) = learner_of(contract), learner_of(new)
    with _opened(folder, contract, database) as store:
        newest, raised = store.newest(), store.alarm()
        if raised is not None:
            raise InvalidInput(
                "carry-after-alarm",
                f"Round {raised[0]} raised an alarm: what it taught is not carried on. Begin without it.",
            )
        last = 0 if newest is None else newest.head.round - 1
        numbers = (number for number in range(last, 0, -1) if store.release(number) is not None)
        closed = next(numbers, 0)
        data = store.release(closed)
        if data is None:
            raise InvalidInput("carry-nothing", "No round was closed, so there is nothing to carry. Serve it without.")
        state, _ = store.state(closed + 1)
        people = store.tally().people if newest is None else newest.head.people
    carried = adapter.carried(folder.earlier(), state, data)
    next_adapter.begin(carried)  # refused here if it cannot go on from that
    write_whole(following.earlier_file, carried)
    return {"contract": contract.pin, "successor": new.pin, "people": people}


def delete(folder: Folder, database: str | None = None) -> dict[str, Json]:
    """Delete a service that has ended or was never served: its tables, its key and its folder."""
    contract = folder.contract()
    with contextlib.ExitStack() as held:
        if _local(database):
            held.enter_context(contextlib.closing(exclusive_lock(folder.path)))
        with _opened(folder, contract, database) as store:
            newest = store.newest()
            if newest is not None and not newest.head.ended:
                raise InvalidInput(
                    "service-not-ended",
                    "This service has not ended, and devices would go on sending. End it first: confide service end.",
                )
            store.drop()
        shutil.rmtree(folder.path)
    return {"deleted": str(folder.path), "contract": contract.pin}


def _local(database: str | None) -> bool:
    return database is None or database.startswith("sqlite")


@contextlib.contextmanager
def _opened(folder: Folder, contract: Contract, database: str | None) -> Iterator[CollectorStore]:
    store = CollectorStore(database or folder.database, contract)
    try:
        store.prepare()
        yield store
    finally:
        store.close()
