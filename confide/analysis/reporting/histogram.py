"""How often values come out: histograms over each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InvalidInput
from .figures import INK, check_picture, dress, sheet, style_of

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
