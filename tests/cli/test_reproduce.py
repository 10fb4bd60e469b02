"""`confide reproduce` as people call it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from confide.cli import run
from confide.lab.experiments.experiment import catalogue


class Links(HTMLParser):
    """Every link and picture of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


def links(page: Path) -> list[str]:
    reader = Links()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader.found


def test_list_names_every_experiment(capsys) -> None:
    assert run(["reproduce", "list"]) == 0
    out = capsys.readouterr().out
    for word in ("ldp-obi/figure-1", "private-ucb/table-1-joint", "minutes", "true guarantees", "zCDP"):
        assert word in out


def test_an_experiment_leaves_data_pictures_a_page_and_the_gallery(tmp_path: Path, capsys) -> None:
    out = tmp_path / "shown"
    assert run(["reproduce", "ldp-obi/figure-9", "--out", str(out)]) == 0
    folder = out / "ldp-obi" / "figure-9" / "quick"
    table = parquet.read_table(folder / "data.parquet")
    assert table.column_names == ["part", "seed", "x", "value"] and table.num_rows == 4000
    assert (folder / "histogram.svg").exists() and (folder / "histogram.png").exists()
    captured = capsys.readouterr()
    assert (folder / "table.md").read_text(encoding="utf-8") in captured.out
    assert "Two random trajectories of two steps" in captured.out, "what is seen stands below the table"
    assert re.search(r"ldp-obi/figure-9 at quick scale: \d+ s of computing", captured.err)
    page, gallery = folder / "index.html", out / "index.html"
    assert "What the paper shows" in page.read_text(encoding="utf-8")
    for source in (page, gallery):
        result = links(source)
        assert result and all((source.parent / link).exists() for link in result)
    assert any("figure-9" in link for link in links(gallery))
    before = sorted((out / ".parts").iterdir())
    assert run(["reproduce", "ldp-obi/figure-9", "--out", str(out)]) == 0  # again: read, not run
    assert sorted((out / ".parts").iterdir()) == before and len(before) == 4
    label = {path: json.loads(parquet.read_schema(path).metadata[b"confide"])["label"] for path in before}
    spare, other = (path for path in before if label[path].endswith("sum 2"))  # the page speaks of the other two
    spare.unlink()
    assert run(["reproduce", "ldp-obi/figure-9", "--out", str(out), "--finished"]) == 0
    assert len(list((out / ".parts").iterdir())) == 3, "nothing is run"
    assert "of its 4 parts, 3 have been run" in page.read_text(encoding="utf-8")
    labels = [part.label for part in catalogue()["ldp-obi/figure-9"].parts]
    published = parquet.read_table(folder / "data.parquet")["part"].to_pylist()
    missing = next(label for label in labels if label not in published)
    other.unlink()
    assert run(["reproduce", "ldp-obi/figure-9", "--out", str(out), "--parts", missing]) == 0
    assert spare.exists() and not other.exists(), "only the part that was named is run"
    assert "of its 4 parts, 3 have been run" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ldp-obi/figure-99"], "ldp-obi/figure-9"),
        (["list", "ldp-obi/figure-1"], "stands alone"),
        (["ldp-obi/figure-9", "--engine", "dask"], "go together"),
        (["ldp-obi/figure-9", "--fresh", "--finished"], "Leave out one"),
        (["ldp-obi/figure-9", "--finished"], "Run it first"),
        (["ldp-obi/figure-9", "--parts", "nobody"], "Its first labels are"),
        (["ldp-obi/figure-9", "--parts", "ours", "--fresh"], "Leave out --fresh"),
        (["ldp-obi/figure-9", "--scheduler", "tcp://127.0.0.1:1"], "go together"),
    ],
)
def test_bad_words_get_one_sentence(words: list[str], said: str, tmp_path: Path, capsys) -> None:
    assert run(["reproduce", *words, "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
