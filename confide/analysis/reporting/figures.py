"""Curves as pictures: one line for the mean over seeds, a band from the lowest to the highest, a name at its end.

Numbers beside each other: one row each, a dot with its interval, and a line to compare them with.

Distributions of ratios: a strip of dots for each, and the geometric mean of the strip.

Values over the number of people: one line for the mean over seeds, a band from the lowest to the highest.

One number against another: how regret falls, or rises, as a guarantee changes.

How often values come out: histograms over each other.
"""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InvalidInput
from .svg import compact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NamedCurve: TypeAlias = tuple[str, ArrayLike, ArrayLike]
"""A name, numbers of episodes (C,), and one row a seed, (seeds, C)."""

_Line: TypeAlias = tuple[str, NDArray[np.int64], NDArray[np.float64]]

SUFFIXES = (".png", ".svg", ".pdf")

# Okabe and Ito's colours, which people with any colour vision distinguish, without the yellow that white swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
Dashes: TypeAlias = str | tuple[int, tuple[float, ...]]
DASHES: tuple[Dashes, ...] = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)))
INK, FAINT = "#333333", "#dddddd"

WIDTH, HEIGHT, DPI = 8.0, 4.5, 150
FONT = 10.0
LINE_HEIGHT = 1.35 * FONT / 72
"""Inches that a label takes."""

LABEL_WIDTH = 28
"""Characters after which a label is broken."""

# A curve is drawn through at most this many points: more than pixels, few enough for a small SVG.
MOST_POINTS = 600


class LineStyle(TypedDict, total=False):
    """How a curve is drawn, in matplotlib's words."""

    color: str
    linestyle: Dashes
    marker: str


def check_picture(path: str | Path) -> Path:
    """The path, refused if no picture can be written there; ask before a long run."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise InvalidInput(
            "picture-suffix",
            f"A picture must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}. Got {target.name!r}.",
        )
    if not target.parent.is_dir():
        raise InvalidInput(
            "picture-folder-missing", f"The folder that holds {target} must exist. Make {target.parent} first."
        )
    if target.is_dir() or not os.access(target.parent, os.W_OK | os.X_OK):
        raise InvalidInput("picture-not-writable", f"{target} cannot be written. Choose another place.")
    return target


def check_curves(curves: Sequence[object]) -> None:
    """Refuse to draw no curve at all."""
    if not curves:
        raise InvalidInput("picture-no-curve", "A picture needs at least one curve. Got none.")


def regret_figure(
    curves: Sequence[NamedCurve],
    path: str | Path,
    title: str = "",
    *,
    log_x: bool = False,
    log_y: bool = False,
    per_episode: bool = False,
    measure: str = "regret",
) -> Path:
    """Draw curves over episodes into a PNG, SVG or PDF file, which appears complete or not at all."""
    target = check_picture(path)
    check_curves(curves)
    lines = [_line(*curve, per_episode=per_episode) for curve in curves]
    with sheet(target, max(HEIGHT, 1.6 + LINE_HEIGHT * len(lines))) as (figure, axes):
        several = max(len(rows) for _, _, rows in lines) > 1
        caption = "line: mean over seeds; band: from the lowest to the highest" if several else ""
        dress(axes, title, caption, "episodes", f"{measure} per episode" if per_episode else f"cumulative {measure}")
        for index, (_, x, rows) in enumerate(lines):
            style = style_of(index)
            axes.fill_between(x, rows.min(axis=0), rows.max(axis=0), alpha=0.18, linewidth=0, color=style["color"])
            axes.plot(x, rows.mean(axis=0), linewidth=1.8, marker="o" if x.size == 1 else None, **style)
        _scale(axes, lines, log_x, log_y)
        _name(figure, axes, lines)
    return target


def taste() -> AbstractContextManager[None]:
    """Matplotlib's settings for a picture: whatever the user's own are, the same run gives the same picture. Ids in an SVG are not
    random; submissions of a PDF and of an SVG stay submissions, as publishers ask."""
    import matplotlib

    ours: dict[Any, Any] = {"svg.hashsalt": "confide", "svg.fonttype": "none", "font.size": FONT, "pdf.fonttype": 42}
    return matplotlib.rc_context({**matplotlib.rcParamsDefault, **ours})


@contextmanager
def sheet(target: Path, height: float = HEIGHT) -> Iterator[tuple[Figure, Axes]]:
    """An empty figure and its axes, to draw on; when that is done the file appears, complete or not at all."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with taste():
        figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure, figure.add_subplot()
        save_figure(figure, target)


def save_figure(figure: Figure, target: Path) -> None:
    """Write a figure as a file, without a date; it appears complete or not at all."""
    picture, form = io.BytesIO(), target.suffix.lower()[1:]
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(picture, format=form, metadata=undated.get(form))
    lighter = {"svg": compact, "png": few_colours}.get(form, bytes)
    draft = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        draft.write_bytes(lighter(picture.getvalue()))
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def few_colours(png: bytes) -> bytes:
    """The same picture in a quarter of the bytes: 256 colours, chosen far apart, so that each line keeps its own."""
    from PIL import Image

    lighter = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        few = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
        few.save(lighter, "png", optimize=True)
    return lighter.getvalue()


def _line(name: str, episodes: ArrayLike, rows: ArrayLike, *, per_episode: bool) -> _Line:
    """One curve, checked, divided if so asked, and thinned evenly for linear and for logarithmic eyes."""
    x, y = np.asarray(episodes, dtype=np.int64), np.atleast_2d(np.asarray(rows, dtype=np.float64))
    if x.ndim != 1 or not x.size or y.shape[-1] != x.size or x[0] < 1:
        raise InvalidInput(
            "curve-shape",
            f"The curve {name!r} needs one value a seed for each of its numbers of episodes, from 1 on. "
            f"Got shapes {x.shape} and {y.shape}.",
        )
    if per_episode:
        y = y / x
    return name, *thinned_curve(x, y)


def thinned_curve(x: NDArray[np.int64], rows: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A curve at no more than about `MOST_POINTS` points, evenly for linear and for logarithmic eyes."""
    if x.size <= MOST_POINTS:
        return x, rows
    targets = np.concatenate([space(x[0], x[-1], MOST_POINTS // 2) for space in (np.linspace, np.geomspace)])
    selected = np.unique([0, *np.searchsorted(x, targets).clip(0, x.size - 1), x.size - 1])
    return x[selected], rows[:, selected]


def style_of(index: int) -> LineStyle:
    """The style of the index-th line: colours first, then dashes."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": DASHES[index // len(COLOURS) % len(DASHES)],
    }


def dress(axes: Axes, title: str, caption: str, x_label: str, y_label: str) -> None:
    """Title above caption, both flush left; no frame; faint lines to read values by."""
    lines = ((title, 22 if caption else 8, 1.2, INK), (caption, 8, 0.85, "#777777"))
    for text, up, size, colour in lines:
        axes.annotate(
            text,
            (0, 1),
            (0, up),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="left",
            va="baseline",
            fontsize=size * FONT,
            color=colour,
        )
    axes.set_xlabel(x_label, color=INK)
    axes.set_ylabel(y_label, color=INK)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#888888")
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, length=0, which="both")
    axes.tick_params(axis="x", length=4, color="#888888", which="major")


def _scale(axes: Axes, lines: Sequence[_Line], log_x: bool, log_y: bool) -> None:
    """Axes that end where the curves end. A logarithmic one needs something positive to show, else it stays linear."""
    axes.margins(x=0)
    if log_x and max(x[-1] for _, x, _ in lines) > min(x[0] for _, x, _ in lines):
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(short_number)
    lowest, highest = min(rows.min() for _, _, rows in lines), max(rows.max() for _, _, rows in lines)
    if log_y and highest > 0:
        axes.set_yscale("log", nonpositive="mask")
    else:
        axes.yaxis.set_major_formatter(short_number)
        if lowest >= 0:
            axes.set_ylim(bottom=0, top=None if highest > 0 else 1)


def short_number(value: float, _: float = 0) -> str:
    """50000 as 50k, 2500000 as 2.5M; from 1e9 on as a power of ten."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if size <= abs(value) < 1e9:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}"


def _name(figure: Figure, axes: Axes, lines: Sequence[_Line]) -> None:
    """Each curve's name at its right end, joined to it by a line of its style, moved apart where they would touch."""
    names = [textwrap.fill(name, LABEL_WIDTH) for name, _, _ in lines]
    figure.draw_without_rendering()
    inches = axes.get_window_extent().height / figure.dpi
    to_axes = axes.transData + axes.transAxes.inverted()
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.array([to_axes.transform((x[-1], rows[:, -1].mean())) for _, x, rows in lines])
    ends = np.nan_to_num(ends, nan=0.0, posinf=1.0, neginf=0.0).clip(0, 1)
    heights = np.array([LINE_HEIGHT * (1 + name.count("\n")) / inches for name in names])
    for index, (name, end, middle) in enumerate(zip(names, ends, spread(ends[:, 1], heights), strict=True)):
        leader = {"arrowstyle": "-", "linewidth": 1.2, "relpos": (0, 0.5), "patchA": None, "shrinkA": 3, "shrinkB": 0}
        axes.annotate(
            name,
            xy=end,
            xytext=(1.04, middle),
            xycoords="axes fraction",
            color=INK,
            va="center",
            annotation_clip=False,
            arrowprops=leader | style_of(index),
        )


def spread(wanted: NDArray[np.float64], heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Middles of labels in [0, 1], in the order of `wanted` and as near to it as can be, that do not overlap.

    With gaps taken out this is isotonic regression: neighbours out of order are pooled at their mean.
    """
    order = np.argsort(wanted, kind="stable")
    size = heights[order]
    offset = np.cumsum(size) - size / 2
    blocks: list[tuple[float, int]] = []
    for value in wanted[order] - offset:
        mean, many = float(value), 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean, many = (before * count + mean * many) / (count + many), count + many
        blocks.append((mean, many))
    settled = np.repeat([mean for mean, _ in blocks], [many for _, many in blocks])
    placed = np.empty_like(offset)
    placed[order] = settled.clip(0, max(0.0, 1 - float(size.sum()))) + offset
    return placed


Dot: TypeAlias = tuple[str, float, float | None, float | None]
"""A name, a value, and the ends of its interval, if it has one."""

ROW = 0.34
"""Inches."""


def dress_ratios(figure: Figure, axes: Axes, title: str, caption: str, label: str, at: float) -> None:
    """Title and caption, one logarithmic axis, and a line at what ratios are compared with."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, color=INK)
    dress(axes, "", "", label, "")
    figure.text(0.01, 0.005, caption, fontsize=8.5, color="#777777", va="bottom")
    foot = 0.3 / figure.get_figheight()
    figure.set_layout_engine("constrained", rect=(0, foot, 1, 1 - foot))
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_xscale("log")
    axes.axvline(at, color=INK, linewidth=1, linestyle=(0, (4, 3)))


def ratio_figure(
    dots: Sequence[Dot], path: str | Path, title: str, caption: str, label: str, *, at: float = 1.0, better: str = ""
) -> Path:
    """Draw values on a logarithmic axis; those on the better side of `at` ("below", "above" or neither) in blue."""
    target = check_picture(path)
    if not dots:
        raise InvalidInput("picture-no-row", "A picture needs at least one row. Got none.")
    with sheet(target, max(2.4, 1.3 + ROW * len(dots))) as (figure, axes):
        dress_ratios(figure, axes, title, caption, label, at)
        for place, (_, value, low, high) in enumerate(dots):
            good = not better or (value <= 1.0001 * at if better == "below" else value >= 0.9999 * at)
            colour = COLOURS[0] if good else COLOURS[1]
            if low is not None and high is not None:
                axes.plot([low, high], [place, place], color=colour, linewidth=2, alpha=0.5)
            axes.plot([value], [place], marker="o", color=colour)
            axes.annotate(f"{value:.3g}", (value, place), (0, 5), textcoords="offset points", ha="center", fontsize=8)
        axes.margins(x=0.12)
        axes.set_yticks(range(len(dots)), [name for name, *_ in dots])
        axes.set_ylim(len(dots) - 0.4, -0.7)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return target


STRIP = 0.9
"""Inches."""


class Strip(NamedTuple):
    """A name, dots with their intervals, and a mean to mark."""

    name: str
    dots: Sequence[Dot]
    mean: float


def strip_figure(strips: Sequence[Strip], path: str | Path, title: str, caption: str, label: str) -> Path:
    """Draw strips on one logarithmic axis; dots whose whole interval is above 1 have another colour."""
    target = check_picture(path)
    if not strips or not all(strip.dots for strip in strips):
        raise InvalidInput(
            "picture-no-strip", "A picture needs at least one strip, and each at least one dot. Got none."
        )
    with sheet(target, 1.5 + STRIP * len(strips)) as (figure, axes):
        dress_ratios(figure, axes, title, caption, label, 1.0)
        for place, strip in enumerate(strips):
            for number, (_, value, low, _) in enumerate(sorted(strip.dots, key=lambda dot: dot[1])):
                offset = 0.5 * (number / max(1, len(strip.dots) - 1) - 0.5)
                axes.plot(
                    [value], [place + offset], marker="o", color=COLOURS[int(low is not None and low > 1)], alpha=0.75
                )
            axes.plot([strip.mean, strip.mean], [place - 0.38, place + 0.38], color=INK, linewidth=2)
            axes.annotate(
                f"{strip.mean:.2g}",
                (strip.mean, place - 0.38),
                (0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=9,
            )
        axes.margins(x=0.1)
        axes.set_yticks(range(len(strips)), [strip.name for strip in strips])
        axes.set_ylim(len(strips) - 0.4, -0.7)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return target


def value_figure(
    curves: Sequence[NamedCurve],
    path: str | Path,
    title: str,
    measure: str,
    lines: Sequence[tuple[str, float]] = (),
    *,
    log_y: bool = False,
) -> Path:
    """Draw curves (name, people (C,), rows (seeds, C)) and horizontal lines to compare them with, into a PNG or SVG."""
    target = check_picture(path)
    check_curves(curves)
    with sheet(target) as (_, axes):
        several = max(len(np.atleast_2d(rows)) for _, _, rows in curves) > 1
        caption = "line: mean over seeds; band: from the lowest to the highest" if several else ""
        dress(axes, title, caption, "people", measure)
        axes.set_xscale("log")
        if log_y:
            axes.set_yscale("log", nonpositive="mask")
        for index, (name, people, rows) in enumerate(curves):
            x, y = np.asarray(people, dtype=np.float64), np.atleast_2d(np.asarray(rows, dtype=np.float64))
            style = style_of(index)
            axes.plot(x, y.mean(axis=0), marker="o", markersize=3.5, linewidth=1.8, label=name, **style)
            if len(y) > 1:
                axes.fill_between(x, y.min(axis=0), y.max(axis=0), alpha=0.15, linewidth=0, color=style["color"])
        for name, value in lines:
            axes.axhline(value, color="#888888", linewidth=1, linestyle=(0, (4, 3)))
            axes.annotate(
                name,
                (0.995, value),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                color="#666666",
                fontsize=8.5,
            )
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), labelcolor=INK)
    return target


Series: TypeAlias = tuple[str, ArrayLike, ArrayLike]
"""A name, values on the x axis (P,), and one row a seed, (seeds, P)."""

Level: TypeAlias = tuple[str, ArrayLike]
"""A name and one value a seed, (seeds,): what does not depend on the x axis."""


def tradeoff_figure(
    series: Sequence[Series],
    levels: Sequence[Level],
    path: str | Path,
    title: str,
    x_label: str,
    y_label: str,
) -> Path:
    """Draw series as lines through points, levels as dashed lines, on logarithmic axes, into a PNG or SVG file."""
    target = check_picture(path)
    if not series:
        raise InvalidInput("picture-no-series", "A picture needs at least one series. Got none.")
    from matplotlib.ticker import LogLocator, NullLocator

    with sheet(target) as (_, axes):
        caption = "points: mean over seeds; bars and bands: from the lowest to the highest"
        dress(axes, title, caption, x_label, y_label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        for index, (name, places, rows) in enumerate(series):
            x, y, style = np.asarray(places, dtype=np.float64), np.atleast_2d(rows), style_of(index)
            mean = y.mean(axis=0)
            axes.errorbar(
                x,
                mean,
                np.maximum((mean - y.min(axis=0), y.max(axis=0) - mean), 0),
                marker="o",
                capsize=2,
                label=name,
                **style,
            )
        for name, values in levels:
            seen = np.asarray(values, dtype=np.float64)
            axes.axhspan(seen.min(), seen.max(), color=INK, alpha=0.1, linewidth=0)
            axes.axhline(seen.mean(), color=INK, linestyle=(0, (4, 3)), linewidth=1)
            axes.annotate(
                name, (1, seen.mean()), (-2, 3), ("axes fraction", "data"), "offset points", ha="right", color=INK
            )
        axes.xaxis.set_minor_locator(NullLocator())
        low, high = axes.get_xlim()
        if high / low < 1e3:  # within a few decades numbers between powers of ten help
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), labelcolor=INK)
    return target


Sample: TypeAlias = tuple[str, ArrayLike]
"""A name and values, (n,)."""

BINS = 40


def histogram_figure(samples: Sequence[Sample], path: str | Path, title: str, caption: str, label: str) -> Path:
    """Draw the density of each sample, on a logarithmic axis since spreads may differ much, into a PNG or SVG file."""
    target = check_picture(path)
    if not samples:
        raise InvalidInput("picture-no-sample", "A picture needs at least one sample. Got none.")
    with sheet(target) as (_, axes):
        dress(axes, title, caption, label, "density")
        axes.set_yscale("log")
        for index, (name, values) in enumerate(samples):
            seen = np.asarray(values, dtype=np.float64)
            colour = style_of(index)["color"]
            axes.hist(seen, BINS, density=True, color=colour, alpha=0.3, label=name)
            axes.hist(seen, BINS, density=True, color=colour, histtype="step", linewidth=1.5)
        axes.legend(frameon=False, labelcolor=INK)
    return target
