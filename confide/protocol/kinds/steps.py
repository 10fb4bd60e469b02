"""One sampled step of an episode, as one of k categories.

Every person draws one step of the episode uniformly, on the device, once, and tells its category: state, action, next
state and reward bit, or `absent` if the episode was shorter. Which step was drawn says nothing about the data.

**Price.** A message is the row of the step (per-step models; pooled there is one row) and a vector with a one at its
category. The step is drawn whatever the episode, so it may be the same for two people; then their vectors differ in two
cells by one, at most. A mechanism for categories (`mechanisms.unary`) hides any two of them equally well.
"""

from __future__ import annotations

from dataclasses import dataclass

from .categories import CategoryQuestion
from .counts import CountQuestion
from .question import register

KIND = "step"


@dataclass(frozen=True)
class StepQuestion(CategoryQuestion):
    """counts: what is estimated from everybody's steps, at one reward level."""

    @property
    def kind(self) -> str:
        """`step`."""
        return KIND

    @property
    def mark(self) -> int:
        """How this encoding changes the fingerprint of its counts: by 1."""
        return 0x01

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences for certificates: which step a message is about."""
        return (f"every device tells of one step, which it draws: one of {self.width:,} categories",)

    @property
    def rows(self) -> int:
        """One row for each step if the dynamics are per-step, else one."""
        return self.spec.layers

    @property
    def width(self) -> int:
        """How many categories a step has: (s, a, s', reward bit), and one for a step that was not taken."""
        return 2 * self.spec.states * self.spec.actions * self.counts.next_states + 1


def _read(data: bytes) -> StepQuestion:
    return StepQuestion(CountQuestion.from_bytes(data))


register(KIND, _read)
