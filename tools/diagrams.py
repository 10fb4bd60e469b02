"""The pictures that explain, drawn by code: `python -m tools.diagrams` writes docs/pictures/*.svg; tests compare.

Red is raw data and who sees it, amber what has too little noise to be seen alone, green what is private already, grey what is
public. Noise is a blue circle where it is added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
RAW, LITTLE, PRIVATE, PUBLIC, NOISE = "#c62828", "#b26a00", "#2e7d32", "#5f6b76", "#1565c0"
MARKS = {"raw": RAW, "little": LITTLE, "private": PRIVATE, "public": PUBLIC, "noise": NOISE}
FILLS = {RAW: "#fdecea", LITTLE: "#fff3e0", PRIVATE: "#e8f5e9", PUBLIC: "#f3f5f7", NOISE: "#e3f2fd"}
VERDICTS, COVERAGE = FOLDER.parent / "verdicts.md", FOLDER.parent / "research" / "coverage.md"
LINE = 17
"""Pixels between two lines of text."""

Point = tuple[float, float]


@dataclass
class Picture:
    """An SVG in the making: boxes, arrows, noise and words at places in pixels."""

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def box(self, at: Point, words: str, colour: str = PUBLIC, size: Point = (150, 44)) -> Point:
        """A rounded box around its middle; returns the middle. Lines of words are parted by `|`."""
        (x, y), (w, h) = at, size
        self.parts.append(
            f'<rect x="{x - w / 2:g}" y="{y - h / 2:g}" width="{w:g}" height="{h:g}" rx="7" fill="{FILLS[colour]}" '
            f'stroke="{colour}" stroke-width="1.6"/>'
        )
        self.words(at, words)
        return at

    def words(self, at: Point, words: str, colour: str = "#1c2329", bold: bool = False, anchor: str = "middle") -> None:
        """Lines of text around a place."""
        lines = words.split("|")
        top = at[1] + 4.5 - LINE * (len(lines) - 1) / 2
        weight = ' font-weight="600"' if bold else ""
        for row, line in enumerate(lines):
            place = f'x="{at[0]:g}" y="{top + LINE * row:g}" text-anchor="{anchor}" fill="{colour}"{weight}'
            self.parts.append(f"<text {place}>{escape(line)}</text>")

    def arrow(self, start: Point, end: Point, colour: str = PUBLIC, words: str = "", bend: float = 0) -> None:
        """From a place to another, bent sideways if asked, with words beside its middle."""
        (x, y), (u, v) = start, end
        length = math.hypot(u - x, v - y) or 1.0
        across = ((v - y) / length, -(u - x) / length)
        middle = ((x + u) / 2 + bend * across[0], (y + v) / 2 + bend * across[1])
        path = f"M{x:g} {y:g} Q{middle[0]:.4g} {middle[1]:.4g} {u:g} {v:g}"
        mark = next(name for name, known in MARKS.items() if known == colour)
        self.parts.append(
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8" marker-end="url(#{mark})"/>'
        )
        if words:
            half = ((x + u) / 2 + bend * across[0] / 2, (y + v) / 2 + bend * across[1] / 2)
            beside = (half[0] + 8, half[1]) if abs(v - y) > abs(u - x) else (half[0], half[1] - 12)
            self.words(beside, words, colour, anchor="start" if abs(v - y) > abs(u - x) else "middle")

    def noise(self, at: Point) -> None:
        """A draw of noise."""
        self.parts.append(
            f'<circle cx="{at[0]:g}" cy="{at[1]:g}" r="11" fill="{FILLS[NOISE]}" stroke="{NOISE}" stroke-width="1.6"/>'
        )
        self.words(at, "+Z", NOISE, bold=True)

    def svg(self) -> str:
        """The file."""
        marks = "".join(
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
            for name, colour in MARKS.items()
        )
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img" font-family="system-ui, sans-serif" font-size="13">'
        )
        ground = (
            f'<title>{escape(self.title)}</title><defs>{marks}</defs><rect width="100%" height="100%" fill="#fff"/>'
        )
        return "\n".join([head, ground, *self.parts, "</svg>", ""])

    def legend(self, y: float) -> None:
        """What the colours mean."""
        names = {RAW: "raw data, and who sees it", PRIVATE: "private", PUBLIC: "public", NOISE: "noise is drawn"}
        if any(LITTLE in part for part in self.parts):
            names[LITTLE] = "little noise: only a sum is private"
        x = 20.0
        for colour, name in names.items():
            self.parts.append(
                f'<rect x="{x:g}" y="{y - 7:g}" width="14" height="14" rx="3" fill="{FILLS[colour]}" stroke="{colour}"/>'
            )
            self.words((x + 22, y), name, anchor="start")
            x += 46 + 7.2 * len(name)


def trusts() -> Picture:
    """Who sees what, trust by trust."""
    picture = Picture(820, 420, "Who sees what under each trust model")
    columns = {
        "local": ("device|adds the noise", "", "server|adds up reports"),
        "shuffle": ("device|adds a little noise", "shuffler|keeps only sums", "server|gets sums of batches"),
        "joint": ("device|sends the episode", "curator|adds noise to sums", "learner|gets noisy sums"),
        "central": ("users of a log", "analyst|holds the log", "policy, certificate,|report"),
    }
    sees = {
        "local": (RAW, PRIVATE, PRIVATE, PRIVATE),
        "shuffle": (RAW, LITTLE, LITTLE, PRIVATE),
        "joint": (RAW, RAW, RAW, PRIVATE),
        "central": (RAW, RAW, RAW, PRIVATE),
    }
    noisy = {"local": (0,), "shuffle": (0,), "joint": (1,), "central": (1,)}
    for column, (name, (first, second, third)) in enumerate(columns.items()):
        x = 110 + 200 * column
        picture.words((x, 24), name, bold=True)
        device, sent, between, server = sees[name]
        picture.box((x, 80), first, device, (160, 50))
        if second:
            picture.arrow((x, 105), (x, 168), sent)
            picture.box((x, 195), second, between, (160, 50))
            picture.arrow((x, 220), (x, 283), PRIVATE)
        else:
            picture.arrow((x, 105), (x, 283), sent)
        picture.box((x, 310), third, server, (160, 50))
        for row in noisy[name]:
            picture.noise((x, (136, 251)[row]))
    picture.words(
        (410, 365), "below its noise everything is private: policies, reports and plots cost nothing further", PUBLIC
    )
    picture.legend(398)
    return picture


def noise() -> Picture:
    """Where noise enters, and how much of it is in a released sum."""
    picture = Picture(820, 430, "How noise enters under each trust model")
    rows = (
        ("local", "every user's own|noise, full size", "n draws in a sum of n: error grows like √n"),
        ("shuffle", "every user's own,|much smaller", "only the sum of a batch has enough noise"),
        ("joint", "the curator's, at|every release", "correlated: grows with log(releases)"),
        ("central", "the analyst's,|once", "one draw per cell, however many users"),
    )
    for row, (name, whose, says) in enumerate(rows):
        y = 60 + 88 * row
        picture.words((46, y), name, bold=True)
        users = (-26, 0, 26)
        for dy in users:
            picture.box((115, y + dy), "x", RAW, (34, 20))
        own = name in ("local", "shuffle")
        sent = LITTLE if name == "shuffle" else PRIVATE
        for dy in users:
            if own:
                picture.noise((165, y + dy))
                picture.arrow((178, y + dy), (262, y + dy / 3), sent)
            else:
                picture.arrow((133, y + dy), (262, y + dy / 3), RAW)
        picture.box((298, y), "sum", PRIVATE if own else RAW, (68, 40))
        if not own:
            picture.noise((352, y))
            picture.arrow((365, y), (412, y), PRIVATE)
        else:
            picture.arrow((333, y), (412, y), PRIVATE)
        picture.box((458, y), "release", PRIVATE, (90, 40))
        picture.words((520, y - 12), whose.replace("|", " "), NOISE, anchor="start", bold=True)
        picture.words((520, y + 10), says, anchor="start")
    picture.legend(412)
    return picture


def a_round() -> Picture:
    """One round of online learning: who does what, in order."""
    picture = Picture(820, 330, "How a round works")
    top, bottom = 80, 220
    picture.box((110, top), "1  policy of the|round, public", PUBLIC, (150, 54))
    picture.box((310, top), "2  a user acts|by it: an episode", RAW, (150, 54))
    picture.box((510, top), "3  the device makes|one report of it", RAW, (150, 54))
    picture.box((710, top), "4  aggregate:|reports are added", PRIVATE, (150, 54))
    picture.box((710, bottom), "5  the batch is full:|one release", PRIVATE, (150, 54))
    picture.box((410, bottom), "6  the learner plans from the release,|and knows how noisy it is", PUBLIC, (270, 54))
    picture.arrow((186, top), (234, top), PUBLIC)
    picture.arrow((386, top), (434, top), RAW)
    picture.arrow((586, top), (634, top), PRIVATE)
    picture.noise((610, top - 24))
    picture.arrow((710, top + 28), (710, bottom - 28), PRIVATE)
    picture.arrow((634, bottom), (547, bottom), PRIVATE)
    picture.arrow((274, bottom), (110, top + 28), PUBLIC, bend=60)
    picture.words(
        (420, 140), "steps 2 to 4 for every user of the batch; batch ends are public, fixed beforehand", PUBLIC
    )
    picture.words(
        (410, 22), "local privacy; under shuffle and joint a shuffler or curator holds the aggregate", bold=True
    )
    picture.words((105, 240), "next round", PUBLIC)
    picture.legend(305)
    return picture


def _bell(middle: float, base: float, spread: float, height: float) -> list[Point]:
    places = [middle + spread * step / 10 for step in range(-35, 36)]
    return [(x, base - height * math.exp(-(((x - middle) / spread) ** 2) / 2)) for x in places]


def audit() -> Picture:
    """An event that is likelier on one of two neighbouring inputs, and the bound that follows."""
    picture = Picture(820, 300, "How an audit bounds epsilon from below")
    base = 210.0
    for middle, colour in ((240, RAW), (330, NOISE)):
        points = _bell(middle, base, 55, 130)
        path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        tail = [point for point in points if point[0] >= 380]
        area = (
            f"M{tail[0][0]:.1f} {base:g} L"
            + " L".join(f"{x:.1f} {y:.1f}" for x, y in tail)
            + f" L{tail[-1][0]:.1f} {base:g}z"
        )
        picture.parts.append(f'<path d="{area}" fill="{colour}" opacity="0.25"/>')
        picture.parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    picture.arrow((40, base), (560, base), PUBLIC)
    picture.parts.append(f'<path d="M380 60V{base:g}" stroke="{PUBLIC}" stroke-dasharray="4 4"/>')
    picture.words((190, 62), "outputs on data set 1", RAW)
    picture.words((330, 40), "outputs on its neighbour", NOISE)
    picture.words((450, 98), "event A", PUBLIC, bold=True)
    picture.words((300, 238), "what the mechanism releases", PUBLIC)
    picture.box((695, 70), "count how often A|happens on each", PUBLIC, (200, 54))
    picture.box((695, 150), "epsilon is at least|log of the ratio, less delta", PUBLIC, (200, 54))
    picture.box((695, 230), "above the certified one?|then something is wrong", RAW, (200, 54))
    picture.arrow((695, 98), (695, 122), PUBLIC)
    picture.arrow((695, 178), (695, 202), PUBLIC)
    picture.words((300, 275), "confidence is paid for: a bound from samples is lower than the true ratio", PUBLIC)
    return picture


def mixture() -> Picture:
    """What goes to a device and what comes back, in a linear mixture."""
    picture = Picture(820, 250, "What a device reports in a linear mixture")
    picture.box((120, 70), "learner|value function V", PUBLIC, (170, 54))
    picture.box((430, 70), "device: X = φ_V(s, a),|Y = V(next state)", RAW, (200, 54))
    picture.box((430, 180), "X X' and X Y|of its episode", RAW, (200, 54))
    picture.box((120, 180), "aggregate|of all users", PRIVATE, (170, 54))
    picture.box((705, 70), "public features|φ(next state, s, a)", PUBLIC, (170, 54))
    picture.box((705, 180), "refuses a V outside|its public range", PUBLIC, (190, 54))
    picture.arrow((206, 70), (328, 70), PUBLIC, "V, signed")
    picture.arrow((619, 70), (532, 70), PUBLIC)
    picture.arrow((430, 98), (430, 152), RAW)
    picture.noise((300, 180))
    picture.arrow((328, 180), (312, 180), RAW)
    picture.arrow((288, 180), (207, 180), PRIVATE)
    picture.arrow((120, 152), (120, 98), PRIVATE, "regression")
    picture.arrow((640, 152), (522, 99), PUBLIC)
    picture.legend(230)
    return picture


def offline() -> Picture:
    """A fit, from rows to report."""
    picture = Picture(820, 330, "From a log to a policy")
    picture.box((90, 75), "log|rows of users", RAW, (120, 54))
    picture.box((270, 75), "every row checked,|counts summed", RAW, (150, 54))
    picture.box((490, 75), "release|noisy counts", PRIVATE, (130, 54))
    picture.box((270, 180), "ledger|charged first", PUBLIC, (150, 54))
    picture.arrow((151, 75), (194, 75), RAW)
    picture.noise((385, 75))
    picture.arrow((346, 75), (373, 75), RAW)
    picture.arrow((397, 75), (424, 75), PRIVATE)
    picture.arrow((270, 152), (270, 103), PUBLIC)
    picture.box((700, 40), "one part chooses|the policy", PRIVATE, (170, 50))
    picture.box((700, 120), "the other part evaluates|it, with an interval", PRIVATE, (170, 50))
    picture.arrow((556, 66), (614, 44), PRIVATE)
    picture.arrow((556, 86), (614, 114), PRIVATE)
    picture.arrow((700, 65), (700, 94), PRIVATE)
    picture.box((700, 210), "surely better? recommend;|otherwise no change", PRIVATE, (200, 54))
    picture.arrow((700, 146), (700, 182), PRIVATE)
    picture.box((470, 210), "policy, report, card,|certificate: publish", PRIVATE, (170, 54))
    picture.arrow((599, 210), (556, 210), PRIVATE)
    picture.words((470, 262), "everything right of the noise is free: compare, explain, refit, synthesize", PUBLIC)
    picture.legend(305)
    return picture


def calibrations() -> Picture:
    """What papers print over what their claim needs, from the table of verdicts."""
    rows = [line.split(" | ") for line in VERDICTS.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    head, rows = rows[0], rows[2:]
    paper, ratio = 0, head.index("printed / needed noise")
    found: dict[str, list[float]] = {}
    for row in rows:
        if row[ratio].strip():
            found.setdefault(row[paper].removeprefix("| "), []).append(float(row[ratio]))
    picture = Picture(820, 110 + 34 * len(found), "Printed noise over the noise that the claim needs")
    left, right, low, high = 180.0, 780.0, 1e-2, 1e2

    def place(value: float) -> float:
        share = math.log(min(max(value, low), high) / low) / math.log(high / low)
        return left + share * (right - left)

    bottom = 60 + 34 * len(found)
    picture.words((place(0.1), 22), "paper: too little noise, the claim is false", RAW, bold=True)
    picture.words((place(12), 22), "paper: more noise than needed", PUBLIC, bold=True)
    picture.parts.append(
        f'<path d="M{place(1):g} 34V{bottom:g}" stroke="{PRIVATE}" stroke-width="2.5"/>'
        f'<path d="M{left:g} {bottom:g}H{right:g}" stroke="{PUBLIC}"/>'
    )
    for row, (name, values) in enumerate(found.items()):
        y = 56 + 34 * row
        picture.words((left - 12, y), name, anchor="end")
        for value in values:
            colour = RAW if value < 1 else PUBLIC
            picture.parts.append(f'<circle cx="{place(value):.1f}" cy="{y:g}" r="5" fill="{colour}" opacity="0.65"/>')
    for value in (0.01, 0.1, 1, 10, 100):
        picture.words((place(value), bottom + 16), f"{value:g}")
    picture.words((place(1), bottom + 38), "sound: raised to this line wherever the printed noise is below it", PRIVATE)
    return picture


def statistics() -> Picture:
    """One episode, and what each statistic reports of it."""
    picture = Picture(820, 330, "What each statistic reports of one episode")
    steps = ("s0, a1", "s0, a1", "s1, a0", "s0, a1", "s2, a1", "s1, a0")
    rows = {
        "the episode": ((0, 1, 2, 3, 4, 5), RAW, "states and actions, step by step"),
        "counts": ((0, 1, 2, 3, 4, 5), NOISE, "every step: moves many cells"),
        "budgeted": ((0, 1, 2, 4, 5), NOISE, "first visits; repeats within a budget"),
        "a sampled step": ((3,), NOISE, "one step, drawn before the episode"),
        "a drawn pair": ((2,), NOISE, "here (s1, a0): its first visit only"),
    }
    for row, (name, (kept, colour, says)) in enumerate(rows.items()):
        y = 40 + 56 * row
        picture.words((122, y), name, anchor="end", bold=True)
        for step, words in enumerate(steps):
            x = 170 + 71 * step
            if step in kept:
                picture.box((x, y), words, colour, (64, 30))
            else:
                picture.parts.append(
                    f'<rect x="{x - 32:g}" y="{y - 15:g}" width="64" height="30" rx="7" fill="none" stroke="#d5dadf"/>'
                )
        picture.words((572, y), says, anchor="start")
    picture.words((410, 312), "fewer boxes: less sensitivity, so less noise; but each box is seen less often", PUBLIC)
    return picture


def simulation() -> Picture:
    """Why groups of users are drawn at once."""
    picture = Picture(820, 300, "Exact simulation of many users at once")
    picture.box((120, 60), "policy of the round|(fixed)", PUBLIC, (170, 54))
    picture.box((370, 60), "n users in each state,|one number per state", RAW, (190, 54))
    picture.box((640, 60), "multinomial draw over|actions and next states", RAW, (200, 54))
    picture.arrow((206, 60), (273, 60), PUBLIC)
    picture.arrow((466, 60), (538, 60), RAW)
    picture.arrow((600, 88), (400, 88), RAW, bend=50)
    picture.words((500, 132), "for each of H steps", RAW)
    picture.box((640, 190), "sum of n noises:|one draw of its law", NOISE, (200, 54))
    picture.box((370, 190), "release, exactly as if|n devices had sent", PRIVATE, (190, 54))
    picture.arrow((690, 88), (690, 162), RAW)
    picture.arrow((538, 190), (467, 190), PRIVATE)
    picture.box((120, 190), "regret of all n users:|n times (best - value)", PUBLIC, (190, 54))
    picture.arrow((120, 88), (120, 162), PUBLIC, "backward induction")
    picture.legend(272)
    return picture


def features() -> Picture:
    """From a public description to what is reported."""
    picture = Picture(820, 250, "From a public description to a report")
    picture.box((110, 60), "description: inputs,|ranges, terms", PUBLIC, (170, 54))
    picture.box((110, 170), "one user: age 34,|plan pro, action call", RAW, (170, 54))
    picture.box((350, 115), "features x of state|and action", RAW, (170, 54))
    picture.box((560, 115), "x x' and x y, clipped|as a whole", RAW, (180, 54))
    picture.box((735, 115), "sums|of all users", PRIVATE, (120, 54))
    picture.arrow((196, 70), (264, 104), PUBLIC)
    picture.arrow((196, 160), (264, 126), RAW)
    picture.arrow((436, 115), (468, 115), RAW)
    picture.arrow((651, 115), (674, 115), PRIVATE)
    picture.noise((662, 78))
    picture.words((455, 185), "y: the reward, and features of the next state", PUBLIC)
    picture.legend(230)
    return picture


def coverage() -> Picture:
    """How often 95 % intervals of the gain held, a dot for each kind of log, from the table of the research log."""
    text = COVERAGE.read_text(encoding="utf-8").partition("<!-- coverage: 10 -->\n\n")[2].partition("\n\n")[0]
    head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines())
    column, users = head.index("gain"), head.index("people")
    rows = [(float(row[column]), int(row[users].replace(",", ""))) for row in lines]
    picture = Picture(820, 300, "How often 95 % intervals of the gain held")
    left, right, top, bottom, low = 60.0, 800.0, 40.0, 230.0, 90.0

    def height(share: float) -> float:
        return bottom - (max(share, low) - low) / (100 - low) * (bottom - top)

    for share in (90, 95, 100):
        colour, width = (RAW, 2) if share == 95 else ("#d5dadf", 1)
        line = f"M{left:g} {height(share):g}H{right:g}"
        picture.parts.append(f'<path d="{line}" stroke="{colour}" stroke-width="{width}"/>')
        picture.words((left - 8, height(share)), f"{share} %", anchor="end")
    for place, (share, number) in enumerate(rows):
        x = left + 12 + (right - left - 24) * place / (len(rows) - 1)
        colour = NOISE if number < 1000 else PRIVATE
        picture.parts.append(f'<circle cx="{x:.1f}" cy="{height(share):.1f}" r="4.5" fill="{colour}" opacity="0.7"/>')
    picture.words(
        (430, 20), "share of fits whose 95 % interval held the true gain: a dot for each kind of log", bold=True
    )
    picture.words((250, 262), "blue: 300 users", NOISE)
    picture.words((430, 262), "green: 4,000 users or more", PRIVATE)
    picture.words((640, 262), "red line: what is stated", RAW)
    return picture


PICTURES = {
    "coverage": coverage,
    "statistics": statistics,
    "simulation": simulation,
    "features": features,
    "calibrations": calibrations,
    "trusts": trusts,
    "noise": noise,
    "round": a_round,
    "audit": audit,
    "mixture": mixture,
    "offline": offline,
}


def main() -> None:
    """Draw them all."""
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
