"""How many submissions a second one address may send, and how many places of an open batch it may have. Addresses are held in
memory while they send, and nowhere else."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable

RATE = 1000.0
"""Submissions a second from one address, by default: many people may share one."""
MOST_ADDRESSES = 1 << 16
SHARE, LEAST = 0.1, 20
"""The share of a batch's places that one address may take where the contract names no issuer, and how many it may take at least."""
REMEMBERED = 64
"""Batches whose places of each address are remembered."""
THIS_MACHINE = ("127.0.0.1", "::1")


class Limit:
    """This many requests a second from each address, and those of a second at once; the address that was silent longest is
    forgotten first.

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


class TicketShare:
    """At most a share of a batch's places for each address, where nothing but its address tells one client from another.

    Addresses of this machine are not limited: rehearsals come from there, and a proxy that says nothing of clients.
    """

    def __init__(self, share: float = SHARE, least: int = LEAST) -> None:
        self._share, self._least = share, least
        self.batch, self._taken = 1, {1: Counter[str]()}

    def allows(self, address: str, tickets: int) -> bool:
        """Whether this address may take one more place in the open batch of this many tickets."""
        most = max(self._least, int(self._share * tickets))
        return address.startswith(THIS_MACHINE) or self._taken[self.batch][network(address)] < most

    def take(self, address: str, batch: int) -> None:
        """Note a place in a batch. A batch to which too few came is given out again later; long closed ones are forgotten."""
        self.batch = batch
        self._taken.setdefault(batch, Counter())[network(address)] += 1
        if len(self._taken) > REMEMBERED:
            del self._taken[min(self._taken)]


def network(address: str) -> str:
    """What counts as one address: an IPv4 address, or the first four groups of an IPv6 one."""
    if ":" not in address or address.startswith("::ffff:"):
        return address
    from ipaddress import AddressValueError, IPv6Address

    try:
        return IPv6Address(address.partition("%")[0]).packed[:8].hex()
    except AddressValueError:
        return address
