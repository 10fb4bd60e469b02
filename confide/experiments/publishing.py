"""Publishes the results of experiments: data, pictures, a page for each, and the gallery of all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .._version import __version__
from ..reporting.gallery import ExperimentText, GalleryEntry, experiment_page, gallery_page
from ..results.folder import complete_folder
from .experiment import Experiment, TableRow
from .part import PAPER, QUICK, PartResult

SEEN = "What we see"
DATA, TABLE, PAGE, SUMMARY, HEADLINE = "data.parquet", "table.md", "index.html", "summary.json", "headline.md"

GROUPS = {
    "ours": "The cost of privacy, at the same true guarantee",
    "private-ucb": "Chowdhury and Zhou: PRIVATE-UCB-VI and PRIVATE-UCB-PO",
    "ldp-obi": "Garcelon, Perchet, Pike-Burke and Pirotta: LDP-OBI and LDP-PSRL",
    "shuffled-obi": "Garcelon, Perchet, Pike-Burke and Pirotta: SHUFFLED-OBI",
    "ldp-ucrl-vtr": "Liao, He and Gu: LDP-UCRL-VTR",
    "offline": "Qiao and Wang: DP-APVI and DP-VAPVI",
}

INTRODUCTION = (
    "Each card is one experiment: what the paper shows, what we see, and where the two differ. Every guarantee "
    "in a table is "
    "the true one, from the certificate of the run; where a paper's constants promise more than they keep, the "
    "table says "
    "what they keep."
)


def folder_of(out: Path, address: str, scale: str) -> Path:
    """The folder of an experiment at a scale."""
    return out / address / scale


def publish(experiment: Experiment, scale: str, results: Sequence[PartResult], out: Path) -> Path:
    """Write everything about one experiment; its folder appears whole or not at all."""
    target = folder_of(out, experiment.address, scale)
    target.parent.mkdir(parents=True, exist_ok=True)
    rows = experiment.view.table(results)
    with complete_folder(target) as draft:
        if results:
            _write_data(results, draft / DATA)
        pictures = [path.name for path in experiment.view.draw(results, draft, ".svg")]
        experiment.view.draw(results, draft, ".png")
        (draft / TABLE).write_text(markdown(rows), encoding="utf-8")
        if experiment.headline is not None:
            (draft / HEADLINE).write_text(markdown(experiment.headline(results)), encoding="utf-8")
        summary = {"address": experiment.address, "title": experiment.title, "pictures": pictures}
        (draft / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        (draft / PAGE).write_text(_page(experiment, scale, results, rows, pictures), encoding="utf-8")
    return target


def draw_missing(experiments: Mapping[str, Experiment], out: Path) -> list[Path]:
    """Draw the pictures that pages show and that are not there, from the data beside the pages; returns what was drawn."""
    drawn: list[Path] = []
    for folder in dict.fromkeys(picture.parent for picture in missing_pictures(out)):
        experiment = experiments[folder.parent.relative_to(out).as_posix()]
        results = read_data(folder) if (folder / DATA).is_file() else []
        drawn += experiment.view.draw(results, folder, ".svg")
    return drawn


def missing_pictures(out: Path) -> list[Path]:
    """The pictures that pages show and that are not there."""
    pictures = [
        path.parent / name
        for path in sorted(out.rglob(SUMMARY))
        for name in json.loads(path.read_text(encoding="utf-8"))["pictures"]
    ]
    return [picture for picture in pictures if not picture.is_file()]


def markdown(rows: Sequence[TableRow]) -> str:
    """A table in Markdown; the first row is its head."""
    lines = [rows[0], ("---",) * len(rows[0]), *rows[1:]]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _write_data(results: Sequence[PartResult], path: Path) -> None:
    """Write results into one Parquet file: part, seed, x, value."""
    import pyarrow
    from pyarrow import parquet

    tables = []
    for result in results:
        table = result.table().replace_schema_metadata(None)
        names = pyarrow.array([result.label] * table.num_rows).dictionary_encode()
        tables.append(table.add_column(0, "part", names))
    parquet.write_table(pyarrow.concat_tables(tables).unify_dictionaries(), path, compression="zstd")


def read_data(folder: Path) -> list[PartResult]:
    """The results in the data file of a page: without guarantees and times."""
    from pyarrow import parquet

    table = parquet.read_table(folder / DATA)
    parts = table["part"].to_pylist()
    columns = [table[name].to_numpy() for name in ("seed", "x", "value")]
    results = []
    for label in dict.fromkeys(parts):
        in_part = np.array([part == label for part in parts])
        seed, x, value = (column[in_part] for column in columns)
        rows = value.reshape(1 + int(seed.max()), -1)
        results.append(PartResult(label, x[: rows.shape[1]], rows, ""))
    return results


def _page(
    experiment: Experiment, scale: str, results: Sequence[PartResult], rows: Sequence[TableRow], pictures: Sequence[str]
) -> str:
    size = (
        experiment.scale
        if scale == PAPER
        else f"fewer seeds, and fewer people where they take time; in full: {experiment.scale}"
    )
    if len(results) < len(experiment.parts):
        size += f" (of its {len(experiment.parts)} parts, {len(results)} have been run)"
    paragraphs = (
        ("What the paper shows" if not experiment.address.startswith("ours/") else "The question", experiment.paper),
        (SEEN, experiment.text(scale, results)),
        ("Scale", f"{scale}: {size}."),
        ("Again", f"confide reproduce {experiment.address} --scale {scale}"),
    )
    home = "../" * (2 + experiment.address.count("/")) + PAGE
    footer = f"Made with confide {__version__}. The data is in {DATA}, the table in {TABLE}."
    text = ExperimentText(experiment.title, experiment.address, paragraphs, pictures, rows)
    return experiment_page(text, footer, home)


def publish_gallery(experiments: Mapping[str, Experiment], out: Path) -> Path:
    """Write the page of all experiments that have been run, at the larger scale where there are two."""
    groups = []
    for prefix, name in GROUPS.items():
        entries = [
            entry
            for address, experiment in experiments.items()
            if address.startswith(f"{prefix}/") and (entry := _entry(experiment, out)) is not None
        ]
        if entries:
            groups.append((name, entries))
    page, target = gallery_page(groups, INTRODUCTION, f"Made with confide {__version__}."), out / PAGE
    draft = target.with_suffix(f".{os.getpid()}.partial")
    draft.write_text(page, encoding="utf-8")
    os.replace(draft, target)
    return target


def _entry(experiment: Experiment, out: Path) -> GalleryEntry | None:
    for scale in (PAPER, QUICK):
        folder = folder_of(out, experiment.address, scale)
        try:
            summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        place = f"{experiment.address}/{scale}"
        picture = f"{place}/{summary['pictures'][0]}" if summary["pictures"] else ""
        return GalleryEntry(experiment.address, experiment.title, f"{place}/{PAGE}", picture, f"{scale} scale")
    return None
