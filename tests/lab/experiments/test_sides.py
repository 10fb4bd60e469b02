"""The rule for pages of papers: sides all as printed, sides all tuned inside their grids, the latter at the same true guarantee."""

from __future__ import annotations

import json
from dataclasses import replace
from html import escape
from typing import Any

import pytest

from confide.lab.experiments.experiment import catalogue
from confide.lab.experiments.facts import FAILS, HOLDS, NOT_REPRODUCED, REPRODUCED
from confide.lab.experiments.part import PAPER
from confide.lab.experiments.publishing import CLAIMS, DATA, PAGE, folder_of, read_data
from confide.lab.experiments.reference import REFERENCE
from confide.lab.experiments.sides import (
    EXCEPTIONS,
    ONE_PRINTED,
    ONE_TUNED,
    UNEQUAL,
    UNRECORDED,
    Tuned,
    faults,
    read_tuning,
)
from confide.lab.experiments.view import surely_less
from tools.pages import PAGES
from tools.tuning import TABLE, chosen, grids

PAPERS = sorted(address for address in catalogue() if not address.startswith("ours/"))


@pytest.mark.parametrize("address", PAPERS)
def test_a_page_keeps_the_rule_or_says_why_not(address: str) -> None:
    found = faults(catalogue()[address], read_data(folder_of(PAGES, address, PAPER)), read_tuning(TABLE))
    assert found == set(EXCEPTIONS.get(address, {}))


@pytest.mark.parametrize("address", PAPERS)
def test_what_a_page_of_a_paper_claims_is_data(address: str) -> None:
    """Each claim has its measurement and a verdict, and stands so on the page."""
    folder, page = folder_of(PAGES, address, PAPER), catalogue()[address]
    results = read_data(folder)
    claims, text = page.claims(PAPER, results), page.text(PAPER, results)
    assert claims and all(claim.said and claim.measured and claim.verdict for claim in claims)
    assert {claim.verdict for claim in claims} <= {HOLDS, FAILS, REPRODUCED, NOT_REPRODUCED}
    assert all(claim.sentence() in text for claim in claims)
    html = (folder / PAGE).read_text(encoding="utf-8")
    assert all(escape(claim.said) in html and escape(claim.measured) in html for claim in claims)
    assert json.loads((folder / CLAIMS).read_text(encoding="utf-8")) == [claim.as_json() for claim in claims]


def test_exceptions_have_a_reason_each_and_belong_to_pages() -> None:
    assert set(EXCEPTIONS) <= set(PAPERS)
    assert all(reason.endswith(".") for reasons in EXCEPTIONS.values() for reason in reasons.values())


def test_constants_are_the_best_of_their_grids_and_lie_inside() -> None:
    tuning = read_tuning(TABLE)
    assert set(tuning) == set(grids()) == set(chosen())
    for name, one in tuning.items():
        assert chosen()[name] == one.best, name
        assert dict(one.axes) == dict(grids()[name][0]) and len(one.losses) == len(one.points)
        assert not one.at_an_edge(), name


def test_an_edge_is_seen() -> None:
    axis = {"lambda": (1.0, 10.0, 100.0), "c": (0.0, 1.0)}
    assert Tuned(axis, (9, 9, 1, 9, 9, 9), 0).at_an_edge() == []  # 10 and 0: 0 is the least there is
    assert Tuned(axis, (9, 9, 9, 9, 9, 1), 0).at_an_edge() == ["lambda", "c"]
    assert Tuned(axis, (1, 9, 9, 9, 9, 9), 0).at_an_edge() == ["lambda"]


def test_one_sided_pages_unequal_guarantees_and_edges_stop_the_build() -> None:
    page: Any = catalogue()["offline/figure-1b"]
    results, tuning = read_data(folder_of(PAGES, page.address, PAPER)), read_tuning(TABLE)
    assert faults(page, results, tuning) == set()
    tuned = replace(page, parts=tuple(part for part in page.parts if "as printed" not in part.label))
    assert faults(tuned, results, tuning) == {ONE_PRINTED}
    printed = replace(
        page, parts=tuple(part for part in page.parts if "as printed" in part.label or "ours" in part.label)
    )
    assert faults(printed, results, tuning) == {ONE_TUNED}
    less = [replace(one, guarantee="0.4-zCDP, central") if one.label == "DP-PEVI, rho 1" else one for one in results]
    assert faults(page, less, tuning) == {UNEQUAL}
    name = "DP-PEVI, rho 1"
    edge = replace(tuning[name], losses=tuple(range(len(tuning[name].losses))))
    assert faults(page, results, {**tuning, name: edge}) == {UNRECORDED}


def test_figures_1a_and_1b_of_the_offline_paper_show_the_same_numbers_for_the_same_side() -> None:
    first, second = (
        {result.label: result for result in read_data(folder_of(PAGES, f"offline/figure-1{letter}", PAPER))}
        for letter in "ab"
    )
    shared = first.keys() & second.keys()
    assert {"ours, rho 10", "DP-VAPVI, rho 10", "VAPVI"} <= shared
    for label in shared:
        assert (first[label].rows == second[label].rows).all(), label


WITH_REFERENCE = [
    address
    for address, experiment in catalogue().items()
    if any(part.label == REFERENCE for part in experiment.parts) and (folder_of(PAGES, address, PAPER) / DATA).is_file()
]


@pytest.mark.parametrize("address", WITH_REFERENCE)
def test_no_private_side_surely_loses_less_than_the_reference_without_privacy(address: str) -> None:
    """On the data of every page, at the last place, by the interval of 95 % of a ratio: of 1,000 private sides that are truly level
    with the reference 25 would fail, once, when their page is built."""
    results = read_data(folder_of(PAGES, address, PAPER))
    (reference,) = [result for result in results if result.label == REFERENCE]
    private = [result for result in results if result.guarantee and result.guarantee != reference.guarantee]
    assert private
    for result in private:
        if len(result.rows) == len(reference.rows) and result.x[-1] == reference.x[-1]:
            last, best = (replace(each, x=each.x[-1:], rows=each.rows[:, -1:]) for each in (result, reference))
            assert not surely_less(last, best), result.label
