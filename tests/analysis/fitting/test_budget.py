"""Data has one ledger, by whatever path it is named: links, folders, files of folders, lists, patterns and queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from confide.analysis.fitting import fit, ledger_of
from confide.analysis.fitting.budget import Account, place
from confide.analysis.fitting.engines import Engine, count
from confide.data.trajectories import read
from confide.data.trajectories.places import homes_of
from confide.privacy import Central, Ledger
from confide.protocol.kinds import CountQuestion
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, columns, episodes, write
from tests.analysis.fitting.stub import Frequent
from tests.refusals import refused

SIZES = {"states": STATES, "actions": ACTIONS, "horizon": HORIZON}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two files, and nothing charged."""
    (tmp_path / "logs").mkdir()
    for number, name in enumerate(("a", "b")):
        log = episodes(30, seed=number)
        write(
            tmp_path / "logs" / f"{name}.parquet", log, **columns(log, ids=list(range(100 * number, 100 * number + 30)))
        )
    return tmp_path / "logs"


def fitted(*sources: Any, **words: Any) -> Any:
    data = read(*sources, **SIZES)
    return fit(data, Frequent(data.knowledge), Central(rho=0.1), **words)


def charges(path: Path) -> int:
    return len(Ledger(path).balance().charges) if path.exists() else 0


def ledgers(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*.json"))


def test_a_link_is_what_it_links_to(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted(folder / "a.parquet", budget=0.3)
    (tmp_path / "link.parquet").symlink_to(folder / "a.parquet")
    (tmp_path / "other").symlink_to(folder)
    fitted(tmp_path / "link.parquet")
    fitted(tmp_path / "other" / "a.parquet")
    monkeypatch.chdir(folder)
    with refused("budget-exceeded", match=r"of 0\.3"):
        fitted("a.parquet")
    assert charges(folder / "a.parquet.ledger.json") == 3 and ledgers(tmp_path) == ["logs/a.parquet.ledger.json"]


def test_the_folder_one_stands_in(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    fitted(".", budget=1.0)
    fitted("../logs")
    assert ledgers(tmp_path) == ["logs.ledger.json"] and charges(tmp_path / "logs.ledger.json") == 2


def test_a_file_of_a_folder_that_was_charged(folder: Path, tmp_path: Path) -> None:
    fitted(folder, budget=1.0)
    whole = tmp_path / "logs.ledger.json"
    with refused("ledger-second", match=rf"{whole}.*charged together"):
        fitted(folder / "a.parquet", budget=1.0)
    with refused("ledger-second"):
        ledger_of(folder / "a.parquet")
    assert charges(whole) == 1 and ledgers(tmp_path) == ["logs.ledger.json"]
    fitted(folder / "a.parquet", ledger=whole)
    assert charges(whole) == 2 and ledgers(tmp_path) == ["logs.ledger.json"]


def test_a_folder_whose_files_were_charged(folder: Path, tmp_path: Path) -> None:
    fitted(folder / "a.parquet", budget=1.0)
    own = folder / "a.parquet.ledger.json"
    with refused("ledger-second", match=rf"{own}.*lies in.*logs"):
        fitted(folder, budget=1.0)
    assert charges(own) == 1
    fitted(folder, ledger=own)
    assert charges(own) == 2
    # From now on the other file, too, belongs to that ledger.
    with refused("ledger-second", match=f"{own}"):
        fitted(folder / "b.parquet", budget=1.0)
    fitted(folder / "b.parquet", ledger=own)
    fitted(folder)
    assert charges(own) == 4 and len(ledgers(tmp_path)) == 2


def test_another_ledger_beside_one_that_is_there(folder: Path, tmp_path: Path) -> None:
    fitted(folder / "a.parquet", budget=1.0)
    own = folder / "a.parquet.ledger.json"
    sources: list[tuple[Any, ...]] = [
        (folder / "a.parquet",),
        (folder / "a.parquet", folder / "b.parquet"),
        (f"{folder}/*.parquet",),
        (f"duckdb:SELECT * FROM '{folder}/a.parquet' ORDER BY user, step",),
    ]
    for source in sources:
        with refused("ledger-second", match=rf"a\.parquet.*{own}"):
            fitted(*source, ledger=tmp_path / "other.json", budget=1.0)
    assert charges(own) == 1 and ledgers(tmp_path) == ["logs/a.parquet.ledger.json"]
    for number, source in enumerate(sources, 2):
        fitted(*source, ledger=own)
        assert charges(own) == number


def test_a_ledger_elsewhere_is_found_again(folder: Path, tmp_path: Path) -> None:
    away = tmp_path / "accounts" / "all.json"
    fitted(folder / "a.parquet", ledger=away, budget=1.0)
    fitted(folder / "a.parquet")
    assert charges(away) == 2 and ledger_of(folder / "a.parquet").path == away
    with refused("ledger-second", match=rf"a\.parquet.*{away}"):
        fitted(folder / "a.parquet", ledger=tmp_path / "second.json", budget=1.0)
    with refused("ledger-second"):
        fitted(folder / "a.parquet", folder / "b.parquet", budget=1.0)
    fitted(folder / "a.parquet", folder / "b.parquet", ledger=away)
    fitted(folder / "b.parquet")
    assert charges(away) == 4


def test_two_ledgers_that_know_nothing_of_each_other(folder: Path) -> None:
    fitted(folder / "a.parquet", budget=1.0)
    fitted(folder / "b.parquet", budget=1.0)
    for given, code in ((None, "ledger-two"), (folder / "a.parquet.ledger.json", "ledger-second")):
        with refused(code):
            fitted(folder, ledger=given)
    assert charges(folder / "a.parquet.ledger.json") == charges(folder / "b.parquet.ledger.json") == 1


def test_a_ledger_that_was_put_beside_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link.parquet").symlink_to(folder / "a.parquet")
    old = tmp_path / "link.parquet.ledger.json"
    Ledger(old).open(2.0)
    Ledger(old).charge(0.75)
    Ledger(old).charge(0.25)
    with refused("ledger-second", match=rf"{old}.*a link"):
        fitted(tmp_path / "link.parquet")
    fitted(tmp_path / "link.parquet", ledger=old)
    fitted(folder / "a.parquet")
    assert charges(old) == 4


def test_a_ledger_that_is_gone_or_spoiled_is_not_replaced_by_a_fresh_one(folder: Path, tmp_path: Path) -> None:
    away = tmp_path / "away.json"
    fitted(folder / "a.parquet", ledger=away, budget=1.0)
    away.unlink()
    with refused("ledger-link-broken"):
        fitted(folder / "a.parquet", budget=1.0)
    away.write_text("{}")
    with refused("ledger-damaged"):
        fitted(folder / "a.parquet", budget=1.0)


def test_data_without_a_place_needs_one_told(tmp_path: Path) -> None:
    with refused("ledger-place-unsaid"):
        Account(place([], None)).check(0.1)
    given = place([], tmp_path / "x.json")
    assert given is not None and given.path == tmp_path / "x.json"


def test_a_place_that_cannot_be_written_bears_no_note(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sealed(self: Ledger, other: Path) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Ledger, "point_to", sealed)
    fitted(folder / "a.parquet", ledger=tmp_path / "away.json", budget=1.0)
    assert charges(tmp_path / "away.json") == 1 and ledgers(folder) == []


def test_what_a_source_reads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [str(folder / "a.parquet"), str(folder / "b.parquet")]
    (folder / "notes.txt").touch()
    assert sorted(read(f"{folder}/*", **SIZES).files) == files == sorted(read(folder, **SIZES).files)
    assert read({**columns(episodes(3))}, **SIZES).files == ()
    query = read(f"duckdb:SELECT * FROM '{folder}/*.parquet' ORDER BY user, step", **SIZES)
    assert count(query, CountQuestion(query.knowledge.spec), Engine()).files == tuple(files)
    other = folder.parent / "other.parquet"
    assert homes_of([folder], files) == (folder,)
    assert homes_of([folder], [*files, str(other)]) == (folder, other)
    monkeypatch.setattr("confide.data.trajectories.places.MANY", 1)
    assert homes_of([], files) == (folder,)
