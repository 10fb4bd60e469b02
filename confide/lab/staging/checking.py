"""Checks a service as anyone can: the design, and every signature and hash since the first round.

A witness: keeps every head that a service has shown, in a folder that any web server can show to devices.

It lies where the service's operator cannot restore it. A service that shows less than before, or another head of a round, is
refused, and both signed heads are kept in `proof.json`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import PrivacyError
from ...protocol.design import Design
from ...protocol.releases.release import read_release
from ...service.contract.admission import admission_lines, held_words
from ...service.contract.contract import Contract
from ...service.contract.files import write_whole
from ...service.contract.folder import Folder
from ...service.contract.heads import FIRST, Head, SignedHead
from ...service.device.chain import Contradicted, check_chain, fetched, keep_proof, shown_head
from ...service.device.following import asked
from ...service.device.store import ServiceMemory
from ...service.device.transport import Documents, HttpAnswer, Transport
from ...validation import Json

if TYPE_CHECKING:
    from ...service.collector.store import CollectorStore


def _rounds(folder: Path, contract: Contract) -> Path:
    """The folder of a contract's heads, laid out as a collector serves them."""
    return folder / contract.digest.hex() / "v1" / "rounds"


def check_witness(transport: Documents, contract: Contract, folder: Path) -> None:
    """Refuse a current head that does not follow from the last that was seen, and keep both."""
    try:
        seen = SignedHead.from_json((_rounds(folder, contract) / "current").read_bytes(), contract.key)
    except FileNotFoundError:
        return
    try:
        check_chain(transport, contract, seen, shown_head(transport, contract))
    except Contradicted as error:
        kept = folder / "proof.json"
        memory: ServiceMemory = {"proof": json.loads(kept.read_bytes()) if kept.exists() else []}
        keep_proof(memory, error)
        write_whole(kept, json.dumps(memory["proof"]).encode())
        raise


def keep_witness(transport: Documents, contract: Contract, folder: Path, heads: int) -> None:
    """Keep all heads up to a number, and which is the last."""
    rounds = _rounds(folder, contract)
    rounds.mkdir(parents=True, exist_ok=True)
    for number in range(1, heads + 1):
        path = rounds / str(number)
        if not path.exists():
            write_whole(path, shown_head(transport, contract, number).to_json())
    write_whole(rounds / "current", (rounds / str(heads)).read_bytes())


def check_url(url: str, witness: str | Path | None = None) -> dict[str, Any]:
    """Check the chain of a service to its end, and return a summary; refuse one that is broken anywhere.

    witness: a folder in which every head that was seen is kept, and the last one that was accepted must be in the chain.
    """
    transport = Transport(url)
    contract = Contract.from_bytes(fetched(transport, "/v1/contract"))
    if witness is not None:
        check_witness(transport, contract, Path(witness))
    found = _check_chain(transport, contract)
    if witness is not None:
        keep_witness(transport, contract, Path(witness), found["heads"])
    return found


def check_folder(path: str | Path, database: str | None = None) -> dict[str, Json]:
    """Check the contract in a folder, and, where it was served, the chain in its database to its end, without a collector.

    database: where it counts, if not in the folder. A database behind the head that was published last is refused.
    """
    folder = Folder(Path(path))
    contract = folder.contract()
    if database is not None or folder.counts_here:
        from ...service.collector.closing import Publisher
        from ...service.collector.store import CollectorStore

        store = CollectorStore(database or folder.database, contract)
        try:
            if store.exists() and store.newest() is not None:
                Publisher(store, folder).check()
                return _check_chain(StoredDocuments(store, str(path)), contract)
        finally:
            store.close()
    nothing = {"heads": None, "people": None, "ended": None, "successor": None}
    return {**_promised(contract), **nothing}


class StoredDocuments:
    """The public documents of a service, read in its own database."""

    def __init__(self, store: CollectorStore, url: str) -> None:
        self._store, self.url = store, url

    def get(self, path: str) -> HttpAnswer:
        """The document that a collector would serve under this address."""
        kind, name = path.removeprefix("/v1/").split("/")
        if kind == "rounds":
            signed = self._store.newest() if name == "current" else self._store.head(int(name))
            found = None if signed is None else signed.to_json()
        elif kind == "releases":
            found = self._store.release(int(name))
        else:
            found = self._store.policy(name) if kind == "policies" else self._store.question(name)
        return HttpAnswer(404, None, b"") if found is None else HttpAnswer(200, None, found)


def _promised(contract: Contract) -> dict[str, Json]:
    """What is said first: who may take part, then what is guaranteed."""
    first = {"admission": "; ".join(admission_lines(contract)) or f"one token a person, of {_issuer_name(contract)}"}
    return {**first, "contract": contract.pin, "guarantee": held_words(contract), "rounds": len(contract.ends)}


def _issuer_name(contract: Contract) -> str:
    return "no issuer" if contract.issuer is None else contract.issuer.name


def _check_chain(transport: Documents, contract: Contract) -> dict[str, Any]:
    """Follow the chain from the first round to the current one."""
    current = SignedHead.from_json(fetched(transport, "/v1/rounds/current"), contract.key)
    previous = FIRST
    before: Head | None = None
    for number in range(1, current.head.round + 1):
        signed = SignedHead.from_json(fetched(transport, f"/v1/rounds/{number}"), contract.key)
        head = signed.head
        if (head.round, head.previous, head.contract) != (number, previous, contract.digest.hex()):
            raise PrivacyError("chain-round-gap", f"Round {number} does not follow from the round before it.")
        policy = fetched(transport, f"/v1/policies/{head.policy}")
        if hashlib.sha256(policy).hexdigest() != head.policy:
            raise PrivacyError("chain-policy-unsigned", f"The policy of round {number} is not the signed one.")
        contract.policies(policy)
        asked(transport, contract, head)
        if head.ended and head.release is None:
            _check_early_end(head, before)
        elif number > 1:
            least = contract.ends[number - 2]
            people = head.people if contract.design.mixing is not None and head.people >= least else least
            _check_release(contract.design, fetched(transport, f"/v1/releases/{number - 1}"), head.release, people)
        previous, before = signed.digest, head
    if previous != current.digest:
        raise PrivacyError("chain-not-the-last", "The current round is not the last of the chain.")
    return {
        **_promised(contract),
        "heads": current.head.round,
        "people": current.head.people,
        "ended": current.head.ended,
        "successor": current.head.successor,
    }


def _check_early_end(head: Head, before: Head | None) -> None:
    """Refuse an end before the schedule's with another policy than the service had."""
    if before is None or (head.policy, head.people) != (before.policy, before.people):
        raise PrivacyError(
            "chain-ended-early", "The service ended early, with another policy than that of its last round."
        )


def _check_release(design: Design, data: bytes, digest: str | None, people: int) -> None:
    if hashlib.sha256(data).hexdigest() != digest:
        raise PrivacyError("chain-release-unsigned", "A release is not the signed one.")
    if read_release(design, data).users != people:
        raise PrivacyError("chain-release-off-schedule", "A release is about other people than its schedule says.")
