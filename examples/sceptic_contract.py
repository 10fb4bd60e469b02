"""An operator writes a design whose guarantee is false: what its reports would tell of a person, and that no device accepts it.

Counters of 100 steps are sent with Gaussian noise, calibrated to the number of bits that one person can change. But a person who
never moves has all of them in a few counters, which then move much further than was priced.
"""

from __future__ import annotations

import math

import numpy as np

from confide.data.statistics.answers import answer
from confide.data.trajectories import Trajectory
from confide.errors import FormatError
from confide.mdp import Spec
from confide.mechanisms.gaussian import Gaussian, sigma_for
from confide.mechanisms.noise import SecureNoise
from confide.privacy import Act, Local, Schedule, Sensitivity
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.bits import BitQuestion

REPORTS, PROMISE, NOISE = 400, Local(epsilon=1.0, delta=1e-6), SecureNoise()
QUESTION = BitQuestion(CountQuestion(Spec(states=2, actions=2, horizon=100), last="dropped"))


def main() -> None:
    """Guess who sent each of 400 reports; then read the design as a device does."""
    bits = round(QUESTION.price().l1)
    mechanism = Gaussian(sigma_for(PROMISE, math.sqrt(bits), grid=1.0), grid=1.0)
    people = [Trajectory(np.full(101, who), np.full(100, who), np.ones(100)) for who in (0, 1)]
    told = [answer("bits", QUESTION, person, 1.0, NOISE.integers)[1].astype(float) for person in people]
    towards, middle = told[1] - told[0], (told[0] + told[1]) / 2
    right = 0
    for number in range(REPORTS):
        report = mechanism.randomize(told[number % 2], QUESTION.trials, NOISE)
        right += ((report - middle) @ towards > 0) == number % 2
    allowed = (math.exp(1.0) + 1e-6) / (1 + math.exp(1.0))
    print(f"the sender of a report is guessed right {right / REPORTS:.3f} of the time; {PROMISE} allows {allowed:.3f}")
    lie = Sensitivity(bits, math.sqrt(bits), ((1.0, bits),), bits)
    try:
        Design.from_bytes(Design(QUESTION, Act(mechanism, lie), PROMISE, "tight", Schedule.every(1000)).to_bytes())
    except FormatError as error:
        print(f"refused: {error}")


if __name__ == "__main__":
    main()
