"""Worlds of your own: a known model by one function, and a wrapped world of Gymnasium.

Run `pytest examples/own_world.py` to test both, or this file to simulate in them. In commands: `confide --import
examples/own_world.py simulate waiting-room/4`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from confide.lab.environments import Environment, from_gymnasium, make, register
from confide.lab.testing import EnvironmentConformance
from confide.mdp import Model


@register("waiting-room", example="waiting-room/4", horizon=12)
def waiting_room(length: int, horizon: int, arrivals: float = 0.4) -> Model:
    """Serve a queue slowly for nothing or fast for a fee; an empty queue pays 1, a full one nothing."""
    transitions = np.zeros((length + 1, 2, length + 1))
    for waiting in range(length + 1):
        for action, served in enumerate((0.3, 0.8)):
            for come, chance in ((1, arrivals), (0, 1 - arrivals)):
                for gone, share in ((1, served), (0, 1 - served)):
                    after = min(max(waiting + come - gone, 0), length)
                    transitions[waiting, action, after] += chance * share
    pay = 1 - np.arange(length + 1) / length
    rewards = np.stack([0.2 + 0.8 * pay, 0.8 * pay], axis=1)  # serving fast costs 0.2
    return Model(transitions, rewards, initial=np.eye(length + 1)[0], horizon=horizon)


class SlipperyStart(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A wrapper that changes what actions do: with probability `slip` the last action is repeated."""

    def __init__(self, world: gymnasium.Env[Any, Any], slip: float = 0.2):
        super().__init__(world)
        self.slip, self.last = slip, 0

    def step(self, action: Any) -> Any:
        """Sometimes what was done before."""
        self.last = self.last if self.np_random.random() < self.slip else int(action)
        return self.env.step(self.last)


@register("slippery-lake", example="slippery-lake", horizon=20)
def slippery_lake(horizon: int, slip: float = 0.2) -> Environment:
    """FrozenLake in a wrapper: its table no longer holds, so that it is played, and rewards need their range."""
    world = SlipperyStart(gymnasium.make("FrozenLake-v1", is_slippery=False), slip)
    return from_gymnasium(world, horizon, reward_range=(0.0, 1.0))


class TestQueue(EnvironmentConformance):
    """Everything a world must keep."""

    def make(self) -> Environment:
        """By its address."""
        return make("waiting-room/4")


class TestSlipperyLake(EnvironmentConformance):
    """A world that is played keeps the same, as far as it is known."""

    def make(self) -> Environment:
        """By its address."""
        return make("slippery-lake")


def main() -> None:
    """A known world has regret; one that is only played has returns."""
    import confide as cf

    run = cf.simulate("ucbvi", "waiting-room/4", cf.Joint(epsilon=1, delta=1e-6), 20_000, 3)
    print(f"{run.environment}: final regret {run.final_interval.text()}")
    played = cf.simulate("ucbvi", "slippery-lake", cf.Joint(epsilon=1, delta=1e-6), 2_000, 2)
    print(f"{played.environment}: final return {played.final_value.mean():.3g}")


if __name__ == "__main__":
    main()
