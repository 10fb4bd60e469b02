"""Questions about mixtures: their bytes, their ranges, their cells."""

from __future__ import annotations

import math

import msgpack
import numpy as np
import pytest

from confide.errors import FormatError, InvalidInput, PrivacyError
from confide.mdp import PER_STEP, STATIONARY, MixtureFeatures, Spec
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.mixture import CENTRED, RAW, UNIT, MixtureForm, MixtureQuestion
from tests.refusals import refused

RANGES = np.array([2.0, 1.0, 0.0])
VALUES = np.array([[2.5, 1.0], [2.0, 0.5], [1.0, 0.25], [0.0, 0.0]])
SPEC = Spec(2, 2, 3, PER_STEP)


def form(scaling: str = RAW, even: bool = False) -> MixtureForm:
    return MixtureForm(SPEC, MixtureFeatures.one_hot(2, 2), RANGES, scaling, even)


GOLDEN = (
    "93ba"
    + b"confide.mixture-question/1".hex()
    + "c4104b449240e001c86b0f7fe451573567e8c440"
    + VALUES.astype("<f8").tobytes().hex()
)


def test_bytes_round_trip_and_do_not_change() -> None:
    question = MixtureQuestion(form(), VALUES)
    again = MixtureQuestion.from_bytes(question.to_bytes(), form())
    np.testing.assert_array_equal(again.values, VALUES)
    assert again.digest == question.digest
    assert question.to_bytes().hex() == GOLDEN
    other = MixtureQuestion(form(), VALUES / 2)
    assert other.digest != question.digest


def test_bytes_of_another_form_or_none_are_refused() -> None:
    question = MixtureQuestion(form(), VALUES)
    for other in (form(CENTRED), form(even=True), MixtureForm(Spec(2, 2, 3), form().features, RANGES)):
        with pytest.raises(FormatError, match="another form"):
            MixtureQuestion.from_bytes(question.to_bytes(), other)
    name, digest, raw = msgpack.unpackb(question.to_bytes())
    for bad in (
        ["confide.mixture-question/9", digest, raw],
        [name, digest, raw[:-8]],
        [name, digest],
        [name, digest, 7],
    ):
        with pytest.raises(FormatError):
            MixtureQuestion.from_bytes(msgpack.packb(bad), form())
    with pytest.raises(FormatError):
        MixtureQuestion.from_bytes(b"", form())


@pytest.mark.parametrize(
    ("row", "value", "error", "said"),
    [
        (1, 2.001, PrivacyError, "values-out-of-range"),
        (2, 1.001, PrivacyError, "values-out-of-range"),
        (2, -0.1, PrivacyError, "values-out-of-range"),
        (3, 0.1, PrivacyError, "values-out-of-range"),
        (1, math.nan, InvalidInput, "not-finite: values"),
        (1, math.inf, InvalidInput, "not-finite: values"),
    ],
)
def test_a_server_cannot_ask_with_values_out_of_range(row: int, value: float, error: type, said: str) -> None:
    values = VALUES.copy()
    values[row, 1] = value
    with refused(said):
        MixtureQuestion(form(), values)
    forged = msgpack.packb(["confide.mixture-question/1", form().digest, values.astype("<f8").tobytes()])
    with pytest.raises((error, FormatError)):
        MixtureQuestion.from_bytes(forged, form())


def test_values_are_scaled_to_their_own_range_whatever_the_server_sends() -> None:
    for scaling, low, high in ((UNIT, 0.0, 1.0), (CENTRED, -1.0, 1.0)):
        scaled, shift, factor = form(scaling).scaled(VALUES)
        assert scaled.max() == high and scaled.min() >= low
        np.testing.assert_allclose(shift[:, None] + factor[:, None] * scaled, VALUES[1:-1])
        tiny, _, _ = form(scaling).scaled(VALUES * 1e-9)
        np.testing.assert_allclose(tiny, scaled)
    np.testing.assert_array_equal(form(RAW).scaled(VALUES)[0], VALUES[1:-1])
    flat, shift, factor = form(CENTRED).scaled(np.ones_like(VALUES))
    assert (flat == 0).all() and (shift == 1).all() and (factor == 0).all()


@pytest.mark.parametrize("even", [False, True])
def test_cells_hold_upper_triangles_with_the_diagonal_over_root_two(even: bool) -> None:
    rng = np.random.default_rng(0)
    gram = rng.normal(size=(2, 4, 2, 2))
    gram = gram + gram.swapaxes(-1, -2)
    vector = rng.normal(size=(2, 4, 2))
    cells = form(even=even).pack(gram, vector)
    assert cells.size == form().cells == 2 * 4 * 5
    np.testing.assert_allclose(cells[:2], [gram[0, 0, 0, 0] * (1 if even else math.sqrt(0.5)), gram[0, 0, 0, 1]])
    square = (cells**2).sum()
    if not even:
        assert square == pytest.approx((gram**2).sum() / 2 + (vector**2).sum())
    back = form(even=even).unpack(cells)
    np.testing.assert_allclose(back[0], gram)
    np.testing.assert_allclose(back[1], vector)


@pytest.mark.parametrize("model", [PER_STEP, STATIONARY])
@pytest.mark.parametrize("even", [False, True])
def test_a_form_survives_its_bytes_and_is_priced_alike(model: str, even: bool) -> None:
    one = MixtureForm(Spec(2, 2, 3, model), MixtureFeatures.one_hot(2, 2), RANGES, CENTRED, even)
    again = MixtureForm.from_bytes(one.to_bytes())
    assert again.to_bytes() == one.to_bytes() and again.digest == one.digest
    assert again.price(0.25) == one.price(0.25)
    question = MixtureQuestion(one, VALUES)
    assert again.member(question) is question and again.member_for(question) is question
    for bad in (b"", one.to_bytes()[:-1], one.to_bytes() + b"x", CountQuestion(SPEC).to_bytes()):
        with refused("mixture-form-unreadable"):
            MixtureForm.from_bytes(bad)


def test_a_member_is_a_question_of_the_family() -> None:
    for other in (MixtureQuestion(form(CENTRED), VALUES), CountQuestion(SPEC), None):
        with pytest.raises(InvalidInput, match="another form"):
            form().member(other)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: MixtureForm(Spec(2, 2, 1), MixtureFeatures.one_hot(2, 2), np.zeros(1)), "mixture-horizon"),
        (lambda: MixtureForm(SPEC, MixtureFeatures.one_hot(3, 2), RANGES), "mixture-features-of-other-sizes"),
        (lambda: MixtureForm(SPEC, MixtureFeatures.one_hot(2, 2), RANGES[:2]), "wrong-shape: ranges"),
        (lambda: MixtureForm(SPEC, MixtureFeatures.one_hot(2, 2), -RANGES), "ranges-negative"),
        (lambda: form("half"), "unknown-name: scaling"),
        (
            lambda: MixtureForm(Spec(5000, 20, 10), MixtureFeatures.one_hot(5000, 20), np.zeros(10)),
            "features-too-large",
        ),
    ],
)
def test_bad_forms_are_refused(build: object, said: str) -> None:
    with refused(said):
        build()  # type: ignore[operator]
