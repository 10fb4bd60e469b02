"""Closes a round into a release about everybody so far: from reports, a shuffler's sums, or a curator's release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..designs import Design
from ..errors import FormatError
from ..privacy.guarantee import JOINT, LOCAL, SHUFFLE
from ..releases import ReportBook, Sum, release_bytes
from ..releases.shuffler import ShuffledSums, read_sums

RoundReader = Callable[[Design, bytes, bytes], tuple[bytes, Any]]


def empty_sum(design: Design) -> bytes:
    """The bytes of the sum before anybody came; empty where a curator keeps the sum."""
    return b"" if not design.devices else Sum.empty(design).to_bytes()


def close_round(design: Design, before: bytes, during: bytes) -> tuple[bytes, Any]:
    """The sum of everybody so far, and the release about them. before: the sum up to the round; during: what the round adds."""
    return _READERS[design.trust](design, before, during)


def _local(design: Design, before: bytes, during: bytes) -> tuple[bytes, Any]:
    book = ReportBook.from_bytes(before, design)
    book.take_sum(Sum.from_bytes(during, design))
    return book.to_bytes(), book.close()


def _shuffled(design: Design, before: bytes, during: bytes) -> tuple[bytes, Any]:
    """The sum so far and its release, where a shuffler's sums are added up: their batches are disjoint, and each has enough
    people, or more.

    A design states the noise of full batches; that of the next number of them covers whoever is beyond.
    """
    total, batch = Sum.from_bytes(before, design), Sum.from_bytes(during, design)
    if design.mixing is None or batch.users < design.mixing.batch:
        raise FormatError("This sum is of fewer people than a batch needs. The shuffler must wait for more.")
    total.merge(batch)
    release = read_sums(design, (ShuffledSums(0, 1, total),))
    radii, noise = design.errors_at(-(-total.users // design.mixing.batch) * design.mixing.batch)
    return total.to_bytes(), replace(release, radius=type(release.radius)(*radii.tolist()), noise=noise)


def _joint(design: Design, before: bytes, during: bytes) -> tuple[bytes, Any]:
    """No sum, and the curator's release, which is already about everybody."""
    release = release_bytes.from_bytes(during)
    if release.guarantee != design.guarantee or release.users not in design.schedule.ends:
        raise FormatError("This release is not one that the contract's design makes.")
    return b"", release


_READERS: dict[str, RoundReader] = {LOCAL: _local, SHUFFLE: _shuffled, JOINT: _joint}
