"""The time that an audit has: outputs are made in rounds, until there are enough or the time is up.

**To stop by the clock costs no confidence.** Bets and the sizes of rounds are fixed before the first round. The clock decides only
after which round to stop, and how many trials there are likely to be, for which the stake of a round is chosen before it is
drawn. It may depend on all that was seen until then, as some draws take longer than others; but a round draws anew, so nothing
of it was drawn before these decisions.

*Bets.* Let W_k be what she has after k rounds who began with 1 and bets on log x, where epsilon is at most log x. Whatever came
before, a pair of outputs multiplies it by 1 or less on average, with any stake (`bound`). So W_0, W_1, ... is a non-negative
supermartingale, and by Ville's inequality it ever reaches 1/failure with probability `failure` at most, whenever she stops. As W
falls in x, the largest log x at which she became so rich exceeds the true epsilon with that probability at most.

*Events that are bounded by themselves.* After round k, by which a fixed number of trials was made, the bound may fail with
probability failure/(k(k+1)). These add up to `failure`. So the bounds after all rounds hold at once with probability
1 - failure, and the one after the last round with them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

GROWTH = 4
"""A round is one part in this many of all before it, so hardly more than that part of the time is left unused."""

BARELY = 1e-3
"""The seconds of whatever has no time left: it makes the fewest outputs."""


def clock() -> float:
    """Seconds, from an unknown moment on."""
    return time.monotonic()


@dataclass(frozen=True)
class Pace:
    """When an audit begins and has to end, by `clock`; infinity is never."""

    begins: float
    ends: float

    @classmethod
    def of(cls, seconds: float | None) -> Pace:
        """From now on for so long, or without an end."""
        now = clock()
        return cls(now, math.inf if seconds is None else now + seconds)

    @property
    def timed(self) -> bool:
        """Whether there is an end."""
        return math.isfinite(self.ends)

    def left(self, share: float = 1.0) -> float:
        """The seconds until that share of the time has passed; 0 if it has."""
        return max(0.0, self.begins + share * (self.ends - self.begins) - clock())


class Round(NamedTuple):
    """size: outputs to make. likely: how many there are likely to be when time is up; None where nothing was measured yet."""

    size: int
    likely: int | None = None


def rounds(least: int, most: int, seconds: float, growth: int = GROWTH) -> Iterator[Round]:
    """Rounds: first `least` outputs, whatever they take, then ever larger ones up to `most` in all.

    There is another as long as it may be expected to end within this many seconds of the first, judged by how long those before
    took. Which sizes they have does not depend on the clock. Without an end there is one round of `most`.
    """
    if math.isinf(seconds):
        yield Round(most)
        return
    began, done, next_round = clock(), 0, Round(min(least, most))
    while next_round.size:
        yield next_round
        done += next_round.size
        spent = max(clock() - began, 1e-9)
        size = min(max(least, done // growth), most - done)
        if spent + size * spent / done > seconds:
            return
        next_round = Round(size, min(most, int(done * seconds / spent)))


def failure_after(looks: int, failure: float) -> float:
    """Of what may fail, the part of the bound after that many rounds, if it might have been asked for after any; 0: only now."""
    return failure / (looks * (looks + 1)) if looks else failure
