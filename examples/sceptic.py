"""Attack a mechanism, a device and a curator with code of your own: nothing of the audit is used, only what is public.

Run it: python examples/sceptic.py
"""

import math

import numpy as np
from scipy.stats import beta

from confide.data.privatizers import open_aggregate, respond
from confide.data.trajectories import Trajectory
from confide.mdp import Spec
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.noise import SecureNoise
from confide.privacy import Central, Local, Schedule
from confide.protocol.design import Request, make
from confide.protocol.kinds import CountQuestion

SPEC = Spec(states=2, actions=2, horizon=1)
HERS = [Trajectory(np.array([s, s]), np.array([s]), np.array([1.0])) for s in (0, 1)]  # two people who share nothing


def proved(event, world, trials, failure=1e-3):
    """An epsilon that is surely spent: how often an event happens to either of two people, by Clopper and Pearson."""
    hits = [sum(event(world(person)) for _ in range(trials)) for person in (0, 1)]
    least = beta.ppf(failure / 2, hits[0], trials - hits[0] + 1)
    most = beta.ppf(1 - failure / 2, hits[1] + 1, trials - hits[1])
    return max(0.0, math.log(least / most))


def mechanism(person):
    """One count, which is one more for the first person."""
    return Laplace(1.0, 1.0).randomize(np.array([1.0 - person]), np.ones(1, dtype=np.int64), SecureNoise())[0]


ASKED = make(Request(CountQuestion(SPEC), Local(epsilon=1), Schedule.every(1), mechanism="k-ary"))


def device(person):
    """The category that leaves a device, read from the bytes on the wire."""
    return int.from_bytes(respond(ASKED, None, HERS[person]).to_bytes(ASKED)[-4:], "little")


KEPT = make(Request(CountQuestion(SPEC), Central(epsilon=1), Schedule.every(1)))


def curator(person):
    """What is published about a data set of two people, one of whom is always the second."""
    aggregate = open_aggregate(KEPT)
    for someone in (HERS[1], HERS[person]):
        aggregate.take(someone)
    return aggregate.close().counts


if __name__ == "__main__":
    seen = np.bincount([device(0) for _ in range(500)])  # which category her device says most often
    print(f"mechanism: certified 1, proved {proved(lambda noisy: noisy >= 1, mechanism, 3000):.2f}")
    print(f"device: certified 1, proved {proved(lambda said: said == seen.argmax(), device, 3000):.2f}")
    both = proved(lambda told: told.visits[0, 0, 0] + told.rewards[0, 0, 0] > told.visits[0, 1, 1], curator, 1500)
    print(f"curator: certified 1, proved {both:.2f}")
