"""Which noise an audit draws: that of the process which draws it in a service.

Reports are drawn by devices, releases by a curator or by a fit. Reports of a page are drawn by
JavaScript and take no noise from here (`browsers`). What only a simulator draws is `SIMULATED`: continuous noise, and
sums of many people's messages that are drawn at once.
"""

from __future__ import annotations

from collections.abc import Callable

from ...mechanisms.noise import NoiseSource, curator_noise, device_noise
from ...privacy.guarantee import CENTRAL, JOINT, LOCAL, SHUFFLE

SIMULATED = "simulator"

SOURCES: dict[str, Callable[[], NoiseSource]] = {
    LOCAL: device_noise,
    SHUFFLE: device_noise,
    JOINT: curator_noise,
    CENTRAL: curator_noise,
}
"""Who draws, by trust model. Under one that is not here it is devices, who trust least."""


def source_of(trust: str) -> NoiseSource:
    """A source of the noise that is really drawn under a trust model."""
    return SOURCES.get(trust, device_noise)()
