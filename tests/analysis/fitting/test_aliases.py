"""Twenty-odd names of one data set, and fits at the same moment: no one is charged to a second ledger."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from confide.analysis.fitting import budget, fit
from confide.analysis.fitting.budget import Account, account_of, ledger_of
from confide.analysis.fitting.fingerprints import BLOCK, BLOCKS, KEY, digests_of, key_in
from confide.analysis.results.fit import Fit
from confide.cli import run
from confide.data.trajectories import read
from confide.data.trajectories.sources import SEALED, QueryPart
from confide.errors import ConfideError
from confide.privacy import Central, Ledger
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, columns, episodes, write
from tests.analysis.fitting.stub import Frequent
from tests.refusals import refused

SIZES = {"states": STATES, "actions": ACTIONS, "horizon": HORIZON}
BY = "ORDER BY user, step"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log that was charged once, to the ledger beside it, in a folder below the home of the user who fits."""
    (tmp_path / "logs").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "logs" / "a.parquet", episodes(30, seed=1))
    fitted(path, budget=1.0)
    return path


def fitted(*sources: Any, **words: Any) -> Any:
    data = read(*sources, **SIZES, **words.pop("said", {}))
    return fit(data, Frequent(data.knowledge), Central(rho=0.1), **words)


def charges(place: Path) -> int:
    """All charges in all ledgers of a folder and below."""
    written = [json.loads(path.read_text()) for path in place.rglob("*.json")]
    return sum(len(one.get("entries", [])) for one in written)


def moved(log: Path, to: str) -> Path:
    (log.parent / to).parent.mkdir(exist_ok=True)
    return log.rename(log.parent / to)


def copied(log: Path, to: str) -> Path:
    (log.parent / to).parent.mkdir(exist_ok=True)
    return Path(shutil.copy(log, log.parent / to))


def linked(log: Path, to: str) -> Path:
    (log.parent / to).symlink_to(log)
    return log.parent / to


def doubled(log: Path) -> Path:
    os.link(log, log.parent / "hard.parquet")
    return log.parent / "hard.parquet"


def in_database(log: Path, made: str) -> str:
    with duckdb.connect(str(log.parent / "clinic.duckdb")) as connection:
        connection.execute(made)
    return str(log.parent / "clinic.duckdb")


ALIASES: dict[str, Callable[[Path], Any]] = {
    "its path": lambda log: log,
    "a relative path": lambda log: "logs/a.parquet",
    "a path with dots": lambda log: "logs/../logs/a.parquet",
    "home": lambda log: "~/logs/a.parquet",
    "a pattern": lambda log: "logs/*.parquet",
    "a pattern in home": lambda log: "~/logs/*.parquet",
    "its folder": lambda log: log.parent,
    "its folder in home": lambda log: "~/logs",
    "a link": lambda log: linked(log, "link.parquet"),
    "a link above": lambda log: linked(log, "../link.parquet"),
    "a hard link": doubled,
    "a copy": lambda log: copied(log, "copy.parquet"),
    "a copy above": lambda log: copied(log, "../copy.parquet"),
    "a copy below": lambda log: copied(log, "below/copy.parquet"),
    "another name": lambda log: moved(log, "renamed.parquet"),
    "moved up": lambda log: moved(log, "../a.parquet"),
    "moved down": lambda log: moved(log, "below/a.parquet"),
    "a copy in a folder": lambda log: copied(log, "below/copy.parquet").parent,
    "a copy in a query": lambda log: f"duckdb:SELECT * FROM '{copied(log, 'copy.parquet')}' {BY}",
    "a query": lambda log: f"duckdb:SELECT * FROM '{log}' {BY}",
    "a query in double quotes": lambda log: f'duckdb:SELECT * FROM "{log}" {BY}',
    "a query in dollar quotes": lambda log: f"duckdb:SELECT * FROM read_parquet($${log}$$) {BY}",
    "a query of an address": lambda log: f"duckdb:SELECT * FROM 'file://{log}' {BY}",
    "a query in home": lambda log: f"duckdb:SELECT * FROM '~/logs/a.parquet' {BY}",
    "a query of a relative path": lambda log: f"duckdb:SELECT * FROM 'logs/a.parquet' {BY}",
    "a query of a list": lambda log: f"duckdb:SELECT * FROM read_parquet(['{log}']) {BY}",
    "a query of a pattern": lambda log: f"duckdb:SELECT * FROM 'logs/*.parquet' {BY}",
    "a query of a link": lambda log: f"duckdb:SELECT * FROM '{linked(log, 'link.parquet')}' {BY}",
    "a query that puts its name together": lambda log: (
        f"duckdb:SELECT * FROM read_parquet('logs/' || 'a.par' || 'quet') {BY}"
    ),
    "a query in a query": lambda log: f"duckdb:SELECT * FROM query('FROM ''{log}''') {BY}",
    "a query by a process's folder": lambda log: f"duckdb:SELECT * FROM '/proc/self/cwd/logs/a.parquet' {BY}",
    "a query longer than a path": lambda log: f"duckdb:SELECT * FROM '{log}' WHERE '{300 * 'x'}' <> '' {BY}",
    "a view": lambda log: in_database(log, f"CREATE VIEW visits AS SELECT * FROM '{log}' {BY}"),
}


@pytest.mark.parametrize("what", ALIASES)
def test_an_alias_is_not_charged_to_a_second_ledger(what: str, log: Path, tmp_path: Path) -> None:
    source = ALIASES[what](log)
    said = {"table": "visits"} if what == "a view" else {}
    with refused("ledger-second"):
        fitted(source, ledger=tmp_path / "accounts" / "other.json", budget=1.0, said=said)
    assert charges(tmp_path) == 1
    beside = {} if not isinstance(source, Path | str) or not Path(source).exists() else {"budget": 1.0}
    if beside and Path(os.path.realpath(source)) != log:
        with refused("ledger-second"):
            fitted(source, **beside, said=said)
    own = log.parent / "a.parquet.ledger.json"
    fitted(source, ledger=own, said=said)
    assert charges(tmp_path) == 2 and len(Ledger(own).balance().charges) == 2


def test_home_is_where_it_is(log: Path, tmp_path: Path) -> None:
    """Without --ledger the one beside the data is charged; a ledger may lie in home, too."""
    fitted("~/logs/a.parquet")
    fitted("~/logs/a.parquet", ledger="~/logs/a.parquet.ledger.json")
    assert ledger_of("~/logs/a.parquet").path == log.parent / "a.parquet.ledger.json"
    assert run(["budget", "~/logs/a.parquet"]) == 0
    assert charges(tmp_path) == 3 and not (tmp_path / "~").exists()


def test_a_query_is_one_statement(log: Path, tmp_path: Path) -> None:
    for query in (
        f"SELECT 1); ATTACH '{tmp_path}/x.duckdb' AS x; SELECT * FROM (SELECT * FROM x.t",
        f"SELECT 1); COPY (SELECT * FROM '{log}') TO '{tmp_path}/stolen.parquet'; SELECT * FROM (SELECT * FROM '{log}'",
    ):
        with refused("query-several"):
            read(f"duckdb:{query}", **SIZES)
    assert not (tmp_path / "stolen.parquet").exists()


def test_a_query_loads_no_extensions_which_open_files_unseen() -> None:
    names = ("autoload_known_extensions", "autoinstall_known_extensions")
    asked = ", ".join(f"current_setting('{name}') AS {name}" for name in names)
    (batch,) = QueryPart(f"SELECT {asked}").batches(names)
    assert batch.to_pylist() == [dict.fromkeys(names, False)]


def test_what_a_query_spills_to_disk_is_no_file_that_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it lie where the command is run: it is raw data, and only its owner may read the folder."""
    monkeypatch.setitem(SEALED, "memory_limit", "60MB")
    monkeypatch.setitem(SEALED, "threads", 1)
    monkeypatch.chdir(tmp_path)
    log, rows = tmp_path / "log.parquet", 2_000_000
    duckdb.sql(f"COPY (SELECT i, 'somebody ' || i AS name FROM range({rows}) t(i)) TO '{log}'")
    seen: list[Any] = []
    monkeypatch.setattr("tempfile.TemporaryDirectory", spied(seen))
    part = QueryPart(f"SELECT * FROM '{log}' ORDER BY hash(name)")
    assert sum(batch.num_rows for batch in part.batches(["i", "name"])) == rows
    assert part.files == (str(log),) and sorted(tmp_path.iterdir()) == [log]
    assert len(seen) == 1 and seen[0]


def spied(seen: list[Any]) -> Any:
    """Temporary folders that say what was in them when they are closed."""

    class Watched(tempfile.TemporaryDirectory[str]):
        def cleanup(self) -> None:
            seen.append(os.listdir(self.name))
            super().cleanup()

        def __exit__(self, *error: Any) -> None:
            self.cleanup()

    return Watched


RACES: dict[str, Callable[[Path], tuple[Any, Any]]] = {
    "one file, two ledgers": lambda log: (log, log),
    "a file and its folder": lambda log: (log, log.parent),
    "a file and its link": lambda log: (log, linked(log, "link.parquet")),
    "a file and its copy": lambda log: (log, copied(log, "copy.parquet")),
    "a file and its copy above": lambda log: (log, copied(log, "../copy.parquet")),
    "a file and its copy below": lambda log: (log, copied(log, "below/copy.parquet")),
    "a file and a query": lambda log: (log, f'duckdb:SELECT * FROM "{log}" {BY}'),
}


@pytest.mark.parametrize("what", RACES)
@pytest.mark.parametrize("slow", [False, True], ids=["in turn", "at once"])
def test_of_two_fits_at_once_one_is_charged(
    what: str, slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have looked before either is charged. At once: the one that looks again waits so long that the other one looks too."""
    (tmp_path / "logs").mkdir()
    log = write(tmp_path / "logs" / "a.parquet", episodes(30, seed=1))
    accounts = []
    for number, source in enumerate(RACES[what](log)):
        accounts.append(account_of(read(source, **SIZES), tmp_path / f"{number}.json", 1.0))
        assert accounts[-1].check(0.1).left == 1.0
    if slow:
        look = budget.place

        def and_wait(*arguments: Any) -> Any:
            found = look(*arguments)
            time.sleep(0.2)
            return found

        monkeypatch.setattr(budget, "place", and_wait)
    refused: list[str] = []

    def spend(account: Account) -> None:
        try:
            account.spend(0.1, "fit")
        except ConfideError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=spend, args=(account,)) for account in accounts]
    for thread in threads:
        thread.start()
        if not slow:
            thread.join()
    for thread in threads:
        thread.join()
    assert charges(tmp_path) == 1 and len(refused) == 1
    assert "charged to" in refused[0]


def test_a_ledger_that_appears_beside_the_data_meanwhile(tmp_path: Path) -> None:
    log = write(tmp_path / "a.parquet", episodes(30, seed=1))
    beside, elsewhere = (account_of(read(log, **SIZES), path, 1.0) for path in (None, tmp_path / "x.json"))
    elsewhere.spend(0.1)
    with refused("ledger-changed"):
        beside.spend(0.1)
    assert charges(tmp_path) == 1 and ledger_of(log).path == tmp_path / "x.json"


def test_files_that_only_the_count_shows_are_looked_up_before_the_charge(log: Path, tmp_path: Path) -> None:
    """A query over many files opens some of them only when it is counted, perhaps on another machine."""
    data = read(f"duckdb:SELECT * FROM 'logs/*.parquet' {BY}", **SIZES)
    for part in data.parts:
        part.opened.clear()  # type: ignore[attr-defined]
    with refused("ledger-second"):
        fit(data, Frequent(data.knowledge), Central(rho=0.1), ledger=tmp_path / "other.json", budget=1.0)
    assert charges(tmp_path) == 1


def test_a_file_that_is_moved_while_it_is_read_is_not_charged(tmp_path: Path) -> None:
    """Its fingerprint could not be left, and under its new name a second ledger would not know of the first."""
    path = write(tmp_path / "a.parquet", episodes(30, seed=1))
    data = read(path, **SIZES)
    account = account_of(data, tmp_path / "one.json", 1.0)
    path.rename(tmp_path / "b.parquet")
    with refused("data-moved"):
        account.spend(0.1, None, data.files)
    assert charges(tmp_path) == 0


def test_the_key_is_for_its_owner_and_in_no_ledger(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, ledger = log.parent / KEY, log.parent / "a.parquet.ledger.json"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600 and len(key.read_bytes()) == 32
    fitted(log, out=tmp_path / "policy")
    (known,) = Ledger(ledger).balance().data
    assert key.read_bytes().hex() not in ledger.read_text() and known in ledger.read_text()
    assert run(["budget", str(log)]) == run(["budget", str(log), "--json"]) == 0
    outputs = [capsys.readouterr().out.encode(), *(file.read_bytes() for file in (tmp_path / "policy").iterdir())]
    for secret in (known, key.read_bytes().hex(), digests_of([log])[log].hex()):
        assert not any(secret.encode() in output or bytes.fromhex(secret) in output for output in outputs)
    assert repr(Ledger(ledger).balance()).find(known) < 0


def test_a_key_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(size: int) -> bytes:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.urandom", full)
        assert key_in(tmp_path, made=True) is None and list(tmp_path.iterdir()) == []
    key = key_in(tmp_path, made=True)
    assert key is not None and key == key_in(tmp_path, made=True) and [p.name for p in tmp_path.iterdir()] == [KEY]


def test_a_fingerprint_is_no_function_of_the_data_alone(tmp_path: Path) -> None:
    known = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        fitted(write(tmp_path / name / "a.parquet", episodes(30, seed=1)), budget=1.0)
        known.append(Ledger(tmp_path / name / "a.parquet.ledger.json").balance().data)
    assert known[0] != known[1]


def test_large_files_are_known_by_parts_of_their_content(tmp_path: Path) -> None:
    content = bytearray(os.urandom(3 * BLOCKS * BLOCK))
    paths = [tmp_path / name for name in ("a", "copy", "shorter", "first", "last", "empty")]
    for path in paths:
        changed = bytearray(content)
        if path.name in ("first", "last"):
            changed[0 if path.name == "first" else -1] ^= 1
        path.write_bytes(changed[:-1] if path.name == "shorter" else b"" if path.name == "empty" else changed)
    digests = digests_of(paths)
    assert digests[paths[0]] == digests[paths[1]] and len(set(digests.values())) == 4 and paths[5] not in digests


def test_a_key_that_is_spoiled_is_refused(log: Path, tmp_path: Path) -> None:
    (log.parent / KEY).write_bytes(b"short")
    with refused("data-key-damaged"):
        fitted(log)
    assert charges(tmp_path) == 1


def test_a_budget_that_is_set_knows_its_data(tmp_path: Path) -> None:
    log = write(tmp_path / "a.parquet", episodes(30, seed=1))
    assert run(["budget", str(log), "--rho", "1"]) == 0
    with refused("ledger-second"):
        fitted(copied(log, "copy.parquet"), budget=1.0)
    with refused("ledger-second"):
        ledger_of(log.parent / "copy.parquet")


def test_the_certificate_says_what_was_not_excluded(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def assumed(result: Fit) -> str:
        return "\n".join(result.certificate.assumptions)

    lines = assumed(fitted(log))
    assert "copies of the same bytes in their folder" in lines and "elsewhere is not excluded" in lines
    memory = fitted(columns(episodes(30)), ledger=tmp_path / "memory.json", budget=1.0)
    assert "lay in memory, so that it is spent from this ledger only is not checked" in assumed(memory)

    def sealed(self: Ledger, other: Path) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Ledger, "point_to", sealed)
    other = write(tmp_path / "other.parquet", episodes(30, seed=9))
    read_only = fitted(other, ledger=tmp_path / "far" / "x.json", budget=1.0)
    assert "cannot be written to, so another ledger would not know of this one" in assumed(read_only)
