"""Few tests on our own classes are left, and each has its reason; words are compared where designs are made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import kinds

PAGE = Path(__file__).parents[1] / "docs" / "decisions" / "0005-one-protocol.md"
MOST = 40
"""There were 120 before there was one protocol."""

MOST_UNSAID, MOST_PROBES = 340, 20
"""Uses of the name `Any`, and calls of getattr and hasattr: less and less, and no more than 400 and 20 in the end."""

# Where a design, a mechanism or a plan is chosen by its word; experiments, whose data is words. Elsewhere a table is looked up.
CHOOSERS = ("protocol/", "mechanisms/", "privacy/", "learning/learners/", "lab/experiments/")
ELSEWHERE = {
    "lab/audit/catalogue.py": "the table of what is attacked",
    "lab/audit/counters.py": "which node a tree has",
    "lab/audit/sweep.py": "who of a curator's stream a person is; where a message tells one category",
    "cli/forecast.py": "what shufflers are asked about; people at whom local noise is stated",
    "cli/learner.py": "the word for no value of an option",
    "cli/options.py": "the words of --trust become a promise",
    "service/collector/founding.py": "which trusts have a service, and which learners and options go with each",
    "service/contract/slots.py": "under local trust no batch keeps visits apart",
    "service/contract/admission.py": "which trust stands on how many of a batch are honest",
    "service/contract/contract.py": "which trusts a contract may have; what a paper prints is none",
    "analysis/fitting/featured.py": "what is about tables of states is refused",
    "analysis/fitting/fit.py": "a linear fit is Gaussian; a paper's algorithm asks what the paper asks",
    "analysis/fitting/learning.py": "a learner is built for one calibration",
    "analysis/fitting/linear.py": "papers judge nothing",
    "analysis/fitting/plan.py": "what a fit writes down of its calibration, if it is a paper's",
    "analysis/fitting/forecast.py": "a forecast is central, or local for comparison",
    "data/privatizers/devices.py": "a paper's noise may hide nothing, and is for simulated people then",
    "lab/simulation/offline.py": "a paper knows no table of possible transitions",
    "lab/simulation/mixtures.py": "when a table is told in counts",
    "lab/simulation/shuffle_loop.py": "the loop of shufflers",
    "lab/simulation/group_loop.py": "whose noise the loop draws: each user's, a curator's or none",
    "lab/simulation/category_loop.py": "the loop of categories, which devices alone report",
    "lab/simulation/simulate.py": "a data set is not simulated online; a paper's options",
    "lab/simulation/stepwise.py": "which node a tree has; whose aggregate the loop stands for",
    "lab/testing/design.py": "what a paper prints keeps no promise",
    "data/trajectories/columns.py": "STEP is the column of steps here",
}


def reasons() -> dict[tuple[str, str, str], str]:
    """(file, function, class) -> why, from the table."""
    results = {}
    for row in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if len(cells) == 3 and (words := re.findall(r"`([^`]+)`", cells[0])):
            for name in re.findall(r"`(\w+)`", cells[1]):
                for function in words[1:]:
                    results[words[0], function, name] = cells[2]
    return results


@pytest.fixture(scope="module")
def class_tests() -> Iterator[list[kinds.KindTest]]:
    yield kinds.class_tests()
    kinds.sources.cache_clear()  # half a million nodes, which would stay to the end


def test_few_tests_on_our_own_classes_are_left(class_tests: list[kinds.KindTest]) -> None:
    assert 0 < len(class_tests) <= MOST


def test_types_are_said_and_attributes_are_not_probed() -> None:
    assert 0 < kinds.unsaid().total() <= MOST_UNSAID
    assert 0 < len(kinds.probes()) <= MOST_PROBES


def test_each_has_a_reason_and_no_reason_is_left_over(class_tests: list[kinds.KindTest]) -> None:
    there = {(one.file, one.function, name) for one in class_tests for name in one.names}
    given = reasons()
    assert {one for one in there if not given.get(one)} == set(), (
        "give the reason in docs/decisions/0005-one-protocol.md"
    )
    assert {(file, name) for file, _, name in given} <= {(file, name) for file, _, name in there}


def test_words_are_compared_where_they_are_chosen() -> None:
    options = {one.file for one in kinds.word_tests() if not one.file.startswith(CHOOSERS)}
    assert options == set(ELSEWHERE)


def test_the_count_sees_what_it_should() -> None:
    """Plain and dotted names, tuples and unions of them, patterns; not other people's classes, nor errors."""
    source = """
class Mine: ...
class MineError(Exception): ...
def ask(one, other):
    if isinstance(one, Mine) or isinstance(one, (int, module.Mine)) or isinstance(other, int | Mine):
        return isinstance(one, MineError) or isinstance(one, int)
    match one:
        case Mine() | int():
            return other == "local"
        case _:
            return other in (TIGHT, 3)
"""
    trees = {"here.py": ast.parse(source)}
    assert [(one.function, one.names) for one in kinds.class_tests(trees)] == [("ask", ("Mine",))] * 4
    assert [one.names for one in kinds.word_tests(trees)] == [("local",), ("TIGHT",)]
