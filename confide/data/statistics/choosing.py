"""The choice of episodes that count, and of halves: by a secret hash of person and episode, not by where a row stands.

The data is read two or three times, and an unordered query answers in another order each time. So a choice must not
depend on positions. In the first reading every user is listed; every episode has a word w = F_k(person, episode, ...),
F being SipHash-2-4 and k the fit's secret key. To an attacker who does not know k, words of different episodes are independent
and uniform, and they are functions of names alone, not of what happened in an episode. (That is what a pseudorandom
function is, and what SipHash is believed to be: here, and nowhere else, a guarantee rests on it.)

**One episode of each person** (`limit`): the one with the largest word. No user counts twice in a reading (see `tally`),
and whose episode it is depends on her own names only; so replacing a person changes one episode of what is counted.

**A history of each person** (`all`): of more than m episodes those with the m largest words; and the one with the largest stands
for its person wherever one episode does (first states, what those who judge do). So again whose episodes they are depends on a
person's own names only, and replacing a person changes one history of what is counted.

**Judging people**: where every user has one episode, those whose word is among the first `share` of all words (`choosers`), in the
one reading that counts the others; else (`parted`) as many as that, with halves' own proof. By the word their number is drawn,
too; but it depends on words alone: couple the two data sets as below, with the same word for x and for x', whose names may differ,
and the same people judge in both. So that number may be published, and the price of what is asked of both is the larger one.

**Two halves** (`split`): sorted by the word of the person, the first ceil(n/2) people are one half, the other floor(n/2)
the second; n is public, and so are both sizes. *Why the price is the larger of the halves' losses and not their sum:*
the words are independent of every user's data, so every division into halves of these sizes is equally likely, before
and after one person x is replaced by x'. Couple the two: the same division, with x' in the place of x. Given it, the
two data sets differ in one person of one half, and the other half's answers have the same law; so the joint law of all
answers, adaptive ones included, keeps the guarantee of the half in which x is. The law of the output is a mixture over
divisions with weights that do not depend on the data, and a mixture of pairs that keep a guarantee keeps it (both
hockey-stick divergences and Renyi divergences of a mixture, whose index may even be revealed, are at most those of the
worst pair). A choice by position would break this: a person whom a second reading shows elsewhere is in both halves,
or in none.

**Drawn by weight** (`by_weight`): person i has a key u_i/w_i, where u_i is their word as a number in (0, 1] and w_i their sampling
weight, and the m people with the smallest keys are drawn, m public. This is sequential Poisson sampling (Ohlsson 1998): person i is
among them nearly with probability tau w_i, where tau is the same for all, as long as tau w_i < 1. *Why what is asked of
those who are
drawn keeps its price:* replacing one person changes one key, whatever their weight was and is, while the keys of all others
stay; so
the m smallest differ in one person at most. Given the words of all others the two lists of people who are drawn are neighbours, or
the same, and again a mixture keeps the guarantee.

Every later reading must show the same people with the same episodes, as many rows, and all that was chosen: otherwise
the data changed, and nothing is released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ..trajectories.keys import secret
from .counting import Partial
from .tally import Chosen

EPISODE, PERSON, SEEN, _, WEIGHED = range(5)
"""What a secret word is for, so that words for different uses are independent."""


@dataclass(frozen=True, eq=False)
class Register:
    """Who was read: sensitive. part, person, mark, skip: (n,), for every episode that may be counted; drawn: (n,) the one of each
    person that stands for them. digest: of all that was read, in whatever order. weight: (n,), or none where people have none.
    """

    key: int
    parts: int
    part: NDArray[np.int64]
    person: NDArray[np.int64]
    mark: NDArray[np.int64]
    skip: NDArray[np.int64]
    drawn: NDArray[np.bool_]
    digest: int
    weight: NDArray[np.float64]

    def __repr__(self) -> str:
        """A text that tells nothing of its contents."""
        return "Register()"

    @classmethod
    def of(cls, partials: Sequence[Partial], key: int, most: int = 1) -> Register:
        """Up to this many episodes of every user, by default one: those with the largest secret words."""
        part = np.concatenate([np.full(partial.people.size, partial.part, dtype=np.int64) for partial in partials])
        person = np.concatenate([partial.people for partial in partials])
        mark = np.concatenate([partial.marks for partial in partials])
        skip = _occurrence(part, person, mark)
        draws = secret(key, np.full_like(part, EPISODE), person, mark, part, skip)
        order = np.lexsort((draws, person))
        last = np.append(person[order][1:] != person[order][:-1], np.ones(min(1, order.size), dtype=np.bool_))
        ends = np.flatnonzero(last)
        after = np.repeat(ends, np.diff(ends, prepend=-1)) - np.arange(
            order.size
        )  # how many words of a person are larger
        selected, drawn = order[after < most], last[after < most]
        whose = part[selected], person[selected], mark[selected], skip[selected]
        weight = np.concatenate([partial.weights for partial in partials])
        heavy = weight[selected] if weight.size else weight
        return cls(key, len(partials), *whose, drawn, digest(partials, key), heavy)

    @property
    def people(self) -> int:
        """How many there are."""
        return int(self.drawn.sum())

    def by_weight(self, many: int) -> Register:
        """This many of the people, drawn by their weights; see the docstring of this module."""
        words = secret(self.key, np.full_like(self.person, WEIGHED), self.person)
        uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-53
        keys = np.where(self.weight > 0, uniform / np.where(self.weight > 0, self.weight, 1.0), np.inf)
        mine = np.sort(np.lexsort((words, keys))[:many])
        whose = self.part[mine], self.person[mine], self.mark[mine], self.skip[mine]
        return Register(self.key, self.parts, *whose, self.drawn[mine], self.digest, self.weight[mine])

    def everybody(self) -> list[Chosen]:
        """The chosen episodes, for each part."""
        return self._chosen(np.ones(self.person.size, dtype=np.bool_))

    def parted(self, second: int) -> tuple[list[Chosen], list[Chosen]]:
        """All people but `second` of them, and those, each with the one episode that stands for them: sorted by the word of the
        person, for each part.

        Both sizes are public, as n is. The price of what is asked of both is the larger one, for the reason that halves have.
        """
        everybody = self.person[self.drawn]
        draws = secret(self.key, np.full_like(everybody, PERSON), everybody)
        apart = np.isin(self.person, everybody[np.lexsort((everybody, draws))[everybody.size - second :]])
        return self._chosen(~apart), self._chosen(apart & self.drawn)

    def halves(self) -> tuple[list[Chosen], list[Chosen]]:
        """Two random halves of the people, of ceil(n/2) and floor(n/2), for each part."""
        return self.parted(self.people // 2)

    def check(self, partials: Sequence[Partial], counted: int) -> None:
        """Refuse a reading that shows other people, episodes or rows than the first, or not all that were chosen."""
        if digest(partials, self.key) != self.digest or sum(partial.counted for partial in partials) != counted:
            raise InvalidInput(
                "data-changed",
                "The data changed while it was read, or a query returns other rows every time. Nothing was released; "
                "fit again when it is at rest.",
            )

    def _chosen(self, mask: NDArray[np.bool_]) -> list[Chosen]:
        chosen = []
        for number in range(self.parts):
            mine = np.flatnonzero(mask & (self.part == number))
            mine = mine[np.lexsort((self.skip[mine], self.mark[mine], self.person[mine]))]
            none = np.zeros(mine.size, dtype=np.int64)
            chosen.append(Chosen(True, self.person[mine], self.mark[mine], self.skip[mine], none, self.drawn[mine]))
        return chosen


def digest(partials: Sequence[Partial], key: int) -> int:
    """A number that two readings share if they show the same episodes in each part and as many rows, in any order.

    The sum of secret words modulo 2^64: to data that does not know the key, other episodes give the same sum with
    probability 2^-64.
    """
    total = 0
    for partial in partials:
        part = np.full_like(partial.people, partial.part)
        hashes = secret(key, np.full_like(part, SEEN), partial.people, partial.marks, part)
        total += int(hashes.sum(dtype=np.uint64)) + int(
            secret(key, *np.array([[SEEN], [partial.part], [partial.read]]))[0]
        )
    return total % 2**64


def _occurrence(part: NDArray[np.int64], person: NDArray[np.int64], mark: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) how many episodes of the same part, person and mark come before each."""
    order = np.lexsort((mark, person, part))
    columns = [column[order] for column in (part, person, mark)]
    fresh = np.ones(order.size, dtype=np.bool_)
    fresh[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    places = np.arange(order.size)
    occurrence = np.empty(order.size, dtype=np.int64)
    occurrence[order] = places - np.maximum.accumulate(np.where(fresh, places, 0))
    return occurrence
