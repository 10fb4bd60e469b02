"""Every refusal has a code of its own, which the reference lists and the tests match."""

from __future__ import annotations

import ast
import pickle
import re
from collections import defaultdict

import pytest

from confide.errors import ConfideError, InvalidInput, UnknownName
from confide.validation import choice, positive
from tools import codes

KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@pytest.fixture(scope="module")
def places() -> list[codes.RefusalPlace]:
    return codes.places(codes.trees())


def test_the_page_of_codes_is_what_the_code_says() -> None:
    assert codes.PAGE.read_text(encoding="utf-8") == codes.page(), "python -m tools.reference writes it anew"


def test_codes_are_in_kebab_case(places: list[codes.RefusalPlace]) -> None:
    assert len(places) > 600
    assert [place for place in places if place.code and not KEBAB.fullmatch(place.code)] == []


def test_codes_are_of_one_rule(places: list[codes.RefusalPlace]) -> None:
    """One error and one first sentence: what follows it may differ, as the way out does."""
    rules: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for place in places:
        if place.code is not None and place.module != "confide/validation.py" and place.pattern != codes.OPEN:
            rules[place.code].add((place.error, re.split(r"[.:] ", place.pattern)[0].rstrip(".")))
    assert {code: rule for code, rule in rules.items() if len(rule) > 1} == {}


def test_a_refusal_carries_its_code_and_what_it_is_about() -> None:
    with pytest.raises(InvalidInput) as caught:
        positive("epsilon", -1)
    assert (caught.value.code, caught.value.about) == ("not-positive", "epsilon")
    assert str(caught.value) == "epsilon must be positive. Got -1."
    with pytest.raises(UnknownName) as unknown:
        choice("trust", "locl", ["local"])
    assert (unknown.value.code, unknown.value.about) == ("unknown-name", "trust")


def test_a_refusal_crosses_processes_whole() -> None:
    for error in (ConfideError("a-code", "A sentence."), InvalidInput("a-code", "A sentence.", about="epsilon")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.code, str(again), again.about) == (type(error), "a-code", "A sentence.", error.about)


def test_codes_are_found_wherever_they_are_written() -> None:
    source = """
class Own(InvalidInput):
    @classmethod
    def of(cls, part):
        return cls("own-part", f"The {part} is none.")

def f(x):
    sentence = f"Got {x}.".strip()
    if x:
        raise Own("from-a-name", sentence)
    raise validation.refusal("by-rule", "thing", "small", x, "Shrink it.")

def g():
    try:
        f(1)
    except Own as error:
        raise Refused("garbage", error.code, str(error))
    raise Refused("path", "not-there", "Nothing.")
"""
    errors = "class ConfideError(Exception): ...\nclass InvalidInput(ConfideError): ..."
    found = codes.places({"errors.py": ast.parse(errors), "m.py": ast.parse(source)})
    assert [place[:3] for place in found] == [
        ("own-part", "Own", "The … is none."),
        ("from-a-name", "Own", "Got …."),
        ("by-rule", "InvalidInput", "thing must be small. Got …. Shrink it."),
        (None, "Refused", "…"),
        ("not-there", "Refused", "Nothing."),
    ]
