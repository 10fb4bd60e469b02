"""Matplotlib's SVG files in a quarter of their bytes: the same picture, seen at any size that a page shows.

Text stays text, in the font of the page; ids that nothing refers to, groups without attributes and metadata go; a style that
is used twice stands once, in the style sheet; lines keep the points that bend them by more than `BEND`, as steps from one to the
next.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import count
from string import ascii_lowercase
from typing import TypeAlias
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

BEND = 0.04
"""Points (1/72 inch) that a line may be moved by leaving out points: a twentieth of a pixel."""

PLACES = 2
"""Decimals of a coordinate: hundredths of a point."""

FAMILY = "DejaVu Sans,Verdana,Geneva,Arial,sans-serif"
"""The font that the picture was laid out with, then those of the same widths that other machines have."""

SPACE, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_Point: TypeAlias = tuple[float, float]
_HOLDERS = ("g", "defs")
"""Elements that only hold others."""


def compact(svg: bytes) -> bytes:
    """The same picture in fewer bytes."""
    made_by = re.search(r"Matplotlib v[\w.+-]+", svg.decode())
    root = ElementTree.fromstring(svg)
    for parent in [*root.iter()]:
        for child in [*parent]:
            if child.tag == f"{SPACE}metadata":
                parent.remove(child)
    _rename(root)
    for element in root.iter():
        _shorten(element)
    sheet = _classes(root)
    for style in root.iter(f"{SPACE}style"):
        style.text = f"*{{stroke-linejoin:round}}text{{font-family:{FAMILY}}}{sheet}"
    body = "".join(_written(root))
    return (f"<!--{made_by[0]}-->\n" if made_by else "").encode() + body.encode() + b"\n"


def _rename(root: ElementTree.Element) -> None:
    """Ids of one character or two for what is referred to; none for the rest."""
    ids = {element.attrib.get("id") for element in root.iter()}
    used = [name for element in root.iter() for value in element.attrib.values() for name in _references(value)]
    short = dict(zip(dict.fromkeys(name for name in used if name in ids), _short_names(), strict=False))
    for element in root.iter():
        name = element.attrib.pop("id", None)
        for key, value in [*element.attrib.items()]:
            for reference in filter(short.__contains__, _references(value)):
                value = value.replace(f"#{reference}", f"#{short[reference]}")
            element.set(key, value)
        if name in short:
            element.set("id", short[name])
        if LINK in element.attrib:
            element.set("href", element.attrib.pop(LINK))


def _short_names() -> Iterator[str]:
    return (f"{letter}{number or ''}" for number in count() for letter in ascii_lowercase)


def _references(value: str) -> list[str]:
    """The ids that an attribute refers to; a colour, which begins with # too, is found among no ids."""
    return re.findall(r"(?:^|url\()#([^\s()]+)(?:$|\))", value)


def _shorten(element: ElementTree.Element) -> None:
    """Attributes in fewer bytes; those that say nothing go."""
    if "d" in element.attrib:
        element.set("d", short_path(element.attrib["d"]))
    if "style" in element.attrib:
        rules = (rule.split(":", 1) for rule in element.attrib["style"].split(";") if rule.strip())
        kept = [(key.strip(), value.strip()) for key, value in rules if key.strip() != "font-family"]
        element.set("style", ";".join(f"{key}:{_rounded(value)}" for key, value in kept))
    if re.match(r"rotate\(-?0[ )]", element.attrib.get("transform", "")):
        del element.attrib["transform"]
    for key in ("x", "y", "width", "height", "transform"):
        if key in element.attrib and "scale" not in element.attrib[key]:
            element.set(key, _rounded(element.attrib[key]))


def _rounded(value: str) -> str:
    """Numbers of a text to hundredths; colours and words as they are."""
    return re.sub(r"(?<![#\w.])\d+\.\d+", lambda found: _number(float(found[0])), value)


def _classes(root: ElementTree.Element) -> str:
    """Styles that are used more than once become classes; returns their rules."""
    styles = Counter(element.attrib["style"] for element in root.iter() if element.attrib.get("style"))
    classes = dict(zip((style for style, times in styles.items() if times > 1), _short_names(), strict=False))
    for element in root.iter():
        if (style := element.attrib.get("style")) in classes:
            del element.attrib["style"]
            element.set("class", classes[style])
    return "".join(f".{name}{{{style}}}" for style, name in classes.items())


def _written(element: ElementTree.Element) -> Iterator[str]:
    """The text of an element and what it holds; without groups that say nothing."""
    name, inside = element.tag.removeprefix(SPACE), (element.text or "").strip("\n")
    held = "".join(text for child in element for text in _written(child))
    if name in _HOLDERS and not held:
        return
    if name == "g" and not element.attrib:
        yield held
        return
    told = "".join(f" {key}={quoteattr(value)}" for key, value in element.attrib.items())
    if name == "svg":
        told += ' xmlns="http://www.w3.org/2000/svg"'
    letters = inside if name == "style" else escape(inside if name in ("text", "tspan") else inside.strip())
    content = letters + held
    end = "\n" if name in ("path", "use", "text", "style", "clipPath", "svg") else ""
    yield f"<{name}{told}>{content}</{name}>{end}" if content else f"<{name}{told}/>{end}"


def short_path(path: str) -> str:
    """The data of a path with fewer points and digits, as steps."""
    commands = [
        (letter, [float(number) for number in re.findall(NUMBER, numbers)])
        for letter, numbers in re.findall(r"([MLHVCSQTAZz])([^A-Za-z]*)", path)
    ]
    if any(letter not in "MLQCzZ" for letter, _ in commands):
        return path
    written, line, start, here = list[str](), list[_Point](), (0.0, 0.0), (0.0, 0.0)

    def finish() -> None:
        nonlocal here
        for point in bends([here, *line])[1:]:
            here = _step(written, "l", here, [point])
        line.clear()

    for letter, numbers in commands:
        points = list(zip(numbers[::2], numbers[1::2], strict=True))
        if letter == "L":
            line += points
            continue
        finish()
        if letter == "M":
            start = here = (round(points[0][0], PLACES), round(points[0][1], PLACES))
            written.append(f"M{_joined([*here])}")
        elif letter in "zZ":
            written.append("z")
            here = start
        else:
            here = _step(written, letter.lower(), here, points)
    finish()
    return "".join(written)


def _step(written: list[str], letter: str, here: _Point, points: list[_Point]) -> _Point:
    """Write a command as steps from `here`, whose rounding does not add up; returns where it ends."""
    ends = [(round(x, PLACES), round(y, PLACES)) for x, y in points]
    steps = [value for x, y in ends for value in (x - here[0], y - here[1])]
    if letter == "l" and not any(round(step, PLACES) for step in steps):
        return here
    text = _joined(steps)
    again = bool(written) and written[-1][0] in f"{letter} -" and _last(written) == letter
    written.append(text if again and text[0] == "-" else f" {text}" if again else letter + text)
    return ends[-1]


def _last(written: list[str]) -> str:
    """The command that a path's data are in."""
    return next(part[0] for part in reversed(written) if part[0].isalpha())


def _joined(values: list[float]) -> str:
    """Numbers, with a space where a sign does not part them."""
    return re.sub(" -", "-", " ".join(_number(value) for value in values))


def _number(value: float) -> str:
    """A number without zeros that say nothing: 0.50 as .5, -0.0 as 0."""
    text = f"{value:.{PLACES}f}".rstrip("0").rstrip(".")
    text = re.sub(r"^(-?)0\.", r"\1.", text)
    return "0" if text in ("-0", "", "-") else text


def bends(line: list[_Point]) -> list[_Point]:
    """The points of a line without those that are within `BEND` of the line through the others (Douglas and Peucker)."""
    kept, parts = {0, len(line) - 1}, [(0, len(line) - 1)]
    while parts:
        first, last = parts.pop()
        far, at = max(
            ((_distance(line[index], line[first], line[last]), index) for index in range(first + 1, last)),
            default=(0.0, 0),
        )
        if far > BEND:
            kept.add(at)
            parts += [(first, at), (at, last)]
    return [line[index] for index in sorted(kept)]


def _distance(point: _Point, one: _Point, other: _Point) -> float:
    """How far a point is from the stretch between two others."""
    along, up = other[0] - one[0], other[1] - one[1]
    length = along * along + up * up
    share = ((point[0] - one[0]) * along + (point[1] - one[1]) * up) / length if length else 0.0
    share = min(max(share, 0.0), 1.0)
    x, y = one[0] + share * along - point[0], one[1] + share * up - point[1]
    return float((x * x + y * y) ** 0.5)
