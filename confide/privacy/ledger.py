"""The ledger of a data set: what has been spent on it. Amounts only, no ids; on disk *before* any noise is drawn.

A crash between the charge and the release loses budget, never privacy. Every charge is an entry: the day, what it was for,
how much, and, once there is one, the digest of the certificate that says what was guaranteed for it.
"""

from __future__ import annotations

import datetime
import fcntl
import json
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from .. import validation
from ..errors import BudgetExceeded, FormatError, InvalidInput
from ..validation import Json

SCHEMA = "confide.ledger/1"


@dataclass(frozen=True)
class Charge:
    """One charge of a data set's budget; all but the amount, `rho`, may be unknown.

    date: the day, and nothing finer, since how long things take may depend on data. certificate: the SHA-256 digest of
    certificate.json.
    """

    rho: float
    date: str | None = None
    command: str | None = None
    certificate: str | None = None


@dataclass(frozen=True)
class Balance:
    """The budget of a data set and the charges so far, in rho (zCDP adds up exactly).

    data: keyed fingerprints of what was charged, by which it is known again. They are for the ledger's file only.
    """

    budget: float
    entries: tuple[Charge, ...] = ()
    data: tuple[str, ...] = field(default=(), repr=False)

    @property
    def charges(self) -> tuple[float, ...]:
        """The amounts, in the order in which they were charged."""
        return tuple(entry.rho for entry in self.entries)

    @property
    def spent(self) -> float:
        """The sum of all charges."""
        return math.fsum(self.charges)

    @property
    def left(self) -> float:
        """The part of the budget that may still be spent."""
        return self.budget - self.spent


@dataclass(frozen=True)
class Ledger:
    """A small JSON file that lies beside a data set, locked while it is read and written."""

    path: Path

    def open(self, budget: float) -> Balance:
        """Set the budget, once. A ledger that exists is refused: a budget is a commitment, not a setting."""
        budget = validation.positive("budget", budget)
        with self._locked() as current:
            if current is not None:
                raise InvalidInput(
                    "budget-set-already",
                    f"The budget of {self.path} is set already, to rho = {current.budget:g}. It cannot be changed.",
                )
            balance = Balance(budget)
            self._write(balance)
            return balance

    def balance(self) -> Balance:
        """Budget and charges so far."""
        with self._locked() as current:
            return self._known(current)

    def charge(self, rho: float, command: str | None = None) -> Balance:
        """Spend `rho`, or refuse and change nothing. When this returns the charge is on disk."""
        rho = validation.positive("rho", rho)
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        with self._locked() as current:
            before = self._known(current)
            after = replace(before, entries=(*before.entries, Charge(rho, today, command)))
            if after.spent > before.budget * (1 + 1e-12):
                raise BudgetExceeded(
                    "budget-exceeded",
                    f"This release costs rho = {rho:g}, but only {before.left:g} of {before.budget:g} is left in "
                    f"{self.path}. Ask for less, or release nothing more from this data.",
                )
            self._write(after)
            return after

    def certify(self, number: int, digest: str) -> None:
        """Note the digest of the certificate that goes with charge `number`, counted from 0."""
        with self._locked() as current:
            entries = list(self._known(current).entries)
            entries[number] = replace(entries[number], certificate=digest)
            self._write(replace(self._known(current), entries=tuple(entries)))

    def point_to(self, other: Path) -> None:
        """Write that another ledger is charged for what lies beside this one; does nothing if a ledger is here already."""
        with self._locked(reading=False):
            if not self.path.exists():
                self._write_data({"schema": SCHEMA, "see": str(other)})

    def know(self, fingerprints: Iterable[str]) -> None:
        """Keep the fingerprints of data that is charged here, or where this file points to, beside those that it has."""
        with self._locked(reading=False):
            data = _json(self.path)
            if data is not None:
                known = list(dict.fromkeys([*fingerprints_in(self.path), *fingerprints]))
                self._write_data({**data, "data": known})

    def _known(self, current: Balance | None) -> Balance:
        if current is None:
            raise InvalidInput(
                "budget-missing",
                f"There is no budget in {self.path}. Set one first: it says what may ever be spent on this data.",
            )
        return current

    @contextmanager
    def _locked(self, reading: bool = True) -> Iterator[Balance | None]:
        """Hold the lock beside the ledger (the ledger itself is replaced, so it cannot be the lock)."""
        lock = self.path.with_name(self.path.name + ".lock")
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            handle = open(lock, "a", encoding="utf-8")  # noqa: SIM115 (closed below)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InvalidInput(
                "ledger-not-locked",
                f"The ledger {self.path} cannot be locked: {reason}. Make its folder writable, or use --ledger.",
            ) from error
        with handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield self._read() if reading else None

    def _read(self) -> Balance | None:
        data = _json(self.path)
        if data is None:
            return None
        try:
            entries = tuple(_entries(data))
            budget = validation.number("budget", data["budget"])
            sane = not isinstance(data["budget"], bool) and math.isfinite(budget) and budget > 0
            sane = sane and all(math.isfinite(entry.rho) and entry.rho > 0 for entry in entries)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise damaged(self.path) from error
        if not sane:
            raise damaged(self.path)
        return Balance(budget, entries, fingerprints_in(self.path))

    def _write(self, balance: Balance) -> None:
        entries = [asdict(entry) for entry in balance.entries]
        known = {"data": list(balance.data)} if balance.data else {}
        self._write_data({"schema": SCHEMA, "budget": balance.budget, "entries": entries, **known})

    def _write_data(self, data: dict[str, Json]) -> None:
        """Write beside, sync, rename, sync the folder: after a crash the old or the new ledger is there, whole."""
        draft = self.path.with_name(self.path.name + ".new")
        try:
            with open(draft, "w", encoding="utf-8") as handle:
                json.dump(data, handle)
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(draft, self.path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def followed(path: Path) -> Path:
    """The ledger itself: where `path` points to, if it only points."""
    data = _json(path)
    if data is None or "see" not in data:
        return path
    target = Path(str(data["see"]))
    if not target.is_absolute() or not target.is_file() or "see" in (_json(target) or {}):
        raise FormatError(
            "ledger-link-broken", f"{path} says that the ledger is {target}, which is none. Bring it back from a copy."
        )
    return target


def fingerprints_in(path: Path) -> tuple[str, ...]:
    """The fingerprints of data in a ledger, or in a file that points to one."""
    known = (_json(path) or {}).get("data", [])
    if not isinstance(known, list) or not all(isinstance(one, str) for one in known):
        raise damaged(path)
    return tuple(known)


def damaged(path: Path) -> FormatError:
    """The refusal of a file that cannot be trusted."""
    return FormatError(
        "ledger-damaged", f"{path} is not a ledger that can be trusted, so nothing is spent. Restore it from a copy."
    )


def _json(path: Path) -> dict[str, Json] | None:
    """The object in a ledger's file, of a schema that is known; None if there is no file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path) from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise damaged(path)
    return data


def _entries(data: dict[str, Json]) -> Iterator[Charge]:
    rows = data["entries"]
    if not isinstance(rows, list):
        raise TypeError("charges are a list")
    for row in rows:
        entry = dict(row)
        if isinstance(entry["rho"], bool) or not all(
            isinstance(value, str | None) for name, value in entry.items() if name != "rho"
        ):
            raise TypeError("a charge is an amount and texts")
        yield Charge(**{**entry, "rho": float(entry["rho"])})
