"""A learner's state as bytes: it goes on as if nothing had happened, and anything else is refused."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from confide.designs import Request, make
from confide.errors import FormatError
from confide.learners import Context, State, state_bytes
from confide.learners import make as learner_of
from confide.mdp import Spec
from confide.privacy import Local, Schedule
from confide.releases import Sum, open_book

SPEC = Spec(3, 2, 4)
LEARNERS = ("ucbvi", "po", "obi", "psrl", "pucb")


def lessons(learner, count):
    """Releases of a local design, from made-up sums."""
    context = Context(SPEC, 1000)
    asked = learner.ask(learner.begin(context, np.random.default_rng(0)))
    design = make(Request(asked, Local(4.0), Schedule.batches(1000, 4)))
    book, rng = open_book(design), np.random.default_rng(5)
    for _ in range(count):
        rows, width = design.question.rows, design.question.width
        people = np.full(rows, 250)
        cells = rng.multinomial(250, np.full(width, 1 / width), rows)  # as many categories as people
        book.take_sum(Sum(design.digest, cells, people))
        yield book.close()


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
        (data.replace(b"confide.state/1", b"confide.state/9"), "po"),
        (data.replace(b"PCG64", b"MT199"), "po"),
    ):
        with pytest.raises(FormatError):
            state_bytes.from_bytes(bad, learner_of(learner))


def test_what_comes_back_may_be_written_to() -> None:
    """Plans write into the memory in place."""
    state = state_bytes.from_bytes(state_bytes.to_bytes(plain_state()), learner_of("po"))
    state.memory.users[0] = 3.0
    assert state.memory.users[0] == 3.0


GOLDEN = "ba45a2de1fd1a7e505a782d01533c7eece8e56dbc5b18802e9c57458efbbcc66"
