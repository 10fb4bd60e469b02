"""Targets made of a whole fit: rows of a log in, everything that it ever releases out.

People are made up and come as rows, which are read, checked, counted and released by the code that real ones meet; only that
replayable noise is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...analysis.fitting.engines import Engine, count
from ...analysis.fitting.linear import LinearPlan
from ...analysis.fitting.linear_learning import VALUES
from ...analysis.fitting.plan import CAME, COUNTS, LOST, PREVIOUS, RETURNS, STARTS, VISITED, WEIGHED, CountPlan
from ...data.statistics.counting import DatasetCounts, Judging
from ...data.trajectories import Dataset, Trajectory, read
from ...data.trajectories.declaration import Declared
from ...learning.learners.vapvi import pevi, vapvi
from ...mdp import Spec
from ...mechanisms.noise import NoiseSource, Shape
from ...mechanisms.randomizer import Additive
from ...privacy import Guarantee, Loss, compose
from ...protocol.design import AUTO, SOUND, TIGHT
from ...protocol.kinds.counts import count_cells
from .asking import Ways, fit_log_ratio, gram_cells
from .auditing import MANY, WHOLE, Target
from .devices import sharing
from .end_to_end import SHARE, WholeRun, worst_pair
from .events import DECIMALS, Array, Statistic
from .likelihood import exact_loss, log_likelihood_ratio
from .mechanisms import Standing
from .people import all_episodes, pairs

FitPlan = CountPlan | LinearPlan

STATES = ACTIONS = 2
# Of the samples, where all outputs are whole runs: linear fits ask in turn. Of two halves fewer than thousands show nothing.
LINEAR_SHARE, HALVES_SHARE = 0.02, 0.005
# Among this many people the worst pair is searched for.
MOST_COUNTED = 48
# How many others there are where people have sampling weights, and what they weigh: whose turn it is depends on the last alone.
LIGHT_PEOPLE, LIGHT = 5, 1e-9
# One processor: two people are counted in no time.
ALONE = Engine(workers=1)
# Feature vectors at several angles, of length at most 1; some combination of them is one.
FEATURES = np.array([[[0.6, 0.8], [0.6, -0.8]], [[0.6, 0.0], [0.6, 0.5]]])
# The same where no combination is, so that targets are not centred.
UNCENTRED = np.array([[[0.6, 0.8], [0.8, -0.6]], [[0.5, 0.0], [0.0, 0.5]]])


def rows(people: Sequence[Sequence[Trajectory]]) -> dict[str, list[str | float]]:
    """The columns of a log of people with this many episodes each."""
    columns: dict[str, list[str | float]] = {
        name: [] for name in ("user", "episode", "step", "state", "action", "reward")
    }
    columns |= {"next_state": []}
    for user, episodes in enumerate(people):
        for number, episode in enumerate(episodes):
            columns["user"] += [user] * episode.steps
            columns["episode"] += [f"{user}-{number}"] * episode.steps
            columns["step"] += range(episode.steps)
            columns["state"] += episode.states[:-1].tolist()
            columns["action"] += episode.actions.tolist()
            columns["reward"] += episode.rewards.tolist()
            columns["next_state"] += episode.states[1:].tolist()
    return columns


def log_of(spec: Spec, people: Sequence[Sequence[Trajectory]], users: str = "one", **declared: Declared) -> Dataset:
    """Made-up people as a data set, declared as a real one would be. next_told: with the state after every step. A logged
    propensity is the least that may be: no user weighs more. Where users may be lost, those are whose episode is short. Where they
    have sampling weights the last has the largest if they are paid at all, and else none; the others next to none.
    """
    import pyarrow as pa

    next_told = declared.pop("next_told", True)
    columns = {name: values for name, values in rows(people).items() if next_told or name != "next_state"}
    if declared.get("propensity") is not None:
        floor = validation.number("propensity_floor", declared["propensity_floor"])
        columns[str(declared["propensity"])] = [floor] * len(columns["user"])
    episodes = [episode for person in people for episode in person]
    if declared.get("lost") is not None:
        ends = [(*([0] * (one.steps - 1)), int(one.steps < spec.horizon)) for one in episodes]
        columns[str(declared["lost"])] = [cell for rows_of_one in ends for cell in rows_of_one]
    if declared.get("weight") is not None:
        bound = validation.number("weight_bound", declared["weight_bound"]) * bool(episodes[-1].rewards.any())
        columns[str(declared["weight"])] = [bound if user == len(people) - 1 else LIGHT for user in columns["user"]]
    return read(pa.table(columns), users=users, **sizes_of(spec), **declared)


def sizes_of(spec: Spec) -> dict[str, Declared]:
    """The sizes of a problem, as a log declares them."""
    return {"states": spec.states, "actions": spec.actions, "horizon": spec.horizon, "model": spec.dynamics}


class FitRuns:
    """Fits of one plan on data sets of two people: another, and one of two with all the episodes that she may have. Where people
    have sampling weights there are several others, of whom half are drawn without her."""

    def __init__(self, plan: FitPlan, spec: Spec, **declared: Declared) -> None:
        self.plan, self.spec, self.declared = plan, spec, declared
        self._counted: dict[bytes, DatasetCounts] = {}

    def _log(self, people: list[list[Trajectory]]) -> Dataset:
        data = log_of(self.spec, people, str(self.plan.data.users), **self.declared)
        return data.with_dynamics(self.plan.data.knowledge.spec.dynamics)

    def counted(self, person: Trajectory) -> DatasetCounts:
        """The exact counts, as the fit's own engine makes them."""
        key = b"".join(part.tobytes() for part in (person.states, person.actions, person.rewards))
        if self.plan.split or key not in self._counted:  # who is in which half is drawn anew
            most, other = self.plan.data.users.most, pairs(self.spec)[0][0]
            others = LIGHT_PEOPLE if self.declared.get("weight") is not None else 1
            data = self._log([*[[other]] * others, [person] * most])
            previous = Judging(0.0, self.plan.counts and PREVIOUS in self.plan.designs)  # type: ignore[union-attr]
            counted = count(data, self.plan.question, ALONE, split=self.plan.split, judging=previous)
            self._counted[key] = counted.checked()
        return self._counted[key]

    def released(self, person: Trajectory, noise: NoiseSource) -> dict[str, Any]:
        """Everything that is released of one run."""
        return dict(self.plan.release(self.counted(person), noise, simulated=True))

    def play(self, person: Trajectory, noise: NoiseSource) -> Array:
        """The same, flat."""
        return self.flat(self.released(person, noise))

    def flat(self, released: dict[str, Any]) -> Array:
        """(n,) the numbers of all releases."""
        return np.concatenate([_seen(self.plan, name, release) for name, release in released.items()])

    def ways(self, person: Trajectory) -> Ways:
        """Of a linear fit, the logs that the person may be in."""
        plan: Any = self.plan
        counted = self.counted(person)
        swapped = [replace(counted, halves=counted.halves[::-1])] if plan.split else []
        return [plan.logged(one) for one in (counted, *swapped)]

    def exact(self, person: Trajectory) -> Array:
        """What would be released of the person's data set without noise."""
        return self.play(person, ZERO_NOISE)

    def many(self, person: Trajectory, copies: int, noise: NoiseSource) -> Array | None:
        """Many outputs of one fit whose mechanisms draw many times, as in `devices`; None if what is released is not
        what the mechanisms said, or if they must not be asked so."""
        plan: Any = self.plan
        if RETURNS not in plan.designs:
            return None
        returns = plan.designs[RETURNS]
        counting = {name: design for name, design in plan.designs.items() if name != RETURNS}
        drawing: dict[str, Any] = {name: sharing(design, copies) for name, design in counting.items()}
        if any(shared is None for shared in drawing.values()):
            return None
        steps = ManySteps(returns.additive, copies)
        designs = {name: design for name, (design, _) in drawing.items()}
        designs[RETURNS] = replace(returns, act=replace(returns.act, mechanism=steps))
        released = replace(plan, designs=designs).release(self.counted(person), noise, simulated=True)
        outputs = []
        for name, (design, mechanism) in drawing.items():
            cells = np.zeros((copies, design.question.width))
            if len(mechanism.outputs) != 1:
                return None
            cells[:, design.possible] = mechanism.outputs[0]
            if not np.allclose(_seen(plan, name, released[name]), cells[0], rtol=0, atol=10.0**-DECIMALS):
                return None
            outputs.append(cells)
        returns_cells = self.exact(person)[-returns.question.width :] + steps.outputs[0] * steps.inner.grid
        if not np.allclose(_seen(plan, RETURNS, released[RETURNS]), returns_cells[0], rtol=0, atol=10.0**-DECIMALS):
            return None
        return np.concatenate([*outputs, returns_cells], axis=1)


@dataclass(frozen=True)
class ManySteps(Standing, Additive):
    """A mechanism that draws noise for many releases at each call, keeps all of it and hands on the first."""

    inner: Additive
    copies: int
    outputs: list[NDArray[np.int64]] = field(default_factory=list)

    def variance(self, trials: float = 1.0) -> float:
        """That of one release."""
        return self.inner.variance(trials)

    def steps(self, noise: NoiseSource, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Draw for many releases, and return the first."""
        drawn = self.inner.steps(noise, (self.copies, *shape))
        self.outputs.append(drawn)
        return np.asarray(drawn[0])


class ZeroNoise:
    """A noise source that draws zeros, so that what is released is what was counted. For made-up people only."""

    secure, drawn_by = False, "replayable"

    def discrete_laplace(self, scale: float, shape: Shape) -> NDArray[np.int64]:
        """Zeros of that shape."""
        return np.zeros(shape, dtype=np.int64)

    discrete_gaussian = discrete_laplace

    def bernoulli(self, probability: float, shape: Shape) -> NDArray[np.bool_]:
        """Never true."""
        return np.zeros(shape, dtype=np.bool_)

    def lies(self, epsilon: float, others: int, shape: Shape, within: int = 1) -> NDArray[np.bool_]:
        """Never true."""
        return np.zeros(shape, dtype=np.bool_)

    def integers(self, high: int, shape: Shape) -> NDArray[np.int64]:
        """Zeros of that shape."""
        return np.zeros(shape, dtype=np.int64)


ZERO_NOISE: NoiseSource = ZeroNoise()


def _seen(plan: Any, name: str, release: Any) -> Array:
    """(n,) the numbers of a release, in the units in which its noise was drawn."""
    if name in (COUNTS, STARTS, WEIGHED, VISITED, PREVIOUS, CAME, LOST):
        cells: Array = count_cells(release)
        return cells
    if name == RETURNS:
        scales = plan.designs[RETURNS].question.scales
        return np.asarray(np.array([release.centred, release.squares, release.episodes]) * scales)
    if name == VALUES:
        return np.array([release.returned, release.predicted], dtype=np.float64)
    return gram_cells(release.matrix, release.vectors)


def fit_targets(name: str, plan: FitPlan, spec: Spec, **declared: Declared) -> list[Target]:
    """Targets of all releases of a fit together, on the two people who are furthest apart for its noise, and on those of
    `pairs`."""
    runs = FitRuns(plan, spec, **declared)
    people = all_episodes(spec)[:MOST_COUNTED]
    people += [shortened(person, 1) for person in people] if declared.get("lost") is not None else []
    worst = worst_pair(WholeRun(runs.play, runs.exact), people)
    if not plan.counts:
        return [_linear_target(name, runs, worst)]
    quick = [_target(name, runs, pair, 1.0) for pair in (worst, *pairs(spec)[:2])]
    return [*quick, _target(name, runs, worst, SHARE)]


def shortened(person: Trajectory, steps: int) -> Trajectory:
    """An episode that ends earlier."""
    return Trajectory(person.states[: steps + 1], person.actions[:steps], person.rewards[:steps])


def _target(name: str, runs: FitRuns, people: tuple[Trajectory, Trajectory], share: float) -> Target:
    plan = runs.plan

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        outputs = runs.many(people[world], count, noise) if share == 1 else None
        return np.stack([runs.play(people[world], noise) for _ in range(count)]) if outputs is None else outputs

    loss = compose([act.loss for act in plan.acts])
    claimed, exact = _described(plan, [runs.exact(person) for person in people])
    how = MANY if share == 1 else WHOLE
    return Target(name, loss, sample, claimed, exact, "central", "tight", 1.0, share, how)


def _linear_target(name: str, runs: FitRuns, people: tuple[Trajectory, Trajectory]) -> Target:
    """An output is everything that is released, and last its log-likelihood ratio, which follows from it (`asking`)."""
    plan: Any = runs.plan
    ways = runs.ways(people[0]), runs.ways(people[1])

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        outputs = []
        for _ in range(count):
            released = runs.released(people[world], noise)
            outputs.append(np.append(runs.flat(released), fit_log_ratio(plan, ways, released)))
        return np.stack(outputs)

    loss, share = compose([act.loss for act in plan.acts]), HALVES_SHARE if plan.split else LINEAR_SHARE
    return Target(name, loss, sample, last_cell, None, "central", "tight", 1.0, share, WHOLE)


def last_cell(outputs: Array) -> Array:
    """(n,) the last number of every output."""
    return outputs[:, -1]


def _described(plan: Any, inputs: list[Array]) -> tuple[Statistic | None, Loss | None]:
    """The likelihood ratio of all releases together, and the loss of the two people: noise is drawn part by part."""
    ratios: list[tuple[slice, Callable[[Array], Array]]] = []
    losses: list[Loss] = []
    start, widths = 0, [design.question.width for design in plan.designs.values()]
    for act, width in zip(plan.acts, widths, strict=True):
        part = slice(start, start + width)
        start += width
        part_inputs, trials = (inputs[0][part], inputs[1][part]), np.ones(width, dtype=np.int64)
        ratio, loss = (
            log_likelihood_ratio(act.mechanism, part_inputs, trials),
            exact_loss(act.mechanism, part_inputs, trials),
        )
        if ratio is None or loss is None:
            return None, None
        ratios.append((part, ratio))
        losses.append(loss)

    def claimed(outputs: Array) -> Array:
        return np.asarray(sum(ratio(outputs[:, part]) for part, ratio in ratios))

    return claimed, compose([loss for loss in losses if loss.epsilon(0.01) > 0 or loss.epsilon(0.0) > 0])


def count_plan(
    spec: Spec,
    promise: Guarantee,
    mechanism: str = AUTO,
    users: str = "one",
    visits: str | int = AUTO,
    judged: bool = False,
    **declared: Declared,
) -> CountPlan:
    """The plan of a fit of counts on made-up people. judged: others judge what they choose."""
    person = pairs(spec)[0][0]
    data = log_of(spec, [[person]], users, **declared)
    return CountPlan.of(data, promise, mechanism, visits=visits, judged=judged)


def linear_plan(
    spec: Spec, promise: Guarantee, split: bool = False, features: Array = FEATURES, weighted: bool = True
) -> LinearPlan:
    """The plan of a fit with linear features on made-up people; weighted: by variances, as `vapvi` does and `pevi` does not. A pure
    guarantee has the noise of `sound`.
    """
    data = log_of(spec, [[pairs(spec)[0][0]]], fixed_length=True)
    how = SOUND if promise.pure else TIGHT
    if weighted:
        learner = vapvi(features, how, knowledge=data.knowledge, split=split)
    else:
        learner = pevi(features, how, knowledge=data.knowledge)
    return LinearPlan.of(data, promise, learner, calibration=how)
