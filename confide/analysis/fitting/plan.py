"""A fit with every choice made and every question priced, before a row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...data.privatizers import Total, open_aggregate
from ...data.statistics.counting import DatasetCounts
from ...data.trajectories.dataset import Dataset
from ...data.trajectories.labels import BY_CATEGORY
from ...errors import InvalidInput
from ...learning.planning.consistency import settle
from ...mdp import Spec
from ...mdp.knowledge import Knowledge
from ...mechanisms.mechanism import NoiseMechanism
from ...mechanisms.noise import NoiseSource
from ...privacy import Act, Certificate, Guarantee, Loss, Schedule, compose, rho_of, true_guarantee
from ...protocol.design import AUTO, TIGHT, Design, Request, make
from ...protocol.kinds import CountQuestion
from ...protocol.kinds.bandit import BanditQuestion, Counted
from ...protocol.kinds.counts import (
    CENTRED,
    COUNTED,
    DROPPED,
    LEVELS,
    MIDDLE,
    REWARDS,
    TRANSITIONS,
    VISITS,
    nearest_centre,
)
from ...protocol.kinds.returns import ReturnsQuestion, ReturnsRelease
from ...protocol.releases import CountRelease
from ...protocol.releases.release import VisitCounts
from ...protocol.trusts.budgets import ALL, VISITED_SHARE, counted_for, visits_pay, visits_question
from ...protocol.trusts.central import RETURNS_SHARE, possible_cells, std, takes_laplace, together
from ...validation import Json

STARTS_SHARE = 0.05
"""Of the guarantee, spent on how often each state comes first, where that is unknown: one count a person against H."""

SHAVED = 1e-9
"""The share by which the other questions ask for less than is left, so that floats do not round the sum above the guarantee."""

WEIGHED_SHARE = 0.2
"""Of the guarantee, spent on rewards weighed by logged propensities, where these are given."""

PREVIOUS_SHARE = 0.1
"""Of the guarantee, spent on actions by the one before, where people judge by chances that are estimated."""

USUAL_SHARE, FEWEST_PEOPLE, NONE = 0.3, 2000, "none"
"""The share of the people who judge by default, and from how many people on; of fewer all users are counted."""

MOST_ACTIONS = 8
"""With more actions too few visits are left of each action before, and chances depend on the state alone."""

CAME_SHARE = 0.03
"""Of the guarantee, spent on how many episodes people's histories have, where these are counted."""

LOST_SHARE = 0.05
"""Of the guarantee, spent on who was lost to follow-up after which state and action, where people may be: one count a person."""

COUNTS, STARTS, RETURNS, WEIGHED, VISITED = "counts", "starts", "returns", "weighed", "visited"
PREVIOUS, CAME, LOST = "previous", "came", "lost"
RELEASED = {
    COUNTS: "counts",
    STARTS: "first states",
    RETURNS: "returns",
    WEIGHED: "returns, weighted by propensities",
    VISITED: "how often each pair was counted",
    PREVIOUS: "actions by the action before",
    CAME: "how many episodes people have",
    LOST: "who was lost to follow-up",
}
"""What each release is about, in words."""
FAILURE = 0.05
OF_VALUES = "of values, not of privacy:"
"""How conditions begin that no guarantee needs."""

ONCE = Schedule.every(1)
"""The schedule of a data set: one release."""


class PricedPlan:
    """What follows from the acts of a plan and from what they are to keep."""

    promise: Guarantee

    @property
    def acts(self) -> list[Act[NoiseMechanism]]:
        """The acts of privacy."""
        raise NotImplementedError

    @cached_property
    def loss(self) -> Loss:
        """That of all acts together."""
        return compose([act.loss for act in self.acts])

    @cached_property
    def guarantee(self) -> Guarantee:
        """The true guarantee of all acts together."""
        return true_guarantee(self.loss, self.promise)

    @cached_property
    def cost(self) -> float:
        """The rho that a ledger is charged."""
        return rho_of(self.loss) or 0.0


class Published(NamedTuple):
    """An algorithm as its paper has it: `paper` or `sound`, whose constants, and the only question that is asked."""

    calibration: str
    paper: str
    question: CountQuestion

    def designed(self, data: Dataset, promise: Guarantee, mechanism: str, failure: float, schedule: Schedule) -> Design:
        """The design of the question, for all of the guarantee; the last step's transition is counted where the log has it."""
        knowledge = data.knowledge
        question = self.question.having(
            last=COUNTED if data.columns.next_state or knowledge.ends else DROPPED,
            levels=LEVELS if knowledge.rewards is None else 1,
        )
        return make(
            Request(
                question,
                promise,
                schedule,
                self.calibration,
                mechanism,
                self.paper,
                failure=failure,
                possible=possible_cells(question, knowledge),
                episodes=data.users.charged,
            )
        )


@dataclass(frozen=True)
class CountPlan:
    """Counts of all users, how often each state comes first, and people's returns: priced together, asked once.

    calibration: `tight`, or `paper` or `sound` where one question is asked as its paper asks it.
    """

    data: Dataset
    promise: Guarantee
    designs: dict[str, Design]
    failure: float
    calibration: str = TIGHT

    @classmethod
    def published(
        cls,
        data: Dataset,
        promise: Guarantee,
        published: Published,
        mechanism: str = AUTO,
        failure: float = FAILURE,
        schedule: Schedule = ONCE,
    ) -> CountPlan:
        """The plan of a fit as a paper has it: one question, for all of the guarantee."""
        if data.floor is not None:
            raise InvalidInput(
                "paper-asks-no-propensities",
                "The paper asks for no propensities. Leave --propensity out, or --calibration.",
            )
        if data.users.history:
            raise InvalidInput(
                "paper-knows-no-histories",
                "Papers count one episode of a person, and no histories. Use --users limit, or leave --calibration out.",
            )
        if data.loses:
            raise InvalidInput(
                "paper-knows-no-losses",
                "Papers know of no losses to follow-up. Leave --lost and --missing end out, or --calibration.",
            )
        accepted, promised = validation.between("failure", failure, 1e-12, 0.5), replace(promise, unit=data.unit)
        design = published.designed(data, promised, mechanism, accepted, schedule)
        return cls(data, promised, {COUNTS: design}, accepted, published.calibration)

    @classmethod
    def unprotected(cls, data: Dataset, promise: Guarantee, visits: str | int, schedule: Schedule) -> CountPlan:
        """The plan without any privacy, of simulated people: the counts as they are, from which returns follow."""
        knowledge = data.knowledge
        question = CountQuestion(
            knowledge.spec, (TRANSITIONS,) if knowledge.rewards is not None else (CENTRED, TRANSITIONS)
        )
        if visits not in (AUTO, ALL):
            raise InvalidInput(
                "budget-without-privacy", "Without privacy there is no noise for a budget to lower. Leave --visits out."
            )
        request = Request(question, promise, schedule, failure=FAILURE, possible=possible_cells(question, knowledge))
        return cls(data, promise, {COUNTS: make(request)}, FAILURE)

    @classmethod
    def of(
        cls,
        data: Dataset,
        promise: Guarantee,
        mechanism: str = AUTO,
        failure: float = FAILURE,
        visits: str | int = AUTO,
        reward_centre: float | None = None,
        judged: bool = False,
    ) -> CountPlan:
        """The plan of a fit: what is asked, and what it costs. visits: `all`, a budget for repeated ones, or what pays.
        reward_centre: the public level at which rewards are centred, in people's units. judged: others judge what is chosen, by
        chances of actions which depend on the one before.
        """
        knowledge, pure = data.knowledge, takes_laplace(mechanism, replace(promise, unit=data.unit))
        centre = centre_of(reward_centre, data)
        told = bool(data.columns.next_state) and not data.loses
        asked, history = question_for(knowledge, told, centre, data.loses), data.users.history
        counted = counted_for(asked, ALL if data.loses else visits, not pure, history)
        questions: dict[str, Any] = {COUNTS: counted}
        if visits_pay(counted, knowledge.average_width, not pure):
            questions[VISITED] = visits_question(counted)
        if knowledge.initial is None:
            questions[STARTS] = CountQuestion(Spec(knowledge.spec.states, 1, 1), (VISITS,))
        if data.floor is not None and knowledge.spec.horizon == 1:
            questions[WEIGHED] = CountQuestion(knowledge.spec, (REWARDS,), levels=LEVELS)
        if judged and data.floor is None and tells_previous(knowledge.spec):
            questions[PREVIOUS] = previous_question(knowledge.spec)
        if data.loses:
            questions[LOST] = CountQuestion(Spec(knowledge.acting.size + 1, 1, 1), (VISITS,))
        if history:
            questions[CAME] = CountQuestion(Spec(int(ranges_of(history)[-1]) + 1, 1, 1), (VISITS,))
        shares = {STARTS: STARTS_SHARE, RETURNS: RETURNS_SHARE, WEIGHED: WEIGHED_SHARE, VISITED: VISITED_SHARE}
        shares |= {PREVIOUS: PREVIOUS_SHARE, CAME: CAME_SHARE, LOST: LOST_SHARE}
        spent = sum(shares[name] for name in questions if name != COUNTS) + (0.0 if data.loses else RETURNS_SHARE)
        shares[COUNTS] = (1.0 - spent) * (1 - SHAVED)
        accepted = validation.between("failure", failure, 1e-12, 0.5)
        promised, radii = replace(promise, unit=data.unit), len(questions)
        if not data.loses:  # what the returns of those who are lost are unknown
            questions[RETURNS] = ReturnsQuestion.of(knowledge.spec.horizon, pure, knowledge.returns)
        priced = together(
            [
                Request(
                    question,
                    promised,
                    ONCE,
                    mechanism=mechanism,
                    failure=accepted / radii,
                    share=shares[name],
                    possible=_possible(name, question, knowledge),
                    episodes=data.users.charged,
                )
                for name, question in questions.items()
            ]
        )
        return cls(data, promised, dict(zip(questions, priced, strict=True)), accepted)

    @property
    def question(self) -> Counted:
        """The main question: the counts."""
        return self.designs[COUNTS].question  # type: ignore[return-value]

    @property
    def counts(self) -> bool:
        """Whether counts are released, from which any policy can be judged."""
        return True

    @property
    def features(self) -> None:
        """None: counts need no features."""
        return None

    @property
    def split(self) -> bool:
        """False: all users are counted together."""
        return False

    @property
    def acts(self) -> list[Act[NoiseMechanism]]:
        """Every act of privacy, in the order in which they are done."""
        return [design.act for design in self.designs.values()]

    @cached_property
    def guarantee(self) -> Guarantee:
        """The true guarantee of all acts together."""
        return true_guarantee(compose([act.loss for act in self.acts]), self.promise)

    @cached_property
    def cost(self) -> float:
        """The rho that a ledger is charged: that of all acts together."""
        rho = rho_of(compose([act.loss for act in self.acts]))
        if rho is None:
            raise InvalidInput(
                "guarantee-without-rho",
                f"{self.promise} has no rho, in which ledgers count. Ask for rho, or epsilon and delta.",
            )
        return rho

    @property
    def noise_stated(self) -> tuple[float, str]:
        """A standard deviation of noise, and which number has it."""
        return std(self.designs[COUNTS]), "every count"

    @property
    def visits_noise(self) -> float | None:
        """The standard deviation of the noise in a pair's visits, where they are asked for by themselves."""
        return std(self.designs[VISITED]) if VISITED in self.designs else None

    @property
    def described(self) -> dict[str, Json]:
        """What a fit writes down of it: how often radii may be wrong, and the budget for repeated visits, if there is one."""
        budget, centre = self.question.budget, self.question.counts.centre
        level = in_units(centre, self.data)
        return {
            "failure": self.failure,
            **({} if self.calibration == TIGHT else {"calibration": self.calibration}),
            **({"visits": budget} if budget else {}),
            **({} if centre == MIDDLE else {"reward_centre": level}),
        }

    @property
    def bytes_needed(self) -> int:
        """About how many bytes the output takes."""
        possible = self.designs[COUNTS].possible
        spec, cells = self.question.spec, self.question.cells if possible is None else int(possible.sum())
        return (4 << 20) + 5 * cells + 40 * spec.horizon * spec.states * max(spec.actions // 4, 4)

    def release(
        self, counted: DatasetCounts, noise: NoiseSource, simulated: bool = False
    ) -> dict[str, CountRelease | ReturnsRelease]:
        """Draw the noise. What comes out may be published. simulated: the people are, so noise may be replayable."""
        cells = {COUNTS: counted.cells, STARTS: counted.starts, RETURNS: counted.returns, WEIGHED: counted.weighed}
        cells |= {PREVIOUS: counted.previous, LOST: counted.lost}
        if CAME in self.designs:
            cells[CAME] = np.bincount(ranges_of(len(counted.came)), counted.came).astype(np.int64)
        if VISITED in self.designs:
            cells[VISITED] = rows_of(self.question, counted.cells)
        released: dict[str, CountRelease | ReturnsRelease] = {}
        for name, design in self.designs.items():
            aggregate = open_aggregate(design, noise, simulated=simulated)
            aggregate.take_sum(Total(cells[name], counted.users))
            released[name] = aggregate.close()
        return released

    def certificate(self, noise: str) -> Certificate:
        """The certificate of the guarantee to every person in the data."""
        if not self.promise.private:
            return self.designs[COUNTS].certificate(noise)
        remarks = list(self.designs[COUNTS].remarks)
        if self.question.counts.centre != MIDDLE:
            remarks.append(
                f"rewards are centred at {in_units(self.question.counts.centre, self.data):g}, a public level"
            )
        certificate = Certificate.of(
            self.acts, self.promise, self.calibration, noise, [*assumptions(self.data), *remarks]
        )
        return certificate.about([RELEASED[name] for name in self.designs])


def question_for(
    knowledge: Knowledge, next_known: bool, centre: float = MIDDLE, loses: bool = False
) -> CountQuestion | BanditQuestion:
    """The smallest question from which everything can be estimated. next_known: whether the state after the last step is logged.
    centre: of rewards that are not known. loses: whether people may be lost, so that their last transition is not counted.

    Of a single step nothing follows, so no transition is asked for. Otherwise visits are rows of transitions if every step's
    transition is counted: its next state is given, or it may be taken
    for the end because in a per-step model nothing has a value after the last step (and because every pair may
    end). Otherwise visits are asked for too.
    """
    spec, end = knowledge.spec, knowledge.end
    if spec.horizon == 1:
        known = knowledge.rewards is not None
        return CountQuestion(spec, (VISITS,), DROPPED) if known else BanditQuestion.of(spec, LEVELS, centre)
    rewards = () if knowledge.rewards is not None else (CENTRED,)
    may_end = end is not None and bool(knowledge.support[:, :, end].all())
    last_counted = not loses and (next_known or (may_end and spec.layers > 1))
    parts = (*rewards, TRANSITIONS) if last_counted else (VISITS, *rewards, TRANSITIONS)
    counted, levels = COUNTED if last_counted else DROPPED, LEVELS if rewards else 1
    return CountQuestion(spec, parts, counted, levels, centre=centre if rewards else MIDDLE)


def tells_previous(spec: Spec) -> bool:
    """Whether chances of actions are estimated by the action before, too: in pooled models with few actions."""
    return spec.layers == 1 and spec.horizon > 1 and spec.actions <= MOST_ACTIONS


def previous_question(spec: Spec) -> CountQuestion:
    """Visits of pairs of state and action by the action before, of which none is one more: (A+1, S, A) cells, at most H visits a
    person, whose price is that of visits in a world of (A+1) S states."""
    return CountQuestion(Spec((spec.actions + 1) * spec.states, spec.actions, spec.horizon), (VISITS,), DROPPED)


def centre_of(level: float | None, data: Dataset) -> float:
    """Where rewards are centred: nearest to a public level in people's units, on the grid of rewards; None is the middle."""
    if level is None:
        return MIDDLE
    if data.knowledge.rewards is not None:
        raise InvalidInput(
            "reward-centre-known-rewards",
            "Known rewards are not queried, so they have no centre. Leave --reward-centre out.",
        )
    low, high = data.reward_range
    inside = validation.between(
        "reward centre", level, low, high, "Name a level that rewards are near, such as their rate."
    )
    return nearest_centre((inside - low) / (high - low), LEVELS)


def in_units(centre: float, data: Dataset) -> float:
    """The centre of rewards, in people's units."""
    low, high = data.reward_range
    return low + (high - low) * centre


def rows_of(question: Counted, cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """(S A,) how often each pair was counted: the sums of its transitions, in counts."""
    counts = question.counts
    rows = cells[counts.slices[TRANSITIONS]].reshape(-1, counts.next_states).sum(axis=1)
    return np.asarray(rows // counts.resolution)


def together_read(releases: Mapping[str, Any]) -> dict[str, Any]:
    """Releases by name, in which counts know of visits that were asked for by themselves, and of how many episodes people have."""
    counts = releases[COUNTS].with_visits(releases.get(VISITED))
    if LOST in releases:
        counts = replace(counts, lost=losses_in(releases[LOST], counts))
    if CAME in releases:
        counts = replace(counts, came=law_of(releases[CAME], counts.episodes))
    return {**releases, COUNTS: counts}


def losses_in(release: CountRelease, counts: CountRelease) -> VisitCounts:
    """How many were lost after each state and action: (1, S, A), with the variance of the noise."""
    spec = counts.question.spec
    table = release.counts.visits.ravel()[:-1].reshape(1, spec.states, spec.actions)
    return VisitCounts(table, release.noise.transitions)


def ranges_of(most: int) -> NDArray[np.int64]:
    """(most,) in which range each number of episodes is counted: 1, 2, 3 to 4, 5 to 8, and so on, in few cells for any number."""
    return np.array([number.bit_length() for number in range(most)], dtype=np.int64)


def law_of(release: CountRelease, most: int) -> NDArray[np.float64]:
    """(most,) the law of how many episodes people have, all numbers of a range alike."""
    ranges = ranges_of(most)
    shares = np.maximum(release.counts.visits.ravel() / max(release.users, 1), 0.0)
    settle(shares, 1.0)
    return np.asarray(shares[ranges] / np.bincount(ranges)[ranges])


LOST_BY = f"{OF_VALUES} who is lost to follow-up depends on nothing that matters but the last recorded state and action"


def assumptions(data: Dataset) -> list[str]:
    """The conditions under which the guarantee holds, in sentences."""
    users, horizon = data.users, data.knowledge.spec.horizon
    people = {
        "one": "one episode a person" if data.columns.user else "every episode is another person's",
        "limit": "one episode of every person, drawn at random",
        "all": f"up to {users.most} episodes of every person, drawn at random of more, as one history; returns are the mean of its "
        "episodes', and first states are those of one of them, drawn at random",
        "group": f"at most {users.most} episodes a person, charged as a group of {users.most}",
    }[users.mode]
    low, high = data.declared
    if data.columns.by_row:
        people = "every row is another person's"
    rewards = "known rewards" if data.knowledge.rewards is not None else f"rewards in [{low:g}, {high:g}]"
    if data.return_range is not None:
        rewards += f", returns clipped to [{data.return_range[0]:g}, {data.return_range[1]:g}]"
    public = (
        "the number of people is public; so are sizes, labels, edges and tables, none of which was read off the data"
    )
    if data.labels_seen:
        public = (
            "the number of people is public; so are sizes, edges and tables, none of which was read off the data. The labels "
            "were, and were confirmed by hand: that a label occurs is not hidden"
        )
    missing = ["missing entries of states are a public category of their own"] if data.missing == BY_CATEGORY else []
    missing += [LOST_BY] if data.loses else []
    if data.weights is not None:
        bound, mean = data.weights
        missing.append(
            f"people are drawn by their sampling weights, {mean / bound:.3g} of them, which keeps the price; of values, not of "
            f"privacy: no weight exceeds {bound:g}, and their mean is {mean:g}"
        )
    return [
        f"{people}, of at most {horizon} step{'' if horizon == 1 else 's'}; chained steps, {rewards}: checked on every row",
        public,
        f"{_charged_once(data)}; the curator keeps the data to itself",
        *missing,
        f"{OF_VALUES} the recorded state tells all that matters for what follows, and for what practice did",
    ]


def _charged_once(data: Dataset) -> str:
    """How far it was excluded that other ledgers are charged for the same people."""
    if not data.files:
        return "the data lay in memory, so that it is spent from this ledger only is not checked"
    return (
        "no other ledger is charged for these files, or for copies of the same bytes in their folder, the one above or those right "
        "below; that other copies, excerpts or forms of the data are charged elsewhere is not excluded"
    )


def _possible(name: str, question: Any, knowledge: Knowledge) -> NDArray[np.bool_] | None:
    if name == RETURNS:
        return None
    if name == COUNTS:
        return possible_cells(question.counts, knowledge)
    if name in (WEIGHED, VISITED):
        return np.tile(knowledge.acting.ravel(), knowledge.spec.layers)
    if name == PREVIOUS:
        return np.tile(knowledge.acting.ravel(), knowledge.spec.actions + 1)
    if name == LOST:
        return np.append(knowledge.acting.ravel(), True)
    possible = np.ones(question.cells, dtype=np.bool_)
    if name == STARTS and knowledge.end is not None:
        possible[knowledge.end] = False
    return possible
