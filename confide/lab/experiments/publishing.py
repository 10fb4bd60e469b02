"""Publishes the results of experiments: data, pictures, a page for each, and the gallery of all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..._version import __version__
from ...analysis.reporting.pages import ExperimentText, GalleryEntry, experiment_page, gallery_page
from ...analysis.results.folder import complete_folder
from .experiment import Experiment, TableRow
from .part import PAPER, QUICK, PartResult

SEEN = "What we see"
DATA, TABLE, PAGE, SUMMARY, HEADLINE = "data.parquet", "table.md", "index.html", "summary.json", "headline.md"
CLAIMS = "claims.json"
"""Claims of a page with their measurements and verdicts, where it has them as data."""

GUARANTEES = "guarantees"
"""The key under which a data file has the true guarantee of each part, in words."""

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
    "the true one, from the certificate of the run; where a paper's constants claim more than they keep, the "
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
    with complete_folder(target) as draft:
        if results:
            _write_data(results, draft / DATA)
        pictures = [path.name for path in experiment.view.draw(results, draft, ".svg")]
        experiment.view.draw(results, draft, ".png")
        for name, text in texts(experiment, scale, results, pictures).items():
            (draft / name).write_text(text, encoding="utf-8")
    return target


def texts(experiment: Experiment, scale: str, results: Sequence[PartResult], pictures: Sequence[str]) -> dict[str, str]:
    """All that is written of an experiment beside its data and pictures, by the names of the files."""
    rows = experiment.view.table(results)
    summary = {"address": experiment.address, "title": experiment.title, "pictures": list(pictures)}
    claims = experiment.claims(scale, results)
    judged = {CLAIMS: json.dumps([claim.as_json() for claim in claims], indent=1) + "\n"} if claims else {}
    headline = {} if experiment.headline is None else {HEADLINE: markdown(experiment.headline(results))}
    return {
        TABLE: markdown(rows),
        **headline,
        **judged,
        SUMMARY: json.dumps(summary, indent=2) + "\n",
        PAGE: _page(experiment, scale, results, rows, pictures),
    }


def draw_missing(experiments: Mapping[str, Experiment], out: Path) -> list[Path]:
    """Draw the pictures that pages show and that are not there, from the data beside the pages; returns what was drawn."""
    drawn: list[Path] = []
    for folder in dict.fromkeys(picture.parent for picture in missing_pictures(out)):
        experiment = experiments[folder.parent.relative_to(out).as_posix()]
        results = read_data(folder)
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
    """Write results into one Parquet file: part, seed, x, value; the guarantees of the parts are in its metadata."""
    import pyarrow
    from pyarrow import parquet

    tables = []
    for result in results:
        table = result.table().replace_schema_metadata(None)
        names = pyarrow.array([result.label] * table.num_rows).dictionary_encode()
        tables.append(table.add_column(0, "part", names))
    guarantees = json.dumps({result.label: result.guarantee for result in results if result.guarantee})
    whole = pyarrow.concat_tables(tables).unify_dictionaries().replace_schema_metadata({GUARANTEES: guarantees})
    parquet.write_table(whole, path, compression="zstd")


def read_data(folder: Path) -> list[PartResult]:
    """The results in the data file of a page, without times; none if it has no such file."""
    from pyarrow import parquet

    if not (folder / DATA).is_file():
        return []
    table = parquet.read_table(folder / DATA)
    guarantees = json.loads(table.schema.metadata[GUARANTEES.encode()])
    parts = table["part"].to_pylist()
    columns = [table[name].to_numpy() for name in ("seed", "x", "value")]
    results = []
    for label in dict.fromkeys(parts):
        in_part = np.array([part == label for part in parts])
        seed, x, value = (column[in_part] for column in columns)
        rows = value.reshape(1 + int(seed.max()), -1)
        results.append(PartResult(label, x[: rows.shape[1]], rows, guarantees.get(label, "")))
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
        (SEEN, experiment.remarks(scale, results)),
        ("Scale", f"{scale}: {size}."),
        ("Again", f"confide reproduce {experiment.address} --scale {scale}"),
    )
    home = "../" * (2 + experiment.address.count("/")) + PAGE
    footer = f"Made with confide {__version__}. The data is in {DATA}, the table in {TABLE}."
    claims = [(claim.said, claim.verdict, claim.measured) for claim in experiment.claims(scale, results)]
    text = ExperimentText(experiment.title, experiment.address, paragraphs, pictures, rows, claims)
    return experiment_page(text, footer, home)


def publish_gallery(addresses: Iterable[str], out: Path) -> Path:
    """Write the page of all experiments that have been run, at the larger scale where there are two."""
    groups, known = [], tuple(addresses)
    for prefix, name in GROUPS.items():
        entries = [
            entry
            for address in known
            if address.startswith(f"{prefix}/") and (entry := _entry(address, out)) is not None
        ]
        if entries:
            groups.append((name, entries))
    page, target = gallery_page(groups, INTRODUCTION, f"Made with confide {__version__}."), out / PAGE
    draft = target.with_suffix(f".{os.getpid()}.partial")
    draft.write_text(page, encoding="utf-8")
    os.replace(draft, target)
    return target


def _entry(address: str, out: Path) -> GalleryEntry | None:
    for scale in (PAPER, QUICK):
        folder = folder_of(out, address, scale)
        try:
            summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        place = f"{address}/{scale}"
        picture = f"{place}/{summary['pictures'][0]}" if summary["pictures"] else ""
        return GalleryEntry(address, summary["title"], f"{place}/{PAGE}", picture, f"{scale} scale")
    return None
