"""Designs of a data set's other questions as bytes: Gram sums, people's returns, what they were guaranteed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import pytest

from confide.errors import FormatError
from confide.mdp.linear import BlockFeatures, LinearFeatures
from confide.privacy import Central, NoPrivacy, Schedule
from confide.protocol.design import Design
from confide.protocol.kinds.gram import GramForm
from confide.protocol.kinds.returns import ReturnsQuestion
from confide.protocol.kinds.values import ValuesForm
from tests.refusals import refused

from .making import design

TABLE = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.25, 0.5]], [[0.5, 0.0], [0.0, 0.0]]])
ALLOWED = np.array([[True, True], [True, False], [True, True]])
ONCE = Schedule.every(1)


def form(**options: Any) -> GramForm:
    return GramForm(LinearFeatures(TABLE, 2.0, ALLOWED), 3, **options)


VECTORS = GramForm(BlockFeatures(3, 2, 1.5, intercept=True), 2, centred=True, end_reward=0.5)

DESIGNS: dict[str, Callable[[], Design]] = {
    "gram": lambda: design(form(), Central(rho=0.5), ONCE, share=0.95),
    "gram split": lambda: design(form(split=True), Central(1.0, 1e-6), ONCE),
    "gram pevi": lambda: design(form(weighted=False), Central(rho=2.0), ONCE, "sound"),
    "gram paper": lambda: design(form(), Central(rho=0.5), ONCE, "paper"),
    "gram vectors": lambda: design(VECTORS, Central(rho=0.5), ONCE),
    "gram none": lambda: design(form(), NoPrivacy(), ONCE),
    "values": lambda: design(ValuesForm(form()), Central(rho=0.5), ONCE, share=0.05),
    "returns": lambda: design(ReturnsQuestion.of(8), Central(rho=0.5), ONCE, share=0.03, episodes=3),
    "returns laplace": lambda: design(ReturnsQuestion.of(8, True, (0.5, 2.0)), Central(1.0), ONCE, share=0.03),
}

GOLDEN: dict[str, str] = {
    "gram": "9498432eef3b0df7",
    "gram split": "78759774195501be",
    "gram pevi": "73b5aac0fc32605b",
    "gram vectors": "a1be94b4532dc2a3",
    "values": "9498432eef3b0df7",
    "returns": "c79918a71e7bb0b5",
    "returns laplace": "b3f242bd69ccffa8",
}
"""Of the bytes of questions, which have no arithmetic in them."""


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_is_made_again_from_its_bytes(name: str) -> None:
    made = DESIGNS[name]()
    again = Design.from_bytes(made.to_bytes())
    assert again.to_bytes() == made.to_bytes() and again.digest == made.digest
    assert again.guarantee == made.guarantee and again.question.digest == made.question.digest
    assert again.certificate("opendp").as_json() == made.certificate("opendp").as_json()


def test_all_differ() -> None:
    assert len({make().digest for make in DESIGNS.values()}) == len(DESIGNS)


@pytest.mark.parametrize("name", DESIGNS)
def test_golden_bytes_of_questions(name: str) -> None:
    result = hashlib.sha256(DESIGNS[name]().question.to_bytes()).hexdigest()[:16]
    assert result == GOLDEN.get(name.replace("gram none", "gram").replace("gram paper", "gram"))


def forged(name: str, **changes: Any) -> bytes:
    """The bytes of a design with fields changed, by their numbers."""
    fields = msgpack.unpackb(DESIGNS[name]().to_bytes())
    for field, value in changes.items():
        fields[int(field[1:])] = value
    return bytes(msgpack.packb(fields))


def sizes(name: str, factor: float) -> list[Any]:
    """The noise of a Gram design times a factor, as it is written."""
    made = DESIGNS[name]().mechanism.scaled(factor)
    return [["mechanism", made.name], ["sizes", [[matrix, list(vectors)] for matrix, vectors in made.sizes]]]


@pytest.mark.parametrize("name", ["gram", "gram split", "gram vectors"])
def test_too_little_noise_is_refused_on_reading(name: str) -> None:
    assert Design.from_bytes(forged(name, f2=sizes(name, 1.0)))
    for factor in (0.0, 1e-9, 0.5, 0.95):
        with refused("design-unreadable", match="failed to keep|too small"):
            Design.from_bytes(forged(name, f2=sizes(name, factor)))


def gram_question(**changes: Any) -> list[Any]:
    fields = msgpack.unpackb(form().to_bytes())
    for field, value in changes.items():
        fields[int(field[1:])] = value
    return ["gram", msgpack.packb(fields)]


PHI = TABLE.astype("<f8").tobytes()
BAD: dict[str, bytes] = {
    "another format": forged("gram", f1=gram_question(f0="confide.gram-form/9")),
    "a long feature": forged("gram", f1=gram_question(f1=["table", [3, 2, 2], (1.01 * TABLE).tobytes(), 2.0, None])),
    "no number": forged("gram", f1=gram_question(f1=["table", [3, 2, 2], (np.nan * TABLE).tobytes(), 2.0, None])),
    "another shape": forged("gram", f1=gram_question(f1=["table", [3, 2, 3], PHI, 2.0, None])),
    "no shape": forged("gram", f1=gram_question(f1=["table", [], PHI, 2.0, None])),
    "too few flags": forged("gram", f1=gram_question(f1=["table", [3, 2, 2], PHI, 2.0, b""])),
    "unknown features": forged("gram", f1=gram_question(f1=["words", 3])),
    "no features": forged("gram", f1=gram_question(f1=[])),
    "no horizon": forged("gram", f1=gram_question(f2=0)),
    "another horizon": forged("gram", f1=gram_question(f2=4)),
    "centred without a constant": forged("gram", f1=gram_question(f4=True)),
    "not true": forged("gram", f1=gram_question(f3=7)),
    "an end that pays too much": forged("gram", f1=gram_question(f6=2.0)),
    "too few sizes": forged("gram", f2=[["mechanism", "gram-gaussian"], ["sizes", []]]),
    "no sizes": forged("gram", f2=[["mechanism", "gram-gaussian"]]),
    "another mechanism": forged("gram", f2=[["mechanism", "laplace"], ["scale", 1.0], ["grid", 1.0]]),
    "not a number": forged("gram", f2=[["mechanism", "gram-gaussian"], ["sizes", [[float("nan"), [1.0]]] * 5]]),
    "another trust": forged("gram", f4=["local", None, 0.0, 0.5, "episode", "replace"]),
    "returns of no steps": forged(
        "returns", f1=["returns", msgpack.packb(["confide.returns-question/2", 0, 1024, 2, 0.0, 1.0])]
    ),
    **{
        what: forged("returns", f1=["returns", msgpack.packb(["confide.returns-question/2", 8, *fields])])
        for what, fields in {
            "an odd number of points": (1023, 2, 0.0, 8.0),
            "squares that weigh too much": (1024, 3, 0.0, 8.0),
            "returns beyond the horizon": (1024, 2, 0.0, 8.5),
            "returns without a range": (1024, 2, 1.0, 1.0),
        }.items()
    },
    "values of another form": forged("values", f1=["values", b"\x90"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_bytes_are_refused(name: str) -> None:
    with pytest.raises(FormatError):
        Design.from_bytes(BAD[name])
