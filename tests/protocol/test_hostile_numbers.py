"""Whatever number of a contract's design is changed: it is refused in a sentence, or answered, and hides what it then says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgpack
import numpy as np
import pytest

from confide.data.privatizers import respond
from confide.data.trajectories import Trajectory
from confide.errors import ConfideError
from confide.lab.audit.sweep import swept
from confide.mechanisms.noise import SecureNoise
from confide.mechanisms.unary import SampledStep
from confide.protocol.accepted import Combination
from confide.protocol.design import Design
from tests.lab.audit.test_sweep import SLACK, case
from tests.refusals import refused

LOCAL = [
    Combination(kind, noise, "local")
    for kind, noises in {
        "counts": ("laplace", "gaussian", "randomised-response"),
        "step": ("unary", "k-ary", "subset"),
        "asked": ("unary", "k-ary", "subset"),
        "budgeted": ("gaussian",),
    }.items()
    for noise in noises
]
JOINT = [Combination("counts", noise, "joint") for noise in ("tree-laplace", "tree-gaussian", "toeplitz")]
EXTREME = (0, -1, 2**40, 2**63, 1.5, None, True, 5e-324, 1e-300, 1e17, 1e300, float("inf"), float("nan"))

Path = tuple[Any, ...]


def numbers(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every number of nested lists, and of bytes that hold such lists (`None` in a path: unpack these)."""
    if isinstance(value, list):
        for place, inner in enumerate(value):
            yield from numbers(inner, (*path, place))
    elif isinstance(value, bytes):
        try:
            inner = msgpack.unpackb(value)
        except (ValueError, msgpack.UnpackException):
            return
        if isinstance(inner, list):
            yield from numbers(inner, (*path, None))
    elif isinstance(value, int | float):
        yield path, value


def changed(value: Any, path: Path, to: Any) -> Any:
    if not path:
        return to
    if path[0] is None:
        return msgpack.packb(changed(msgpack.unpackb(value), path[1:], to))
    return [changed(each, path[1:], to) if place == path[0] else each for place, each in enumerate(value)]


def hostile(design: Design, values: Any) -> Iterator[Design]:
    """The designs that are accepted of those that differ in one number. values: what a number is replaced by."""
    plain = msgpack.unpackb(design.to_bytes())
    for path, number in numbers(plain):
        for value in values(number):
            data = msgpack.packb(changed(plain, path, value))
            try:
                yield Design.from_bytes(data)
            except ConfideError:
                continue


@pytest.mark.parametrize("row", [*LOCAL, *JOINT], ids="-".join)
def test_a_number_is_refused_in_a_sentence_or_answered(row: Combination) -> None:
    """Anything but an error of ours would be raised into the application that has the device."""
    many = 0
    for design in hostile(case(row), lambda number: (float(number), *EXTREME)):
        spec = design.question.spec
        steps = min(spec.horizon, 3)
        stays = Trajectory(np.zeros(steps + 1, dtype=int), np.zeros(steps, dtype=int), np.ones(steps))
        assert respond(design, None, stays, SecureNoise()) is not None
        many += 1
    assert many > 0


@pytest.mark.law
@pytest.mark.parametrize("row", [row for row in LOCAL if row.kind in ("step", "asked")], ids="-".join)
def test_what_is_accepted_hides_what_it_then_says(row: Combination) -> None:
    """The guarantee is computed anew from the changed design; no two people may be less hidden than that."""
    many = 0
    for design in hostile(case(row), lambda number: (number * 2, number / 2, number * 1.01, number / 1.01)):
        kept = design.guarantee
        assert swept(replace(design, requested=kept)) <= kept.delta + SLACK
        many += 1
    assert many > 0


@pytest.mark.parametrize("encoding", ["unary", "k-ary", "subset"])
def test_reports_that_say_nothing_are_not_asked_for(encoding: str) -> None:
    with refused("epsilon-too-small"):
        SampledStep(1e-300, 5, encoding)
