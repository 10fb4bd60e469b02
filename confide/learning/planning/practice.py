"""The value of current practice: the mean return of the logged people, which needs no model of the world."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...mdp.knowledge import Knowledge
from ...protocol.kinds.returns import ReturnsRelease
from ...protocol.releases.release import Array, CountRelease
from .logged import LoggedModel, noise_deviation
from .thinning import noised_cells, possible


@dataclass(frozen=True)
class Practice:
    """People's mean return, and its variances: by sampling, and by noise.

    spread: standard deviation of what one episode earns. episodes: how many, of at most `most` a person. times: of histories, how
    many each has on average; alike: how many a visit's person has on average, all of whose episodes may be alike.
    """

    mean: float
    luck: float
    noise: float
    spread: float
    episodes: float
    most: int = 1
    times: float = 1.0
    alike: float = 1.0

    def of_histories(self, law: Array) -> Practice:
        """The same where returns are the means of people's histories, which have this many episodes by that law (m,).

        A mean of k returns that have nothing to do with each other spreads less than one of them, by the root of k; one of returns
        that are all alike spreads as much. So an episode's spread is at most that of the mean times the root.
        """
        numbers = np.arange(1, len(law) + 1)
        times = float(law @ numbers)
        spread = self.spread * math.sqrt(times)
        return replace(
            self, episodes=self.episodes * times, spread=spread, times=times, alike=float(law @ numbers**2) / times
        )

    @property
    def people(self) -> float:
        """How many people there are; of whom several episodes count one by one, their episodes."""
        return self.episodes / self.times

    @property
    def deviation(self) -> float:
        """The standard deviation of the mean."""
        return math.sqrt(self.luck + self.noise)


def practice_of(returns: ReturnsRelease) -> Practice:
    """Current practice from a release of returns, which lie in a range of some width.

    The spread of returns is taken one deviation of its own error above its estimate; it is at most (m - low)(high - m), and
    sampling error of fewer than one person in n cannot be seen. Episodes of one person may all be alike.
    """
    people, width = max(returns.users, 1), returns.high - returns.low
    episodes = float(people) if returns.most == 1 else max(returns.episodes, float(people))
    centred, square = returns.centred / episodes, returns.squares / episodes
    noises = [size / episodes for size in returns.noise]
    mean = min(max(centred + (returns.low + returns.high) / 2, returns.low), returns.high)
    spread = square - centred**2 + math.hypot(noises[1], 2 * abs(centred) * noises[0])
    least = width**2 / episodes
    spread = min(max(spread, least), max((mean - returns.low) * (returns.high - mean), least))
    noise = noises[0] ** 2
    if returns.most > 1:
        noise += (noises[2] * centred) ** 2  # how many episodes there are is not known exactly
    luck = spread * returns.most / episodes
    return Practice(mean, luck, noise, math.sqrt(spread), episodes, returns.most)


def practice_followed(model: LoggedModel) -> Practice:
    """Current practice by the model alone, where people are lost to follow-up, so that no sum tells what they earn.

    The variance of a return is that of r + V(s') given the state, plus what follows, step by step.
    """
    spec, behaviour = model.knowledge.spec, model.behaviour
    values, spread = np.zeros(spec.states), np.zeros(spec.states)
    for h in range(spec.horizon - 1, -1, -1):
        layer = h if len(model.rows) > 1 else 0
        paid, after = model.rewards[layer][:, 1:], model.rows.after(layer, values)[:, 1:]
        square = model.rows.after(layer, values**2 + spread)[:, 1:]
        chances, q = behaviour[layer], paid + after
        now = (chances * q).sum(axis=1)
        spread = (chances * ((q - now[:, None]) ** 2 + paid * (1 - paid) + np.maximum(square - after**2, 0.0))).sum(
            axis=1
        )
        values = now
    mean = model.at_start(values)
    variance = max(model.at_start(spread + (values - mean) ** 2), 1e-12)
    people = max(model.users, 1)
    return Practice(mean, variance / people, 0.0, math.sqrt(variance), float(people))


def practice_in(release: CountRelease, knowledge: Knowledge) -> Practice:
    """Current practice from counts, where returns were not asked for: sums of rewards over all cells, noise and all.

    The value of a visit is its known reward, or the middle that was taken off, minus what it would have paid after the end.
    """
    release.require_complete("The return of current practice")
    people, horizon = max(release.users, 1), float(knowledge.spec.horizon)
    cells, where = noised_cells(release, knowledge), possible(release, knowledge)
    after = knowledge.end_reward if knowledge.ends else 0.0
    each = cells.middle if knowledge.rewards is None else knowledge.rewards
    paid = np.where(knowledge.acting, np.broadcast_to(each, release.counts.visits.shape) - after, 0.0)
    ways = knowledge.ways
    visits = ways.summed(cells.moved) if cells.visited is None else cells.visited
    count = ways.summed(where.astype(np.float64)) if cells.visited is None else cells.louder**2
    total, squares = after * horizon * people + float((paid * visits).sum()), float((count * paid**2).sum())
    if cells.paid is not None:
        total += float(cells.paid[:, knowledge.acting].sum())
        squares += float(knowledge.acting.sum() * len(visits))
    low, high = knowledge.returns or (0.0, horizon)
    mean = min(max(total / people, low), high)
    luck = max((mean - low) * (high - mean), (high - low) ** 2 / people) / people
    noise = noise_deviation(release, knowledge) ** 2 * squares / people**2
    return Practice(mean, luck, noise, math.sqrt(luck * people), float(people))
