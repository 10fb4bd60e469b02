"""Does the length of what leaves a device tell what happened? Two people: one stays for 200 steps, one roams and leaves after 60.

Who stays has counters that no byte holds; who roams has none. An observer of encrypted traffic sees lengths and nothing else.
"""

from __future__ import annotations

import numpy as np

from confide.data.privatizers import respond
from confide.data.trajectories import Trajectory, trajectory
from confide.mdp import Spec
from confide.mechanisms.noise import SecureNoise
from confide.privacy import Guarantee, Schedule
from confide.protocol.design import Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.trusts.mixing import Mixing

SPEC, NOISE = Spec(states=2, actions=2, horizon=200), SecureNoise()
STAYS = Trajectory(np.zeros(201, dtype=int), np.zeros(200, dtype=int), np.ones(200))
ROAMS = Trajectory(np.arange(61) % 2, np.arange(60) // 2 % 2, np.zeros(60))


def main() -> None:
    """The lengths of ten messages of each, to a shuffler, to a server and to a curator."""
    mixing, local = Mixing(400), Guarantee("local", 1.0, 1e-6)
    shuffled = Request(CountQuestion(SPEC), Guarantee("shuffle", 1.0, 1e-6), mixing.schedule(400), mixing=mixing)
    designs = {"shuffler": make(shuffled)}
    for name in ("laplace", "gaussian", "randomised-response"):
        designs[f"server, {name}"] = make(Request(CountQuestion(SPEC), local, Schedule.every(400), mechanism=name))
    for receiver, design in designs.items():
        lengths = []
        for person in (STAYS, ROAMS):
            sent = [respond(design, None, person, NOISE) for _ in range(10)]
            reports = [one[0].report if isinstance(one, tuple) else one for one in sent]
            lengths.append({len(report.to_bytes(design)) for report in reports})
        print(f"to a {receiver}: who stays sends {lengths[0]} bytes, who roams {lengths[1]}")
    handed = [{len(trajectory.to_bytes(person, SPEC))} for person in (STAYS, ROAMS)]
    print(f"to a curator: who stays sends {handed[0]} bytes, who roams {handed[1]}")


if __name__ == "__main__":
    main()
