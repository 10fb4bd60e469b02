"""Pictures in fewer bytes are the same pictures: as text that says what they show, and as pixels in a browser."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFilter

from confide.analysis.reporting.figures import taste
from confide.analysis.reporting.svg import BEND, SPACE, bends, compact, short_path
from tools.chromium import Browser, executable


def drawn() -> bytes:
    """What matplotlib writes of a picture with a curve, a band, markers, dashes and powers of ten."""
    from matplotlib.figure import Figure

    with taste():
        figure = Figure()
        axes = figure.add_subplot()
        x = np.geomspace(1, 1e6, 300)
        axes.plot(x, np.sqrt(x), label="a < b & c")
        axes.plot(x[::30], x[::30], "o--", label="markers")
        axes.fill_between(x, np.sqrt(x) / 2, np.sqrt(x) * 2, alpha=0.2)
        axes.set_xscale("log")
        axes.legend()
        picture = io.BytesIO()
        figure.savefig(picture, format="svg", metadata={"Date": None})
    return picture.getvalue()


def places(path: str) -> list[tuple[float, float]]:
    """Where the points of a path lie, its steps added up."""
    found: list[tuple[float, float]] = []
    start = (0.0, 0.0)
    for letter, numbers in re.findall(r"([MLQClqcz])([^A-Za-z]*)", path):
        values = [float(number) for number in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", numbers)]
        pairs, size = list(zip(values[::2], values[1::2], strict=True)), {"q": 2, "c": 3}.get(letter, 1)
        for index in range(0, len(pairs), size):
            base = found[-1] if letter.islower() else (0.0, 0.0)
            found += [(base[0] + x, base[1] + y) for x, y in pairs[index : index + size]]
        start = found[-1] if letter == "M" else start
        if letter == "z":
            found.append(start)
    return found


def test_a_picture_is_lighter_and_says_the_same() -> None:
    whole = drawn()
    light = compact(whole)
    assert len(light) < 0.4 * len(whole)
    assert "Matplotlib v" in light.decode()
    before, after = (ElementTree.fromstring(text) for text in (whole, light))
    said = [
        ["".join("".join(text.itertext()).split()) for text in root.iter(f"{SPACE}text")] for root in (before, after)
    ]
    assert said[0] == said[1] and "a<b&c" in said[0]
    assert [root.get("viewBox") for root in (before, after)] == ["0 0 460.8 345.6"] * 2


def test_what_is_referred_to_is_there_and_nothing_else_has_an_id() -> None:
    text = compact(drawn()).decode()
    wanted = set(re.findall(r'href="#(\w+)"', text)) | set(re.findall(r"url\(#(\w+)\)", text))
    assert wanted and sorted(wanted) == sorted(re.findall(r' id="(\w+)"', text))


def test_a_colour_is_no_reference() -> None:
    text = compact(
        b'<svg xmlns="http://www.w3.org/2000/svg"><path id="p1" style="fill: #0072b2" d="M 0 0 L 1 1"/></svg>'
    )
    assert b"#0072b2" in text and b"id=" not in text


def test_a_path_in_steps_by_hand() -> None:
    assert short_path("M 10.004 20 \nL 20 20 \nL 20 30.5 \nL 10 30.5 \nz\n") == "M10 20l10 0 0 10.5-10 0z"
    assert short_path("M 0 -2 C .25 -2 .5 -1 .5 0 Z") == "M0-2c.25 0 .5 1 .5 2z"
    assert short_path("M 0 0 L 1 0 L 2 .01 L 3 0") == "M0 0l3 0", "a bend that is not seen goes"
    assert short_path("M 0 0 A 1 1 0 0 0 2 2") == "M 0 0 A 1 1 0 0 0 2 2", "what is not known stays"
    assert short_path("M 5 5 L 5 5 M 6 6 L 6 6") == "M5 5M6 6"


POINTS = st.lists(st.tuples(*[st.floats(-300, 300, allow_subnormal=False)] * 2), min_size=2, max_size=60)


@given(POINTS)
def test_no_point_of_a_line_moves_so_that_it_is_seen(points: list[tuple[float, float]]) -> None:
    written = short_path("M" + "L".join(f" {x:.6f} {y:.6f} " for x, y in points))
    line = np.array(places(written) or [points[0]])
    assert np.abs(line[0] - points[0]).max() <= 0.0051 and np.abs(line[-1] - points[-1]).max() <= BEND + 0.0151
    ways = list(pairwise(line)) or [(line[0], line[0])]
    for point in np.array(points):
        assert min(stretch(point, one, other) for one, other in ways) <= BEND + 0.015


def stretch(point: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    """The distance of a point from the stretch between two others."""
    along = other - one
    share = np.clip((point - one) @ along / max(along @ along, 1e-300), 0, 1)
    return float(np.linalg.norm(one + share * along - point))


def test_a_line_that_comes_back_keeps_its_turn() -> None:
    assert bends([(0, 0), (10, 0), (0, 0)]) == [(0, 0), (10, 0), (0, 0)]
    assert bends([(0.0, 0.0)]) == [(0.0, 0.0)]


@pytest.mark.skipif(executable() is None, reason="no Chromium here")
def test_a_browser_draws_the_same(tmp_path: Path) -> None:
    """Smoothed by two pixels, so that edges may be shaded otherwise; a tenth of the curve moved by three pixels is noticed."""
    whole = drawn()
    moved = re.sub(rb"M (\d+)", lambda found: b"M %d" % (int(found[1]) + 3), whole)
    seen = []
    with Browser() as browser:
        for name, svg in {"whole": whole, "light": compact(whole), "moved": compact(moved)}.items():
            (tmp_path / f"{name}.svg").write_bytes(svg)
            page = browser.open((tmp_path / f"{name}.svg").as_uri(), width=620, height=480)
            page.picture(tmp_path / f"{name}.png", whole=False)
            page.close()
            with Image.open(tmp_path / f"{name}.png") as picture:
                smooth = picture.convert("RGB").filter(ImageFilter.GaussianBlur(2))
            seen.append(np.asarray(smooth, dtype=int))
    assert np.abs(seen[0] - seen[1]).max() <= 16 < np.abs(seen[0] - seen[2]).max()
