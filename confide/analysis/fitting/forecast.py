"""Forecasts what privacy will cost, before anything is spent: from the noise of the mechanism that a fit would use.

The average pair (s, a) is visited m = n H/(S A) times by n people, or n/(S A) times in each layer of a per-step model.
The value of its next state, on a scale from 0 to 1, is then known up to 1/(2 sqrt(m)) by chance, and up to
sigma sqrt(w)/(2 m) by privacy: sigma is the noise of one count and w the number of next states, which are all noised. A
public table of possible transitions makes w small, and is free.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ... import validation
from ...errors import InvalidInput
from ...mdp import STATIONARY, Spec
from ...mdp.knowledge import Knowledge
from ...mdp.memory import check_memory
from ...privacy import Guarantee, Schedule
from ...privacy.guarantee import CENTRAL, LOCAL
from ...protocol.design import AUTO, Request, make
from ...protocol.kinds import CountQuestion
from ...protocol.kinds.bandit import BanditQuestion
from ...protocol.kinds.counts import CENTRED, HALF_CELLS, TRANSITIONS, average_visits
from ...protocol.outlook import people_for_pair, row_noise
from ...protocol.releases.release import Noise
from ...protocol.trusts.budgets import VISITED_SHARE, counted_for, visits_pay, visits_question
from ...protocol.trusts.central import RETURNS_SHARE, std
from .plan import FEWEST_PEOPLE, NONE, PREVIOUS_SHARE, STARTS_SHARE, USUAL_SHARE, question_for, tells_previous

NoiseOf = Callable[[float], float]
"""The standard deviation of the noise of one count, by how many people there are."""

_Drawn = tuple[str, NoiseOf, float | None]

PEOPLE = 1000
"""How many people the noise of one count is stated for."""
DECADES = 6
SUPPORT_SHARE = 0.1
"""Which share of all states a support leaves a pair, by default."""

FACTORS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Factors between guarantees that are compared, in rho; an epsilon has the root of it."""


@dataclass(frozen=True)
class ForecastRow:
    """What `people` people would give: visits of the average pair, and the error of its next state's value in [0, 1].

    chance: without privacy. private, supported: with it, without and with a table of possible transitions.
    """

    people: int
    visits: float
    chance: float
    private: float
    supported: float


@dataclass(frozen=True)
class Forecast:
    """What a guarantee costs. noise: standard deviation of one count of `people_at` people. needed, needed_supported: how many
    people until the
    average pair exceeds the noise, without and with a table of possible transitions that leaves `next_states`.
    """

    guarantee: Guarantee
    mechanism: str
    noise: float
    people_at: int
    next_states: int
    needed: float
    needed_supported: float
    rows: tuple[ForecastRow, ...]


def forecast(
    states: int,
    actions: int,
    horizon: int,
    privacy: Guarantee,
    *,
    model: str = STATIONARY,
    next_states: int | None = None,
    rewards_known: bool = False,
    people: int | None = None,
    last_state: bool = True,
    judge: float | str = AUTO,
) -> Forecast:
    """How much a guarantee costs for a problem of these sizes. The guarantee is central, or local for comparison.

    last_state: the log has the state after every step, the last one too; if not, visits are asked for beside transitions. people:
    how many there are, if that is known. judge: which share of them judges, as in a fit. Rows begin at about a tenth of whatever is
    least: these, or those who are needed.
    """
    spec = Spec(states, actions, horizon, model)
    check_memory(spec)
    most = spec.states
    default = max(2, math.ceil(SUPPORT_SHARE * most))
    width = validation.integer("next_states", min(default, most) if next_states is None else next_states, 1, most)
    question, rows_of = question_for(_sizes(spec, rewards_known), last_state), [most, width]
    if horizon == 1 and privacy.trust == LOCAL:
        question = CountQuestion(spec, (TRANSITIONS,) if rewards_known else (CENTRED, TRANSITIONS))
    elif horizon == 1:  # nothing follows, so a table of that saves nothing
        rows_of = [1 if rewards_known else round(HALF_CELLS)] * 2
    each = spec.states * spec.actions / (spec.horizon if spec.layers == 1 else 1)
    share = 0.0 if judge == NONE or privacy.trust == LOCAL else USUAL_SHARE if judge == AUTO else float(judge)
    fewest = FEWEST_PEOPLE if judge == AUTO else 0
    # Of each number of cells, what is drawn where all users are counted, and where some judge.
    alone, beside = (
        [_noise(question, privacy, cells, judged) for cells in rows_of]
        for judged in (False, share > 0 and tells_previous(spec))
    )

    def error(people: int, number: int) -> float:
        judged = share > 0 and people >= fewest
        (_, noise, _), visits = (beside if judged else alone)[number], people * (1 - share * judged) / each
        spread = noise(people) * math.sqrt(rows_of[number]) / (2 * visits)
        return min(1.0, math.hypot(0.5 / math.sqrt(visits), spread))

    def counted(drawn: _Drawn, cells: int) -> float:
        _, noise, visits = drawn
        return people_for_pair(lambda people: row_noise(noise(people), cells, visits), each)

    needed = [counted(drawn, cells) for drawn, cells in zip(alone, rows_of, strict=True)]
    if share > 0:
        apart = [counted(drawn, cells) / (1 - share) for drawn, cells in zip(beside, rows_of, strict=True)]
        needed = [few if few < fewest else many for few, many in zip(needed, apart, strict=True)]
    rows = [
        ForecastRow(*(n, n / each, min(1.0, 0.5 / math.sqrt(n / each))), *(error(n, number) for number in (0, 1)))
        for n in _numbers(people, needed)
    ]
    name, noise, _ = (alone if fewest > PEOPLE else beside)[0]
    return Forecast(privacy, name, noise(PEOPLE), PEOPLE, width, needed[0], needed[1], tuple(rows))


def _numbers(people: int | None, needed: list[float]) -> list[int]:
    """The numbers of people that rows are about: theirs, and powers of ten from below the least of them and of those who are
    needed."""
    own = [] if people is None else [validation.integer("people", people, 1)]
    finite = [count for count in (*needed, *own) if math.isfinite(count)]
    first = max(1, math.floor(math.log10(max(min(finite, default=PEOPLE), 1))) - 1)
    return sorted({*own, *(10**power for power in range(first, first + DECADES))})


@dataclass(frozen=True)
class Prospect:
    """Another guarantee, and how many people it would take: without and with a table of possible transitions."""

    promise: Guarantee
    strength: float
    needed: float
    needed_supported: float


def what_if(base: Forecast, **sizes: Any) -> list[Prospect]:
    """Forecasts for weaker and stronger guarantees than `base` has; strength is rho or epsilon. sizes: as for `forecast`."""
    promise = base.guarantee
    rows = []
    for factor in FACTORS:
        if promise.rho is not None:
            strength = float(f"{promise.rho * factor:.12g}")  # 0.02, and not what floats make of 0.2 times 0.1
            other = replace(promise, rho=strength)
        else:
            strength = float(f"{(promise.epsilon or 0.0) * math.sqrt(factor):.6g}")
            other = replace(promise, epsilon=strength)
        again = forecast(privacy=other, **sizes)
        rows.append(Prospect(other, strength, again.needed, again.needed_supported))
    return rows


def people_needed(knowledge: Knowledge, noise: float, visits: float | None = None) -> float:
    """How many users until the average pair exceeds the noise, with counts that have noise of that deviation.

    visits: the deviation of the noise in its visits, where they are asked for by themselves.
    """
    spec, pairs, width = knowledge.spec, knowledge.acting, knowledge.average_width
    if spec.horizon == 1:
        width = HALF_CELLS if knowledge.rewards is None else 1.0
    each = float(pairs.sum()) / (spec.horizon if spec.layers == 1 else 1)
    return people_for_pair(row_noise(noise, width, visits), each)


def _sizes(spec: Spec, rewards_known: bool) -> Knowledge:
    import numpy as np

    rewards = np.zeros((spec.states, spec.actions)) if rewards_known else None
    return Knowledge.declared(spec, rewards=rewards, ends=False)


def _noise(question: CountQuestion | BanditQuestion, promise: Guarantee, width: int, previous: bool = False) -> _Drawn:
    """The mechanism of the real act, the standard deviation of one count of this many people, and that of a pair's visits, where a
    fit asks for them by themselves. width: to how many states a pair leads. previous: actions are asked for by the one before, too.
    """
    if promise.trust not in (CENTRAL, LOCAL):
        raise InvalidInput("forecast-trust", f"A forecast is made for central or local privacy. Got {promise}.")
    asked, share, visits = counted_for(question, AUTO, not promise.pure), 1 - STARTS_SHARE - RETURNS_SHARE, None
    if promise.trust == LOCAL:
        asked, share, previous = question, 1.0, False
    elif visits_pay(asked, width, not promise.pure):
        share -= VISITED_SHARE
        by_itself = Request(visits_question(asked), promise, Schedule.every(1), share=VISITED_SHARE)
        visits = std(make(by_itself))
    share -= PREVIOUS_SHARE * previous
    design = make(Request(asked, promise, Schedule.every(1), share=share))
    column = Noise._fields.index("transitions")
    # A question that counts less of a person, or asks few about a pair, has that much less to be seen above its noise.
    counted = design.kind.signal(design.question)[1] / average_visits(question.spec)

    def noise(people: float) -> float:
        return math.sqrt(float(design.kind.noise(design.question, design.law(people))[column])) / counted

    return design.mechanism.name, noise, visits
