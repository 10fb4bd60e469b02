"""Nothing of a closed batch is left: no ticket, no report and no partial sum is in the process's memory or in any file."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from confide.lab.staging.processes import Process
from confide.protocol.releases import Report, Sum
from confide.service.contract import Contract, Ticket
from confide.service.contract.encoding import from_base64
from confide.service.contract.exchange import PeerHeads
from confide.service.contract.tickets import MEDIA_TYPE, parcel
from confide.service.device import Transport
from tests.service.contract.example import PRIVATE
from tests.service.intermediary.offices import contract_of, episode, first_head, folder_of, message, shuffle_design

BATCH = 12


def memory_of(pid: int) -> bytes:
    """All that a core dump would hold: every part of the process that can be written to."""
    results = []
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            place, rights, *_ = line.split()
            if rights.startswith("rw"):
                first, last = (int(word, 16) for word in place.split("-"))
                try:
                    memory.seek(first)
                    results.append(memory.read(last - first))
                except OSError:
                    continue
    return b"\0".join(results)


def files_of(folder: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def hand_in(made: Contract, line: Transport) -> tuple[list[bytes], list[bytes]]:
    """Every user of one batch comes: their tickets and reports, and the partial sums that they leave."""
    secrets, partial, total = [], [], Sum.empty(made.design)
    for number in range(made.tickets(1)):
        ticket = from_base64(json.loads(line.post("/v1/tickets", b"", MEDIA_TYPE).body)["ticket"])
        report = message(made.design, episode(number))
        assert line.post("/v1/reports", parcel(ticket, report), MEDIA_TYPE).status == 202
        secrets += [Ticket.from_bytes(ticket).mac, report[-24:]]
        total.add(Report.from_bytes(report, made.design))
        partial.append(total.cells.astype("<i8").tobytes())
    return secrets, partial


@pytest.mark.service
@pytest.mark.skipif(not os.path.exists("/proc/self/mem") or os.geteuid() != 0, reason="needs to read another's memory")
def test_a_closed_batch_leaves_nothing(tmp_path: Path) -> None:
    design = shuffle_design(BATCH)
    made = contract_of(design, deadline=8.0, publication=0.1, patience=1.0)
    folder_of(tmp_path, made)
    process = Process(tmp_path, command="shuffle").start()
    try:
        line = Transport(process.url)
        shown = PeerHeads(first_head(made))
        for _ in range(2):
            answer = line.post("/v1/rounds", shown.to_json(), "application/json")
            assert answer.status == 200
            shown = shown.signed(PRIVATE, PeerHeads.from_json(answer.body, made).nonce)
        secrets, partial = hand_in(made, line)
        open_now = memory_of(process.pid)
        assert partial[-1] in open_now  # the search finds what is there
        until = time.monotonic() + 60
        while line.get("/v1/closings/1").status != 200:
            assert time.monotonic() < until
            time.sleep(0.2)
        kept, written = memory_of(process.pid), files_of(tmp_path)
    finally:
        process.stop()
    assert np.frombuffer(partial[-1], dtype="<i8").any()
    for place, data in (("memory", kept), ("files", written)):
        assert not [secret.hex() for secret in secrets if secret in data], place
        assert not [number for number, cells in enumerate(partial[:-1]) if cells in data], place
    assert partial[-1] in written  # the sum of the closed batch is what it gives out
