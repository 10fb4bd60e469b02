"""Closes a round into a release about all users so far: from reports, a shuffler's sums, or a curator's release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgpack

from ...errors import FormatError
from ...privacy.guarantee import JOINT, LOCAL, SHUFFLE
from ...protocol.design import Design
from ...protocol.releases import ReportAggregate, Sum
from ...protocol.releases.release import Noise, read_release
from ...protocol.releases.shuffler import ShuffledSums, read_sums

RoundReader = Callable[[Design, bytes, bytes], tuple[bytes, Any]]


def empty_sum(design: Design) -> bytes:
    """The bytes of the sum before the first user; empty where a curator keeps the sum."""
    if design.mixing is not None:
        return _packed([Sum.empty(design, level) for level in range(len(design.devices))])
    return b"" if not design.devices else Sum.empty(design).to_bytes()


def close_round(design: Design, before: bytes, during: bytes) -> tuple[bytes, Any]:
    """The sum of all users so far, and the release about them. before: the sum up to the round; during: what the round adds."""
    return _READERS[design.trust](design, before, during)


def _local(design: Design, before: bytes, during: bytes) -> tuple[bytes, Any]:
    aggregate = ReportAggregate.from_bytes(before, design)
    aggregate.take_sum(Sum.from_bytes(during, design))
    return aggregate.to_bytes(), aggregate.close()


def _shuffled(design: Design, before: bytes, during: bytes) -> tuple[bytes, Any]:
    """The sums so far, one for each size of batch, and their release: batches are disjoint, and each has enough people, or
    more.

    A design states the noise of full batches. Here it is that of the reports that came, whose number is public.
    """
    from ...protocol.trusts.shuffle import noise_of_sums

    totals, batch = _unpacked(before, design), Sum.from_bytes(during, design)
    least = 0 if design.mixing is None else design.mixing.batch << batch.level
    if not 0 < least <= batch.users:
        raise FormatError(
            "sum-too-small", "This sum is of fewer people than a batch needs. The shuffler must wait for more."
        )
    totals[batch.level].merge(batch)
    release = read_sums(design, tuple(ShuffledSums(at, at + 1, total) for at, total in enumerate(totals)))
    law = noise_of_sums(design, [float(total.users) for total in totals])
    radii = design.kind.radii(design.question, law, design.release_failure, design.possible)
    noise = Noise(*design.kind.noise(design.question, law).tolist())
    return _packed(totals), replace(release, radius=type(release.radius)(*radii.tolist()), noise=noise)


def _packed(totals: list[Sum]) -> bytes:
    """Sums by level, as bytes."""
    body: bytes = msgpack.packb([total.to_bytes() for total in totals])
    return body


def _unpacked(data: bytes, design: Design) -> list[Sum]:
    """The sums that `_packed` wrote, one for each level; anything else is refused."""
    try:
        totals = [Sum.from_bytes(one, design) for one in msgpack.unpackb(data, max_array_len=64)]
        if [total.level for total in totals] != list(range(len(design.devices))):
            raise ValueError("there is not one for each size of batch")
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise FormatError(
            "sums-unreadable", f"These bytes are not sums this version can go on with: {error}"
        ) from error
    return totals


def _joint(design: Design, before: bytes, during: bytes) -> tuple[bytes, Any]:
    """No sum, and the curator's release, which is already about every user."""
    release = read_release(design, during)
    if release.guarantee != design.guarantee or release.users not in design.schedule.ends:
        raise FormatError("release-not-of-design", "This release is not one that the contract's design makes.")
    return b"", release


_READERS: dict[str, RoundReader] = {LOCAL: _local, SHUFFLE: _shuffled, JOINT: _joint}
