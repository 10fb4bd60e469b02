"""The bytes of releases: the same numbers again, golden vectors, and nothing but what was written."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import FormatError
from confide.mdp import Spec
from confide.privacy import Central, Guarantee
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases import CountRelease, Counts, Radius
from confide.protocol.releases.release import Noise
from confide.protocol.releases.release_bytes import from_bytes, pack_file, to_bytes, unpack_file

GOLDEN = json.loads((Path(__file__).parent / "golden" / "releases.json").read_text(encoding="utf-8"))


def release(counts: Counts | None = None, promise: Guarantee | None = None) -> CountRelease:
    question = CountQuestion(Spec(2, 1, 3), ("centred", "transitions"), levels=16)
    given = counts or Counts(
        np.array([[[1.5], [-2.25]]]),
        np.array([[[0.03125], [7.0]]]),
        np.array([[[0.03125], [7.0]]]),
        np.array([[[[1.0, 0.5], [-3.0, 0.75]]]]).reshape(1, 2, 1, 2),
    )
    radius, noise = Radius(1.0, 2.0, 2.0, 0.5, 0.75), Noise(1.0, 2.5, 0.25, 3.0, 5.0)
    return CountRelease(question, 12, given, radius, 0.05, promise or Central(rho=0.5), noise)


def same(first: CountRelease, second: CountRelease) -> bool:
    kept = ("question", "users", "radius", "failure", "guarantee", "noise")
    arrays = zip(first.counts, second.counts, strict=True)
    return all(getattr(first, key) == getattr(second, key) for key in kept) and all(
        np.array_equal(one, other) for one, other in arrays
    )


@pytest.mark.parametrize("promise", [Central(rho=0.5), Central(1.0), Central(1.0, 1e-6), Guarantee.none()], ids=str)
def test_the_same_again(promise: Guarantee) -> None:
    assert same(from_bytes(to_bytes(release(promise=promise))), release(promise=promise))


@given(st.lists(st.floats(-1e12, 1e12), min_size=10, max_size=10))
def test_any_numbers_come_back_to_the_last_bit(numbers: list[float]) -> None:
    array = np.array(numbers)
    counts = Counts(*(array[i : i + 2].reshape(1, 2, 1) for i in (0, 2, 4)), array[6:].reshape(1, 2, 1, 2))
    assert same(from_bytes(to_bytes(release(counts))), release(counts))


def test_numbers_on_a_grid_are_small() -> None:
    """A million counts on a grid of 1/32: well below the eight bytes that a float takes."""
    spec = Spec(100, 100, 2)
    question = CountQuestion(spec, ("transitions",))
    moves = np.rint(np.random.default_rng(0).normal(scale=900, size=(1, 100, 100, 100))) / 32
    pairs = moves.sum(axis=-1)
    big = CountRelease(question, 5, Counts(pairs, pairs * 0, pairs * 0, moves), Radius.zero(), 0.05, Central(rho=1.0))
    body = to_bytes(big)
    assert len(body) < 2.2e6
    assert same(from_bytes(body), big)


@pytest.mark.parametrize("row", GOLDEN["good"], ids=lambda row: row["name"])
def test_golden_releases(row: dict[str, Any]) -> None:
    """Vectors that were written once; a change of the format needs a new version, not new vectors."""
    decoded = from_bytes(bytes.fromhex(row["bytes"]))
    assert decoded.users == row["users"] and str(decoded.guarantee) == row["guarantee"]
    assert decoded.counts.transitions.ravel().tolist() == row["transitions"]
    assert decoded.counts.rewards.ravel().tolist() == row["rewards"]
    assert list(decoded.radius) == row["radius"]


@pytest.mark.parametrize("row", GOLDEN["bad"], ids=lambda row: row["name"])
def test_golden_forgeries(row: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=row["says"]):
        from_bytes(bytes.fromhex(row["bytes"]))


def edited(**changes: Any) -> bytes:
    fields = ["form", "question", "users", "radius", "failure", "promise", "arrays", "noise"]
    parts = dict(zip(fields, msgpack.unpackb(to_bytes(release())), strict=True))
    return msgpack.packb(list({**parts, **changes}.values()))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"users": -1}, "users must be"),
        ({"users": 1.5}, "users must be"),
        ({"failure": 2.0}, "failure must be"),
        ({"radius": [0.0, 0, 0, 0, -1.0]}, "negative radius"),
        ({"radius": [0.0, 0, 0]}, "not a release"),
        ({"radius": [float("nan")] * 5}, "radius must be"),
        ({"promise": ["central", -1.0, 0.0, None, "u", "replace-one"]}, "epsilon must be"),
        ({"promise": ["nobody", None, 0.0, 1.0, "u", "replace-one"]}, "trust"),
        ({"question": b"x"}, "not a statistic"),
        ({"noise": [0.0, 0.0]}, "not a release"),
        ({"noise": [float("nan")] * 4}, "noise must be"),
        ({"noise": None}, "not a release"),
        ({"form": "confide.release/9"}, "its format is"),
        ({"arrays": []}, "not a release"),
        ({"arrays": [["<f8", 0, zlib.compress(bytes(16))]] * 4}, "more or fewer"),
        ({"arrays": [["<f8", 0, zlib.compress(bytes(1 << 20))]] * 4}, "more or fewer"),
        ({"arrays": [["<i4", 0, b""]] * 4}, "type or a grid"),
        ({"arrays": [["|O", 1, b""]] * 4}, "type or a grid"),
        ({"arrays": [["<f8", 0, b"no"]] * 4}, "not a release"),
        ({"arrays": [["<f8", 0, zlib.compress(np.array([np.nan, 1]).tobytes())]] * 4}, "not finite"),
    ],
)
def test_what_was_never_written_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(FormatError, match=says):
        from_bytes(edited(**changes))


@given(st.binary(max_size=200))
def test_noise_is_refused(data: bytes) -> None:
    for reader in (from_bytes, unpack_file):
        with pytest.raises(FormatError):
            reader(data)


def test_a_cut_release_is_refused() -> None:
    body = to_bytes(release())
    for length in (0, 1, len(body) // 2, len(body) - 1):
        with pytest.raises(FormatError):
            from_bytes(body[:length])


def test_a_release_that_does_not_say_its_noise_is_refused() -> None:
    parts = msgpack.unpackb(to_bytes(release()))
    with pytest.raises(FormatError, match="its format is"):
        from_bytes(msgpack.packb(parts[:-1]))


def test_several_releases_in_one_file() -> None:
    body = pack_file({"starts": b"one", "counts": b"two"})
    assert unpack_file(body) == {"counts": b"two", "starts": b"one"}
    with pytest.raises(FormatError, match=r"its format is"):
        unpack_file(msgpack.packb(["confide.releases/9", []]))
    with pytest.raises(FormatError, match=r"wrong type"):
        unpack_file(msgpack.packb(["confide.releases/1", [[1, b""]]]))
