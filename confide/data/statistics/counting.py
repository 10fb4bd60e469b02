"""Counting a data set: from each part to partial sums, a pure function, run here, in threads, or on other machines.

All checks of the data happen in the pass that counts it. What is found is reported by row numbers, never by contents.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...mdp.adoption import Episodes
from ...protocol.kinds.bandit import Counted as Counted
from ...protocol.kinds.counts import (
    CENTRED,
    COUNTED,
    DROPPED,
    FREE_VISITS,
    HALVES,
    REWARDS,
    SQUARES,
    TRANSITIONS,
    VISITS,
)
from ...protocol.kinds.returns import ReturnsQuestion
from ...protocol.kinds.spending import Spending, unspent
from ..trajectories.dataset import ALL, GROUP, LIMIT, Dataset
from . import tally
from .keeping import PreviousActions, StepCollector, choosers, together
from .points import PointCollector, StepPoints, StepsInMemory, StoredSteps, joined
from .problems import Problem, problems_in
from .tabular import summed_returns
from .tally import PROBLEMS, SHOWN, Chosen, EpisodeTable, Frame, RowBatch, Rules, Sums, Written
from .weighing import improper, overweight, weigh

ReadingCheck = Callable[[Sequence["Partial"]], None]

_NONE = np.empty(0, dtype=np.int64)
EVERYTHING = Chosen(False, _NONE, _NONE, _NONE, _NONE, np.empty(0, dtype=np.bool_))
"""All episodes count."""


class Judging(NamedTuple):
    """Who judges, and is not counted: which share of the people; and whether actions are counted by the one before, too."""

    share: float = 0.0
    previous: bool = False


NO_JUDGES = Judging()


def _nothing() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Partial:
    """The sums of one part. Sensitive; `people` and `marks` are the keys of its episodes and of who they belong to."""

    part: int
    cells: NDArray[np.int64]
    starts: NDArray[np.int64]
    returns: NDArray[np.int64]
    problems: NDArray[np.int64]
    rows: NDArray[np.int64]
    people: NDArray[np.int64]
    marks: NDArray[np.int64]
    begun: NDArray[np.int64]
    counted: int
    read: int
    clipped: int
    shortened: int = 0
    came: NDArray[np.int64] = field(default_factory=_nothing)
    steps: tuple[StepPoints, ...] = ()
    weighed: NDArray[np.int64] = field(default_factory=_nothing)
    files: tuple[str, ...] = ()
    kept: Episodes | None = None
    previous: NDArray[np.int64] = field(default_factory=_nothing)
    lost: NDArray[np.int64] = field(default_factory=_nothing)
    weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    lived: Episodes | None = None

    def __repr__(self) -> str:
        """A text that tells nothing of its contents."""
        return "Partial()"

    def without_cells(self) -> Partial:
        """The partial sums without their cells, once these were added up."""
        return replace(self, cells=self.cells[:0].copy(), starts=self.starts[:0].copy())


@dataclass(frozen=True, eq=False, repr=False)
class DatasetCounts:
    """Counts of a whole data set, in units of the question, and the problems found in it. Sensitive but for `users`.

        users: how many people. It is public: neighbouring data sets replace a person and so have equally many. returns: (3,),
        over episodes, of u, u^2 and 1, as `ReturnsQuestion` counts them. clipped, shortened: how many
        rewards, and how many vectors, were. stored: every user's steps, where states are vectors. halves: the cells of two random
        halves of the people, where they were counted apart.
    judging: the steps of those who judge, who are not counted; lived: those of all others, where states are observed; previous:
    (A+1, S, A) actions by the one before, flat. weighed: rewards by logged propensities, if given. files: what was read. came:
    (most,) of histories, how many have this many episodes. lost: (S A + 1,) how many were lost after each state and action, and how
    many were not.
    """

    cells: NDArray[np.int64]
    starts: NDArray[np.int64]
    returns: NDArray[np.int64]
    users: int
    read: int
    clipped: int
    problems: tuple[Problem, ...]
    shortened: int = 0
    halves: tuple[NDArray[np.int64], ...] = ()
    stored: StoredSteps | None = None
    weighed: NDArray[np.int64] = field(default_factory=_nothing)
    files: tuple[str, ...] = ()
    judging: Episodes | None = None
    previous: NDArray[np.int64] = field(default_factory=_nothing)
    came: NDArray[np.int64] = field(default_factory=_nothing)
    lost: NDArray[np.int64] = field(default_factory=_nothing)
    lived: Episodes | None = None

    @property
    def people(self) -> int:
        """How many there are: those who are counted, and those who judge."""
        return self.users + (0 if self.judging is None else self.judging.people)

    def close(self) -> None:
        """Release the steps that are stored, here or elsewhere."""
        if self.stored is not None:
            self.stored.close()

    def checked(self) -> DatasetCounts:
        """The counts themselves, refused if the data has problems: then nothing may be released from it."""
        if self.problems:
            raise InvalidInput(self.problems[0].code, self.problems[0].sentence)
        return self


def frame(data: Dataset, counted: Counted) -> Frame:
    """The public numbers of a count of `data` for a question."""
    question, knowledge = counted.counts, data.knowledge
    spec = question.spec
    if spec != knowledge.spec or question.last not in (COUNTED, DROPPED) or question.parts == FREE_VISITS:
        raise InvalidInput(
            "question-of-other-sizes",
            "The statistic must be about the sizes of the data, with the last step counted or dropped, and no half visits "
            "beside transitions.",
        )
    at = {part: where.start for part, where in question.slices.items()}
    known = tally.LOGGED if data.columns.next_state else tally.ENDS
    last = known if question.last == COUNTED else tally.DROPPED
    if last == tally.ENDS and not knowledge.ends:
        raise InvalidInput(
            "last-state-unknown", "The state after the last step is needed but unknown. Ask with last='dropped'."
        )
    low, high = data.reward_range
    return Frame(
        spec.horizon,
        spec.states,
        spec.actions,
        spec.layers,
        -1 if knowledge.end is None else knowledge.end,
        last,
        data.first_step,
        data.columns.order is None,
        question.levels,
        question.objective == "cost",
        question.resolution,
        at.get(VISITS, -1),
        at.get(REWARDS, -1),
        at.get(SQUARES, -1),
        at.get(CENTRED, -1),
        at.get(TRANSITIONS, -1),
        at.get(HALVES, -1),
        low,
        high,
        *data.declared,
        data.clip,
        round(knowledge.end_reward * tally.RETURN),
        counted.budget,
        question.centre_units,
        data.users.history,
    )


def rules_of(data: Dataset, question: Counted) -> Rules:
    """What is public of a count of `data` for `question`."""
    numbers, knowledge = frame(data, question), data.knowledge
    known = np.zeros(0) if knowledge.rewards is None else knowledge.rewards.ravel()
    return Rules(numbers, knowledge.support, knowledge.allowed, np.rint(known * tally.RETURN).astype(np.int64))


def _nil(question: Counted, data: Dataset) -> Sums:
    """Sums before anything is counted: all zero."""
    spec = question.spec
    losing = spec.states * spec.actions + 1 if data.loses else 0
    shapes = (question.cells, spec.states, PROBLEMS, (PROBLEMS, SHOWN), 1, data.users.history, losing)
    return Sums(*(np.zeros(shape, dtype=np.int64) for shape in shapes))


def count_part(
    data: Dataset,
    question: Counted,
    number: int,
    key: int,
    chosen: Chosen = EVERYTHING,
    threads: bool = False,
    keep: bool = False,
    judging: Judging = NO_JUDGES,
) -> Partial:
    """The sums of one part, first row to last. chosen: which of its episodes count, by default all; keep: their steps too.
    judging: who judges, where nothing was chosen before: they are not counted, and their steps are kept.
    """
    apart = judging.share > 0 and not chosen.some
    rules, sums = rules_of(data, question), _nil(question, data)
    carry = np.zeros(tally.CARRIED, dtype=np.int64)
    chosen = chosen._replace(seen=np.zeros(chosen.who.size, dtype=np.int64))
    episodes, base, shortened, weights = [_room(0)], 1, 0, [np.empty(0)]
    collector, kept, lived = PointCollector(data), StepCollector(data), StepCollector(data)
    pairs = 0 if data.floor is None else question.spec.states * question.spec.actions
    weighed = np.zeros(pairs, dtype=np.int64)
    previous = PreviousActions(question.spec if judging.previous else None)
    spending = _unspent(question, data.users.history)
    returns, returned = ReturnsQuestion.of(question.spec.horizon, within=data.knowledge.returns), np.zeros(3, np.int64)
    for rows in data.rows(data.parts[number], key, threads):
        length = rows.user.size
        returns_of, moves = np.empty((2, length + 1), dtype=np.int64)
        gone = rows.lost.copy() if data.loses else np.zeros(length, dtype=np.int64)
        written = Written(sums, _room(length + 1), returns_of, moves, spending, gone)
        for position in rows.absent:
            tally.note(sums, tally.PERSON, base + position)
        batch = RowBatch(base, rows.counted(), _words(rules.frame, rows.reward))
        among = choosers(rows, key, judging.share) if apart else chosen
        begun, over = tally.tally(rules, among, batch, carry, written)
        episodes.append(written.episodes.first(begun))
        returned += summed_returns(returns, written.returns[:over] / tally.RETURN)
        for position in improper(data, rows):
            tally.note(sums, tally.PROPENSITY, base + position)
        for position in overweight(data, rows):
            tally.note(sums, tally.OVERWEIGHT, base + position)
        if data.weights is not None:
            weights.append(rows.weight[episodes[-1].begun - base])
        if not sums.problems.any():
            weigh(data, rows, episodes[-1], base, question.counts.levels, weighed)
        if (keep or apart) and not sums.problems.any():
            kept.add(rows, episodes[-1], base, ~episodes[-1].counted if apart else episodes[-1].counted, gone)
        if data.observed is not None and not sums.problems.any():
            lived.add(rows, episodes[-1], base, episodes[-1].counted, gone)
        if not sums.problems.any():
            previous.add(rows, episodes[-1], base, gone)
        if data.vectors is not None and not sums.problems.any():
            fresh = np.zeros(length, dtype=np.bool_)
            fresh[episodes[-1].begun - base] = True
            shortened += int(data.vectors.features.long(rows.points).sum())
            for position in collector.add(data.vectors.features, rows, fresh):
                tally.note(sums, tally.CHAIN, base + position)
        base += length
    last = tally.close(rules, sums, carry, base - 1, apart)
    returned += summed_returns(returns, np.full(int(last >= 0), last) / tally.RETURN)
    people, marks, rows_begun, counted, _ = (np.concatenate(column) for column in zip(*episodes, strict=True))
    steps: tuple[StepPoints, ...] = ()
    if data.vectors is not None and not sums.problems.any():
        steps = collector.steps(rows_begun - 1, counted, question.spec.horizon)
    found = sums.cells, sums.starts, returned, sums.problems, sums.rows
    episodes_of = (people, marks, rows_begun, int(counted.sum()))
    read = (base - 1, int(sums.clipped[0]), shortened, sums.came)
    files = data.parts[number].files
    own = kept.episodes() if keep or apart else None
    return Partial(
        number,
        *found,
        *episodes_of,
        *read,
        steps,
        weighed,
        files,
        own,
        previous.cells,
        sums.lost,
        np.concatenate(weights),
        lived.episodes() if data.observed is not None else None,
    )


def _unspent(question: Counted, history: int) -> Spending:
    """Room for what an episode, or a history, spends of its budget; none is needed without one."""
    spec = question.spec
    return unspent(spec.states * spec.actions if question.budget else 0, spec.horizon * max(history, 1))


def _room(episodes: int) -> EpisodeTable:
    people, marks, begun = (np.empty(episodes, dtype=np.int64) for _ in range(3))
    return EpisodeTable(people, marks, begun, *(np.empty(episodes, dtype=np.bool_) for _ in range(2)))


def _words(numbers: Frame, reward: NDArray[np.float64]) -> NDArray[np.uint64]:
    """A word of the operating system for every row, if any reward must be rounded."""
    with np.errstate(over="ignore", invalid="ignore"):  # rewards out of range are found when they are counted
        scaled = (reward - numbers.low) / (numbers.high - numbers.low) * numbers.levels
    if (scaled == np.floor(scaled)).all():
        return np.empty(0, dtype=np.uint64)
    return np.frombuffer(bytearray(os.urandom(8 * reward.size)), dtype=np.uint64)


def total(data: Dataset, partials: Iterable[Partial], same: ReadingCheck | None = None) -> DatasetCounts:
    """The sum of all parts; parts may come in any order. Checks what no part can see alone: people who come again.

    same: looks at all parts, and refuses a reading that shows others than an earlier one.
    """
    sums: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None = None
    parts: list[Partial] = []
    for partial in partials:
        if sums is None:
            sums = np.array(partial.cells), np.array(partial.starts), np.array(partial.returns)
        else:
            np.add(sums[0], partial.cells, out=sums[0])
            np.add(sums[1], partial.starts, out=sums[1])
            np.add(sums[2], partial.returns, out=sums[2])
        parts.append(partial.without_cells())
    parts.sort(key=lambda partial: partial.part)
    if sums is None:
        raise InvalidInput("nothing-to-count", "There is nothing to count. Give a file.")
    if same is not None:
        same(parts)
    read, clipped = sum(partial.read for partial in parts), sum(partial.clipped for partial in parts)
    users, repeated = _people(data, parts)
    problems = [*problems_in(data, [(partial.part, partial.problems, partial.rows) for partial in parts]), *repeated]
    if users == 0:
        names = ", ".join(part.name for part in data.parts[:3])
        sentence = f"The data must hold a user. {names} holds 0 users. Check the path or the query."
        problems.append(Problem("data-empty", sentence, 0))
    steps = None if problems or data.vectors is None else StepsInMemory(joined([partial.steps for partial in parts]))
    shortened = sum(partial.shortened for partial in parts)
    weighed = np.sum([partial.weighed for partial in parts], axis=0)
    files = tuple(dict.fromkeys(file for partial in parts for file in partial.files))
    return DatasetCounts(
        *sums,
        users,
        read,
        clipped,
        tuple(problems),
        shortened,
        stored=steps,
        weighed=weighed,
        files=files,
        judging=together([partial.kept for partial in parts if partial.kept is not None]),
        previous=np.sum([partial.previous for partial in parts], axis=0),
        came=np.sum([partial.came for partial in parts], axis=0),
        lost=np.sum([partial.lost for partial in parts], axis=0),
        lived=together([partial.lived for partial in parts if partial.lived is not None]),
    )


def _people(data: Dataset, partials: Sequence[Partial]) -> tuple[int, list[Problem]]:
    """How many people there are, and those who have more episodes than they may."""
    everyone = np.concatenate([partial.people for partial in partials])
    in_order = np.sort(everyone)
    first = np.flatnonzero(np.append(np.ones(min(1, everyone.size), dtype=np.bool_), in_order[1:] != in_order[:-1]))
    episodes = np.diff(np.append(first, everyone.size))
    most = data.users.most
    if data.users.mode == ALL:
        return len(first), _scattered(data, partials, len(first))
    if data.users.mode == LIMIT or not (episodes > most).any():
        return len(first), []
    guilty = in_order[first[episodes.argmax()]]
    where = [(partial, row) for partial in partials for row in partial.begun[partial.people == guilty][:SHOWN].tolist()]
    shown = where[: min(most + 1, SHOWN)]
    rows = " and ".join(f"row {row:,} of {data.parts[partial.part].name}" for partial, row in shown)
    again = int((episodes > most).sum())
    if data.users.mode == GROUP:
        rule, way_out = f"at most {most} episodes", "Allow for more with --users group:K, or use --users limit."
    else:
        rule, way_out = "one episode, with all its rows together", "Use --users limit, --users group:K or --sort."
    also = "" if again == 1 else f", and so it is with {again - 1:,} others"
    sentence = f"A person must have {rule}. Episodes of the same one begin at {rows}{also}. {way_out}"
    return len(first), [Problem("person-with-several-episodes", sentence, again)]


def _scattered(data: Dataset, partials: Sequence[Partial], people: int) -> list[Problem]:
    """The problem that episodes of one person do not follow each other, whose history would then be counted as several."""
    fresh = [
        np.append(np.ones(min(1, len(who)), dtype=np.bool_), who[1:] != who[:-1])
        for who in (p.people for p in partials)
    ]
    again = sum(int(runs.sum()) for runs in fresh) - people
    if not again:
        return []
    begins = np.concatenate([partial.people[runs] for partial, runs in zip(partials, fresh, strict=True)])
    part = np.concatenate([np.full(int(runs.sum()), at) for at, runs in enumerate(fresh)])
    row = np.concatenate([partial.begun[runs] for partial, runs in zip(partials, fresh, strict=True)])
    who, many = np.unique(begins, return_counts=True)
    mine = np.flatnonzero(begins == who[many.argmax()])[:2]
    rows = " and ".join(f"row {row[at]:,} of {data.parts[partials[part[at]].part].name}" for at in mine)
    guilty = int((many > 1).sum())
    also = "" if guilty == 1 else f", and so it is with {guilty - 1:,} others"
    sentence = (
        f"Episodes of a person must follow each other, as they are one history. Those of the same one begin at {rows}, with "
        f"others' in between{also}. Use --sort."
    )
    return [Problem("history-scattered", sentence, guilty)]
