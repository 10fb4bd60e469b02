"""The order of texts that rows are ordered by: as their numbers say, or as days and times in the form of ISO 8601.

Sorted by letters visit10 comes before visit2, and 02.01.2026 before 31.12.2025. So texts are taken only where their order is
plain: all are one text around one number, or all are days (and times) of one length that begin with the year.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import InvalidInput

IN_ORDER = "confide: in the form of all"
"""A column of no file: whether the text that orders a row has the form of the first."""

ONE_NUMBER = re.compile(r"(\D*)(\d{1,18})(\D*)", re.ASCII)
ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)


@dataclass(frozen=True)
class TextOrder:
    """The form that all texts of a column must have. form: a pattern of the whole text, whose group is the number that
    orders it, if `numbered`.
    """

    column: str
    form: str
    numbered: bool

    @classmethod
    def of(cls, column: str, text: str) -> TextOrder:
        """The form of a column whose first text is `text`; refused if that has none that says what comes before what."""
        one = ONE_NUMBER.fullmatch(text.strip())
        if one and one[1].strip() not in ("-", "+"):
            return cls(column, rf"\s*{re.escape(one[1])}(\d{{1,18}}){re.escape(one[3])}\s*", True)
        iso = ISO.fullmatch(text.strip())
        if not iso:
            raise cls._refusal(column)
        zone = iso[4] or ""
        moment = re.sub(r"\d", "0", text.strip().removesuffix(zone))
        return cls(column, re.escape(moment).replace("0", r"\d") + re.escape(zone), False)

    def key(self, column: str) -> str:
        """The SQL of what rows are sorted by. column: as SQL takes it."""
        return f"CAST(nullif(regexp_extract({column}, {self._pattern}, 1), '') AS BIGINT)" if self.numbered else column

    def kept(self, column: str) -> str:
        """The SQL of whether a row has that form, or no text at all."""
        return f"coalesce(regexp_full_match({column}, {self._pattern}), true)"

    def check(self, kept: bool) -> None:
        """Refuse rows of which not all have the form."""
        if not kept:
            raise self._refusal(self.column)

    @property
    def _pattern(self) -> str:
        return "'" + self.form.replace("'", "''") + "'"

    @staticmethod
    def _refusal(column: str) -> InvalidInput:
        return InvalidInput(
            "order-texts",
            f"Texts that rows are ordered by must be one text around a number, like visit2 and visit10, or days like 2026-01-31. "
            f"Those of {column!r} are not. Order by a number or a time, or name a column of steps (--columns step=NAME).",
        )
