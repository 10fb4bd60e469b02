"""Certificates state the truth about their acts, survive a trip through a file, and refuse what was tampered with."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import FormatError
from confide.mechanisms.gaussian import Gaussian
from confide.mechanisms.laplace import Laplace
from confide.privacy import (
    Act,
    Central,
    Certificate,
    Joint,
    Local,
    NoPrivacy,
    Schedule,
    Sensitivity,
    Shuffle,
    StatedGuarantee,
)
from tests.refusals import refused

CHANGE = Sensitivity(6.0, 3.0, ((1.0, 6),), 6)
KEYS = {
    "schema",
    "guarantees",
    "unit",
    "neighbours",
    "mechanisms",
    "calibration",
    "noise",
    "assumptions",
    "audit",
    "versions",
}


def laplace(times: int = 1) -> Act:
    return Act(Laplace(3.0, 1.0), CHANGE, times)


def paper() -> Certificate:
    """Twice the epsilon a paper claims."""
    schedule = Schedule.batches(100, 4).describe()
    return Certificate.of([laplace()], Local(1.0), "paper", "opendp", ["rewards in [0, 1]"], schedule)


PAPER = paper().as_json()
CERTIFICATES = {
    "paper": paper(),
    "tight": Certificate.of([Act(Gaussian(10.0, 0.125), CHANGE)], Joint(1, 1e-6), "tight", "compiled"),
    "rho": Certificate.of([Act(Gaussian(10.0, 0.125), CHANGE)], Central(rho=0.5), "sound", "replayable"),
    "none": Certificate.of([], NoPrivacy(), "tight", "replayable"),
    "shuffle": Certificate(
        (StatedGuarantee(Shuffle(1.0, 1e-6)), StatedGuarantee(Local(4.0))), ({"name": "bits"},), "tight", "opendp", ()
    ),
    "audited": paper().with_audit({"lower_bound": 1.7, "delta": 0.0, "confidence": 0.95}),
}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_certificate_survives_its_file(name: str, tmp_path: Path) -> None:
    certificate = CERTIFICATES[name]
    certificate.save(tmp_path / "certificate.json")
    again = Certificate.load(tmp_path / "certificate.json")
    assert again.as_json() == certificate.as_json()
    assert str(again) == str(certificate)


@pytest.mark.parametrize("name", CERTIFICATES)
def test_the_stable_keys(name: str) -> None:
    document = CERTIFICATES[name].as_json()
    assert set(document) == KEYS
    assert document["schema"] == "confide.certificate/1"
    for row in document["guarantees"]:
        assert set(row) == {"trust", "epsilon", "delta", "rho", "converted", "nominal"}
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert {"confide", "python", "numpy", "opendp", "dp-accounting"} == set(document["versions"])


def test_the_truth_comes_from_the_acts_not_from_what_was_asked() -> None:
    certificate = paper()
    assert certificate.guarantee == Local(2.0)
    row = certificate.as_json()["guarantees"][0]
    assert row["epsilon"] == 2.0
    assert row["nominal"] == {"epsilon": 1.0, "delta": 0.0, "rho": None}
    assert Certificate.of([laplace(3)], Local(1.0), "sound", "opendp").guarantee == Local(6.0)
    two = Certificate.of([laplace(), laplace(2)], Local(1.0), "sound", "opendp")
    assert two.guarantee == Local(6.0)
    assert two.as_json()["guarantees"][0]["nominal"] is None
    assert [row["times"] for row in two.mechanisms] == [1, 2]


def test_rho_on_a_grid_is_stated_exactly() -> None:
    """The discrete Gaussian of sigma has l2^2/(2 sigma^2) whatever its grid."""
    row = CERTIFICATES["rho"].as_json()["guarantees"][0]
    assert row["rho"] == 9 / 200
    assert row["converted"] is True
    assert row["delta"] == 1e-6


def test_nothing_is_said_of_mechanisms_without_a_promise() -> None:
    certificate = CERTIFICATES["none"]
    assert certificate.calibration == certificate.noise == "none"
    assert certificate.mechanisms == ()
    assert str(certificate).splitlines()[0].split(maxsplit=1) == ["guarantee", "no privacy"]


def test_how_a_certificate_prints() -> None:
    lines = str(CERTIFICATES["audited"]).splitlines()
    assert [line.split("  ", 1)[0] for line in lines] == [
        "guarantee",
        "paper's claim",
        "hides",
        "neighbours",
        "mechanism",
        "calibration",
        "noise",
        "assumes",
        "audit",
    ]
    assert "2-DP, local" in lines[0]
    assert "1-DP, local" in lines[1]
    assert "discrete-laplace: scale 3, grid 1, sensitivity l1 6, sensitivity l2 3, 4 releases (batches)" in lines[4]
    assert "epsilon at least 1.7 at delta 0" in lines[-1]


def tampered(path: str, value: Any) -> dict[str, Any]:
    """A paper certificate with one entry changed, or removed if the value is ...; a dot goes one level down."""
    data = copy.deepcopy(PAPER)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place: Any = data
    for step in way:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return data


TAMPERED = [
    *((key, ...) for key in sorted(KEYS)),
    ("surplus", 1),
    ("schema", "confide.certificate/2"),
    ("schema", None),
    ("guarantees", []),
    ("guarantees", {}),
    ("guarantees", [1]),
    ("guarantees", None),
    ("guarantees.0.trust", "everybody"),
    ("guarantees.0.trust", []),
    ("guarantees.0.trust", ...),
    ("guarantees.0.converted", ...),
    ("guarantees.0.converted", True),
    ("guarantees.0.nominal", ...),
    ("guarantees.0.nominal", {}),
    ("guarantees.0.nominal", 1),
    ("guarantees.0.nominal.epsilon", -1),
    ("guarantees.0.surplus", 1),
    ("guarantees.0.epsilon", -1),
    ("guarantees.0.epsilon", 0),
    ("guarantees.0.epsilon", None),
    ("guarantees.0.epsilon", "2"),
    ("guarantees.0.epsilon", True),
    ("guarantees.0.epsilon", float("nan")),
    ("guarantees.0.epsilon", float("inf")),
    ("guarantees.0.delta", 1),
    ("guarantees.0.delta", -0.1),
    ("guarantees.0.rho", 1.0),
    ("unit", 3),
    ("neighbours", "somebody"),
    ("neighbours", []),
    ("mechanisms", "laplace"),
    ("mechanisms", [1]),
    ("calibration", "loose"),
    ("calibration", []),
    ("noise", "rand()"),
    ("assumptions", "none"),
    ("audit", [1]),
    ("audit", {}),
    ("audit", {"lower_bound": "high", "delta": 0}),
    ("mechanisms.0.name", ...),
    ("mechanisms.0.sensitivity", 3),
    ("mechanisms.0.schedule", {}),
    ("versions", []),
]


@pytest.mark.parametrize(("path", "value"), TAMPERED)
def test_what_was_tampered_with_is_refused(path: str, value: Any, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(tampered(path, value)))
    with refused("certificate-invalid", match=r"certificate\.json"):
        Certificate.load(file)


@pytest.mark.parametrize(("key", "value"), [("epsilon", 0.001), ("delta", 1e-9), ("epsilon", None), ("rho", 0.0)])
def test_a_conversion_that_contradicts_its_rho_is_refused(key: str, value: float | None) -> None:
    data = copy.deepcopy(CERTIFICATES["rho"].as_json())
    data["guarantees"][0][key] = value
    with pytest.raises(FormatError):
        Certificate.from_json(data)


@pytest.mark.parametrize(
    ("part", "key", "factor"), [(None, "sigma", 0.9), ("sensitivity", "l2", 1.1), (None, "times", 2)]
)
def test_a_mechanism_that_gives_away_more_than_the_guarantee_is_refused(
    part: str | None, key: str, factor: float
) -> None:
    """And one that gives away less is read: another may have the rest."""
    for change, fine in ((factor, False), (1 / factor, True)):
        data = copy.deepcopy(CERTIFICATES["rho"].as_json())
        (row,) = data["mechanisms"]
        (row if part is None else row[part])[key] *= change
        if fine:
            Certificate.from_json(data)
        else:
            with refused("certificate-invalid", match="gives away more"):
                Certificate.from_json(data)


@pytest.mark.parametrize("factor", [0.9, 0.999, 1.001, 1.1])
def test_a_converted_epsilon_that_was_edited_is_refused(factor: float) -> None:
    """It follows from rho and delta; only the last digits may be another version's."""
    data = copy.deepcopy(CERTIFICATES["rho"].as_json())
    row = data["guarantees"][0]
    assert row["converted"]
    row["epsilon"] *= 1 + 1e-9
    Certificate.from_json(data)
    row["epsilon"] *= factor
    with refused("certificate-invalid", match="contradicts itself"):
        Certificate.from_json(data)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"3", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_certificate_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    file.write_bytes(content)
    with pytest.raises(FormatError):
        Certificate.load(file)
    with refused("certificate-missing"):
        Certificate.load(tmp_path / "absent.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(KEYS)), JSON)
def test_any_entry_of_any_type_is_read_or_refused(key: str, value: Any) -> None:
    try:
        document = Certificate.from_json({**PAPER, key: value}).as_json()
    except FormatError as error:
        assert "vouch" in str(error)
    else:
        assert Certificate.from_json(document).as_json() == document
