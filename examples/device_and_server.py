"""Two real processes: devices that privatise, and a server that asks, sums and learns without ever seeing a person.

The server sends a design: what it asks, and how the answer is to be randomised. Devices compute its guarantee, and
answer only if it is what they demand. Then the server sends policies; each person follows the one they got, and their device
sends one randomised report. Nothing else crosses the socket, and no user has to trust the server.

    python examples/device_and_server.py
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from confide.mdp import Model, Policy, Spec
from confide.privacy import Local

if TYPE_CHECKING:
    from confide.data.trajectories import Trajectory

# Public.
SPEC = Spec(states=3, actions=2, horizon=6)
PROMISE = Local(epsilon=6)
ROUNDS, PEOPLE = 6, 500


class Channel:
    """Messages over a socket, each with its length before it."""

    def __init__(self, connection: socket.socket) -> None:
        """Both ends may send and receive."""
        with connection:
            self.file = connection.makefile("rwb")

    def send(self, message: bytes) -> None:
        """One message; it leaves when an answer is waited for."""
        self.file.write(struct.pack(">I", len(message)) + message)

    def receive(self) -> bytes:
        """One message; empty where the other end has nothing more to say."""
        self.file.flush()
        header = self.file.read(4)
        return self.file.read(*struct.unpack(">I", header)) if header else b""


def serve(channel: Channel) -> None:
    """The server. It imports nothing that could hold an episode."""
    from confide.learning import learners
    from confide.privacy import Schedule
    from confide.protocol.design import Request, make
    from confide.protocol.releases import open_aggregate

    learner = learners.make("ucbvi")
    state = learner.begin(learners.Context(SPEC, users=ROUNDS * PEOPLE), np.random.default_rng())
    design = make(Request(learner.ask(state), PROMISE, Schedule.batches(ROUNDS * PEOPLE, ROUNDS)))
    channel.send(design.to_bytes())
    aggregate = open_aggregate(design)
    for _ in range(ROUNDS):
        channel.send(state.policy.tobytes())
        for _ in range(PEOPLE):
            aggregate.take(channel.receive())  # refused if no honest device sends such bytes
        release = aggregate.close()
        state = learner.learn(state, release)
        print(
            f"server: {release.users:,} reports by {design.mechanism.name}, {release.guarantee}, counts known to within "
            f"{release.radius.transitions:.0f}",
            flush=True,
        )
    channel.send(state.policy.tobytes())
    if "confide.data" in sys.modules:
        raise SystemExit("server: what holds raw data was loaded: confide.data")
    print("server: nothing that holds raw data was ever loaded")


def play_devices(channel: Channel) -> None:
    """All devices. In the world there would be one for each person; here one process plays them in turn."""
    from confide.data.privatizers import respond
    from confide.lab.environments import make
    from confide.learning.planning.evaluation import optimal_value, policy_value
    from confide.privacy import keeps
    from confide.protocol.design import Design

    world, luck = make("riverswim/3", horizon=SPEC.horizon).model, np.random.default_rng(1)
    design = Design.from_bytes(channel.receive())  # its price and its guarantee are computed here, not received
    if not keeps(design.act.loss, PROMISE) or design.trust != PROMISE.trust or design.question.spec != world.spec:
        raise SystemExit(f"device: this design gives {design.guarantee}, and {PROMISE} is demanded")
    print(f"people: the design gives {design.guarantee}", flush=True)
    best = optimal_value(world)
    for number in range(ROUNDS + 1):
        table = np.frombuffer(channel.receive()).reshape(SPEC.horizon, SPEC.states, SPEC.actions)
        worth = policy_value(world, Policy(table))
        print(f"people: after {number} rounds the policy is worth {worth:.3f} of {best:.3f}", flush=True)
        for _ in range(PEOPLE if number < ROUNDS else 0):
            episode = live(world, table, luck)
            report = respond(design, None, episode)  # secure noise, drawn once; the episode goes nowhere
            channel.send(report.to_bytes(design))


def live(world: Model, table: NDArray[np.float64], luck: np.random.Generator) -> Trajectory:
    """One person's episode under a policy."""
    from confide.data.trajectories import Trajectory

    states, actions, rewards = [int(luck.choice(SPEC.states, p=world.initial))], [], []
    for step in range(SPEC.horizon):
        here = states[step]
        actions.append(int(luck.choice(SPEC.actions, p=table[step, here])))
        rewards.append(float(luck.random() < world.rewards[0, here, actions[step]]))
        states.append(int(luck.choice(SPEC.states, p=world.transitions[0, here, actions[step]])))
    return Trajectory.checked(SPEC, states, actions, rewards)


def main() -> None:
    """Start the devices' process, be the server."""
    here, there = socket.socketpair()
    command = [sys.executable, __file__, "devices", str(there.fileno())]
    with subprocess.Popen(command, pass_fds=[there.fileno()]) as devices:
        there.close()
        channel = Channel(here)
        try:
            serve(channel)
        finally:
            channel.file.close()  # so that devices never wait for a server that is gone
    if devices.returncode:
        raise SystemExit("server: the devices failed")


if __name__ == "__main__":
    if sys.argv[1:2] == ["devices"]:
        play_devices(Channel(socket.socket(fileno=int(sys.argv[2]))))
    else:
        main()
