"""The order of rows: who came after whom is what is learned from, so it must be vouched for."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import InvalidInput
from .columns import FLAGGED, Columns
from .dataset import ONE, Users
from .flags import EachRowPart, FlaggedPart
from .sorting import SortedPart
from .sources import DataPart


@dataclass(frozen=True)
class RowOrder:
    """How rows come into order. sort: by person, episode and step. by: a column that orders the rows of an episode, where none
    tells the step. vouched: they stand in order already, on the user's word.
    """

    sort: bool = False
    by: str | None = None
    vouched: bool = False

    def check(self, columns: Columns, users: Users, horizon: int) -> None:
        """Refuse rows whose order is not vouched for."""
        if columns.by_row and users.mode != ONE:
            raise InvalidInput(
                "user-column-missing",
                "No column tells people apart, so every row is taken for a person of its own, who cannot have several. Name "
                "the column that does: --columns user=NAME.",
            )
        if self.sort and columns.episode == FLAGGED:
            raise InvalidInput(
                "sort-with-flags",
                "Episodes that flags tell apart are known by the order of their rows, which sorting would lose. Name a column "
                "that tells the episode (--columns episode=NAME), or leave --sort out.",
            )
        if self.vouched and columns.order is not None:
            raise InvalidInput(
                "order-twice",
                "Rows are ordered by a column, or stand in order already. Leave out --order-by or --in-order.",
            )
        if self.sort and columns.step is None:
            raise InvalidInput(
                "sort-loses-order",
                "Sorting by person alone would lose the order of their rows. Name the column that tells it: --order-by COLUMN.",
            )
        if users.mode != ONE and columns.step is None:
            raise InvalidInput(
                "step-column-needed",
                "Where people have several episodes, rows must tell their step. Name it: --columns step=NAME.",
            )
        if users.mode != ONE and columns.order is not None and columns.episode is None:
            raise InvalidInput(
                "episode-column-needed",
                "Where people have several episodes, rows ordered by a column must name theirs. Say --columns episode=NAME.",
            )
        if horizon > 1 and columns.step is None and not columns.next_state and not self.vouched:
            raise InvalidInput(
                "order-unsaid",
                "Rows tell neither their step nor their next state, so nothing shows in which order they happened. Name a "
                "column that does (--order-by COLUMN), or vouch for the order in which they stand (--in-order).",
            )

    def arranged(self, parts: tuple[DataPart, ...], columns: Columns, horizon: int) -> tuple[DataPart, ...]:
        """The parts with a person for each row, sorted, or with episodes distinguished by their flags, as the columns need it."""
        if columns.by_row:
            parts = tuple(EachRowPart(part, number) for number, part in enumerate(parts))
        elif self.sort or columns.order is not None:
            parts = (SortedPart.of(parts, columns),)
        if columns.flags:
            parts = tuple(FlaggedPart(part, number, columns, horizon) for number, part in enumerate(parts))
        return parts
