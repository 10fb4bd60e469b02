"""Where the ledger of a data set lies, and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import validation
from ..errors import BudgetExceeded, InvalidInput
from ..privacy import Balance, Ledger

SUFFIX = ".ledger.json"


def ledger_of(path: str | Path) -> Ledger:
    """The ledger beside a file or directory; a path that ends in .json, as no data does, is the ledger itself."""
    place = Path(path)
    return Ledger(place if place.suffix == ".json" else place.with_name(place.name + SUFFIX))


def place(home: Path | None, told: str | Path | None) -> Ledger:
    """The ledger of a fit: the one that was told, or else the one beside the data."""
    if told is not None:
        return Ledger(Path(told))
    if home is None:
        raise InvalidInput(
            "Queries, arrays and several sources have no place for a ledger to lie beside. Say where: --ledger PATH."
        )
    return ledger_of(home)


@dataclass(frozen=True)
class Account:
    """A ledger and, where it has no budget yet, the one to be set on the way. Nothing is written before `spend`."""

    ledger: Ledger
    budget: float | None = None

    def balance(self) -> Balance:
        """What may be spent."""
        if self.ledger.path.exists():
            held = self.ledger.balance()
            if self.budget is not None and held.budget != self.budget:
                raise InvalidInput(
                    f"The budget of {self.ledger.path} is set already, to rho = {held.budget:g}. Leave --budget out."
                )
            return held
        if self.budget is None:
            raise InvalidInput(
                f"There is no budget in {self.ledger.path}. Say once what may ever be spent on this data: "
                "confide budget DATA --rho RHO, or --budget RHO in a fit."
            )
        return Balance(validation.positive("budget", self.budget), ())

    def check(self, rho: float) -> Balance:
        """The balance, if it has room for `rho`."""
        held = self.balance()
        if rho > held.left + 1e-12 * held.budget:
            raise BudgetExceeded(
                f"This release costs rho = {rho:g}, but only {max(held.left, 0.0):g} of {held.budget:g} is left in "
                f"{self.ledger.path}. Ask for less, or release nothing more from this data."
            )
        return held

    def spend(self, rho: float) -> Balance:
        """Charge `rho`; when this returns it is on disk."""
        try:
            if not self.ledger.path.exists() and self.budget is not None:
                self.ledger.open(self.budget)
            return self.ledger.charge(rho)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InvalidInput(
                f"The ledger {self.ledger.path} cannot be written: {reason}. Nothing was released."
            ) from error
