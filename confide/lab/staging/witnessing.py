"""A witness: keeps every head that a service has shown, in a folder that any web server can show to devices.

It lies where the service's operator cannot restore it. A service that shows less than before, or another head of a round, is
refused, and both signed heads are kept in `proof.json`.
"""

from __future__ import annotations

import json
from pathlib import Path

from ...service.contract.contract import Contract
from ...service.contract.files import write_whole
from ...service.contract.heads import SignedHead
from ...service.device.chain import Contradicted, check_chain, keep_proof, shown_head
from ...service.device.transport import Documents
from ...validation import Json


def _rounds(folder: Path, contract: Contract) -> Path:
    """The folder of a contract's heads, laid out as a collector serves them."""
    return folder / contract.digest.hex() / "v1" / "rounds"


def check(transport: Documents, contract: Contract, folder: Path) -> None:
    """Refuse a current head that does not follow from the last that was seen, and keep both."""
    try:
        seen = SignedHead.from_json((_rounds(folder, contract) / "current").read_bytes(), contract.key)
    except FileNotFoundError:
        return
    try:
        check_chain(transport, contract, seen, shown_head(transport, contract))
    except Contradicted as error:
        kept = folder / "proof.json"
        memory: dict[str, Json] = {"proof": json.loads(kept.read_bytes()) if kept.exists() else []}
        keep_proof(memory, error)
        write_whole(kept, json.dumps(memory["proof"]).encode())
        raise


def keep(transport: Documents, contract: Contract, folder: Path, heads: int) -> None:
    """Keep all heads up to a number, and which is the last."""
    rounds = _rounds(folder, contract)
    rounds.mkdir(parents=True, exist_ok=True)
    for number in range(1, heads + 1):
        path = rounds / str(number)
        if not path.exists():
            write_whole(path, shown_head(transport, contract, number).to_json())
    write_whole(rounds / "current", (rounds / str(heads)).read_bytes())
