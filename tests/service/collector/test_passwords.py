"""A database's password that changes while a collector is served: no one restarts anything."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from confide.service.contract.uploads import MEDIA_TYPE
from tests.service.contract.example import letter
from tools.postgres import new_database

from .services import Service, folder_of, running, wait_for

USER = "confide_rotated"


def demand_passwords(administrator: psycopg.Connection) -> None:
    """Let this user in with a password only."""
    (path,) = administrator.execute("SHOW hba_file").fetchone() or ("",)
    rules = Path(path)
    if not rules.is_file():
        pytest.skip("the rules of this Postgres are on another machine")
    lines = f"local all {USER} scram-sha-256\nhost all {USER} all scram-sha-256\n"
    if lines not in rules.read_text():
        rules.write_text(lines + rules.read_text())
    administrator.execute("SELECT pg_reload_conf()")


@pytest.mark.postgres
def test_a_password_is_changed_while_a_collector_counts(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = new_database(postgres)
    name = psycopg.conninfo.conninfo_to_dict(database)["dbname"]
    kept = tmp_path / "passwords"

    def change(password: str) -> None:
        """In Postgres and in the file; and every session of the collector ends, as by a restart of Postgres."""
        administrator.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(USER), password))
        kept.write_text(f"*:*:*:{USER}:{password}\n")
        kept.chmod(0o600)
        administrator.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (USER,))

    with psycopg.connect(database, autocommit=True) as administrator:
        if administrator.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (USER,)).fetchone() is None:
            administrator.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(USER)))
        administrator.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(*map(sql.Identifier, (str(name), USER))))
        administrator.execute(sql.SQL("GRANT ALL ON SCHEMA public TO {}").format(sql.Identifier(USER)))
        demand_passwords(administrator)
        monkeypatch.setenv("PGPASSFILE", str(kept))
        change("first")
        start, _, rest = database.partition("://")
        address = f"{start}://{USER}@" + rest.partition("@")[2]
        with running(folder_of(tmp_path), address) as service:
            assert sent(service, 1) == 201
            change("second")
            wait_for(lambda: sent(service, 2) in (200, 201), 20)
            assert sent(service, 2) == 200 and service.collector.store.tally().people == 2
            kept.write_text(f"*:*:*:{USER}:first\n")
            administrator.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (USER,))
            assert [sent(service, 3) for _ in range(3)][-1] == 503, "the password is really asked for"


def sent(service: Service, number: int) -> int:
    status, _, _ = service.raw("POST", "/v1/reports", letter(service.contract, number), Content_Type=MEDIA_TYPE)
    return status
