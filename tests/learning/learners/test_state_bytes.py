"""A learner's state as bytes: it goes on as if nothing had happened, and anything else is refused."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import msgpack
import numpy as np
import pytest

from confide.data.privatizers import Total
from confide.data.privatizers import open_aggregate as open_all
from confide.errors import FormatError
from confide.learning.learners import Context, State, state_bytes
from confide.learning.learners import make as make_learner
from confide.mdp import Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Joint, Local, Schedule
from confide.protocol.design import Request, make
from confide.protocol.releases import Sum, open_aggregate

SPEC = Spec(3, 2, 4)


def learner_of(name: str) -> Any:
    """Policy optimisation as printed: the golden bytes are of a state of it."""
    return make_learner(name, **({"steps": "paper"} if name == "po" else {}))


LEARNERS = ("ucbvi", "po", "obi", "psrl", "pucb")


def lessons(learner, count):
    """Releases of a local design, from made-up sums."""
    context = Context(SPEC, 1000)
    asked = learner.ask(learner.begin(context, np.random.default_rng(0)))
    design = make(Request(asked, Local(4.0), Schedule.batches(1000, 4)))
    aggregate, rng = open_aggregate(design), np.random.default_rng(5)
    for _ in range(count):
        rows, width = design.question.rows, design.question.width
        people = np.full(rows, 250)
        cells = rng.multinomial(250, np.full(width, 1 / width), rows)  # as many categories as people
        aggregate.take_sum(Sum(design.digest, cells, people))
        yield aggregate.close()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_goes_on_where_it_stood(name: str) -> None:
    learner = learner_of(name)
    state = kept = learner.begin(Context(SPEC, 1000), np.random.default_rng(3))
    for release in lessons(learner, 3):
        state = learner.learn(state, release)
        kept = learner.learn(state_bytes.from_bytes(state_bytes.to_bytes(kept), learner), release)
        assert np.array_equal(state.policy, kept.policy) and np.array_equal(state.values, kept.values)
        assert state_bytes.to_bytes(state) == state_bytes.to_bytes(kept)


def plain_state() -> State:
    learner = learner_of("po")
    context = Context(SPEC, 1000)
    blank = learner.memory(context)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(7)))
    return State(context, np.full((4, 3, 2), 0.5), np.zeros((5, 3)), 17, np.arange(6.0), blank, rng)


def test_golden_bytes() -> None:
    """What one version stored the next must read: the bytes of a state made by hand, without any arithmetic in it."""
    data = state_bytes.to_bytes(plain_state())
    assert hashlib.sha256(data).hexdigest() == GOLDEN
    assert state_bytes.from_bytes(data, learner_of("po")).users == 17


def test_bytes_of_another_learner_or_damaged_ones_are_refused() -> None:
    data = state_bytes.to_bytes(plain_state())
    for bad, learner in (
        (data, "ucbvi"),
        (data[:-1], "po"),
        (data + b"\x00", "po"),
        (b"", "po"),
        (data.replace(b"confide.state/2", b"confide.state/9"), "po"),
        (data.replace(b"PCG64", b"MT199"), "po"),
    ):
        with pytest.raises(FormatError):
            state_bytes.from_bytes(bad, learner_of(learner))


def test_several_policies_at_once_are_kept() -> None:
    """Under a curator's noise `tight` follows eight drawn models; a state goes on from its bytes between any two releases."""
    learner, spec = learner_of("ucbvi"), Spec(3, 2, 4)
    state = kept = learner.begin(Context(spec, 400), np.random.default_rng(3))
    asked = learner.ask(state)
    design = make(Request(asked, Joint(2.0, 1e-6), Schedule.batches(400, 4)))
    aggregate, rng = open_all(design, ReplayableNoise(1), simulated=True), np.random.default_rng(5)
    for end in np.diff(design.schedule.ends, prepend=0):
        cells = rng.multinomial(4 * end, np.full(design.question.width, 1 / design.question.width))
        aggregate.take_sum(Total(cells, int(end)))
        release = aggregate.close()
        state = learner.learn(state, release)
        kept = learner.learn(state_bytes.from_bytes(state_bytes.to_bytes(kept), learner), release)
        assert kept.policies.shape == (8, 4, 3, 2) and np.array_equal(state.policies, kept.policies)
        assert state_bytes.to_bytes(state) == state_bytes.to_bytes(kept)


def several_state(many: int = 3) -> State:
    return replace(plain_state(), mixture=np.full((many, 4, 3, 2), 0.5))


def test_golden_and_bad_bytes_of_several_policies() -> None:
    data = state_bytes.to_bytes(several_state())
    assert hashlib.sha256(data).hexdigest() == GOLDEN_SEVERAL
    assert state_bytes.from_bytes(data, learner_of("po")).policies.shape == (3, 4, 3, 2)
    fields = msgpack.unpackb(data)
    kind, _, raw = fields[-1]
    for mixture in (
        [kind, [1, 4, 3, 2], raw[:192]],
        [kind, [3, 3, 4, 2], raw],
        [kind, [], raw],
        [],
        [kind, [3, 4, 3, 2]],
        7,
    ):
        with pytest.raises(FormatError):
            state_bytes.from_bytes(msgpack.packb([*fields[:-1], mixture]), learner_of("po"))
    with pytest.raises(FormatError, match=r"confide\.state/1"):
        state_bytes.from_bytes(msgpack.packb(["confide.state/1", *fields[1:-1]]), learner_of("po"))


def test_what_comes_back_may_be_written_to() -> None:
    """Plans write into the memory in place."""
    state = state_bytes.from_bytes(state_bytes.to_bytes(plain_state()), learner_of("po"))
    state.memory.users[0] = 3.0
    assert state.memory.users[0] == 3.0


GOLDEN = "ec64f57bf5887916d4e728dc25af59d81a252ab71240e12bbe76b605b289fc5b"

GOLDEN_SEVERAL = "7a3c25c412541eb3bc76d64e2f2b2b52c7982eb83b4a97016a3745cb5f0d83ca"
