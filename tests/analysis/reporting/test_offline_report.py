from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from confide.analysis.reporting import drawing
from confide.analysis.reporting.offline_report import render
from confide.mdp import Policy
from confide.mdp.critic import Critic, VectorPolicy
from confide.mdp.linear import BlockFeatures
from confide.privacy import Central, Certificate, NoPrivacy, StatedGuarantee

MECHANISM = {"name": "discrete-gaussian", "sigma": 3.0, "grid": 0.25, "sensitivity": {"l1": 4.0, "l2": 2.0}, "times": 1}


def certificate(promise) -> Certificate:
    return Certificate((StatedGuarantee(promise),), (MECHANISM,), "tight", "opendp", ("one episode a person",))


def findings(low: float = 0.2, high: float = 0.6, **more):
    middle = (low + high) / 2
    return {
        "users": 1234,
        "value": 3.0 + middle,
        "low": 3.0 + low,
        "high": 3.0 + high,
        "lower": 2.5,
        "practice": {"value": 3.0, "low": 2.9, "high": 3.1},
        "gain": {"value": middle, "low": low, "high": high, "sure": low > 0},
        "confidence": 0.95,
        "coverage": {"pairs": 0.5, "practice": 0.995, "kept": 0.25},
        "power": power(0.5),
        **more,
    }


def power(gain: float | None, without: float | None = 0.125):
    rows = [(0.05, None), (0.5, gain), (5.0, 0.25)]
    promises = [{"guarantee": {"rho": rho, "epsilon": None, "delta": 0.0}, "gain": found} for rho, found in rows]
    last = {"guarantee": None, "gain": without}
    return {"chance": 0.8, "gain": gain, "largest": 1.5, "guarantees": [*promises, last]}


def page(promise=None, states=("well", "<b>ill</b>"), actions=("wait", "treat"), steps=3, **changed) -> str:
    table = np.zeros((steps, len(states), len(actions)))
    table[..., 0] = 1.0
    table[0, 1] = 1 / len(actions)
    return render(
        policy=Policy(table),
        certificate=certificate(promise or Central(rho=0.5)),
        findings=findings(**changed),
        config={"learner": "apvi", "horizon": steps},
        states=states,
        actions=actions,
    )


class CheckedHtml(HTMLParser):
    """Collects tags, and every attribute that could load something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href", "xlink:href", "srcset", "action")]


def test_one_file_without_network_or_script():
    text = page()
    instance = CheckedHtml()
    instance.feed(text)
    assert (
        "script" not in instance.tags
        and "link" not in instance.tags
        and "iframe" not in instance.tags
        and all(one.startswith("#word-") for one in instance.loads)
    )
    assert all(f'id="{one[1:]}"' in text for one in instance.loads)
    assert "url(" not in text and "@import" not in text and "http" not in text
    for picture in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(picture)
    assert text.count("<svg") == 8  # each for a desk and for a telephone


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.2, 0.6, "is better than current practice, by 0.4"),
        (-0.2, 0.6, "cannot be said"),
        (-0.6, -0.2, "is worse than current practice"),
    ],
)
def test_the_first_line_says_whether_it_is_better(low, high, said):
    text = page(low=low, high=high)
    head = re.search(r"<h1>(.*?)</h1>", text)[1]
    assert said in head
    assert text.index("<h1>") < text.index("<h2>")
    assert f"{high:g}" in text[: text.index("<h2>")] and "25&nbsp;%" in text[: text.index("<h2>")]


def test_an_adoption_that_is_sure_comes_first_and_what_only_the_table_says_is_not_recommended():
    judged = {"alpha": 0.25, "gain": 0.1, "low": 0.05, "high": 0.15, "sure": True, "people": 900}
    part = page(recommended=False, judged=judged, alarms=["residual"], judged_said="said by others")
    head = part.partition("</header>")[0]
    assert "Followed in 2.5 of 10 decisions this policy is better" in head and "between 0.05 and 0.15" in head
    assert 'class="no"' in head and head.index("<dt>By how much") < head.index("<dt>Who checked it?")
    unsure = {**judged, "low": -0.05, "sure": False}
    table = page(recommended=False, judged=unsure, alarms=[], judged_said="said by others").partition("</header>")[0]
    assert "it cannot be said that this policy is better" in table and "By the table alone the gain is +0.4" in table


def test_the_promise_is_in_plain_words():
    assert "odds change by at most a factor of" in page()
    assert "except with probability 1 in 1,000,000" in page()  # rho is converted, and says so
    assert "factor of 2.72.</p>" in page(Central(epsilon=1.0))
    assert "weak guarantee" in page(Central(epsilon=50.0))
    assert "may reveal people" in page(NoPrivacy())


def test_what_is_missing_is_left_out():
    text = page(power=None, coverage=None)
    assert "What privacy costs" not in text and "covers" not in text
    bare = render(
        policy=Policy.uniform(2, 2, 2),
        certificate=certificate(Central(rho=0.5)),
        findings={"users": 5, "value": None, "lower": 0.5},
        config={"learner": "vapvi", "horizon": 2},
        states=("a", "b"),
        actions=("c", "d"),
    )
    assert "was not estimated" in bare and "at least 0.5" in bare


def test_labels_are_escaped_and_large_policies_not_drawn():
    text = page()
    assert "<b>ill</b>" not in text and "&lt;b&gt;ill&lt;/b&gt;" in text
    assert "too large to draw" in page(states=tuple(map(str, range(400))))
    assert "too large to draw" in page(actions=tuple(map(str, range(30))))


def test_pictures_put_things_where_they_belong():
    text = drawing.curve([(0.1, 1.0), (10.0, 2.0)], (0.1, 1.0), [("line", 1.5)], "rho", "value")
    points = re.search(r'points="([\d.]+),([\d.]+) ([\d.]+),([\d.]+)"', text)
    left, low, right, high = map(float, points.groups())
    assert left < right and low > high  # up is up
    shares = re.findall(
        r'width="([\d.]+)" height="16" rx="3" fill="var\(--c0,#0072B2\)"', drawing.bars([("a", 0.25), ("b", 0.5)])
    )
    assert float(shares[1]) == pytest.approx(2 * float(shares[0]), abs=0.2)
    grid = drawing.grid(np.array([[0, 1]]), np.array([[True, False]]), ["x", "y"], ["p", "q"])
    assert grid.count('fill-opacity=".35"') == 1


def test_what_privacy_costs_is_told_as_gains_that_are_found():
    text = page()
    section = text[text.index("What privacy costs") : text.index("The policy</h2>")]
    assert "A gain of 0.5 a person is found with 80&nbsp;% chance." in section
    assert "without privacy, a gain of 0.125 a person is found with 80&nbsp;% chance." in section
    assert section.count("<circle") == 2 * (
        2 + 1
    )  # two guarantees under which one is found, and a ring, for both widths
    none = page(power=power(None, None))
    section = none[none.index("What privacy costs") : none.index("The policy</h2>")]
    assert "Not even the largest possible gain, 1.5 a person, is found with 80&nbsp;% chance." in section
    assert "without privacy, not even the largest possible gain, 1.5 a person" in section and "<svg" not in section


def test_where_no_gain_is_sure_the_page_says_which_would_have_been_found():
    assert "would have been found" not in page()  # it is sure
    assert " A gain of 0.5 a person would have been found with 80&nbsp;% chance." in page(low=-0.1)
    unseen = page(low=-0.1, power=power(None))
    assert " Not even the largest possible gain, 1.5 a person, would have been found with 80&nbsp;% chance." in unseen


def test_linear_learners_say_what_they_assume():
    assert "linear in the features" in page(linear=True) and "tick" not in page(linear=True)
    assert "linear in the features" not in page() and "tick" in page()


def test_a_policy_for_vectors_is_a_rule():
    zero = Critic(np.zeros((2, 3)), np.zeros((2, 3, 3)), 0.0, 0.0, 0.0, 1.0)
    text = render(
        policy=VectorPolicy(BlockFeatures(2, 3, 1.0), (zero, zero)),
        certificate=certificate(Central(rho=0.5)),
        findings=findings(linear=True, coverage=None, power=None),
        config={"learner": "vapvi", "horizon": 2},
        states=("any",),
        actions=("a", "b"),
    )
    assert "For each of 2 steps, a rule for any state of 3 numbers" in text and "policy.csv" not in text


def test_a_problem_of_one_step_is_a_table():
    text = page(steps=1)
    section = text[text.index("The policy</h2>") : text.index("The certificate")]
    assert "<svg" not in section and 'data-name="do"' in section


def test_differences_are_told_with_their_error():
    one = {
        "state": 1,
        "action": 1,
        "instead": 0,
        "share": 0.7,
        "steps": [0, 1, 2],
        "gain": {"value": 0.25, "low": 0.125, "high": 0.375},
        "rests": 2360.4,
        "error": 63.2,
    }
    text = page(differences=[one, {**one, "steps": [1], "gain": None}], steps=3)
    assert "&lt;b&gt;ill&lt;/b&gt;" in text and "2,360 &plusmn; 63" in text and "+0.25" in text and "(step 2)" in text
    assert "e+03" not in text and "not judged" in text


def test_where_nobody_is_told_apart_worth_is_an_episodes():
    from dataclasses import replace

    text = page(replace(Central(rho=0.5), unit="one episode (no column tells people apart)"))
    head = text[: text.index("<h2>")]
    assert "by 0.4 an episode" in head
    assert "1,234 episodes" in head and "a person" not in head


def test_numbers_are_written_as_people_write_them():
    from confide.analysis.reporting.numbers import share, written

    options = {
        2360.0: "2,360",
        0.65: "0.65",
        0.0001234: "0.000123",
        1e7: "10,000,000",
        99.96: "100",
        -3.0: "-3",
        1e-9: "0",
    }
    assert {value: written(value) for value in options} == options
    assert written(0.5, sign=True) == "+0.5" and written(None) == "unknown" and written(12.345) == "12.3"
    assert share(0.001) == "under 1 %" and share(1.0) == "100 %"


def test_numbers_below_a_picture_are_whole_and_plain():
    """On a telephone the first number stood half outside; the last must not be cut off either."""
    import re

    from confide.analysis.reporting import drawing

    for low, high in ((0.0021, 0.0091), (-2e7, 3e7), (4.4, 6.4)):
        text = drawing.intervals([("a", (low + high) / 2, low, high, None)], "value", drawing.NARROW)
        below = re.findall(r'<text x="([-0-9.]+)"[^>]*text-anchor="middle"[^>]*>([-0-9.,]+)<', text)
        assert len(below) >= 2 and "e+" not in text and "e-" not in text.replace("stroke-", "")
        for at, statement in below:
            assert 3.5 * len(statement) <= float(at) <= drawing.NARROW - 3.5 * len(statement)


def test_a_page_for_telephones_for_the_dark_and_for_paper():
    text = page()
    assert "prefers-color-scheme:dark" in text and "@page{size:A4" in text and "max-width:560px" in text
    assert text.count('class="wide"') == text.count('class="narrow"') == 4
