"""Designs as bytes: the same design again for every trust and mechanism, and nothing that is given is believed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import FormatError
from confide.mdp import PER_STEP, MixtureFeatures, Spec
from confide.mdp.knowledge import Knowledge
from confide.mechanisms import registry
from confide.mechanisms.laplace import Laplace
from confide.privacy import Central, Joint, Local, NoPrivacy, Schedule, Sensitivity, Shuffle
from confide.protocol import accepted
from confide.protocol.accepted import accept
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import COUNTED, DROPPED
from confide.protocol.kinds.mixture import MixtureForm
from confide.protocol.trusts.central import possible_cells
from confide.protocol.trusts.mixing import Mixing
from tests.refusals import refused

from .making import design

GOLDEN = Path(__file__).parent / "golden" / "designs.json"
SPEC = Spec(2, 2, 3)
COUNTS = CountQuestion(SPEC, last=DROPPED)
LAYERED = CountQuestion(SPEC.with_dynamics(PER_STEP), last=DROPPED)
MIXTURE = MixtureForm(Spec(2, 2, 3, PER_STEP), MixtureFeatures.one_hot(2, 2), np.array([2.0, 1.0, 0.0]))
KNOWN = Knowledge.declared(Spec(3, 2, 4), np.broadcast_to(np.arange(3) < 2, (3, 2, 3)))


def with_tables() -> Design:
    question = CountQuestion(KNOWN.spec, ("centred", "transitions"), levels=4)
    return design(
        question, Central(rho=0.5), Schedule.every(1), possible=possible_cells(question, KNOWN), episodes=2, share=1.0
    )


def shuffled(mechanism: str, question: CountQuestion = COUNTS, **mixing: Any) -> Design:
    sized = Schedule.sized(400, 50)
    return design(question, Shuffle(4.0, 1e-4), sized, "tight", mechanism, mixing=Mixing(50, **mixing))


DESIGNS: dict[str, Callable[[], Design]] = {
    **{
        f"local {name}": lambda name=name: design(COUNTS, Local(2.0, 1e-5), Schedule.every(20), "tight", name)
        for name in ("laplace", "gaussian", "randomised-response", "bounded", "unary", "k-ary")
    },
    "local per step": lambda: design(LAYERED, Local(2.0), Schedule.every(20), "sound", "k-ary"),
    "local rho": lambda: design(COUNTS, Local(rho=0.1), Schedule.growth(20, 2.0)),
    "local paper": lambda: design(COUNTS, Local(1.0), Schedule.every(20), "paper", "laplace", "ldp-obi"),
    **{
        f"joint {name}": lambda name=name: design(COUNTS, Joint(2.0, 1e-5), Schedule.batches(40, 8), "tight", name)
        for name in ("tree-laplace", "tree-gaussian", "toeplitz", "buffered-toeplitz")
    },
    "joint paper": lambda: design(
        LAYERED.having(last=COUNTED), Joint(1.0), Schedule.every(20), "paper", "tree-laplace", "private-ucb"
    ),
    **{
        f"central {name}": lambda name=name: design(COUNTS, Central(1.0, 1e-6), Schedule.every(1), "tight", name)
        for name in ("laplace", "gaussian")
    },
    "central tables": with_tables,
    "shuffle bits": lambda: shuffled("shuffled-bits", reward_bits=2),
    "shuffle step": lambda: shuffled("shuffled-step"),
    "shuffle step per step": lambda: shuffled("shuffled-step", LAYERED),
    "shuffle tree": lambda: shuffled("shuffled-bits", tree=True, honest=0.75),
    "shuffle paper": lambda: design(
        COUNTS, Shuffle(1.0, 1e-6), Schedule.every(99), "paper", mixing=Mixing(2, local_epsilon=6.0)
    ),
    "none": lambda: design(COUNTS, NoPrivacy(), Schedule.every(20)),
    "mixture local": lambda: design(MIXTURE, Local(1.0, 1e-5), Schedule.every(8)),
    "mixture paper": lambda: design(MIXTURE, Local(1.0, 1e-5), Schedule.every(8), "paper"),
    "mixture joint": lambda: design(MIXTURE, Joint(1.0, 1e-5), Schedule.every(8)),
    "mixture none": lambda: design(MIXTURE, NoPrivacy(), Schedule.every(8)),
}
"""By name: one of every trust, mechanism and kind of question."""


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_is_made_again_from_its_bytes(name: str) -> None:
    made = DESIGNS[name]()
    again = Design.from_bytes(made.to_bytes())
    assert again.to_bytes() == made.to_bytes() and again.digest == made.digest
    assert again.guarantee == made.guarantee and again.requested == made.requested
    assert again.act == made.act and again.devices == made.devices
    assert again.question.digest == made.question.digest
    assert again.schedule == made.schedule and again.mixing == made.mixing
    people = made.schedule.ends
    np.testing.assert_array_equal(again.radii(people), made.radii(people))
    assert again.certificate("opendp").as_json() == made.certificate("opendp").as_json()
    if made.possible is not None:
        np.testing.assert_array_equal(again.possible, made.possible)


def test_designs_that_differ_have_different_fingerprints() -> None:
    options = {DESIGNS[name]().digest for name in DESIGNS}
    assert len(options) == len(DESIGNS)
    one, other = (
        design(COUNTS, Local(2.0, 1e-5), Schedule.every(20), "tight", "laplace", failure=f) for f in (0.1, 0.2)
    )
    assert one.digest != other.digest


def test_a_mechanism_that_somebody_registered_is_calibrated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(Laplace):
        @property
        def name(self) -> str:
            return "own"

    @registry.register("own")
    def make(size: Sensitivity, promise: Any, unit: float) -> Own:
        return Own(factor * size.l1 / promise.pure_epsilon(), unit)

    factor = 1.5
    monkeypatch.setattr(accepted, "_CASES", {})
    try:
        made = design(COUNTS, Local(2.0), Schedule.every(20), "tight", "own")
        with refused("design-unreadable", match="what is accepted"):
            Design.from_bytes(made.to_bytes())
        accept("counts", "own", "local", lambda promise: design(COUNTS, promise, Schedule.every(2), "tight", "own"))
        again = Design.from_bytes(made.to_bytes())
        assert type(again.mechanism) is Own and again.digest == made.digest
        factor = 1.25  # another version of it is installed here
        with refused("design-unreadable", match="in another way"):
            Design.from_bytes(made.to_bytes())
    finally:
        monkeypatch.delitem(registry._ENTRIES, "own")
    with refused("design-unreadable", match="'own' is registered"):
        Design.from_bytes(made.to_bytes())


# What is given is not believed.

FIELDS = (
    "format",
    "question",
    "mechanism",
    "times",
    "promise",
    "calibration",
    "schedule",
    "failure",
    "mixing",
    "paper",
    "possible",
    "episodes",
    "remarks",
)


def forged(name: str, **changes: Any) -> bytes:
    """The bytes of a design with fields changed; of the mechanism and the mixing, by their words."""
    fields = dict(zip(FIELDS, msgpack.unpackb(DESIGNS[name]().to_bytes()), strict=True))
    for key in ("mechanism", "mixing"):
        if key in changes and changes[key] is not None:
            changes[key] = sorted({**dict(fields[key]), **changes[key]}.items())
    return bytes(msgpack.packb(list({**fields, **changes}.values())))


SIZES = {
    "local laplace": "scale",
    "local gaussian": "sigma",
    "local bounded": "bound",
    "joint tree-laplace": "scale",
    "joint tree-gaussian": "scale",
    "joint toeplitz": "sigma",
    "joint buffered-toeplitz": "sigma",
    "central laplace": "scale",
    "central gaussian": "sigma",
    "central tables": "sigma",
    "mixture local": "sigma",
    "mixture joint": "sigma",
}


@pytest.mark.parametrize("name", SIZES)
def test_too_little_noise_for_the_promise_is_refused_on_reading(name: str) -> None:
    size = getattr(DESIGNS[name]().mechanism, SIZES[name])
    assert Design.from_bytes(forged(name, mechanism={SIZES[name]: size}))
    for factor in (0.5, 0.99):
        less = math.floor(factor * size) if "bounded" in name else factor * size
        with pytest.raises(FormatError, match="failed to keep"):
            Design.from_bytes(forged(name, mechanism={SIZES[name]: less}))


@pytest.mark.parametrize("name", ["local unary", "local k-ary", "local per step"])
def test_a_larger_epsilon_than_was_promised_is_refused_on_reading(name: str) -> None:
    with pytest.raises(FormatError, match="failed to keep"):
        Design.from_bytes(forged(name, mechanism={"epsilon": 2.01}))


@pytest.mark.parametrize("name", ["shuffle bits", "shuffle step", "shuffle step per step", "shuffle tree"])
def test_bits_that_are_flipped_too_seldom_are_refused_on_reading(name: str) -> None:
    crowds = [[0.9 * crowd.flip, crowd.people] for crowd in DESIGNS[name]().mechanism.crowds]
    with pytest.raises(FormatError, match="failed to keep"):
        Design.from_bytes(forged(name, mechanism={"crowds": crowds}))


@pytest.mark.parametrize("name", ["shuffle bits", "shuffle step", "shuffle step per step", "shuffle tree"])
def test_a_crowd_larger_than_the_batch_is_refused_on_reading(name: str) -> None:
    """Who is hidden among a million by the design's own account, and among fifty in truth, is not hidden."""
    crowds = [[0.5 * crowd.flip, 1_000_000] for crowd in DESIGNS[name]().mechanism.crowds]
    with pytest.raises(FormatError, match="batch sizes"):
        Design.from_bytes(forged(name, mechanism={"crowds": crowds}))
    with pytest.raises(FormatError, match="batch sizes"):
        Design.from_bytes(forged(name, mixing={"honest": 0.5}))


@pytest.mark.parametrize(
    "name", ["local laplace", "local gaussian", "joint tree-laplace", "joint toeplitz", "central laplace"]
)
def test_a_grid_that_does_not_divide_a_count_is_refused_on_reading(name: str) -> None:
    """On a grid of 0.3 a half would become two grids: counts moved further than was priced."""
    with pytest.raises(FormatError, match="grid"):
        Design.from_bytes(forged(name, mechanism={"grid": 0.3}))


@pytest.mark.parametrize("name", ["local unary", "local k-ary", "shuffle step"])
@pytest.mark.parametrize("categories", [2, 24, 26, 10**6])
def test_categories_that_are_not_those_of_the_question_are_refused_on_reading(name: str, categories: int) -> None:
    with pytest.raises(FormatError):
        Design.from_bytes(forged(name, mechanism={"categories": categories}))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("local laplace", {"format": "confide.design/9"}),
        ("local laplace", {"format": 1}),
        ("local laplace", {"question": ["riddles", b""]}),
        ("local laplace", {"question": ["counts", b"x"]}),
        ("local laplace", {"question": ["step", LAYERED.having(levels=3).to_bytes()]}),
        ("local laplace", {"question": None}),
        ("local laplace", {"mechanism": {"mechanism": "exponential"}}),
        ("local laplace", {"mechanism": {"scale": -1.0}}),
        ("local laplace", {"mechanism": {"scale": math.nan}}),
        ("local laplace", {"mechanism": {"scale": "9"}}),
        ("local laplace", {"mechanism": {"sigma": 9.0}}),
        ("local laplace", {"mechanism": {"grid": 0.0}}),
        ("local laplace", {"mechanism": None}),
        ("local laplace", {"times": 2}),
        ("local laplace", {"times": 0}),
        ("local laplace", {"episodes": 2}),
        ("local laplace", {"episodes": 0}),
        ("local laplace", {"promise": ["local", 1.9, 1e-5, None, "a day", "replace-one"]}),
        ("local laplace", {"promise": ["nobody", 2.0, 0.0, None, "u", "replace-one"]}),
        ("local laplace", {"promise": ["local", None, 0.0, None, "u", "replace-one"]}),
        ("local laplace", {"promise": None}),
        ("local laplace", {"calibration": "loose"}),
        ("local laplace", {"schedule": ["never", 20, 1.0, 0]}),
        ("local laplace", {"schedule": ["growth", -3, 2.0, 0]}),
        ("local laplace", {"failure": 0.0}),
        ("local laplace", {"failure": 2.0}),
        ("local laplace", {"possible": b"x"}),
        ("local laplace", {"remarks": 5}),
        ("local laplace", {"paper": "nobody's"}),
        ("joint toeplitz", {"mechanism": {"releases": 0}}),
        ("joint toeplitz", {"promise": ["local", 2.0, 1e-5, None, "u", "replace-one"]}),
        ("local laplace", {"promise": ["joint", 2.0, 1e-5, None, "u", "replace-one"]}),
        ("none", {"promise": ["joint", 2.0, 1e-5, None, "u", "replace-one"], "calibration": "tight"}),
        ("shuffle bits", {"mixing": None}),
        ("shuffle bits", {"mixing": {"batch": 1}}),
        ("shuffle bits", {"mixing": {"luck": 1}}),
        ("shuffle bits", {"mechanism": {"crowds": []}}),
        ("shuffle bits", {"mechanism": {"crowds": [[0.1]]}}),
        ("shuffle bits", {"mechanism": {"missing": 0.5}}),
    ],
)
def test_other_words_are_refused(name: str, changes: dict[str, Any]) -> None:
    with refused("design-unreadable") as caught:
        Design.from_bytes(forged(name, **changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data", [None, 7, "text", [1], b"", b"\xc0", msgpack.packb([]), msgpack.packb(["confide.design/1"])]
)
def test_what_are_no_designs_is_refused(data: Any) -> None:
    with pytest.raises(FormatError):
        Design.from_bytes(data)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_politely(data: bytes) -> None:
    with pytest.raises(FormatError):
        Design.from_bytes(data)


@given(st.sampled_from(["local laplace", "local k-ary", "joint tree-laplace", "central tables", "none"]), st.data())
def test_a_changed_byte_is_refused_or_makes_a_design_that_keeps_what_it_says(name: str, data: st.DataObject) -> None:
    whole = bytearray(DESIGNS[name]().to_bytes())
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        decoded = Design.from_bytes(bytes(whole))
    except FormatError:
        return
    assert Design.from_bytes(decoded.to_bytes()).digest == decoded.digest
    assert decoded.verified() is decoded


# Golden vectors.


def golden(kind: str) -> list[Any]:
    """Vectors that were written once; a change of the format needs a new version, not new vectors."""
    rows = json.loads(GOLDEN.read_text(encoding="utf-8"))[kind]
    return [pytest.param(row, id=row["name"]) for row in rows]


@pytest.mark.parametrize("row", golden("good"))
def test_golden_designs(row: dict[str, Any]) -> None:
    decoded = Design.from_bytes(bytes.fromhex(row["bytes"]))
    assert decoded.to_bytes().hex() == row["bytes"] and decoded.digest.hex() == row["digest"]
    assert str(decoded.guarantee) == row["guarantee"]
    assert (decoded.trust, decoded.mechanism.name, decoded.question.kind) == (
        row["trust"],
        row["mechanism"],
        row["kind"],
    )


@pytest.mark.parametrize("row", golden("bad"))
def test_golden_forgeries(row: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=row["says"]):
        Design.from_bytes(bytes.fromhex(row["bytes"]))
