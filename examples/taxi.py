"""A better taxi from drivers' logs: Gymnasium's Taxi, logged as Gymnasium tells it, with `terminated` and `truncated`.

Run it: python examples/taxi.py [episodes]. Drivers mostly know the way and sometimes dawdle. The rules of the game (which move
leads where) are public, and so is the table of possible transitions that is made from them.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path

import gymnasium
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from confide.lab.environments import make
from confide.learning.planning import optimal
from examples.answering import answer

HORIZON, DAWDLES = 25, 0.3
NAME = next(name for name in ("Taxi-v4", "Taxi-v3") if name in gymnasium.registry)
FIT_FILE = f"""
[data]
files = ["rides.csv"]

[problem]
states = 500
actions = 6
horizon = {HORIZON}
reward_range = [-10, 20]
support = "possible.npy"

[guarantee]
rho = 1.0
budget = 1.0

[output]
folder = "policy"
"""


def main(episodes: int, folder: Path) -> None:
    """Log rides, write down the rules, and answer."""
    taxi = gymnasium.make(NAME).unwrapped
    rules = taxi.P  # type: ignore[attr-defined]
    possible = np.zeros((500, 6, 501), dtype=np.bool_)
    for state, action in np.ndindex(500, 6):
        for chance, after, _, over in rules[state][action]:
            possible[state, action, 500 if over else after] |= chance > 0
        possible[state, action, 500] = True  # a ride may be longer than it is logged
    np.save(folder / "possible.npy", possible)
    world = make(f"gymnasium:{NAME}", horizon=200)
    assert world.model is not None
    known = optimal(world.model)[0].actions
    rng = np.random.default_rng(7)
    with open(folder / "rides.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["observation", "action", "reward", "next_observation", "terminated", "truncated"])
        for number in range(episodes):
            state, _ = taxi.reset(seed=number)
            for step in range(HORIZON):
                action = int(rng.integers(6)) if rng.random() < DAWDLES else int(known[0, state])
                after, reward, over, _, _ = taxi.step(action)
                last = step == HORIZON - 1 and not over
                rows.writerow([state, action, reward, after, over, last])
                state = after
                if over:
                    break
    answer(folder, FIT_FILE)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 20_000, Path(place))
