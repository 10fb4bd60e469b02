"""The rate limit: this many from each address, none of which is remembered for long."""

from __future__ import annotations

from confide.service.http.limits import Limit, TicketShare, network


def test_each_address_has_a_second_s_worth_and_then_its_rate() -> None:
    now = [0.0]
    limit = Limit(3.0, clock=lambda: now[0])
    assert [limit.allows("10.0.0.1") for _ in range(5)] == [True] * 3 + [False] * 2
    assert limit.allows("10.0.0.2")
    now[0] = 1 / 3 + 1e-9
    assert [limit.allows("10.0.0.1") for _ in range(2)] == [True, False]
    now[0] = 100.0
    assert [limit.allows("10.0.0.1") for _ in range(5)] == [True] * 3 + [False] * 2


def test_less_than_one_a_second() -> None:
    now = [0.0]
    limit = Limit(0.5, clock=lambda: now[0])
    assert [limit.allows("a"), limit.allows("a")] == [True, False]
    now[0] = 2.0
    assert limit.allows("a")


def test_no_more_addresses_are_held_than_it_may() -> None:
    limit = Limit(1.0, most=3)
    assert [limit.allows(str(number)) for number in range(10)] == [True] * 10 and len(limit) == 3
    assert not limit.allows("9") and limit.allows("0")


def test_one_network_is_one_address() -> None:
    assert network("2001:db8:1:2::1") == network("2001:db8:1:2:ffff::9") != network("2001:db8:1:3::1")
    assert network("fe80::1%eth0") == network("fe80::2")
    assert network("192.0.2.7") == "192.0.2.7" and network("::ffff:192.0.2.7") == "::ffff:192.0.2.7"
    assert network("not:an:address") == "not:an:address"


def test_one_address_takes_a_tenth_of_a_batch_s_places() -> None:
    places, batch = TicketShare(), 400
    greedy = [f"2001:db8::{number:x}" for number in range(1, 60)]  # one household's
    taken = 0
    for address in greedy:
        if places.allows(address, batch):
            places.take(address, 1)
            taken += 1
    assert taken == 40 and places.allows("192.0.2.1", batch)
    places.take("192.0.2.1", 2)
    assert places.allows(greedy[0], batch), "in the next batch it begins anew"
    places.take("192.0.2.1", 1)
    assert not places.allows(greedy[0], batch), "and what it took is known when a batch is given out again"


def test_places_are_not_counted_in_small_batches_and_on_this_machine() -> None:
    places = TicketShare()
    for _ in range(20):
        assert places.allows("192.0.2.1", 50)
        places.take("192.0.2.1", 1)
    assert not places.allows("192.0.2.1", 50)
    for _ in range(100):
        assert places.allows("127.0.0.1", 50)
        places.take("127.0.0.1", 1)
