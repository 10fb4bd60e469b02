"""The ledger spends before anything is released, never more than there is, and trusts no damaged file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from confide.errors import BudgetExceeded, InvalidInput
from confide.privacy import Balance, Ledger
from confide.privacy.ledger import Charge, followed
from tests.refusals import refused

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.json")


def test_a_budget_is_spent_and_remembered(ledger: Ledger) -> None:
    assert ledger.open(1.0) == Balance(1.0, ())
    assert ledger.charge(0.25, "fit").charges == (0.25,)
    again = Ledger(ledger.path)
    assert again.charge(0.5).left == 0.25
    assert again.balance().charges == (0.25, 0.5)
    again.certify(0, "ab" * 32)
    day = again.balance().entries[0].date
    assert json.loads(ledger.path.read_text()) == {
        "schema": "confide.ledger/1",
        "budget": 1.0,
        "entries": [
            {"rho": 0.25, "date": day, "command": "fit", "certificate": "ab" * 32},
            {"rho": 0.5, "date": day, "command": None, "certificate": None},
        ],
    }
    assert day is not None and len(day) == len("2026-01-01")  # a day, and nothing finer


def test_of_a_charge_all_but_its_amount_may_be_unknown(ledger: Ledger) -> None:
    ledger.path.write_text('{"schema": "confide.ledger/1", "budget": 2.0, "entries": [{"rho": 0.5}, {"rho": 0.25}]}')
    assert ledger.balance().entries == (Charge(0.5), Charge(0.25))
    assert ledger.charge(1.0, "fit").charges == (0.5, 0.25, 1.0)
    assert Ledger(ledger.path).balance().left == 0.25


def test_a_note_says_where_the_ledger_is(ledger: Ledger, tmp_path: Path) -> None:
    ledger.open(1.0)
    note = Ledger(tmp_path / "data.ledger.json")
    note.point_to(ledger.path)
    assert followed(note.path) == ledger.path == followed(ledger.path)
    note.point_to(tmp_path / "another.json")
    assert followed(note.path) == ledger.path
    with refused("ledger-damaged"):
        note.charge(0.1)
    ledger.path.unlink()
    with refused("ledger-link-broken"):
        followed(note.path)


def test_overspending_is_refused_and_changes_nothing(ledger: Ledger) -> None:
    ledger.open(1.0)
    ledger.charge(0.75)
    before = ledger.path.read_bytes()
    with refused("budget-exceeded", match=r"0\.5,.*0\.25 of 1"):
        ledger.charge(0.5)
    assert ledger.path.read_bytes() == before
    ledger.charge(0.25)
    assert ledger.balance().left == 0
    with pytest.raises(BudgetExceeded):
        ledger.charge(1e-9)


@pytest.mark.parametrize("parts", [3, 7, 10])
@pytest.mark.parametrize("budget", [0.1, 1.0, 1 / 3])
def test_equal_parts_add_up_to_the_whole(ledger: Ledger, parts: int, budget: float) -> None:
    ledger.open(budget)
    for _ in range(parts):
        ledger.charge(budget / parts)
    with pytest.raises(BudgetExceeded):
        ledger.charge(budget * 1e-6)


def test_a_budget_is_set_once(ledger: Ledger) -> None:
    ledger.open(1.0)
    with pytest.raises(InvalidInput, match="set already"):
        ledger.open(2.0)
    assert ledger.balance().budget == 1.0


def test_without_a_budget_nothing_is_spent(ledger: Ledger) -> None:
    for attempt in (ledger.balance, lambda: ledger.charge(0.1)):
        with pytest.raises(InvalidInput, match="no budget"):
            attempt()
    assert not ledger.path.exists()


@pytest.mark.parametrize("amount", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_amounts_are_refused(ledger: Ledger, amount: float) -> None:
    with pytest.raises(InvalidInput, match="budget"):
        ledger.open(amount)
    ledger.open(1.0)
    with pytest.raises(InvalidInput, match="rho"):
        ledger.charge(amount)
    assert ledger.balance().charges == ()


DAMAGED = {
    "empty": b"",
    "cut off": b'{"schema": "confide.ledger/1", "budget": 1.0, "char',
    "no json": b"budget: 1",
    "no text": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "a list": b"[1]",
    "null": b"null",
    "another schema": b'{"schema": "confide.ledger/9", "budget": 1.0, "entries": []}',
    "charges of another schema": b'{"schema": "confide.ledger/1", "budget": 1.0, "charges": []}',
    "an entry that is none": b'{"schema": "confide.ledger/1", "budget": 1.0, "entries": [1.0]}',
    "an entry with more": b'{"schema": "confide.ledger/1", "budget": 1.0, "entries": [{"rho": 1.0, "user": "x"}]}',
    "an entry of no amount": b'{"schema": "confide.ledger/1", "budget": 1.0, "entries": [{"rho": true}]}',
    "an entry of odd words": b'{"schema": "confide.ledger/1", "budget": 1.0, "entries": [{"rho": 1.0, "date": 7}]}',
    "no schema": b'{"budget": 1.0, "charges": []}',
    "no charges": b'{"schema": "confide.ledger/1", "budget": 1.0}',
    "no budget": b'{"schema": "confide.ledger/1", "entries": []}',
    "charges in a string": b'{"schema": "confide.ledger/1", "budget": 9.0, "entries": "12"}',
    "charges that are no numbers": b'{"schema": "confide.ledger/1", "budget": 9.0, "entries": [{"rho": "a"}]}',
    "negative charge": b'{"schema": "confide.ledger/1", "budget": 1.0, "entries": [{"rho": -5.0}]}',
    "NaN charge": b'{"schema": "confide.ledger/1", "budget": 1.0, "entries": [{"rho": NaN}]}',
    "infinite budget": b'{"schema": "confide.ledger/1", "budget": Infinity, "entries": []}',
    "NaN budget": b'{"schema": "confide.ledger/1", "budget": NaN, "entries": []}',
    "negative budget": b'{"schema": "confide.ledger/1", "budget": -1.0, "entries": []}',
    "huge budget": b'{"schema": "confide.ledger/1", "budget": 1' + b"0" * 400 + b', "entries": []}',
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_ledger_spends_nothing(ledger: Ledger, kind: str) -> None:
    ledger.path.write_bytes(DAMAGED[kind])
    attempts: list[Callable[[], object]] = [ledger.balance, lambda: ledger.charge(0.1), lambda: ledger.open(1.0)]
    for attempt in attempts:
        with refused("ledger-damaged"):
            attempt()
    assert ledger.path.read_bytes() == DAMAGED[kind]


def test_nothing_but_amounts_is_kept(ledger: Ledger) -> None:
    ledger.open(1.0)
    ledger.charge(0.5)
    assert sorted(path.name for path in ledger.path.parent.iterdir()) == ["ledger.json", "ledger.json.lock"]
    assert ledger.path.with_name("ledger.json.lock").read_bytes() == b""


# More than one process, and processes that die.

BEGIN = """
import os, pathlib, signal, sys
from confide.errors import BudgetExceeded
from confide.privacy import Ledger
ledger = Ledger(pathlib.Path(sys.argv[1]))
"""
SPEND = """
refused = 0
for _ in range(20):
    try:
        ledger.charge(1.0)
    except BudgetExceeded:
        refused += 1
print(refused)
"""
DIE_AFTER_CHARGING = """
ledger.charge(0.5)
os.kill(os.getpid(), signal.SIGKILL)  # before any noise could be drawn
"""
DIE_WHILE_WRITING = """
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
ledger.charge(0.5)
"""


def start(script: str, ledger: Ledger) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BEGIN + script, str(ledger.path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_two_processes_never_lose_or_overspend_a_charge(ledger: Ledger) -> None:
    ledger.open(30.0)
    workers = [start(SPEND, ledger) for _ in range(2)]
    refused = [int(worker.communicate(timeout=120)[0]) for worker in workers]
    assert ledger.balance().charges == (1.0,) * 30
    assert sum(refused) == 10


@pytest.mark.parametrize(("victim", "left"), [(DIE_AFTER_CHARGING, 0.5), (DIE_WHILE_WRITING, 1.0)])
def test_a_crash_may_lose_budget_but_never_a_charge_that_was_answered(ledger: Ledger, victim: str, left: float) -> None:
    ledger.open(1.0)
    process = start(victim, ledger)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert ledger.balance().left == left  # the lock died with its holder
    ledger.charge(left)
    with pytest.raises(BudgetExceeded):
        ledger.charge(0.1)


def test_a_charge_is_on_disk_before_it_is_answered(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The draft is synced, then renamed, then its folder is synced, in this order and before `charge` returns."""
    ledger.open(1.0)
    events: list[str] = []
    sync, replace = os.fsync, os.replace

    def watched_sync(handle: int) -> None:
        target = os.readlink(f"/proc/self/fd/{handle}") if os.path.isdir("/proc/self/fd") else ""
        events.append("sync folder" if os.path.isdir(target) else "sync draft")
        sync(handle)

    def watched_replace(source: Path, target: Path) -> None:
        assert json.loads(Path(source).read_text())["entries"][0]["rho"] == 0.5  # whole already
        events.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", watched_sync)
    monkeypatch.setattr(os, "replace", watched_replace)
    ledger.charge(0.5)
    assert events == ["sync draft", "replace", "sync folder"]


def test_a_failed_write_leaves_the_old_ledger(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.open(1.0)

    def full(handle: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        ledger.charge(0.5)
    monkeypatch.undo()
    assert ledger.balance() == Balance(1.0, ())
    assert sorted(path.name for path in ledger.path.parent.iterdir()) == ["ledger.json", "ledger.json.lock"]
