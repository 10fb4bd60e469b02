"""The joint curator, who learns online: batches of episodes in, private running sums out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import ConfideError, FormatError, PrivacyError
from ...mechanisms.counter import CounterState
from ...mechanisms.noise import NoiseSource, curator_noise
from ...protocol.design import Design
from ...protocol.releases.release import release_about
from ..statistics.answers import answer
from ..trajectories.trajectory import Trajectory

if TYPE_CHECKING:
    from ...protocol.kinds.question import Question

FORMAT = "confide.curator/1"


@dataclass(frozen=True, eq=False)
class Total:
    """Sensitive: the exact sum of the cells of `users` people, in whole multiples of the curator's grid."""

    cells: NDArray[np.int64] = field(repr=False)
    people: int


class CuratorAggregate:
    """Holds the open batch, exactly, in memory only, and a continual counter's state. Shows nothing of itself."""

    def __init__(
        self,
        design: Design,
        noise: NoiseSource | None = None,
        simulated: bool = False,
        state: CounterState | None = None,
    ) -> None:
        """Before the first batch, or going on from a state. Replayable noise is refused unless people are simulated."""
        self.noise = curator_noise(noise, simulated)
        self.design = design
        self._counter = design.counter
        self._state: CounterState = self._counter.init(design.question.width) if state is None else state
        self.users = int(design.schedule.ends[self._state.release - 1]) if self._state.release else 0
        self._begin()

    def _begin(self) -> None:
        self._open = np.zeros(self.design.question.width, dtype=np.int64)
        self._members = 0

    def __repr__(self) -> str:
        return f"CuratorAggregate(users={self.users}, open={self._members})"

    def take(self, message: Trajectory, question: Question | None = None) -> None:
        """Count one person's episode in the open batch."""
        member = self.design.question if question is None else self.design.question.member(question)
        _, cells = answer(self.design.question.kind, member, message, self._counter.grid, self.noise.integers)
        self._open += cells
        self._members += 1

    def take_sum(self, total: Total) -> None:
        """Count several people's episodes in the open batch."""
        self._open += total.cells
        self._members += total.people

    def close(self, question: Question | None = None) -> Any:
        """Release the running sums. If noise cannot be drawn, everything is as before.

        A batch that does not end where the public schedule says is refused: its size might tell of who is in it.
        """
        schedule, users = self.design.schedule, self.users + self._members
        if self._state.release < schedule.releases:
            due = int(schedule.ends[self._state.release])
            if users != due:
                raise validation.refusal(
                    "batch-off-schedule",
                    "batch",
                    f"such that {due} people are counted after it",
                    users,
                    "Keep the schedule.",
                )
        self._state, cells = self._counter.next(self._state, self._open, self.noise)
        self.users = users
        self._begin()
        return release_about(self.design, cells, users)

    def to_bytes(self) -> bytes:
        """The counter's state: sensitive. Refused while a batch is open, as its exact sum would be written down."""
        if self._members:
            raise PrivacyError(
                "aggregate-open-batch",
                "A batch is open, and its sum is for memory only. Close it before the aggregate is stored.",
            )
        body: bytes = msgpack.packb([FORMAT, self.design.digest, self._state.to_bytes()])
        return body

    @classmethod
    def from_bytes(
        cls, data: bytes, design: Design, noise: NoiseSource | None = None, simulated: bool = False
    ) -> CuratorAggregate:
        """Go on after a restart."""
        try:
            form, made_by, state = msgpack.unpackb(data, max_array_len=8, max_str_len=64)
            if form != FORMAT:
                raise ValueError(f"its format is {form!r}, not {FORMAT!r}")
            if made_by != design.digest:
                raise ValueError("it was kept under another design")
            read = CounterState.from_bytes(state)
            if read.spent:
                raise PrivacyError("state-used-before", "its state was used before")
            if read.release > design.schedule.releases:
                raise ValueError("it made more releases than the schedule has")
            if not read.like(design.counter.init(design.question.width)):
                raise ValueError("its state is of another counter")
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "aggregate-unreadable",
                f"These bytes are not a curator's aggregate this version can go on from: {error}",
            ) from error
        return cls(design, noise, simulated, read)
