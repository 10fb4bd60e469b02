"""Attack a whole service with code of your own: a real collector, real devices, and a wire on which you read along.

Run it: python examples/sceptic_service.py
"""

import math
import tempfile
from pathlib import Path

from scipy.stats import beta

from confide.lab.staging.processes import Process
from confide.mdp import Spec
from confide.privacy import Local
from confide.service.collector.founding import make_service
from confide.service.device import Device
from confide.service.device.store import MemoryStore
from confide.service.device.transport import Transport

TRIALS, FAILURE = 250, 1e-3


class Wire(Transport):
    """Sends what it is given, and keeps a copy."""

    seen = b""

    def post(self, path, body, media_type):
        """The last four bytes of a submission are the category that a k-ary device says."""
        self.seen = body
        return super().post(path, body, media_type)


def visit(wire, contract, state):
    """One new person's whole visit: she is in one state, stays there and is paid. What left her device."""
    device = Device(wire, contract, store=MemoryStore(), background=False)
    device.refresh()
    episode = device.begin()
    episode.act(state)
    episode.observe(1.0, state, action=state)
    episode.finish()
    device.flush()
    return int.from_bytes(wire.seen[-4:], "little")


with tempfile.TemporaryDirectory() as place:
    service = make_service(Path(place) / "tea", Spec(2, 2, 1), Local(2.0), 100_000, name="tea", mechanism="k-ary")
    process = Process(service.path).start()
    try:
        wire, contract = Wire(process.url, keep=True), service.contract()
        rehearsed = [visit(wire, contract, 0) for _ in range(100)]
        said = max(set(rehearsed), key=rehearsed.count)  # the event: her device says what it says most often
        hits = [sum(visit(wire, contract, state) == said for _ in range(TRIALS)) for state in (0, 1)]
        wire.close()
    finally:
        process.stop()
least = beta.ppf(FAILURE / 2, hits[0], TRIALS - hits[0] + 1)
most = beta.ppf(1 - FAILURE / 2, hits[1] + 1, TRIALS - hits[1])
print(f"service: certified {contract.design.guarantee.epsilon:g}, proved {max(0.0, math.log(least / most)):.2f}")
