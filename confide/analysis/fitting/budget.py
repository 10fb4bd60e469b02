"""Finds the ledger of a data set, and charges it. Data has one ledger, by whatever path it is named.

Links are resolved. A ledger lies beside a file or folder; it speaks for everything in that folder. Where another place was
named (`--ledger`), a note is left beside the data that says where. So before anything is charged, ledgers are looked for
beside the data, above it (of a folder it lies in), below it (of files in it) and by its content (`fingerprints`), and a second one
is refused: two ledgers know nothing of each other, and what is guaranteed to a person would add up unnoticed.
They are looked for when a fit begins, so that it is refused early, and again at the charge, when all files that were read are
known, under a lock that every fit of the same data takes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ... import validation
from ...data.trajectories.places import SUFFIXES, homes_of, kind_of
from ...errors import BudgetExceeded, ConfideError, InvalidInput
from ...privacy import Balance, Ledger
from ...privacy.ledger import followed
from .fingerprints import SUFFIX, alike, digests_of, fingerprint, key_in, one_at_a_time

if TYPE_CHECKING:
    from ...data.trajectories.dataset import Dataset

OWN, ABOVE, BELOW, LINK, COPY = "own", "above", "below", "link", "copy"


NOTHING: Mapping[Path, bytes] = {}


class Charged(NamedTuple):
    """Data, the ledger that is charged for it, and how the data lies to what was asked about."""

    data: Path
    ledger: Path
    where: str


def beside(path: Path) -> Path:
    """The path of the ledger that lies beside a file or folder."""
    path = path if path.name not in ("", "..") else Path(os.path.abspath(path))
    return path.with_name(path.name + SUFFIX)


class Receipt(NamedTuple):
    """A charge: its number in the ledger, and what could not be excluded about it, in sentences."""

    number: int
    remarks: tuple[str, ...]


def related(homes: Sequence[Path], digests: Mapping[Path, bytes]) -> Iterator[Charged]:
    """Every ledger that speaks for some of this data: by its path, or by what is in it."""
    yield from _by_path(homes)
    for _, data in alike(digests):
        yield Charged(data, _real(followed(beside(data))), COPY)


def _by_path(homes: Sequence[Path]) -> Iterator[Charged]:
    for home in homes:
        named, real = Path(os.path.abspath(home)), Path(os.path.realpath(home))
        places = [(real, OWN), *((above, ABOVE) for above in real.parents if above.name)]
        if named != real:
            places.append((named, LINK))  # it may have been put there by hand
        if real.is_dir():
            inside = sorted(real.rglob("*" + SUFFIX))
            places += [(ledger_file.with_name(ledger_file.name.removesuffix(SUFFIX)), BELOW) for ledger_file in inside]
        for data, where in places:
            if beside(data).is_file():
                yield Charged(data, _real(followed(beside(data))), where)


def place(
    homes: Sequence[Path], path: str | Path | None, home: Path | None = None, digests: Mapping[Path, bytes] = NOTHING
) -> Ledger | None:
    """The ledger of a fit: the one at `path`, or else the one beside the data; None if there is no such place. A second
    one is refused.

    homes: every file and folder that is read; home: the only one, if there is only one; digests: of the files.
    """
    named = Path(path).expanduser() if path is not None else None if home is None else beside(home)
    real = named if path is not None or home is None else beside(_real(home))
    mine = None if real is None else _real(followed(real))
    charged = list(related(homes, digests))
    known = path is not None or any(charge.where == OWN for charge in charged)
    conflicts = [charge for charge in charged if charge.ledger != mine or not known]
    if conflicts:
        raise _second(conflicts, homes, path is not None)
    if mine is None or named is None:
        return None
    return Ledger(named if _real(named) == mine else mine)


def ledger_of(path: str | Path) -> Ledger:
    """The ledger of a file or directory; a path that ends in .json, and is no data, is the ledger itself."""
    return account_at(path).ledger


def account_at(path: str | Path, budget: float | None = None) -> Account:
    """The account whose ledger `ledger_of` finds."""
    source = Path(path).expanduser()
    if source.suffix == ".json" and not _rows(source):
        return Account(Ledger(followed(source)), budget)
    inside = [path for path in source.rglob("*") if kind_of(path) in SUFFIXES] if source.is_dir() else [source]
    files = tuple(str(path) for path in inside if not path.name.endswith(SUFFIX))
    return Account(place([source], None, source, digests_of(files)), budget, (source,), files)


def account_of(data: Dataset, path: str | Path | None, budget: float | None = None) -> Account:
    """The account of a data set: at `path`, or beside the data. What only a query knows of is looked at again at the charge."""
    homes, files = homes_of(data.folders, data.files), data.files
    return Account(place(homes, path, data.home, digests_of(files)), budget, homes, files, data.folders)


def _nowhere() -> InvalidInput:
    return InvalidInput(
        "ledger-place-unsaid",
        "Queries, arrays and several sources have no place for a ledger to lie beside. Say where: --ledger PATH.",
    )


def _rows(path: Path) -> bool:
    """Whether a JSON file holds rows: a ledger is an object that names its schema."""
    if not path.is_file() or path.name.endswith(SUFFIX):
        return False
    with open(path, "rb") as file:
        head = file.read(400).lstrip()
    return head.startswith((b"[", b"{")) and b"confide.ledger" not in head


def _second(conflicts: Sequence[Charged], homes: Sequence[Path], explicit: bool) -> InvalidInput:
    """The refusal of a second ledger: what is charged together, and the way out."""
    names = sorted({str(charge.ledger) for charge in conflicts})
    if len(names) > 1:
        return InvalidInput(
            "ledger-two",
            f"This data is charged to {names[0]} and to {names[1]}, and one release cannot be charged to two ledgers "
            "that know nothing of each other. Fit what each of them speaks for by itself.",
        )
    first, own = conflicts[0], conflicts[0].where == OWN
    way_out = f"Leave --ledger out, or say --ledger {names[0]}." if explicit and own else f"Say --ledger {names[0]}."
    names_read = ", ".join(map(str, homes[:3]))
    reason = {
        OWN: "a second ledger would not know of it",
        ABOVE: f"{names_read} lies in it, so both are charged together",
        BELOW: f"it lies in {names_read}, so both are charged together",
        LINK: f"{names_read} is a link to the same data",
        COPY: f"{names_read} holds the same data",
    }[first.where]
    return InvalidInput("ledger-second", f"{first.data} is charged to {names[0]} already; {reason}. {way_out}")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


@dataclass(frozen=True)
class Notes:
    """What is left beside data that is charged: which ledger that is, and by what the data is known again."""

    homes: tuple[Path, ...]
    digests: Mapping[Path, bytes]

    def leave(self, ledger: Ledger) -> tuple[str, ...]:
        """Leave notes, and return what could not be left, in sentences. A place that cannot be written to bears none."""
        failed = [home for home in map(_real, self.homes) if not self._left(home, ledger)]
        if not failed:
            return ()
        return ("a folder of the data cannot be written to, so another ledger would not know of this one",)

    def _left(self, home: Path, ledger: Ledger) -> bool:
        speaking = [charge.data for charge in _by_path([home]) if charge.where in (OWN, ABOVE)]
        note = Ledger(beside(speaking[0] if speaking else home))
        with suppress(OSError, ConfideError):
            if _real(note.path) != _real(ledger.path):
                note.point_to(_real(ledger.path))
            key = key_in(note.path.parent, made=True)
            if key is None:
                return False
            mine = [digest for path, digest in self.digests.items() if path == home or home in path.parents]
            note.know(fingerprint(key, digest) for digest in mine)
            return True
        return False


@dataclass(frozen=True)
class Account:
    """A ledger and, where it has no budget yet, the one to be set on the way. Nothing is written before `spend`.

    homes: what is read, where a note is left if its ledger lies elsewhere; files: all that is in it, as far as they are known;
    folders: those that were named.
    """

    place_or_none: Ledger | None
    budget: float | None = None
    homes: tuple[Path, ...] = ()
    files: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()

    @property
    def ledger(self) -> Ledger:
        """The ledger, if it has a place."""
        if self.place_or_none is None:
            raise _nowhere()
        return self.place_or_none

    def balance(self) -> Balance:
        """The balance of the ledger, or of the budget that is to be set."""
        if self.ledger.path.exists():
            balance = self.ledger.balance()
            if self.budget is not None and balance.budget != self.budget:
                raise InvalidInput(
                    "budget-set-already",
                    f"The budget of {self.ledger.path} is set already, to rho = {balance.budget:g}. Leave --budget out.",
                )
            return balance
        if self.budget is None:
            raise InvalidInput(
                "budget-missing",
                f"There is no budget in {self.ledger.path}. Say once what may ever be spent on this data: "
                "confide budget DATA --rho RHO, or --budget RHO in a fit.",
            )
        return Balance(validation.positive("budget", self.budget), ())

    def check(self, rho: float) -> Balance:
        """The balance, refused unless it has room for `rho`."""
        balance = self.balance()
        if rho > balance.left + 1e-12 * balance.budget:
            raise BudgetExceeded(
                "budget-exceeded",
                f"This release costs rho = {rho:g}, but only {max(balance.left, 0.0):g} of {balance.budget:g} is left in "
                f"{self.ledger.path}. Ask for less, or release nothing more from this data.",
            )
        return balance

    def open(self) -> Balance:
        """Set the budget, once, and know the data again from now on."""
        with self._alone(self.files) as notes:
            balance = self.ledger.open(validation.positive("budget", self.budget or 0.0))
            notes.leave(self.ledger)
            return balance

    def spend(self, rho: float, command: str | None = None, read: tuple[str, ...] = ()) -> Receipt:
        """Charge `rho`; when this returns it is on disk. read: the files that were read, all of which are known by now."""
        try:
            with self._alone(read or self.files) as notes:
                if not self.ledger.path.exists() and self.budget is not None:
                    self.ledger.open(self.budget)
                remarks = notes.leave(self.ledger)
                return Receipt(len(self.ledger.charge(rho, command).entries) - 1, remarks)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InvalidInput(
                "ledger-not-writable",
                f"The ledger {self.ledger.path} cannot be written: {reason}. Nothing was released.",
            ) from error

    @contextmanager
    def _alone(self, files: tuple[str, ...]) -> Iterator[Notes]:
        """Hold the lock of this data, having looked again that no other ledger speaks for any of it."""
        for file in files:
            if not os.path.exists(file):  # under its new name it would not be known again
                raise InvalidInput(
                    "data-moved", f"{file} was moved or deleted while it was read. Nothing was spent. Start again."
                )
        homes = tuple(dict.fromkeys([*self.homes, *homes_of(self.folders, files)]))
        digests = digests_of(files)
        with one_at_a_time(homes):
            now = place(homes, self.ledger.path, None, digests)
            if now is None or _real(now.path) != _real(self.ledger.path):
                raise InvalidInput(
                    "ledger-changed",
                    f"The data was charged to another ledger meanwhile, and not to {self.ledger.path}. Nothing was spent. "
                    "Start again.",
                )
            yield Notes(homes, digests)

    def certify(self, number: int, digest: str) -> None:
        """Add the certificate's digest to a charge. A ledger that cannot be written now keeps the charge without it."""
        with suppress(OSError, ConfideError):
            self.ledger.certify(number, digest)
