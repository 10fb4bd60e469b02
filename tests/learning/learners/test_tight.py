"""Our own plan without a scale, against its formulas written again: what is drawn, what it is drawn around, who is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from confide.learning import learners
from confide.learning.learners import Context, State, TabularLearner
from confide.learning.planning.standard_errors import RATE, START
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.privacy import Guarantee
from confide.protocol.releases.release import BATCHES, NO_NOISE, PEOPLES, CountRelease, Counts, Noise, Radius
from tests.refusals import refused

TOTAL = 10_000
SIZES = {"states": 4, "actions": 3, "horizon": 5}


def tight(name: str = "ucbvi", **options: Any) -> TabularLearner:
    result = learners.make(name, **options)
    assert isinstance(result, TabularLearner)
    return result


def blank(spec: Spec) -> Counts:
    pairs = (spec.layers, spec.states, spec.actions)
    return Counts(np.zeros(pairs), np.zeros(pairs), np.zeros(pairs), np.zeros((*pairs, spec.states)))


def drawn_counts(spec: Spec, rng: np.random.Generator, people: int, noise: float) -> Counts:
    each = people * spec.horizon // spec.layers
    pairs = (spec.layers, spec.states, spec.actions)
    share = rng.dirichlet(np.ones(spec.states * spec.actions))
    visits = rng.multinomial(each, share, size=spec.layers).reshape(pairs)
    moved = np.array([rng.multinomial(n, rng.dirichlet(np.full(spec.states, 0.5))) for n in visits.ravel()])
    rewards = rng.binomial(visits, rng.random(pairs))
    parts = (visits, rewards, rewards, moved.reshape(*pairs, spec.states))
    return Counts(*(part + noise * rng.standard_normal(part.shape) for part in parts))


def learn(learner: TabularLearner, state: State, counts: Counts, noise: Noise, users: int) -> State:
    release = CountRelease(learner.ask(state), users, counts, Radius.zero(), 0.1, Guarantee.none(), noise)
    return learner.learn(state, release)


def begun(learner: TabularLearner, spec: Spec) -> State:
    return learner.begin(Context(spec, TOTAL), np.random.default_rng(7))


def standing(state: State) -> np.random.Generator:
    """A generator that stands where the state's does."""
    again = np.random.default_rng()
    again.bit_generator.state = state.rng.bit_generator.state
    return again


def estimate(
    counts: Counts, where: tuple[int, int, int], sigma: float, states: int, visits: float | None = None
) -> tuple[float, float, np.ndarray]:
    """n^, the mean reward and the row of a pair. visits: the deviation of their noise, if it is not that of a row."""
    n = max(1.0, counts.visits[where], sigma * np.sqrt(states) if visits is None else visits)
    row = np.maximum(counts.transitions[where] - min(2 * sigma, n / 5), 0)
    row = row / row.sum() if row.sum() > 0 else np.full(states, 1 / states)
    return n, float(np.clip(counts.rewards[where] / n, 0, 1)), row


def solved(q: Any, spec: Spec, sense: float) -> tuple[np.ndarray, np.ndarray]:
    """Greedy in q(h, s, a, V), last step first; values clipped."""
    policy, values = np.zeros((spec.horizon, spec.states, spec.actions)), np.zeros((spec.horizon + 1, spec.states))
    for h in reversed(range(spec.horizon)):
        for s in range(spec.states):
            each = [q(h, s, a, values[h + 1]) for a in range(spec.actions)]
            best = int(np.argmax(sense * np.array(each)))
            policy[h, s, best] = 1
            values[h, s] = np.clip(each[best], 0, spec.horizon - h)
    return policy, values


@dataclass
class Told:
    """What is known of all pairs, and what was drawn; by the docstring of `value_sampling`."""

    spec: Spec
    parts: dict[Any, tuple[float, float]]
    rows: np.ndarray
    m2: np.ndarray
    drawn: np.ndarray
    v_t: float
    v_c: float
    luck: float

    def value(self, h: int, s: int, a: int, V: np.ndarray) -> float:
        where = (h if self.spec.layers > 1 else 0, s, a)
        (r, n), row, many, L = self.parts[where], self.rows[where], self.m2[where], self.luck
        t2, mean = 0.25 + V.var(), 0.5 + V.mean()
        if n == 0:
            return float(mean + self.drawn[where] * np.sqrt(t2))
        here = r + row @ V
        lucky = r * (1 - r) + row @ V**2 - (row @ V) ** 2
        noise = many * (self.v_t * ((V + 0.5 - here) ** 2).sum() + self.v_c) / n**2
        e2 = noise + L * (n * lucky + L * t2) / ((n + L) * n)
        w = t2 / (t2 + e2)
        return float(w * here + (1 - w) * mean + self.drawn[where] * np.sqrt(w * e2))


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("objective", ["reward", "cost"])
@pytest.mark.parametrize(("luck", "own"), [(1.0, PEOPLES), (6.5, PEOPLES), (1.0, BATCHES)])
def test_values_are_drawn_around_what_weighed_people_told(kind: str, objective: str, luck: float, own: float) -> None:
    """Three releases in a row with noise of people's own, by the docstring of `value_sampling`; two draws a batch that widens."""
    sense, told_apart = 1.0 if objective == "reward" else -1.0, set()
    for seed, size in ((0, 0.5), (1, 3.0), (2, 30.0)):
        spec, rng, learner = Spec(dynamics=kind, **SIZES), np.random.default_rng(seed), tight(objective=objective)
        state, plain = begun(learner, spec), blank(spec)
        S, shape = spec.states, plain.visits.shape
        weighed, m2, users = [np.zeros_like(part) for part in plain], np.zeros(shape), 0
        assert np.all(state.policy == 1 / spec.actions)
        before = Counts(*(np.zeros_like(part) for part in plain))
        trust, rows = np.zeros(shape), np.full((*shape, S), 1 / S)
        v_t, v_c = size**2, 2 * size**2
        for more in (100, 30, 400):
            rho = np.mean([expected(spec, each, before, rows, trust) for each in state.policies], axis=0)
            v = S * v_t / luck
            most = 1 if spec.layers > 1 else spec.horizon
            u = (1 + v / most) * rho / (rho + v)
            before, users = plain, users + more
            plain = Counts(*map(np.add, plain, drawn_counts(spec, rng, more, size * np.sqrt(more))))
            m2 = m2 + u**2 * more
            for part, new, old in zip(weighed[:4], plain[:4], before[:4], strict=True):
                part += (u if part.ndim == 3 else u[..., None]) * (new - old)
            z = standing(state)
            state = learn(
                learner, state, plain, Noise(own, v_t * users, v_c * users, luck, spec.states * v_t * users), users
            )
            c = 0.1 * (TOTAL / users) ** (1 / 3) if own == PEOPLES else 0.4 * (TOTAL / users) ** 0.1
            assert len(state.policies) == (1 if own == PEOPLES else 2)
            given, trust = Counts(*weighed), np.zeros(shape)
            parts = {}
            for where in np.ndindex(shape):
                total = S * v_t * m2[where]
                _, r, rows[where] = estimate(given, where, np.sqrt(v_t * m2[where]), S)
                n2 = max(0.0, given.visits[where] ** 2 - total) if given.visits[where] > 0 else 0.0
                trust[where] = n2 / (n2 + total + luck * np.sqrt(n2)) if n2 > 0 else 0.0
                parts[where] = r, np.sqrt(n2)

            for each in state.policies:
                told_of = Told(spec, parts, rows, m2, c * z.standard_normal(shape), v_t, v_c, luck)
                policy, values = solved(told_of.value, spec, sense)
                assert np.array_equal(each, policy)
            assert np.allclose(state.values, values, rtol=1e-8, atol=1e-8)
            before = plain  # whose visits say where people start
            told_apart.add(round(float(values.sum()), 6))
    assert len(told_apart) > 5, "the comparison must see values that differ"


def expected(spec: Spec, policy: np.ndarray, seen: Counts, rows: np.ndarray, trust: np.ndarray) -> np.ndarray:
    """The visits (L, S, A) of one person; rows are believed as far as `trust` says."""
    start = np.maximum(seen.visits[0].sum(axis=-1), 0)
    here = start / start.sum() if start.sum() > 0 else np.full(spec.states, 1 / spec.states)
    visits = np.zeros(rows.shape[:3])
    for h in range(spec.horizon):
        layer = h if spec.layers > 1 else 0
        flow = here[:, None] * policy[h]
        visits[layer] += flow
        mixed = trust[layer][..., None] * rows[layer] + (1 - trust[layer][..., None]) / spec.states
        here = np.einsum("sa,sat->t", flow, mixed)
    return visits


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("name", ["ucbvi", "pucb", "psrl"])
def test_a_curators_noise_is_answered_with_eight_drawn_models(kind: str, name: str) -> None:
    """Dirichlet rows and beta rewards, drawn again in the same order; gammas are divided by their sum. Unknown rows are narrow in
    all models of the first people, and later in ever fewer; `psrl` has none.
    """
    spec, rng, learner = Spec(dynamics=kind, **SIZES), np.random.default_rng(3), tight(name)
    state, narrow, sigma = begun(learner, spec), [], 6.0
    shown = sigma * spec.states * spec.actions * spec.layers / spec.horizon
    for users in (200, 20_000, 2_000_000):
        share = min(1.0, max(1 / 8, (30 * shown / users) ** 0.5))
        counts = drawn_counts(spec, rng, users, sigma)
        noise, z = Noise(0.0, sigma**2, 50.0, 1.0, 70.0), standing(state)
        state = learn(learner, state, counts, noise, users)
        assert len(state.policies) == (1 if name == "psrl" else 8)
        narrow.append(0)
        for drawn in state.policies:
            few = name != "psrl" and z.random() < share
            narrow[-1] += few
            model = drawn_model(spec, counts, np.ones(counts.visits.shape), noise, z, 1 / spec.states if few else 1.0)
            assert np.array_equal(drawn, solved(model, spec, 1.0)[0])
    assert narrow == [0, 0, 0] if name == "psrl" else narrow[0] == 8 and 0 < sum(narrow[1:]) < 12


def drawn_model(
    spec: Spec, counts: Counts, shares: np.ndarray, noise: Noise, z: np.random.Generator, alpha: float = 1.0
) -> Any:
    """q(h, s, a, V) of a model that is drawn by the docstring of `sampling`, where a pair has a share of the noise."""
    model, S, L = {}, spec.states, noise.luck
    for where in np.ndindex(counts.visits.shape):
        moves, visits = shares[where] * noise.transitions, shares[where] * noise.visits
        n, r, row = estimate(counts, where, np.sqrt(moves), S, np.sqrt(visits))
        seen = counts.visits[where] >= 1
        sure = n * n / (L * n + moves) if seen else 0.0
        paid = n * n / (L * n + shares[where] * noise.centred + visits * (r - 0.5) ** 2) if seen else 0.0
        gammas = np.array([z.standard_gamma(alpha + sure * p) for p in row])
        won = z.standard_gamma(1 + paid * r)
        model[where] = won / (won + z.standard_gamma(1 + paid * (1 - r))), gammas / gammas.sum()

    def q(h: int, s: int, a: int, V: np.ndarray) -> float:
        r, row = model[h if spec.layers > 1 else 0, s, a]
        return float(r + row @ V)

    return q


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("luck", [1.0, 6.5])
def test_posterior_sampling_knows_whose_noise_it_is(kind: str, luck: float) -> None:
    """Two releases with noise of people's own: the second group is weighed by the visits expected in the model drawn first."""
    spec, rng, learner = Spec(dynamics=kind, **SIZES), np.random.default_rng(5), tight("psrl")
    state, S, v = begun(learner, spec), spec.states, 9.0
    most, plain, users = 1 if spec.layers > 1 else spec.horizon, blank(spec), 0
    weighed, m2, past = blank(spec), np.zeros(plain.visits.shape), blank(spec)
    for more in (100, 300):
        rho = np.array(learner.ask(state).expected)
        u = (1 + S * v / luck / most) * rho / (rho + S * v / luck)
        past, users = plain, users + more
        plain = Counts(*map(np.add, plain, drawn_counts(spec, rng, more, np.sqrt(v * more))))
        m2 = m2 + u**2 * more
        for part, new, old in zip(weighed[:4], plain[:4], past[:4], strict=True):
            part += (u if part.ndim == 3 else u[..., None]) * (new - old)
        noise, z = Noise(1.0, v * users, 2 * v * users, luck, S * v * users), standing(state)
        state = learn(learner, state, plain, noise, users)
        assert state.mixture is None
        assert np.array_equal(state.policy, solved(drawn_model(spec, weighed, m2 / users, noise, z), spec, 1.0)[0])
    assert m2.min() < 300 and m2.std() > 1, "weights must differ"


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
def test_without_noise_optimism_is_one_standard_error(kind: str) -> None:
    spec, rng, learner = Spec(dynamics=kind, **SIZES), np.random.default_rng(4), tight()
    for people in (1, 8, 300):
        counts = drawn_counts(spec, rng, people, 0.0)
        state = begun(learner, spec)
        state.memory.scouts[:] = 1e9, people, 0.0  # enough exploration users for ever
        result = learn(learner, state, counts, NO_NOISE, people)

        def q(h: int, s: int, a: int, V: np.ndarray, counts: Counts = counts) -> float:
            where = (h if spec.layers > 1 else 0, s, a)
            n, r, row = estimate(counts, where, 0.0, spec.states)
            v = max(r * (1 - r), 1 / (n + 2))
            spread = np.sqrt(max(0.0, row @ V**2 - (row @ V) ** 2) / n)
            first = np.sqrt(v / n) if counts.visits[where] >= 1 else spec.horizon - 0.25 / n
            return float(r + row @ V + first + spread + (spec.horizon - h + 1) / (4 * n))

        assert np.allclose(result.values, solved(q, spec, 1.0)[1], atol=1e-7)


@pytest.mark.parametrize("own", [0.0, 1.0])
@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
def test_policy_optimisation_has_a_rate_for_each_state(kind: str, own: float) -> None:
    """Two releases; with noise of people's own they are weighed. By the docstrings of `po` and `noisy_errors`."""
    spec, rng, learner = Spec(dynamics=kind, **SIZES), np.random.default_rng(5), tight("po", objective="reward")
    S, A, H = spec.states, spec.actions, spec.horizon
    state, before, users, sums = begun(learner, spec), blank(spec), 0, np.zeros((H, S))
    logits, weighed, m2 = np.zeros((H, S, A)), [np.zeros_like(part) for part in blank(spec)[:4]], 0.0
    for more in (60, 200):
        rho, v = state.memory.weighted.expected.copy(), S * 4.0
        u = (1 + v / (1 if spec.layers > 1 else H)) * rho / (rho + v) if own else np.ones_like(rho)
        users, policy = users + more, state.policy
        after = Counts(*map(np.add, before, drawn_counts(spec, rng, more, 2.0 * np.sqrt(more))))
        m2 = m2 + u**2 * more
        for part, new, old in zip(weighed, after[:4], before[:4], strict=True):
            part += (u if part.ndim == 3 else u[..., None]) * (new - old)
        before, given = after, Counts(*weighed)
        state = learn(learner, state, after, Noise(own, 4.0 * users, 5.0 * users, 1.0, 6.0 * users), users)
        V, Q = np.zeros((H + 1, S)), np.zeros((H, S, A))
        for h in reversed(range(H)):
            for s, a in np.ndindex(S, A):
                where = (h if spec.layers > 1 else 0, s, a)
                T, C, D = 4.0 * m2[where], 5.0 * m2[where], 6.0 * m2[where]
                n, r, row = estimate(given, where, np.sqrt(T), S, np.sqrt(D))
                mean = row @ V[h + 1]
                luck = max(r * (1 - r), 1 / (n + 2)) / n
                first = np.sqrt(luck + (C + D * (r - 0.5) ** 2) / (2 * n) ** 2)
                apart = max(0.0, row @ V[h + 1] ** 2 - mean**2) / n + T * ((V[h + 1] - mean) ** 2).sum() / (2 * n) ** 2
                Q[h, s, a] = np.clip(r + mean + first + np.sqrt(apart) + (H - h + 1) / (4 * n), 0, H - h)
            V[h] = (policy[h] * Q[h]).sum(axis=-1)
        mean = (policy * Q).sum(axis=-1, keepdims=True)
        sums += more**2 * np.maximum((policy * Q**2).sum(axis=-1) - mean[..., 0] ** 2, 0)
        logits += more * np.sqrt(np.log(A) / np.where(sums > 0, sums, np.inf))[..., None] * (Q - mean)
        improved = np.exp(logits - logits.max(axis=-1, keepdims=True))
        assert np.allclose(state.policy, improved / improved.sum(axis=-1, keepdims=True), rtol=1e-6, atol=1e-9)
        assert np.allclose(state.values, V, rtol=1e-8, atol=1e-8)
    assert np.abs(state.policy - 1 / A).max() > 0.1


def test_ties_are_broken_at_random() -> None:
    """Nothing is known of any of three actions: each is chosen about as often. False alarm: below 1e-6."""
    spec, learner = Spec(dynamics=STATIONARY, **SIZES), tight()
    state, chosen = begun(learner, spec), np.zeros(3)
    for _ in range(200):
        state = learn(learner, state, blank(spec), NO_NOISE, 1)
        state.memory.scouts[:] = 1e9, 1, 0.0
        chosen += state.policy[0].sum(axis=0)
    assert np.all(np.abs(chosen - 800 / 3) < 5.5 * np.sqrt(800 * 2 / 9))


def test_scouts_are_few_and_never_stop_coming() -> None:
    """After k people 36 ln(1 + k/82) of them were exploration users, whatever the schedule."""
    spec, learner = Spec(dynamics=STATIONARY, **SIZES), tight()
    for step in (1, 2):
        state, sent = begun(learner, spec), 0
        for users in range(step, 3000, step):
            state = learn(learner, state, blank(spec), NO_NOISE, users)
            sent += step * bool(state.memory.scouts[2])
        assert sent == pytest.approx(RATE * np.log(1 + 3000 / START), abs=3)


def test_a_scale_that_would_do_nothing_is_refused() -> None:
    spec = Spec(dynamics=STATIONARY, **SIZES)
    for name, options in (("ucbvi", {}), ("obi", {}), ("psrl", {}), ("po", {})):
        with refused("bonus-scale-unused", match="Got 0.5.*sound"):
            tight(name, **options).begin(Context(spec, TOTAL, bonus_scale=0.5), np.random.default_rng(0))
    for name, options in (("ucbvi", {"bonus": "private"}), ("obi", {"bonus": "paper"}), ("po", {"steps": "paper"})):
        tight(name, **options).begin(Context(spec, TOTAL, bonus_scale=0.5), np.random.default_rng(0))
