"""One pass over rows, compiled: every check and every count together. `counting` is how it is called.

An episode is a run of rows of one person (and one episode, if that is told) whose steps go up by one from the first.
Its rows are chained: the next state of a row is the state of the following one, which is what the sensitivities of this
room rely on. A transition is counted once it is known where it leads: at the following row, or when the episode is
over. An episode over before the horizon leads into the end state. Of a broken episode the first broken row is noted,
and every later one that is wrong by itself; the rest is passed over: whoever counts refuses the data.

Where one episode of each person counts, it is known by the person's key, its own (`mark`) and how many of that key came
before it in its part. So nobody counts twice in a reading, in whatever order the rows come.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, merged

(
    PERSON,
    STATE,
    ACTION,
    NEXT,
    NOT_A_NUMBER,
    RANGE,
    GAP,
    DUPLICATE,
    LONG,
    CHAIN,
    SUPPORT,
    ALLOWED,
    SHORT,
    LAST,
    PROPENSITY,
) = range(15)
"""The kinds of problems that a row can have."""
PROBLEMS = 15
SHOWN = 5
"""How many rows of a kind are noted one by one."""

# What becomes of the transition of step H: it goes to the next state that is told, to the end state, or is not counted.
LOGGED, ENDS, DROPPED = 0, 1, 2

# Where an open episode stands, kept from batch to batch.
OPEN, USER, EPISODE, TAKEN, S, A, AFTER, BROKEN, COUNTED, EARNED = range(10)
CARRIED = 10


class Frame(NamedTuple):
    """Public numbers. Offsets say where a part of the cells begins, -1 if it is not asked for."""

    horizon: int
    states: int
    actions: int
    layers: int
    end: int  # the end state, -1 if every episode has H steps
    last: int  # LOGGED, ENDS or DROPPED
    first_step: int
    restarts: bool  # whether a first step begins an episode where episodes have no names
    levels: int
    cost: bool
    unit: int  # units a count
    visits: int
    rewards: int
    squares: int
    centred: int
    transitions: int
    low: float
    high: float
    least: float  # rewards lie between these, within low and high
    most: float
    clip: bool
    grain: int  # units in which a return counts a reward of 1: even
    after: int  # units that a step after the end pays


class Sums(NamedTuple):
    """What is written: cells (cells,) and starts (S,), in units and in people; returns (3,), of all episodes the sum of
    u = return - H/2, of u^2, and their number, in units of 1/grain; problems (PROBLEMS,) and the first rows
    (PROBLEMS, SHOWN) of each; clipped (1,), how many rewards were.
    """

    cells: NDArray[np.int64]
    starts: NDArray[np.int64]
    returns: NDArray[np.int64]
    problems: NDArray[np.int64]
    rows: NDArray[np.int64]
    clipped: NDArray[np.int64]


class Chosen(NamedTuple):
    """Which episodes of a part count, sorted by person: of each person in `who` the one whose key is `mark`, after
    `skip` others of that key. some: whether there is such a choice at all; otherwise everything counts. seen: (n,) how
    many of them came in this reading, written as it goes.
    """

    some: bool
    who: NDArray[np.int64]
    mark: NDArray[np.int64]
    skip: NDArray[np.int64]
    seen: NDArray[np.int64]


class EpisodeTable(NamedTuple):
    """Room for what is known of every episode that begins: its person, its own key (0 without a column for it), its
    first row, and whether it counts.
    """

    people: NDArray[np.int64]
    marks: NDArray[np.int64]
    begun: NDArray[np.int64]
    counted: NDArray[np.bool_]

    def first(self, count: int) -> EpisodeTable:
        """The first so many, apart from the rest."""
        people, marks, begun = (column[:count].copy() for column in (self.people, self.marks, self.begun))
        return EpisodeTable(people, marks, begun, self.counted[:count].copy())


class Tables(NamedTuple):
    """Public tables: support (S, A, S), allowed (S, A); pay: known rewards in units of 1/grain, (L S A,), or none."""

    support: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    pay: NDArray[np.int64]


class RowBatch(NamedTuple):
    """The columns of a batch of rows, (n,) each; those that are not there are empty. words: a random word for each row,
    or none if no reward lies between two levels.
    """

    user: NDArray[np.int64]
    episode: NDArray[np.int64]
    step: NDArray[np.int64]
    state: NDArray[np.int64]
    action: NDArray[np.int64]
    following: NDArray[np.int64]
    reward: NDArray[np.float64]
    words: NDArray[np.uint64]


class CountingState(NamedTuple):
    """What a batch is counted into: the sums of the part; where its open episode stands, (CARRIED,); room for the episodes
    that begin; and moves, scratch for one cell more than there are rows.
    """

    sums: Sums
    carry: NDArray[np.int64]
    episodes: EpisodeTable
    moves: NDArray[np.int64]


@compiled
def counts(chosen: Chosen, person: int, mark: int) -> bool:
    """Whether an episode that begins counts; takes note that it came."""
    if not chosen.some:
        return True
    low, high = 0, chosen.who.size
    while low < high:
        middle = (low + high) // 2
        if chosen.who[middle] < person:
            low = middle + 1
        else:
            high = middle
    if low == chosen.who.size or chosen.who[low] != person or chosen.mark[low] != mark:
        return False
    chosen.seen[low] += 1
    return bool(chosen.seen[low] == chosen.skip[low] + 1)


@compiled
def note(sums: Sums, problem: int, row: int) -> None:
    """Note a row with a problem."""
    seen = sums.problems[problem]
    if seen < SHOWN:
        sums.rows[problem, seen] = row
    sums.problems[problem] = seen + 1


@compiled
def last_cell(
    frame: Frame, support: NDArray[np.bool_], sums: Sums, steps: int, s: int, a: int, following: int, row: int
) -> int:
    """The cell of the last transition of an episode of so many steps, made from (s, a) in that row; -1 if none."""
    target = following
    if steps < frame.horizon or frame.last == ENDS:
        target = frame.end
        if target < 0:
            note(sums, SHORT, row)
            return -1
    elif frame.last == DROPPED:
        return -1
    elif following < 0:
        note(sums, LAST, row)
        return -1
    if not support[s, a, target]:
        note(sums, SUPPORT, row)
        return -1
    layer = steps - 1 if frame.layers > 1 else 0
    pair = (layer * frame.states + s) * frame.actions + a
    return frame.transitions + pair * frame.states + target


@compiled
def book_return(frame: Frame, sums: Sums, steps: int, earned: int) -> None:
    """Count what an episode of so many steps earned, with what the steps after its end pay."""
    centred = earned + (frame.horizon - steps) * frame.after - frame.horizon * (frame.grain // 2)
    sums.returns[0] += centred
    sums.returns[1] += centred * centred
    sums.returns[2] += 1


@compiled
def close(frame: Frame, support: NDArray[np.bool_], sums: Sums, carry: NDArray[np.int64], row: int) -> None:
    """The episode that is open after the last row of a part is over."""
    if carry[OPEN] and not carry[BROKEN] and carry[COUNTED]:
        cell = last_cell(frame, support, sums, carry[TAKEN], carry[S], carry[A], carry[AFTER], row)
        if cell >= 0:
            sums.cells[cell] += frame.unit
        book_return(frame, sums, carry[TAKEN], carry[EARNED])


@merged
def row_problem(frame: Frame, s: int, a: int, after: int) -> int:
    """The problem of the states and the action of a row by themselves; -1 if there is none."""
    alive = frame.states - 1 if frame.end >= 0 else frame.states
    if s < 0 or s >= alive:
        return STATE
    if a < 0 or a >= frame.actions:
        return ACTION
    if after < -1 or after >= frame.states:
        return NEXT
    return -1


@merged
def reward_problem(frame: Frame, reward: float) -> int:
    """The problem of a reward; -1 if there is none, or if it is to be clipped."""
    if math.isnan(reward):
        return NOT_A_NUMBER
    if (reward < frame.least or reward > frame.most) and not frame.clip:
        return RANGE
    return -1


@merged
def reward_level(frame: Frame, reward: float, i: int, words: NDArray[np.uint64]) -> int:
    """The reward of row i, clipped, as a multiple of 1/levels: rounded at random, so that the mean is kept."""
    share = (min(max(reward, frame.least), frame.most) - frame.low) / (frame.high - frame.low)
    scaled = min(max(share, 0.0), 1.0) * frame.levels
    floor = math.floor(scaled)
    level = int(floor)
    if scaled > floor and i < words.size and (words[i] >> np.uint64(11)) * 2.0**-53 < scaled - floor:
        level += 1
    return frame.levels - level if frame.cost else level


@merged
def count_visit(frame: Frame, cells: NDArray[np.int64], pair: int, level: int) -> None:
    """Count a visit of a pair and its reward, in the parts that are asked for."""
    if frame.visits >= 0:
        cells[frame.visits + pair] += frame.unit
    if frame.rewards >= 0:
        cells[frame.rewards + pair] += level * (frame.unit // frame.levels)
    if frame.squares >= 0:
        cells[frame.squares + pair] += level * level * (frame.unit // frame.levels**2)
    if frame.centred >= 0:
        cells[frame.centred + pair] += (2 * level - frame.levels) * (frame.unit // (2 * frame.levels))


@compiled
def tally(frame: Frame, tables: Tables, chosen: Chosen, base: int, batch: RowBatch, counting: CountingState) -> int:
    """Count a batch whose first row is number `base`; returns how many episodes began.

    Cells of transitions are noted in `moves` first and counted together at the end: the processor then fetches many at once.
    """
    support, allowed, pay = tables
    user, episode, step, state, action, following, reward, words = batch
    sums, carry, episodes, moves = counting
    has_following, by_episode, by_step, paid = following.size > 0, episode.size > 0, step.size > 0, reward.size > 0
    states, actions, first, layered = frame.states, frame.actions, frame.first_step, frame.layers > 1
    # Where the open episode stands, in registers; kept in `carry` from batch to batch.
    is_open, broken, counted = carry[OPEN] != 0, carry[BROKEN] != 0, carry[COUNTED] != 0
    person, visit, h, earned = carry[USER], carry[EPISODE], carry[TAKEN], carry[EARNED]
    before, done, expected = carry[S], carry[A], carry[AFTER]
    begun, moving = 0, 0
    for i in range(user.size):
        row = base + i
        new = not is_open or user[i] != person
        if by_episode:
            new = new or episode[i] != visit
        elif by_step and frame.restarts:
            new = new or step[i] == first
        if new:
            if is_open and not broken and counted:
                moves[moving] = last_cell(frame, support, sums, h, before, done, expected, row - 1)
                moving += moves[moving] >= 0
                book_return(frame, sums, h, earned)
            is_open, broken, h, earned, person = True, False, 0, 0, user[i]
            if by_episode:
                visit = episode[i]
            mark = visit if by_episode else 0
            counted = counts(chosen, person, mark)
            episodes.people[begun], episodes.marks[begun] = person, mark
            episodes.begun[begun], episodes.counted[begun] = row, counted
            begun += 1
        s, a, after = state[i], action[i], following[i] if has_following else -1
        r = reward[i] if paid else frame.least
        problem = row_problem(frame, s, a, after)
        if broken:  # what is wrong with a row by itself is noted of every row
            if problem < 0:
                problem = reward_problem(frame, r)
            if problem >= 0:
                note(sums, problem, row)
            continue
        if by_step and step[i] != first + h:
            problem = DUPLICATE if h > 0 and step[i] == first + h - 1 else GAP
        elif h >= frame.horizon:
            problem = LONG
        elif problem < 0 and has_following and h > 0 and expected != s:
            problem = CHAIN
        elif problem < 0 and not allowed[s, a]:
            problem = ALLOWED
        level = 0
        if paid and problem < 0:
            problem = reward_problem(frame, r)
            if problem < 0:
                sums.clipped[0] += int(r < frame.least or r > frame.most)
                level = reward_level(frame, r, i, words)
        if problem < 0 and counted and h > 0 and not support[before, done, s]:
            note(sums, SUPPORT, row - 1)
            broken = True
            continue
        if problem >= 0:
            note(sums, problem, row)
            broken = True
            continue
        if counted:
            if h == 0:
                sums.starts[s] += 1
            else:
                layer = h - 1 if layered else 0
                moves[moving] = frame.transitions + ((layer * states + before) * actions + done) * states + s
                moving += 1
            pair = ((h if layered else 0) * states + s) * actions + a
            earned += pay[pair] if pay.size > 0 else level
            count_visit(frame, sums.cells, pair, level)
        before, done, expected = s, a, after
        h += 1
    for i in range(moving):
        sums.cells[moves[i]] += frame.unit
    carry[OPEN], carry[BROKEN], carry[COUNTED] = int(is_open), int(broken), int(counted)
    carry[USER], carry[EPISODE], carry[TAKEN], carry[EARNED] = person, visit, h, earned
    carry[S], carry[A], carry[AFTER] = before, done, expected
    return begun
