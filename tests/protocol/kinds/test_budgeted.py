"""Budgeted counts: the rule, the budget it keeps, and its price by brute force."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from confide.data.privatizers import open_aggregate, respond
from confide.data.statistics.answers import answer
from confide.data.statistics.tabular import count, counted_in_history, counted_steps
from confide.data.trajectories import Trajectory
from confide.errors import FormatError, InvalidInput
from confide.lab.audit import audit, targets_of
from confide.lab.simulation.draws import World, layout_of, walk_budgeted
from confide.learning.planning.logged import logged_model
from confide.learning.planning.practice import practice_in
from confide.mdp import PER_STEP, Policy, Spec
from confide.mdp.knowledge import Knowledge
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Central, Joint, Local, Schedule
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion, read
from confide.protocol.kinds.budgeted import BudgetedQuestion, default_budget
from confide.protocol.kinds.counts import CENTRED, END, FREE_VISITS, HALVES, TRANSITIONS, VISITS
from confide.protocol.releases.release_bytes import from_bytes
from confide.protocol.trusts.budgets import counted_for
from tests.refusals import refused

FORMS = {
    (TRANSITIONS,): 2.0,
    (VISITS,): 2.0,
    (VISITS, TRANSITIONS): 4.0,
    (CENTRED, TRANSITIONS): 3.0,
    (VISITS, CENTRED, TRANSITIONS): 4.5,
}


def episodes(spec: Spec) -> list[Trajectory]:
    """Every episode of up to H steps that always or never pays: in between, sums of rewards are less far apart."""
    results = []
    for steps in range(1, spec.horizon + 1):
        for states in itertools.product(range(spec.states), repeat=steps + 1):
            for actions in itertools.product(range(spec.actions), repeat=steps):
                for paid in (0.0, 1.0):
                    results.append(Trajectory(np.array(states), np.array(actions), np.full(steps, paid)))
    return results


def cells_of(question: BudgetedQuestion, episode: Trajectory) -> np.ndarray:
    def zeros(high: int, many: int) -> np.ndarray:
        return np.zeros(many, dtype=np.int64)

    return answer(question.kind, question, episode, 1 / question.resolution, zeros)[1] / question.resolution


@pytest.mark.parametrize("last", ["counted", END])
@pytest.mark.parametrize(("states", "actions", "horizon"), [(2, 1, 4), (1, 2, 4), (2, 2, 3), (3, 1, 3), (1, 1, 5)])
def test_no_two_people_are_further_apart_than_the_price(states: int, actions: int, horizon: int, last: str) -> None:
    spec = Spec(states, actions, horizon)
    everybody = episodes(spec)
    least = min(horizon, states * actions)
    for budget in sorted({least, least + 1, 2 * horizon, horizon**2 - 1, horizon**2}):
        whole = CountQuestion(spec, (VISITS, CENTRED, TRANSITIONS), last)
        budgeted_question = BudgetedQuestion(whole, budget)
        cells = np.array([cells_of(budgeted_question, one) for one in everybody])
        low, high = budgeted_question.range
        assert (cells >= low).all() and (cells <= high).all()
        for parts in FORMS:
            kept = np.concatenate([np.arange(whole.cells)[whole.slices[part]] for part in parts])
            different = np.unique(cells[:, kept], axis=0)
            price = BudgetedQuestion(whole.having(parts=parts), budget).price()
            gaps = different[:, None] - different[None]
            assert (gaps**2).sum(axis=-1).max() <= price.l2**2 * (1 + 1e-12)
            assert np.abs(gaps).sum(axis=-1).max() <= price.l1


@pytest.mark.parametrize("last", ["counted", END])
@pytest.mark.parametrize(("states", "actions", "horizon"), [(2, 1, 4), (2, 2, 3), (3, 1, 3), (1, 1, 5)])
def test_half_the_visits_are_free(states: int, actions: int, horizon: int, last: str) -> None:
    """No one is further apart than 3B, the price without them, whichever is paid when."""
    spec = Spec(states, actions, horizon)
    mixed = [
        Trajectory(one.states, one.actions, np.array(paid, dtype=np.float64))
        for one in episodes(spec)[::2]
        for paid in itertools.product((0, 1), repeat=one.steps)
    ]
    for budget in sorted({min(horizon, states * actions), 2 * horizon}):
        question = BudgetedQuestion(CountQuestion(spec, FREE_VISITS, last), budget)
        without = BudgetedQuestion(question.counts.tight(), budget)
        if budget < horizon**2:
            assert question.price().l2 == without.price().l2
        cells = np.unique([cells_of(question, one) for one in mixed], axis=0)
        assert (cells >= question.range.low).all() and (cells <= question.range.high).all()
        gram = cells @ cells.T
        squares = np.diag(gram)
        assert (squares[:, None] + squares[None] - 2 * gram).max() <= question.price().l2 ** 2 * (1 + 1e-12)


def furthest(question: BudgetedQuestion) -> float:
    """The largest squared distance of two people, whichever is paid when."""
    people = {
        tuple(cells_of(question, Trajectory(one.states, one.actions, np.array(paid, dtype=np.float64))))
        for one in episodes(question.spec)[::2]
        for paid in itertools.product((0, 1), repeat=one.steps)
    }
    cells = np.array(sorted(people))
    assert (cells >= question.range.low).all() and (cells <= question.range.high).all()
    gram = cells @ cells.T
    return float((np.diag(gram)[:, None] + np.diag(gram)[None] - 2 * gram).max())


@pytest.mark.parametrize("parts", [(CENTRED, TRANSITIONS), FREE_VISITS, (VISITS, CENTRED, TRANSITIONS)], ids="+".join)
@pytest.mark.parametrize("centre", [0.5, 5 / 16, 0.25, 0.0, 0.75])
def test_nobody_is_further_apart_than_the_price_wherever_rewards_are_centred(
    parts: tuple[str, ...], centre: float
) -> None:
    for states, actions, horizon, budget in ((2, 1, 4, 4), (2, 1, 5, 5), (1, 2, 4, 5), (2, 2, 3, 4), (1, 1, 4, 5)):
        counts = CountQuestion(Spec(states, actions, horizon), parts, levels=16, centre=centre)
        question = BudgetedQuestion(counts, budget)
        assert furthest(question) <= question.price().l2 ** 2 * (1 + 1e-12)


def test_prices_by_centre_are_reached() -> None:
    """People who share all pairs, or none, are not the furthest apart: one visits two pairs twice and once, the other once and
    twice. By hand, H = 5, B = 5, c = 5/16: transitions 4 + 1 + 1 + 4; rewards (2 x 11/16 + 5/16)^2 in each of the two pairs.
    """
    apart = 10 + 2 * (2 * 11 / 16 + 5 / 16) ** 2
    question = BudgetedQuestion(CountQuestion(Spec(2, 1, 5), (CENTRED, TRANSITIONS), levels=16, centre=5 / 16), 5)
    assert furthest(question) == pytest.approx(apart) and apart > 15  # = 3B
    assert apart <= question.price().l2 ** 2 < 1.001 * apart
    # With half the visits beside it, who share no pair are: 4 + 4, and (1/4 + (11/16)^2) 8.
    halved = BudgetedQuestion(question.counts.having(spec=Spec(2, 1, 4), parts=FREE_VISITS), 4)
    assert furthest(halved) == pytest.approx(8 + 8 * (0.25 + (11 / 16) ** 2)) == pytest.approx(halved.price().l2 ** 2)


def test_half_visits_that_are_paid_apart_reach_the_price() -> None:
    # By hand: H = 4, B = 4, four pairs once each. Others' pairs: 4 + 4 in transitions, (1/4 + 1/4) 8 in the rest: 12 = 3B.
    question = BudgetedQuestion.of(CountQuestion(Spec(4, 2, 4)))
    assert question.counts.parts == FREE_VISITS and question.budget == 4
    walks = [Trajectory(np.array([0, 1, 2, 3, 0]), np.full(4, a), np.ones(4)) for a in (0, 1)]
    apart = cells_of(question, walks[0]) - cells_of(question, walks[1])
    assert (apart**2).sum() == 12.0 == pytest.approx(question.price().l2 ** 2)
    assert (apart[question.counts.slices[HALVES]] ** 2).sum() == 2.0


def test_half_visits_are_left_out_where_they_cost_something() -> None:
    # Nothing is dropped within a budget of H^2: 2.5 H^2 for centred rewards and transitions, 3 H^2 with half visits.
    assert BudgetedQuestion.of(CountQuestion(Spec(2, 2, 6)), 36).counts.parts == (CENTRED, TRANSITIONS)
    assert BudgetedQuestion.of(CountQuestion(Spec(2, 2, 6)), 12).counts.parts == FREE_VISITS


def test_visits_without_rewards_reach_their_price() -> None:
    # By hand: H = 4, B = 4, every pair seen once. Two people who share none differ by 4 in visits, and by 4 in transitions.
    spec = Spec(4, 2, 4)
    walks = [Trajectory(np.array([0, 1, 2, 3, 0]), np.full(4, a), np.zeros(4)) for a in (0, 1)]
    for parts, square in {(VISITS,): 8.0, (VISITS, TRANSITIONS): 16.0}.items():
        question = BudgetedQuestion(CountQuestion(spec, parts), 4)
        apart = cells_of(question, walks[0]) - cells_of(question, walks[1])
        assert (apart**2).sum() == square == pytest.approx(question.price().l2 ** 2)


def test_the_price_by_hand() -> None:
    for parts, factor in FORMS.items():
        question = BudgetedQuestion(CountQuestion(Spec(2, 2, 6), parts), 5)
        assert question.price().l2 ** 2 == pytest.approx(5 * factor)


def test_two_people_in_places_of_their_own() -> None:
    # By hand: H = 6, B = 4. A repeat costs 4 in all, so it must wait until nothing is held back: the last step. Two visits
    # each: transitions 2^2 + 2^2, centred rewards 1 + 1.
    question = BudgetedQuestion(CountQuestion(Spec(2, 2, 6), (CENTRED, TRANSITIONS)), 4)
    stay = [Trajectory(np.full(7, s), np.zeros(6, dtype=np.int64), np.full(6, float(s))) for s in (0, 1)]
    assert counted_steps(question, stay[0]).tolist() == [True, False, False, False, False, True]
    assert ((cells_of(question, stay[0]) - cells_of(question, stay[1])) ** 2).sum() == 10.0


def test_repeats_are_counted_while_the_budget_lasts() -> None:
    # By hand: H = 6, one pair in all, so nothing is held back; B = 9 = 3^2 lets three visits through.
    spec = Spec(1, 1, 6)
    question = BudgetedQuestion(CountQuestion(spec, (CENTRED, TRANSITIONS)), 9)
    episode = Trajectory(np.zeros(7, dtype=np.int64), np.zeros(6, dtype=np.int64), np.ones(6))
    assert counted_steps(question, episode).tolist() == [True, True, True, False, False, False]


def test_the_reserve_lets_late_pairs_through() -> None:
    # By hand: H = 4, S A = 4, B = 5. Two visits of one pair cost 4, and at step 2 two steps and three pairs are still to
    # come: 4 + 2 > 5, so the repeat is dropped, and both later pairs are counted.
    spec = Spec(4, 1, 4)
    question = BudgetedQuestion(CountQuestion(spec, (CENTRED, TRANSITIONS)), 5)
    episode = Trajectory(np.array([0, 0, 1, 2, 3]), np.zeros(4, dtype=np.int64), np.zeros(4))
    assert counted_steps(question, episode).tolist() == [True, False, True, True]


def test_the_default_is_twice_the_horizon_or_the_horizon() -> None:
    assert BudgetedQuestion.of(CountQuestion(Spec(6, 2, 20))).budget == 40
    assert BudgetedQuestion.of(CountQuestion(Spec(30, 2, 20))).budget == 20


def test_bytes_survive_and_others_are_refused() -> None:
    question = BudgetedQuestion.of(CountQuestion(Spec(3, 2, 8)))
    again = read("budgeted", question.to_bytes())
    assert again == question and again.digest == question.digest
    assert BudgetedQuestion(question.counts, question.budget + 1).digest != question.digest
    for bad in (b"", question.to_bytes()[:-1], question.counts.to_bytes()):
        with pytest.raises(FormatError):
            read("budgeted", bad)


@pytest.mark.parametrize(
    ("counts", "budget"),
    [
        (CountQuestion(Spec(2, 2, 4, PER_STEP), (CENTRED, TRANSITIONS)), 8),
        (CountQuestion(Spec(2, 2, 4)), 8),
        (CountQuestion(Spec(2, 2, 4), (CENTRED, TRANSITIONS), "dropped"), 8),
        (CountQuestion(Spec(2, 2, 4), (CENTRED, TRANSITIONS)), 3),
    ],
)
def test_what_has_no_budget_is_refused(counts: CountQuestion, budget: int) -> None:
    with pytest.raises(InvalidInput):
        BudgetedQuestion(counts, budget)


def test_walked_people_are_counted_as_the_rule_says() -> None:
    """Worlds without chance: every user walks the same, so the compiled walk must give exact multiples."""
    luck = np.random.default_rng(5)
    for _ in range(20):
        states, actions, horizon = 3, 2, 7
        spec = Spec(states, actions, horizon)
        moves = np.eye(states)[luck.integers(states, size=(1, states, actions))]
        paid = luck.integers(2, size=(1, states, actions)).astype(float)
        chosen = luck.integers(actions, size=(horizon, states))
        policy = Policy.deterministic(chosen, actions).probabilities
        states_met, actions_met = [0], []
        for h in range(horizon):
            actions_met.append(int(chosen[h, states_met[-1]]))
            states_met.append(int(moves[0, states_met[-1], actions_met[-1]].argmax()))
        rewards = [paid[0, s, a] for s, a in zip(states_met, actions_met, strict=False)]
        episode = Trajectory(np.array(states_met), np.array(actions_met), np.array(rewards))
        question = BudgetedQuestion(CountQuestion(spec, (CENTRED, TRANSITIONS)), int(luck.integers(6, 40)))
        cells = np.zeros(question.width)
        world = World(moves, paid, np.eye(states)[0])
        walk_budgeted(world, policy, 3, layout_of(question.counts), question.budget, luck, cells)
        np.testing.assert_array_equal(cells, 3 * cells_of(question, episode))


def test_joint_designs_take_a_budget_where_it_pays() -> None:
    schedule, promise = Schedule.batches(1000, 10), Joint(1.0, 1e-6)
    long, short = CountQuestion(Spec(6, 2, 20)), CountQuestion(Spec(1, 2, 2))
    budgeted_design = make(Request(long, promise, schedule))
    assert budgeted_design.question.kind == "budgeted" and budgeted_design.act.sensitivity.l2 == pytest.approx(
        math.sqrt(120)
    )
    assert "budget of 40" in str(budgeted_design.certificate("opendp"))
    assert make(Request(short, promise, schedule)).question.kind == "counts"
    assert make(Request(long, promise, schedule, budget=0)).question.kind == "counts"
    assert make(Request(long, promise, schedule, budget=60)).question.budget == 60
    assert make(Request(long, Joint(1.0), schedule)).question.kind == "counts"  # Laplace noise gains nothing
    many = make(Request(long, promise, Schedule.batches(10**8, 10)))
    assert many.question.kind == "counts" and "left out" in str(many.certificate("opendp"))
    with pytest.raises(InvalidInput, match="budget"):
        make(Request(long, Joint(1.0), schedule, budget=60))
    again = Design.from_bytes(budgeted_design.to_bytes())
    assert again.digest == budgeted_design.digest and again.guarantee == budgeted_design.guarantee


def test_no_budget_takes_more_noise_than_none() -> None:
    # By hand: H = 6, all visits cost 2.5 H^2 = 90, so a budget of 29 costs 87 and one of 30 is no better than none.
    question, schedule = CountQuestion(Spec(3, 2, 6), (CENTRED, TRANSITIONS)), Schedule.batches(100, 1)
    for promise in (Joint(1.0, 1e-6), Local(rho=0.5), Central(rho=0.5)):
        within, beyond = (make(Request(question, promise, schedule, budget=budget)) for budget in (29, 30))
        assert within.question.kind == "budgeted" and within.act.sensitivity.l2**2 == pytest.approx(87)
        assert beyond.question.kind == "counts" and beyond.act.sensitivity.l2**2 == pytest.approx(90)
    assert [counted_for(question, budget, gaussian=True).budget for budget in (29, 30)] == [29, 0]
    certificate = str(make(Request(question, Joint(1.0, 1e-6), schedule, budget=30)).certificate("opendp"))
    assert "a budget of 30 would not take less noise" in certificate


def test_beyond_ten_million_people_all_visits_are_counted_and_it_is_said() -> None:
    long = CountQuestion(Spec(6, 2, 20))
    for promise in (Joint(1.0, 1e-6), Local(rho=0.5)):
        for people, kind, said in ((10**7, "budgeted", False), (10**7 + 1, "counts", True)):
            design = make(Request(long, promise, Schedule.batches(people, 10)))
            assert design.question.kind == kind
            assert ("a budget of 40 is left out beyond 10,000,000 people" in str(design.certificate("opendp"))) == said


def test_a_release_of_budgeted_counts_estimates_rows() -> None:
    spec, people = Spec(2, 1, 6), 400
    design = make(Request(CountQuestion(spec), Joint(50.0, 1e-3), Schedule.batches(people, 1), budget=12))
    aggregate, luck = open_aggregate(design), np.random.default_rng(0)
    for _ in range(people):
        states = [0]
        for _ in range(spec.horizon):
            states.append(int(luck.random() < (0.7 if states[-1] == 0 else 0.2)))
        aggregate.take(respond(design, None, Trajectory(np.array(states), np.zeros(6, dtype=np.int64), np.zeros(6))))
    counts = aggregate.close().counts
    row = counts.transitions[0, :, 0] / counts.visits[0, :, 0, None]
    # More than 1,000 counted visits a pair; the error of a share is below 0.016, and noise is far less. 6 of these.
    np.testing.assert_allclose(row, [[0.3, 0.7], [0.8, 0.2]], atol=0.1)


def test_local_gaussian_noise_takes_a_budget_where_it_pays() -> None:
    schedule, long = Schedule.batches(1000, 10), CountQuestion(Spec(6, 2, 20))
    budgeted_design = make(Request(long, Local(rho=0.5), schedule))
    assert budgeted_design.question.kind == "budgeted" and budgeted_design.act.sensitivity.l2 == pytest.approx(
        math.sqrt(120)
    )
    assert "budget of 40" in str(budgeted_design.certificate("opendp"))
    assert make(Request(long, Local(rho=0.5), schedule, budget=0)).question.kind == "counts"
    assert make(Request(long, Local(1.0, 1e-6), schedule, mechanism="gaussian", budget=60)).question.budget == 60
    assert make(Request(CountQuestion(Spec(1, 2, 2)), Local(rho=0.5), schedule)).question.kind == "counts"
    with pytest.raises(InvalidInput, match="budget"):
        make(Request(long, Local(1.0), schedule, budget=60))
    walk = Trajectory(np.zeros(21, dtype=np.int64), np.zeros(20, dtype=np.int64), np.zeros(20))
    aggregate = open_aggregate(budgeted_design)
    aggregate.take(respond(budgeted_design, None, walk).to_bytes(budgeted_design))
    assert not aggregate.close().complete


def test_what_a_budget_leaves_out_is_not_read_off_it() -> None:
    """A data set may be counted under a budget; how people act, what they earn and where they begin is refused then."""
    spec = Spec(2, 2, 4)
    asked = CountQuestion(spec, (CENTRED, TRANSITIONS))
    design = make(Request(asked, Central(rho=1.0), Schedule.every(1), budget=8))
    assert design.act.sensitivity.l2 == pytest.approx(math.sqrt(24))
    aggregate = open_aggregate(design)
    aggregate.take(Trajectory(np.zeros(5, dtype=np.int64), np.zeros(4, dtype=np.int64), np.zeros(4)))
    release = aggregate.close()
    again = from_bytes(release.to_bytes())
    knowledge = Knowledge.declared(spec, ends=False)
    for one in (release, again):
        assert not one.complete and one.budget == 8
        for read_off in (practice_in, logged_model):
            with pytest.raises(InvalidInput, match="budget"):
                read_off(one, knowledge)
    with pytest.raises(InvalidInput, match="budget"):
        make(Request(asked, Central(1.0), Schedule.every(1), budget=8))


def test_an_audit_of_budgeted_releases_passes_and_catches_half_the_noise() -> None:
    """Both releases of a curator; replayable noise, so that the outcome is the same for everyone."""
    design = make(Request(CountQuestion(Spec(2, 2, 3)), Joint(1.0, 0.01), Schedule.batches(2, 2), budget=5))
    assert design.question.kind == "budgeted"
    honest = audit(targets_of("budgeted", design), 20_000, delta=0.01, noise=ReplayableNoise(0))
    assert honest.ok and honest.lower_bound > 0.8 * honest.ideal_bound
    half = replace(design.mechanism, sigma=design.mechanism.sigma / 2)
    mutant = replace(design, act=replace(design.act, mechanism=half))
    claimed = [replace(target, loss=design.act.loss) for target in targets_of("half", mutant)]
    assert not audit(claimed, 20_000, delta=0.01, noise=ReplayableNoise(0)).ok


def histories(spec: Spec, most: int) -> list[list[Trajectory]]:
    """Every history of 1 to this many episodes."""
    return [list(history) for many in range(1, most + 1) for history in itertools.product(episodes(spec), repeat=many)]


def cells_of_history(question: BudgetedQuestion, history: list[Trajectory]) -> np.ndarray:
    """What is counted of a history, by the rule in plain Python."""
    counted = counted_in_history(question, history)
    levels = [np.rint(one.rewards * question.counts.levels).astype(np.int64) for one in history]
    cells = [count(question.counts, *parts) for parts in zip(history, levels, counted, strict=True)]
    return np.sum(cells, axis=0) / question.resolution


@pytest.mark.parametrize("last", ["counted", END])
@pytest.mark.parametrize(
    ("states", "actions", "horizon", "most"), [(2, 1, 2, 2), (1, 2, 2, 2), (1, 1, 2, 3), (2, 1, 1, 4), (1, 3, 1, 4)]
)
def test_no_two_histories_are_further_apart_than_the_price(
    states: int, actions: int, horizon: int, most: int, last: str
) -> None:
    """All pairs of all histories, of people who come once and of those who come m times, whatever the budget is."""
    spec = Spec(states, actions, horizon)
    everybody = histories(spec, most)
    steps = most * horizon
    least = min(steps, states * actions)
    for budget in sorted({least, least + 1, 2 * steps, steps**2 - 1, steps**2}):
        whole = CountQuestion(spec, (VISITS, CENTRED, TRANSITIONS), last)
        question = BudgetedQuestion(whole, budget, most)
        cells = np.unique([cells_of_history(question, one) for one in everybody], axis=0)
        low, high = question.range
        assert (cells >= low).all() and (cells <= high).all()
        assert (cells[:, whole.slices[VISITS]] ** 2).sum(axis=1).max() <= budget
        for parts in FORMS:
            kept = np.concatenate([np.arange(whole.cells)[whole.slices[part]] for part in parts])
            different = np.unique(cells[:, kept], axis=0)
            price = BudgetedQuestion(whole.having(parts=parts), budget, most).price()
            gaps = different[:, None] - different[None]
            assert (gaps**2).sum(axis=-1).max() <= price.l2**2 * (1 + 1e-12)
            assert np.abs(gaps).sum(axis=-1).max() <= price.l1


def test_the_price_of_a_history_is_reached_and_grows_like_the_root_of_its_episodes() -> None:
    # By hand: one step, m = 6, B = 18. Three visits of each of two pairs, 9 + 9. Of two people who are there equally often, go to
    # other states and are paid apart: P 4 x 9, Rc 2 x 3^2, together 54 = 3B.
    question = BudgetedQuestion(CountQuestion(Spec(2, 1, 1), (CENTRED, TRANSITIONS)), 18, 6)
    assert question.price().l2 ** 2 == pytest.approx(54) and question.steps == 6
    staying = [Trajectory(np.array([s, s]), np.array([0]), np.ones(1)) for s in (0, 0, 0, 1, 1, 1)]
    leaving = [Trajectory(np.array([s, 1 - s]), np.array([0]), np.zeros(1)) for s in (0, 0, 0, 1, 1, 1)]
    first, second = (cells_of_history(question, one) for one in (staying, leaving))
    assert ((first - second) ** 2).sum() == 54
    asked = CountQuestion(Spec(6, 2, 20), (CENTRED, TRANSITIONS))
    prices = [BudgetedQuestion(asked, default_budget(asked.spec, many), many).price().l2 for many in (2, 8, 32)]
    assert prices == pytest.approx([prices[0], 2 * prices[0], 4 * prices[0]])
    assert BudgetedQuestion(asked, 320**2, 16).price().l2 == pytest.approx(16 * asked.price().l2)  # nothing is dropped


def test_histories_are_for_data_sets_and_their_bytes_say_so() -> None:
    counts = CountQuestion(Spec(2, 2, 3), (CENTRED, TRANSITIONS))
    question = BudgetedQuestion(counts, 12, 2)
    assert read(question.kind, question.to_bytes()) == question
    assert BudgetedQuestion(counts, 12).to_bytes() != question.to_bytes() and "up to 2 episodes" in question.remarks[0]
    central = make(Request(question, Central(rho=1.0), Schedule.every(1)))
    assert Design.from_bytes(central.to_bytes()).question == question
    release = replace(open_aggregate(central).close(), came=None)
    assert from_bytes(release.to_bytes()).episodes == 2
    joint = make(Request(CountQuestion(Spec(2, 2, 3)), Joint(1.0, 0.01), Schedule.batches(2, 2), budget=5))
    forged = replace(joint, question=replace(joint.question, episodes=2))
    with refused("history-outside-data-set"):
        forged.verified()
    with refused("design-unreadable"):
        Design.from_bytes(forged.to_bytes())
    for most in (0, 1001):
        with pytest.raises(InvalidInput, match="history"):
            BudgetedQuestion(counts, 12, most)
