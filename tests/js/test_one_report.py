"""What keeps a page's device to one report, each case in a process of Node: those that a planted mistake must fail by name."""

from __future__ import annotations

import pytest

from . import golden
from .test_reports import NODE, node

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no Node 20 here")

CASES = {
    "store": "one report, though a store cannot be read at the next visit",
    "unspent": "nothing is spent where a store cannot be read, and one report is sent when it can",
    "emptied": "one report, though one of the two stores was emptied",
    "before": "what was spent stands in both stores before anything is sent",
    "ahead": "a clock that was ahead delays a report by one window at most",
    "drawn": "the machine's clock may be put right while a page is open: the time of sending stays",
    "tab": "an episode that goes on for hours in one tab is not replaced by an empty one in another",
    "proxy": "what a proxy says costs nobody their report",
    "drip": "every call ends in time, though answers come one byte at a time or never",
    "witness": "a ticket leads nobody to a round that the witness knows otherwise",
    "unknown": "a round that the witness does not know is not followed, but the latest that it knows",
    "unticketed": "no ticket is taken, or followed, for a round that the witness does not know",
    "held": "a round that is held is compared again when there is a witness",
    "addresses": "one report a person, across episodes, visits, contracts and addresses",
    "successors": "a contract is weaker than another where it is in Python",
    "shares": "shares of noise have the variance that the contract says, and not 2/3 or 3/2 of it",
    "refused": "shares that are too small, or for more honest people than are assumed, are refused",
    "moments": "no episode has moments beyond their bounds",
    "ranked": "directions are ranked alike, and told alike",
    "unit": "the mean of messages is the vector, and no other multiple of it",
    "millionth": "a contract that breaks its guarantee by a millionth, or asks with other bounds, is refused",
    "choice": "a choice takes the best on offer, and reports at its time with the reward that came, or none",
    "apart": "a page comes again when its batches are far enough apart, and takes no ticket that it could not use",
    "several": "several reports of a person keep the guarantee together, or the contract is refused",
    "periods": "a period has begun when the service has signed so and this device's clock says so",
    "renewals": "in a period people may come as often as in Python, whatever they did before it",
    "operators": "an operator stays who it is by any of name, key and address",
}


@pytest.mark.parametrize("case", CASES)
def test_a_page_keeps_to_one_report(case: str) -> None:
    assert node(golden.PATH.with_name("one.mjs"), CASES[case]) == "passed\n"
