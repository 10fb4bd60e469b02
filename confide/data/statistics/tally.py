"""One pass over rows, compiled: every check and every count together. `counting` is how it is called.

An episode is a run of rows of one person (and one episode, if that is given) whose steps go up by one from the first.
Its rows are chained: the next state of a row is the state of the following one, which is what the sensitivities of this
room rely on. A transition is counted once it is known where it leads: at the following row, or when the episode is
over. An episode over before the horizon leads into the end state. Of a broken episode the first broken row is noted,
and every later one that is wrong by itself; the rest is passed over: the caller refuses the data.

A person who is lost to follow-up makes a last transition whose next state is unknown. It is not counted; where losses are
asked for, the person adds one to the cell of its state and action, and all others one to the last cell.

Where some episodes of each person count, they are known by the person's key, their own (`mark`) and how many of that key came
before them in their part. So no episode counts twice in a reading, in whatever order the rows come.

Where episodes are histories, those of a person follow each other, which the caller checks. Then they spend one budget, and
a person has one return, the mean of those of all episodes that count.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ...protocol.kinds.spending import Spending, begin_spending, spend
from ..trajectories.dataset import Rows
from ..trajectories.labels import MISSING

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
    NO_STATE,
    NO_ACTION,
    NO_START,
    WENT_ON,
    OVERWEIGHT,
) = range(20)
"""The kinds of problems that a row can have."""
PROBLEMS = 20
SHOWN = 5
"""How many rows of a kind are noted one by one."""

# What becomes of the transition of step H: it goes to the next state that is given, to the end state, or is not counted.
LOGGED, ENDS, DROPPED = 0, 1, 2

# Where an open episode stands, kept from batch to batch.
OPEN, USER, EPISODE, TAKEN, S, A, AFTER, BROKEN, COUNTED, EARNED, WITHIN, CAME, TOTAL, GONE = range(14)
CARRIED = 14
# What became of a person: still there, lost after the row before, or lost before a row with a missing entry.
# Of some it is not taken what is said of that.
THERE, LOST, STOPPED, UNTAKEN = 0, 1, 2, 3
RETURN = 1 << 32
"""Units of a reward of 1 in a return: so fine that rewards, and what is paid after the end, are summed as they are."""
LARGEST = np.uint64(2**64 - 1)
"""A word by which nothing is rounded up."""


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
    halves: int
    low: float
    high: float
    least: float  # rewards lie between these, within low and high
    most: float
    clip: bool
    after: int  # what a step after the end pays, in units of a return
    budget: int  # within which repeated visits are counted, 0 if all are
    centre: int  # the level at which rewards are centred, in units of 1/(2 levels)
    history: int  # how many episodes of one person are one history at most, 0 if each is counted by itself


class Sums(NamedTuple):
    """What is written: cells (cells,) and starts (S,), in units and in people; problems (PROBLEMS,) and the first rows
    (PROBLEMS, SHOWN) of each; clipped (1,), how many rewards were. came: of histories (most,), how many have this many
    episodes. lost: (S A + 1,), how many were lost after
    each state and action, and how many were not; none where no user can be.
    """

    cells: NDArray[np.int64]
    starts: NDArray[np.int64]
    problems: NDArray[np.int64]
    rows: NDArray[np.int64]
    clipped: NDArray[np.int64]
    came: NDArray[np.int64]
    lost: NDArray[np.int64]


class Chosen(NamedTuple):
    """Which episodes of a part count, sorted by person, mark and skip: of the person in `who` the one whose key is `mark`, after
    `skip` others of that key. some: whether there is such a choice at all; otherwise everything counts. seen: (n,) how
    many of that person and mark came in this reading, written as it goes, where the first of them stands. apart: the others are
    checked all the same, as they judge. drawn: (n,) which stands for its person, where one of several does.
    """

    some: bool
    who: NDArray[np.int64]
    mark: NDArray[np.int64]
    skip: NDArray[np.int64]
    seen: NDArray[np.int64]
    drawn: NDArray[np.bool_]
    apart: bool = False


class EpisodeTable(NamedTuple):
    """Room for what is known of every episode that begins: its person, its own key (0 without a column for it), its
    first row, whether it counts, and whether it stands for its person, where one of several does.
    """

    people: NDArray[np.int64]
    marks: NDArray[np.int64]
    begun: NDArray[np.int64]
    counted: NDArray[np.bool_]
    drawn: NDArray[np.bool_]

    def first(self, count: int) -> EpisodeTable:
        """The first n, apart from the rest."""
        people, marks, begun = (column[:count].copy() for column in (self.people, self.marks, self.begun))
        return EpisodeTable(people, marks, begun, self.counted[:count].copy(), self.drawn[:count].copy())


class Rules(NamedTuple):
    """What is public of a count: its numbers, which transitions are possible (S, A, S), which actions are allowed (S, A),
    and known rewards in units of a return, (L S A,), or none.
    """

    frame: Frame
    support: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    pay: NDArray[np.int64]


class RowBatch(NamedTuple):
    """Rows that are counted together, the first of which is number `base`. words: a random word for each row, or none if no
    reward lies between two levels.
    """

    base: int
    rows: Rows
    words: NDArray[np.uint64]


class Written(NamedTuple):
    """What a pass writes. returns: room for those of all episodes, or histories, that are over, in units of 1/RETURN. moves:
    scratch for one cell more than there are rows: cells of transitions are noted there first and counted together at the end, so
    that the processor fetches many at once. gone: (rows,) what became of the person of each, by that row, and beforehand what the
    row says of it.
    """

    sums: Sums
    episodes: EpisodeTable
    returns: NDArray[np.int64]
    moves: NDArray[np.int64]
    spending: Spending
    gone: NDArray[np.int64]


@compiled
def place(chosen: Chosen, person: int, mark: int, skip: int) -> int:
    """Where the first choice stands that is not before that of a person, a mark and a skip."""
    low, high = 0, chosen.who.size
    while low < high:
        middle = (low + high) // 2
        who, which, after = chosen.who[middle], chosen.mark[middle], chosen.skip[middle]
        if who < person or (who == person and (which < mark or (which == mark and after < skip))):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def counts(chosen: Chosen, person: int, mark: int) -> tuple[bool, bool]:
    """Whether an episode that begins counts, and whether it stands for its person; takes note that it came."""
    if not chosen.some:
        return True, True
    first = place(chosen, person, mark, -1)
    if first == chosen.who.size or chosen.who[first] != person or chosen.mark[first] != mark:
        return False, False
    before = chosen.seen[first]
    chosen.seen[first] += 1
    at = place(chosen, person, mark, before)
    if at == chosen.who.size or chosen.who[at] != person or chosen.mark[at] != mark or chosen.skip[at] != before:
        return False, False
    return True, bool(chosen.drawn[at])


@compiled
def note(sums: Sums, problem: int, row: int) -> None:
    """Note a row with a problem."""
    seen = sums.problems[problem]
    if seen < SHOWN:
        sums.rows[problem, seen] = row
    sums.problems[problem] = seen + 1


@compiled
def last_cell(rules: Rules, sums: Sums, steps: int, pair: tuple[int, int], following: int, row: int) -> int:
    """The cell of the last transition of an episode of this many steps, made from a state and action in that row; -1 if none."""
    frame, (s, a), target = rules.frame, pair, following
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
    if rules.support.shape[2] > 0 and not rules.support[s, a, target]:
        note(sums, SUPPORT, row)
        return -1
    layer = steps - 1 if frame.layers > 1 else 0
    return frame.transitions + ((layer * frame.states + s) * frame.actions + a) * frame.states + target


@compiled
def follow(sums: Sums, gone: NDArray[np.int64], i: int, before: tuple[int, int, int], broken: bool) -> int:
    """What became of the person by row i of a batch, where it is written; before: what had by the row before, the step, and
    the row's
    number. Notes who is lost before the first row, or goes on after the last."""
    was, h, row = before
    now = gone[i]
    if was >= STOPPED:
        now = was
    elif now == STOPPED and h == 0 and not broken:
        note(sums, NO_START, row)
        now = UNTAKEN
    elif was == LOST and now != STOPPED and not broken:
        note(sums, WENT_ON, row)
        now = UNTAKEN
    gone[i] = min(now, STOPPED)
    return int(now)


@compiled
def finish(rules: Rules, sums: Sums, steps: int, last: tuple[int, int, int, int], gone: int, counted: bool) -> int:
    """The cell of the last transition of an episode, as `last_cell` has it; -1 of a person who was lost, which is
    counted. last: its
    state, action, next state and row."""
    s, a, following, row = last
    away = gone > 0 and steps < rules.frame.horizon
    if sums.lost.size > 0 and counted:
        sums.lost[s * rules.frame.actions + a if away else sums.lost.size - 1] += 1
    return -1 if away else last_cell(rules, sums, steps, (s, a), following, row)


@compiled
def return_of(frame: Frame, steps: int, earned: int) -> int:
    """The return of an episode of this many steps, with what the steps after its end pay."""
    return earned + (frame.horizon - steps) * frame.after


@compiled
def close(rules: Rules, sums: Sums, carry: NDArray[np.int64], row: int, apart: bool = False) -> int:
    """The episode that is open after the last row of a part is over: its return, or that of its history, or -1 if none counts.
    apart: see `Chosen`.
    """
    if not carry[OPEN] or carry[BROKEN]:
        return -1
    if carry[COUNTED] or apart:
        last = carry[S], carry[A], carry[AFTER], row
        cell = finish(rules, sums, carry[TAKEN], last, carry[GONE], carry[COUNTED] != 0)
        if carry[COUNTED]:
            if cell >= 0 and carry[WITHIN]:
                sums.cells[cell] += rules.frame.unit
            carry[CAME] += 1
            carry[TOTAL] += return_of(rules.frame, carry[TAKEN], carry[EARNED])
    return mean_return(rules.frame, sums, carry[CAME], carry[TOTAL])


@compiled
def mean_return(frame: Frame, sums: Sums, came: int, total: int) -> int:
    """The mean of this many returns that add up to a total, or -1 of none; of a history, notes how many there are."""
    if came == 0:
        return -1
    if frame.history > 0:
        sums.came[min(came, frame.history) - 1] += 1
    return (2 * total + came) // (2 * came)


@compiled
def wrong_place(frame: Frame, s: int, a: int, following: int) -> int:
    """What is wrong with a row's states and action by themselves, or -1."""
    if s < 0 or s >= (frame.states - 1 if frame.end >= 0 else frame.states):
        return STATE if s != MISSING else NO_STATE
    if a < 0 or a >= frame.actions:
        return ACTION if a != MISSING else NO_ACTION
    return NEXT if following < -1 or following >= frame.states else -1


@compiled
def wrong_reward(frame: Frame, reward: float) -> int:
    """What is wrong with a reward, or -1."""
    if math.isnan(reward):
        return NOT_A_NUMBER
    return RANGE if (reward < frame.least or reward > frame.most) and not frame.clip else -1


@compiled
def share_of(frame: Frame, reward: float) -> float:
    """A reward as a number in [0, 1], clipped."""
    share = (min(max(reward, frame.least), frame.most) - frame.low) / (frame.high - frame.low)
    return min(max(share, 0.0), 1.0)


@compiled
def level_of(frame: Frame, share: float, word: np.uint64) -> int:
    """The level to which a reward is rounded: up with the probability that makes it right on average, by a random word."""
    scaled = share * frame.levels
    floor = math.floor(scaled)
    level = int(floor)
    if scaled > floor and int(word >> np.uint64(11)) * 2.0**-53 < scaled - floor:
        level += 1
    return frame.levels - level if frame.cost else level


@compiled
def paid_in(frame: Frame, batch: RowBatch, i: int) -> tuple[int, float]:
    """The level of the reward of a row, and the reward in [0, 1]; 0 where rewards are known."""
    if batch.rows.reward.size == 0:
        return 0, 0.0
    share = share_of(frame, batch.rows.reward[i])
    return level_of(frame, share, batch.words[i] if i < batch.words.size else LARGEST), share


@compiled
def add_step(frame: Frame, cells: NDArray[np.int64], pair: int, level: int) -> None:
    """Count a visit of a pair and its reward, in the parts of the cells that are asked for."""
    unit, levels = frame.unit, frame.levels
    if frame.visits >= 0:
        cells[frame.visits + pair] += unit
    if frame.rewards >= 0:
        cells[frame.rewards + pair] += level * (unit // levels)
    if frame.squares >= 0:
        cells[frame.squares + pair] += level * level * (unit // levels**2)
    if frame.centred >= 0:
        cells[frame.centred + pair] += (2 * level - frame.centre) * (unit // (2 * levels))
    if frame.halves >= 0:
        cells[frame.halves + pair] += unit // 2


@compiled
def wrong_order(step: int, h: int, horizon: int) -> int:
    """What is wrong with a row as step h of its episode, or -1. step: its number, from 0."""
    if step != h:
        return DUPLICATE if h > 0 and step == h - 1 else GAP
    return LONG if h >= horizon else -1


@compiled
def wrong_row(rules: Rules, problem: int, order: int, pair: tuple[int, int], left_out: bool) -> int:
    """What is wrong with a row of an episode that is whole so far, or -1. problem: with its states and action by
    themselves; order: with
    its step; left_out: whether it does not begin where the row before it ended."""
    if order >= 0 or problem >= 0:
        return order if order >= 0 else problem
    if left_out:
        return CHAIN
    return -1 if rules.allowed[pair[0], pair[1]] else ALLOWED


@compiled
def tally(rules: Rules, chosen: Chosen, batch: RowBatch, carry: NDArray[np.int64], written: Written) -> tuple[int, int]:
    """Count a batch of rows; returns how many episodes began, and how many returns were written. carry: where the open episode
    stands, from batch to batch.
    """
    rows, frame = batch.rows, rules.frame
    sums, episodes, moves = written.sums, written.episodes, written.moves
    chained, by_episode, by_step = rows.following.size > 0, rows.episode.size > 0, rows.step.size > 0
    states, actions, first, layered = frame.states, frame.actions, frame.first_step, frame.layers > 1
    # Where the open episode stands, in registers.
    is_open, broken, counted, within = carry[OPEN] != 0, carry[BROKEN] != 0, carry[COUNTED] != 0, carry[WITHIN] != 0
    checked = counted or chosen.apart
    person, visit, h, earned = carry[USER], carry[EPISODE], carry[TAKEN], carry[EARNED]
    came, total, drawn, history = carry[CAME], carry[TOTAL], False, frame.history
    before, done, expected = carry[S], carry[A], carry[AFTER]
    begun, moving, over, gone = 0, 0, 0, carry[GONE]
    for i in range(rows.user.size):
        row = batch.base + i
        again = rows.episode[i] != visit if by_episode else by_step and frame.restarts and rows.step[i] == first
        other = not is_open or rows.user[i] != person
        if other or again:
            if is_open and not broken and checked:
                moves[moving] = finish(rules, sums, h, (before, done, expected, row - 1), gone, counted)
                moving += counted and moves[moving] >= 0 and within
                came += counted
                total += counted * return_of(frame, h, earned)
            if other or history == 0:
                written.returns[over] = mean_return(frame, sums, came, total)
                over += came > 0
                came, total = 0, 0
                begin_spending(written.spending)
            is_open, broken, h, earned, person, gone = True, False, 0, 0, rows.user[i], THERE
            visit = rows.episode[i] if by_episode else 0
            counted, drawn = counts(chosen, person, visit)
            checked = counted or chosen.apart
            episodes.people[begun], episodes.marks[begun] = person, visit
            episodes.begun[begun], episodes.counted[begun], episodes.drawn[begun] = row, counted, drawn
            begun += 1
        gone = follow(sums, written.gone, i, (gone, h, row), broken)
        broken |= gone == UNTAKEN
        if gone >= STOPPED:
            continue
        s, a, following = rows.state[i], rows.action[i], rows.following[i] if chained else -1
        reward = rows.reward[i] if rows.reward.size > 0 else frame.least
        problem = wrong_place(frame, s, a, following)
        if not broken:  # of a broken episode only what is wrong with a row by itself is noted
            order = wrong_order(rows.step[i] - first if by_step else h, h, frame.horizon)
            problem = wrong_row(rules, problem, order, (s, a), chained and h > 0 and expected != s)
        problem = problem if problem >= 0 else wrong_reward(frame, reward)
        if problem < 0 and not broken and checked and h > 0 and not rules.support[before, done, s]:
            problem, row = SUPPORT, row - 1
        if problem >= 0:
            note(sums, problem, row)
            broken = True
        if broken:
            continue
        sums.clipped[0] += reward < frame.least or reward > frame.most
        level, share = paid_in(frame, batch, i)
        if counted:
            if h == 0:
                sums.starts[s] += drawn
            else:
                layer = h - 1 if layered else 0
                moves[moving] = frame.transitions + ((layer * states + before) * actions + done) * states + s
                moving += within
            pair = ((h if layered else 0) * states + s) * actions + a
            paid = math.floor((1.0 - share if frame.cost else share) * RETURN + 0.5)
            earned += rules.pay[pair] if rules.pay.size > 0 else paid
            left = frame.horizon - h - 1 + max(history - came - 1, 0) * frame.horizon
            within = frame.budget == 0 or spend(written.spending, pair, left, frame.budget)
            if within:
                add_step(frame, sums.cells, pair, level)
        before, done, expected = s, a, following
        h += 1
    for i in range(moving):
        sums.cells[moves[i]] += frame.unit
    carry[OPEN], carry[BROKEN], carry[COUNTED], carry[WITHIN] = int(is_open), int(broken), int(counted), int(within)
    carry[USER], carry[EPISODE], carry[TAKEN], carry[EARNED] = person, visit, h, earned
    carry[S], carry[A], carry[AFTER], carry[CAME], carry[TOTAL] = before, done, expected, came, total
    carry[GONE] = gone
    return begun, over
