"""Where the ledger of a data set lies, and what it says. Data has one ledger, by whatever path it is named.

Links are resolved. A ledger lies beside a file or folder; it speaks for everything in that folder. Where another place was
told (`--ledger`), a note is left beside the data that says where. So before anything is charged, ledgers are looked for
beside the data, above it (of a folder it lies in) and below it (of files in it), and a second one is refused: two ledgers
know nothing of each other, and what is promised to a person would add up without anybody counting.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .. import validation
from ..errors import BudgetExceeded, ConfideError, InvalidInput
from ..privacy import Balance, Ledger
from ..privacy.ledger import followed

SUFFIX = ".ledger.json"


OWN, ABOVE, BELOW, LINK = "own", "above", "below", "link"


class Charged(NamedTuple):
    """Data, the ledger that is charged for it, and how the data lies to what was asked about."""

    data: Path
    ledger: Path
    where: str


def beside(path: Path) -> Path:
    """Where the ledger of a file or folder lies."""
    path = path if path.name not in ("", "..") else Path(os.path.abspath(path))
    return path.with_name(path.name + SUFFIX)


def related(homes: Sequence[Path]) -> Iterator[Charged]:
    """Every ledger that speaks for some of this data."""
    for home in homes:
        named, real = Path(os.path.abspath(home)), Path(os.path.realpath(home))
        places = [(real, OWN), *((above, ABOVE) for above in real.parents if above.name)]
        if named != real:
            places.append((named, LINK))  # where an older version left it
        if real.is_dir():
            inside = sorted(real.rglob("*" + SUFFIX))
            places += [(one.with_name(one.name.removesuffix(SUFFIX)), BELOW) for one in inside]
        for data, where in places:
            if beside(data).is_file():
                yield Charged(data, _real(followed(beside(data))), where)


def place(homes: Sequence[Path], told: str | Path | None, home: Path | None = None) -> Ledger | None:
    """The ledger of a fit: the one that was told, or else the one beside the data; None if there is no such place. A second
    one is refused.

    homes: every file and folder that is read; home: the only one, if there is only one.
    """
    named = Path(told) if told is not None else None if home is None else beside(home)
    real = named if told is not None or home is None else beside(_real(home))
    mine = None if real is None else _real(followed(real))
    found = list(related(homes))
    sure = told is not None or any(one.where == OWN for one in found)
    others = [one for one in found if one.ledger != mine or not sure]
    if others:
        raise _second(others, homes, told is not None)
    if mine is None or named is None:
        return None
    return Ledger(named if _real(named) == mine else mine)


def ledger_of(path: str | Path) -> Ledger:
    """The ledger of a file or directory; a path that ends in .json, and is no data, is the ledger itself."""
    found = Path(path)
    if found.suffix == ".json" and not _rows(found):
        return Ledger(followed(found))
    beside_it = place([found], None, found)
    if beside_it is None:
        raise _nowhere()
    return beside_it


def _nowhere() -> InvalidInput:
    return InvalidInput(
        "Queries, arrays and several sources have no place for a ledger to lie beside. Say where: --ledger PATH."
    )


def _rows(path: Path) -> bool:
    """Whether a JSON file holds rows: a ledger is an object that names its schema."""
    if not path.is_file() or path.name.endswith(SUFFIX):
        return False
    with open(path, "rb") as file:
        head = file.read(400).lstrip()
    return head.startswith((b"[", b"{")) and b"confide.ledger" not in head


def _second(others: Sequence[Charged], homes: Sequence[Path], told: bool) -> InvalidInput:
    """The refusal: what is charged together, and the way out."""
    names = sorted({str(one.ledger) for one in others})
    if len(names) > 1:
        return InvalidInput(
            f"This data is charged to {names[0]} and to {names[1]}, and one release cannot be charged to two ledgers "
            "that know nothing of each other. Fit what each of them speaks for by itself."
        )
    first, own = others[0], others[0].where == OWN
    way_out = f"Leave --ledger out, or say --ledger {names[0]}." if told and own else f"Say --ledger {names[0]}."
    asked = ", ".join(map(str, homes[:3]))
    reason = {
        OWN: "a second ledger would not know of it",
        ABOVE: f"{asked} lies in it, so both are charged together",
        BELOW: f"it lies in {asked}, so both are charged together",
        LINK: f"{asked} is a link to the same data",
    }[first.where]
    return InvalidInput(f"{first.data} is charged to {names[0]} already; {reason}. {way_out}")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


@dataclass(frozen=True)
class Account:
    """A ledger and, where it has no budget yet, the one to be set on the way. Nothing is written before `spend`.

    homes: what is read, where a note is left if its ledger lies elsewhere.
    """

    kept: Ledger | None
    budget: float | None = None
    homes: tuple[Path, ...] = ()

    @property
    def ledger(self) -> Ledger:
        """The ledger, if it has a place."""
        if self.kept is None:
            raise _nowhere()
        return self.kept

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

    def spend(self, rho: float, command: str | None = None) -> int:
        """Charge `rho`; when this returns it is on disk. The number of the charge, for `certify`."""
        try:
            if not self.ledger.path.exists() and self.budget is not None:
                self.ledger.open(self.budget)
            for home in map(_real, self.homes):
                if beside(home) != _real(self.ledger.path) and all(
                    one.where in (BELOW, LINK) for one in related([home])
                ):
                    with suppress(OSError, ConfideError):  # a place that cannot be written to bears no note
                        Ledger(beside(home)).point_to(_real(self.ledger.path))
            return len(self.ledger.charge(rho, command).entries) - 1
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InvalidInput(
                f"The ledger {self.ledger.path} cannot be written: {reason}. Nothing was released."
            ) from error

    def certify(self, number: int, digest: str) -> None:
        """Add the certificate's digest to a charge. A ledger that cannot be written now keeps the charge without it."""
        with suppress(OSError, ConfideError):
            self.ledger.certify(number, digest)
