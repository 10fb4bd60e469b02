"""What has been spent on a data set. Amounts only, no ids; charged and on disk *before* any noise is drawn.

A crash between the charge and the release loses budget, never privacy.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import validation
from ..errors import BudgetExceeded, FormatError, InvalidInput

SCHEMA = "confide.ledger/1"


@dataclass(frozen=True)
class Balance:
    """What may be spent in all and what has been spent, in rho (zCDP adds up exactly)."""

    budget: float
    charges: tuple[float, ...]

    @property
    def spent(self) -> float:
        """The sum of all charges."""
        return math.fsum(self.charges)

    @property
    def left(self) -> float:
        """What may still be spent."""
        return self.budget - self.spent


@dataclass(frozen=True)
class Ledger:
    """A small JSON file that lies beside a data set, locked while it is read and written."""

    path: Path

    def open(self, budget: float) -> Balance:
        """Set the budget, once. A ledger that exists is refused: a budget is a promise, not a setting."""
        budget = validation.positive("budget", budget)
        with self._locked() as held:
            if held is not None:
                raise InvalidInput(
                    f"The budget of {self.path} is set already, to rho = {held.budget:g}. It cannot be changed."
                )
            balance = Balance(budget, ())
            self._write(balance)
            return balance

    def balance(self) -> Balance:
        """Budget and charges so far."""
        with self._locked() as held:
            return self._known(held)

    def charge(self, rho: float) -> Balance:
        """Spend `rho`, or refuse and change nothing. When this returns the charge is on disk."""
        rho = validation.positive("rho", rho)
        with self._locked() as held:
            before = self._known(held)
            after = Balance(before.budget, (*before.charges, rho))
            if after.spent > before.budget * (1 + 1e-12):
                raise BudgetExceeded(
                    f"This release costs rho = {rho:g}, but only {before.left:g} of {before.budget:g} is left in "
                    f"{self.path}. Ask for less, or release nothing more from this data."
                )
            self._write(after)
            return after

    def _known(self, held: Balance | None) -> Balance:
        if held is None:
            raise InvalidInput(
                f"There is no budget in {self.path}. Set one first: it says what may ever be spent on this data."
            )
        return held

    @contextmanager
    def _locked(self) -> Iterator[Balance | None]:
        """Hold the lock beside the ledger (the ledger itself is replaced, so it cannot be the lock)."""
        lock = self.path.with_name(self.path.name + ".lock")
        lock.parent.mkdir(parents=True, exist_ok=True)
        with open(lock, "a", encoding="utf-8") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield self._read()

    def _read(self) -> Balance | None:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise self._damaged() from error
        try:
            data: dict[str, Any] = json.loads(text)
            charges = tuple(float(amount) for amount in data["charges"])
            budget = float(data["budget"])
            sane = data["schema"] == SCHEMA and isinstance(data["charges"], list)
            sane = sane and math.isfinite(budget) and budget > 0
            sane = sane and all(math.isfinite(amount) and amount > 0 for amount in charges)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise self._damaged() from error
        if not sane:
            raise self._damaged()
        return Balance(budget, charges)

    def _damaged(self) -> FormatError:
        return FormatError(
            f"{self.path} is not a ledger that can be trusted, so nothing is spent. Restore it from a copy."
        )

    def _write(self, balance: Balance) -> None:
        """Write beside, sync, rename, sync the folder: after a crash the old or the new ledger is there, whole."""
        draft = self.path.with_name(self.path.name + ".new")
        data = {"schema": SCHEMA, "budget": balance.budget, "charges": list(balance.charges)}
        with open(draft, "w", encoding="utf-8") as handle:
            json.dump(data, handle)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(draft, self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
