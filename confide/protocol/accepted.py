"""The table of what is accepted from outside: a kind of question, a mechanism and a trust model that go together. A kind's file
says by which mechanisms it may be answered under which trust (`Kind.answered`).

A design that is read from bytes, alone or in a contract, is refused unless its row is here: by devices, collectors, curators and
`service check` alike, since all of them read it by `Design.from_bytes`. That a mechanism can be run on a question does not make its
price right. Every row has a case: a design on a small world, which the audit attacks (`audit.catalogue`) and in which a sweep
compares all pairs of people (`audit.sweep`); without one the tests fail. Browsers have the part of the table that they can do as
`js/src/accepted.js`, which `python -m tools.accepted` writes.

No row, and why: `asked` under shuffle, where each pair has a sum of its own and a law of pairs may leave one person alone in it;
`bits` under other trusts, as `counts` takes less noise; noise by part (`bounded-by-part`), which is a paper's and never calibrated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InvalidInput
from ..mechanisms import registry
from ..mechanisms.catalogue import word
from .kinds.kind import KINDS, every, find
from .trusts.trust import registered

if TYPE_CHECKING:
    from ..privacy import Guarantee
    from .design import Design


class Combination(NamedTuple):
    """One combination: a kind of question, the word of a mechanism (`mechanisms.catalogue.word`), and a trust model."""

    kind: str
    mechanism: str
    trust: str


Case = Callable[["Guarantee"], "Design"]
"""The design of a row that keeps a guarantee on a small world: of at least `STEPS` steps and `PAIRS` pairs of state and action."""

ORDER = ("local", "shuffle", "joint", "central", "none")
"""The order of our rows."""
STEPS, PAIRS = 3, 4
"""With fewer steps no user repeats a visit, and with fewer pairs every user is asked about the same: mistakes hide there."""

ANY, BROWSERS = "any", "browsers"
DEVICES = (BROWSERS, ANY)
"""Whose devices answer: those in pages too, or only those that run this package."""
IN_PAGES = ("local", "shuffle", "joint")
"""The trust models under which devices in pages take part."""
_UNKNOWN_MECHANISMS = ("bounded",)

_CASES: dict[Combination, Case] = {}


def _our_rows() -> tuple[Combination, ...]:
    """What the files of our kinds say that they are answered by."""
    return tuple(
        Combination(kind.name, word, trust)
        for trust in ORDER
        for kind in every()
        if kind.name in KINDS
        for word in kind.answered.get(trust, ())
    )


def _registered_rows() -> tuple[Combination, ...]:
    """What kinds, trust models and mechanisms that were registered say of themselves."""
    kinds = (
        Combination(kind.name, word, trust)
        for kind in every()
        if kind.name not in KINDS
        for trust, words in kind.answered.items()
        for word in words
    )
    models = (
        Combination(kind, word, model.name)
        for model in registered()
        for kind, words in model.answered.items()
        for word in words
    )
    mechanisms = (
        Combination(kind, name, trust) for name, entry in registry.entered().items() for kind, trust in entry.answers
    )
    return (*kinds, *models, *mechanisms)


def rows() -> tuple[Combination, ...]:
    """Every row: ours, those of kinds, trust models and mechanisms of one's own, and those that were entered with a case."""
    return (*_our_rows(), *_registered_rows(), *_CASES)


def rows_in_pages() -> tuple[Combination, ...]:
    """The rows that devices in pages can do: of ours only, since a page cannot load a file of yours."""
    return tuple(
        row
        for row in _our_rows()
        if row.trust in IN_PAGES
        and row.trust not in find(row.kind).unknown_in_pages
        and row.mechanism not in _UNKNOWN_MECHANISMS
    )


def accept(kind: str, mechanism: str, trust: str, case: Case) -> None:
    """Enter a row for a question, a mechanism or a trust model of your own, with the case in which it is audited and swept.

    case: makes the design of this row that keeps a guarantee, on a world of at least 3 steps and 4 pairs of state and action.
    """
    row = Combination(kind, mechanism, trust)
    if row in rows():
        raise InvalidInput("combination-accepted-already", f"{_said(row)} is accepted already. Leave it out.")
    _CASES[row] = case


def case_of(row: Combination) -> Case | None:
    """The case that a row was entered with; None for ours, whose cases the audit has."""
    if row in _CASES:
        return _CASES[row]
    if row.kind not in KINDS and row.mechanism in find(row.kind).answered.get(row.trust, ()):
        return partial(find(row.kind).case, row)
    for model in registered():
        if model.name == row.trust and row.mechanism in model.answered.get(row.kind, ()):
            return partial(model.case, row)
    entry = registry.entered().get(row.mechanism)
    return entry.case if entry is not None and (row.kind, row.trust) in entry.answers else None


def row_of(design: Design) -> Combination:
    """The row of a design."""
    return Combination(design.question.kind, word(design.kind.noise_to_plain(design.mechanism)), design.trust)


def require_accepted(design: Design) -> Design:
    """The design itself, refused unless its row is in the table."""
    row = row_of(design)
    known = rows()
    if row not in known:
        able = sorted({each.mechanism for each in known if (each.kind, each.trust) == (row.kind, row.trust)})
        instead = f"It takes {', '.join(able)}" if able else "No mechanism releases such statistics there"
        raise InvalidInput(
            "combination-not-accepted", f"{_said(row)} is not in the table of what is accepted. {instead}."
        )
    return design


def _said(row: Combination) -> str:
    return f"The combination of {row.kind!r} with {row.mechanism!r} under trust {row.trust!r}"
