"""The operator's kit: backups that are whole, restores that the chain allows, pauses, tokens, exports, and no password in sight."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from confide import cli
from confide.cli import kit
from confide.lab.staging.admission import make_admitting
from confide.lab.staging.checking import check_folder, check_url
from confide.mdp import Spec
from confide.privacy import Local, Schedule
from confide.service.contract.folder import Folder
from confide.service.contract.uploads import MEDIA_TYPE
from confide.service.http.serving import exclusive_lock
from confide.service.issuer.app import IssuedStore
from confide.service.issuer.folder import IssuerFolder
from tests.service.collector.services import Service, folder_of, running
from tests.service.contract.example import contract, design, letter
from tools.postgres import new_database, server

MADE = contract(design(people=30, rounds=3))


def test_a_collector_and_a_curator_share_a_database_but_no_table() -> None:
    collector, intermediary = (set(tables.tables) for tables in kit.TABLES)
    assert collector and intermediary and not collector & intermediary


def run(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert cli.run(["service", *words, "--json"]) == 0, capsys.readouterr().err
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.run(["service", *words, "--json"]) == 2
    captured = capsys.readouterr()
    return captured.out + captured.err


def fill(service: Service, numbers: range, round_after: int) -> None:
    for number in numbers:
        assert service.send(letter(service.contract, number)) == 201
    service.until_round(round_after, 60)


def test_a_backup_of_a_running_service_is_whole_and_an_older_one_is_not_restored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(tmp_path / "tea", MADE)
    with running(folder) as service:
        fill(service, range(10), 2)
        assert service.send(letter(MADE, 10)) == 201
        early = run(capsys, "backup", str(folder.path), str(tmp_path / "early"))
        assert early["round"] == 2 and (tmp_path / "early").stat().st_mode & 0o077 == 0
        assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "early").iterdir())
        assert "backup-exists" in refused(capsys, "backup", str(folder.path), str(tmp_path / "early"))
        fill(service, range(11, 20), 3)
        with contextlib.closing(exclusive_lock(folder.path)):  # as `confide serve` holds it
            assert "service-served-already" in refused(capsys, "restore", str(tmp_path / "early"), str(folder.path))
        late = run(capsys, "backup", str(folder.path), str(tmp_path / "late"))
        assert late["round"] == 3
    assert check_folder(tmp_path / "early")["people"] == 10
    before = {path.name: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
    assert "backup-behind" in refused(capsys, "restore", str(tmp_path / "early"), str(folder.path))
    assert {path.name: path.read_bytes() for path in folder.path.iterdir() if path.is_file()} == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")], "nothing half-written is left"
    restored = run(capsys, "restore", str(tmp_path / "late"), str(folder.path))
    assert restored["round"] == 3 and Path(restored["kept"]).is_dir()
    with running(folder) as service:  # it starts: nothing published is missing
        assert service.collector.current == 3
        assert service.send(letter(MADE, 19)) == 200, "counted before the backup"
        # Where the folder is lost, the party that still shows the chain decides.
        seen = ("restore", str(tmp_path / "early"), str(tmp_path / "elsewhere"), "--seen", service.url)
        assert "backup-behind" in refused(capsys, *seen) and not (tmp_path / "elsewhere").exists()
        again = run(capsys, "restore", str(tmp_path / "late"), str(tmp_path / "elsewhere"), "--seen", service.url)
        assert again["round"] == 3 and again["compared"] == service.url
        witness = str(tmp_path / "seen")
        check_url(service.url, witness)
    seen = ("restore", str(tmp_path / "early"), str(tmp_path / "third"), "--seen")  # by the witness's folder too
    for place in (witness, str(Path(witness, MADE.digest.hex()))):
        assert "backup-behind" in refused(capsys, *seen, place) and not (tmp_path / "third").exists()
    assert run(capsys, "restore", str(tmp_path / "late"), str(tmp_path / "third"), "--seen", witness)["round"] == 3


def test_copies_that_a_round_came_between_are_taken_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path / "tea", MADE)
    with running(folder) as service:
        fill(service, range(10), 2)
    verdicts = iter([False, False, True])
    monkeypatch.setattr(kit, "_agree", lambda copy, made: next(verdicts))
    assert run(capsys, "backup", str(folder.path), str(tmp_path / "copy"))["round"] == 2 and not list(verdicts)
    monkeypatch.setattr(kit, "_agree", lambda copy, made: False)
    assert "backup-between-rounds" in refused(capsys, "backup", str(folder.path), str(tmp_path / "other"))
    assert not (tmp_path / "other").exists()


def test_a_damaged_backup_is_not_restored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path / "tea", MADE)
    with running(folder) as service:
        fill(service, range(10), 2)
        run(capsys, "backup", str(folder.path), str(tmp_path / "copy"))
    shutil.rmtree(folder.path)
    whole = (tmp_path / "copy" / "collector.db").read_bytes()
    (tmp_path / "copy" / "collector.db").write_bytes(whole[: len(whole) // 2])
    refused(capsys, "restore", str(tmp_path / "copy"), str(folder.path))
    assert not folder.path.exists()


def test_a_pause_keeps_what_devices_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path / "tea", MADE)
    with running(folder) as service:
        run(capsys, "pause", str(folder.path))
        time.sleep(0.6)
        status, headers, body = service.raw("POST", "/v1/reports", letter(MADE, 1), Content_Type=MEDIA_TYPE)
        assert status == 503 and int(headers["retry-after"]) >= 10 and json.loads(body)["code"] == "service-paused"
        assert service.get("/readyz")[0] == 503 and service.get("/v1/rounds/current")[0] == 200
        run(capsys, "resume", str(folder.path))
        time.sleep(0.6)
        assert service.send(letter(MADE, 1)) == 201 and service.get("/readyz")[0] == 200
    assert "not-paused" in refused(capsys, "resume", str(folder.path))


def test_a_rotated_token_holds_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path / "tea", MADE)
    with running(folder) as service:

        def status(token: str) -> int:
            return service.raw("GET", "/v1/operator", Authorization=f"Bearer {token}")[0]

        assert cli.run(["service", "token", str(folder.path)]) == 0
        old = capsys.readouterr().out.strip()
        assert status(old) == 200
        assert cli.run(["service", "rotate", str(folder.path)]) == 0
        new = capsys.readouterr().out.strip()
        assert new != old and status(new) == 200 and status(old) == 401
        assert folder.token_file.stat().st_mode & 0o077 == 0
    assert cli.run(["service", "token", str(folder.path), "--role", "curator"]) == 2


def test_an_export_is_what_was_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path / "tea", MADE)
    assert "nothing-published" in refused(capsys, "export", str(folder.path), str(tmp_path / "public"))
    with running(folder) as service:
        fill(service, range(10), 2)
        found = run(capsys, "export", str(folder.path), str(tmp_path / "public"))
        paths = [path.relative_to(tmp_path / "public") for path in (tmp_path / "public").rglob("*") if path.is_file()]
        assert found["rounds"] == 2 and found["files"] == len(paths) >= 6
        for path in paths:
            assert service.get(f"/{path}") == (200, (tmp_path / "public" / path).read_bytes())
    secret = [Folder(folder.path).key_file.read_text().strip(), folder.token()]
    assert not any(word in (tmp_path / "public" / path).read_text("latin-1") for path in paths for word in secret)


def test_no_password_on_a_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path / "tea", MADE)
    address = "postgresql://tea:hunter2@127.0.0.1:1/tea"
    shown = refused(capsys, "check", str(folder.path), "--database", address)
    assert "database-password" in shown and "hunter2" not in shown
    (tmp_path / "address").write_text(address + "\n")
    for words, environment in ((("--database", f"@{tmp_path / 'address'}"), ""), ((), address)):
        monkeypatch.setenv("CONFIDE_DATABASE", environment)
        code = cli.run(["service", "check", str(folder.path), *words, "--json"])
        captured = capsys.readouterr()
        assert code == 2 and "database-unreachable" in captured.out + captured.err, "it was tried, and is not there"
        assert "hunter2" not in captured.out + captured.err
    monkeypatch.delenv("CONFIDE_DATABASE")
    assert "database-file" in refused(capsys, "check", str(folder.path), "--database", f"@{tmp_path / 'missing'}")


@pytest.mark.postgres
def test_a_backup_of_postgres_goes_into_an_empty_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path / "tea", MADE)
    with server() as address:
        first, second = new_database(address), new_database(address)
        with running(folder, first) as service:
            fill(service, range(10), 2)
            assert service.send(letter(MADE, 10)) == 201
            run(capsys, "backup", str(folder.path), str(tmp_path / "copy"), "--database", first)
        assert "database-not-empty" in refused(
            capsys, "restore", str(tmp_path / "copy"), str(folder.path), "--database", first
        )
        assert "backup-of-other-database" in refused(capsys, "restore", str(tmp_path / "copy"), str(folder.path))
        run(capsys, "restore", str(tmp_path / "copy"), str(folder.path), "--database", second)
        with running(folder, second) as service:
            assert service.collector.store.tally().people == 11 and service.send(letter(MADE, 10)) == 200


def test_the_issuer_is_in_the_backup_and_a_newer_one_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without its key no one gets a token again; and an older list of who has one would give some a second."""
    choices = {"spec": Spec(3, 2, 4), "promise": Local(4.0), "people": 40}
    folder = make_admitting(tmp_path / "tea", schedule=Schedule.batches(40, 2), **choices)
    issuer = IssuerFolder(folder.issuer_path)
    store = IssuedStore(issuer.database, b"secret")
    store.prepare()
    assert store.grant(b"tea", "ann", b"blinded")
    with running(folder):
        made = run(capsys, "backup", str(folder.path), str(tmp_path / "copy"))
    assert made["issuer"] and all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "copy" / "issuer").iterdir())
    assert store.grant(b"tea", "bob", b"another")
    store.close()
    assert run(capsys, "restore", str(tmp_path / "copy"), str(folder.path))["issuer"] is False
    stayed = IssuedStore(issuer.database, b"secret")
    assert not stayed.grant(b"tea", "bob", b"a second")
    stayed.close()
    key = issuer.key_file.read_bytes()
    shutil.rmtree(issuer.path)
    assert run(capsys, "restore", str(tmp_path / "copy"), str(folder.path))["issuer"] is True
    assert issuer.key_file.read_bytes() == key and issuer.path.stat().st_mode & 0o077 == 0
    again = IssuedStore(issuer.database, b"secret")
    assert not again.grant(b"tea", "ann", b"a second")
    again.close()
