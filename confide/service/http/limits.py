"""How many letters a second one address may send. Addresses are held in memory while they send, and nowhere else."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

RATE = 1000.0
"""Letters a second from one address, by default: many people may share one."""
MOST_ADDRESSES = 1 << 16


class Limit:
    """So many requests a second from each address, and a second's worth at once; whoever was silent longest is forgotten first.

    The 2^64 addresses of an IPv6 network, which one household may have, are one.
    """

    def __init__(
        self, rate: float = RATE, most: int = MOST_ADDRESSES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._most, self._clock = rate, most, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        """How many addresses it holds."""
        return len(self._left)

    def allows(self, address: str) -> bool:
        """Whether this address may send one more now."""
        now, source = self._clock(), network(address)
        burst = max(1.0, self._rate)
        tokens, seen = self._left.pop(source, (burst, now))
        tokens = min(burst, tokens + (now - seen) * self._rate)
        allowed = tokens >= 1
        self._left[source] = (tokens - 1 if allowed else tokens, now)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
        return allowed


def network(address: str) -> str:
    """What counts as one address: an IPv4 address, or the first four groups of an IPv6 one."""
    if ":" not in address or address.startswith("::ffff:"):
        return address
    from ipaddress import AddressValueError, IPv6Address

    try:
        return IPv6Address(address.partition("%")[0]).packed[:8].hex()
    except AddressValueError:
        return address
