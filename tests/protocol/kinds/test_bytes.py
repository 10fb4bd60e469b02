"""The bytes of questions: golden vectors, good and bad, and whatever else may arrive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import FormatError
from confide.mdp import Spec
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import HALVES, MOST_CELLS, PARTS
from tests.refusals import refused

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> list[Any]:
    """Vectors that were written once; a change of the format needs a new version, not new vectors."""
    rows: list[dict[str, Any]] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return [pytest.param(row, id=row["name"]) for row in rows]


def question_of(fields: dict[str, Any]) -> CountQuestion:
    spec = Spec(fields["states"], fields["actions"], fields["horizon"], fields["model"])
    return CountQuestion(spec, tuple(fields["parts"]), fields["last"], fields["levels"], fields["objective"])


@pytest.mark.parametrize("row", golden("questions"))
def test_golden_questions(row: dict[str, Any]) -> None:
    question = question_of(row["question"])
    assert question.to_bytes().hex() == row["bytes"]
    assert CountQuestion.from_bytes(bytes.fromhex(row["bytes"])) == question
    assert question.digest.hex() == row["digest"]
    assert question.cells == row["cells"]
    assert question.resolution == row["resolution"]


@pytest.mark.parametrize("row", golden("bad_questions"))
def test_bad_questions_are_refused(row: dict[str, Any]) -> None:
    with refused("question-unreadable"):
        CountQuestion.from_bytes(bytes.fromhex(row["bytes"]))


@pytest.mark.parametrize("data", [None, 7, "text", [1], b""])
def test_what_are_no_bytes_is_refused(data: Any) -> None:
    with pytest.raises(FormatError):
        CountQuestion.from_bytes(data)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_politely(data: bytes) -> None:
    with pytest.raises(FormatError):
        CountQuestion.from_bytes(data)


@given(st.data())
def test_a_changed_byte_is_read_or_refused(data: st.DataObject) -> None:
    rows = json.loads((GOLDEN / "questions.json").read_text(encoding="utf-8"))
    whole = bytearray.fromhex(data.draw(st.sampled_from(rows))["bytes"])
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        decoded = CountQuestion.from_bytes(bytes(whole))
    except FormatError:
        return
    assert CountQuestion.from_bytes(decoded.to_bytes()) == decoded
    assert decoded.cells <= MOST_CELLS


QUESTIONS = st.builds(
    CountQuestion,
    st.builds(
        Spec, st.integers(1, 30), st.integers(1, 9), st.integers(1, 30), st.sampled_from(["stationary", "per-step"])
    ),
    st.sets(st.sampled_from([part for part in PARTS if part != HALVES]), min_size=1).map(
        lambda chosen: tuple(part for part in PARTS if part in chosen)
    ),
    st.sampled_from(["counted", "dropped", "end"]),
    st.integers(1, 4096),
    st.sampled_from(["reward", "cost"]),
)


@given(QUESTIONS)
def test_questions_survive_their_bytes(question: CountQuestion) -> None:
    decoded = CountQuestion.from_bytes(question.to_bytes())
    assert decoded == question
    assert decoded.digest == question.digest


@given(QUESTIONS, QUESTIONS)
def test_different_questions_have_different_fingerprints(first: CountQuestion, second: CountQuestion) -> None:
    assert (first.digest == second.digest) == (first == second)
