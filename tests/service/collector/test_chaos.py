"""A small version of `./run chaos`: a few kill -9 on each store, and the judge itself sees what it is there to see."""

from __future__ import annotations

import random
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tools import chaos, crowd
from tools.chaos import Row, kills, rehearse
from tools.crowd import Crowd, Proxy, Watcher
from tools.postgres import new_database


@pytest.mark.service
def test_killed_on_sqlite(tmp_path: Path) -> None:
    row = rehearse("small", "sqlite", 1, tmp_path / "here", kills(3))
    assert row.good and row.kills == 3 and row.acknowledged >= 100, row


@pytest.mark.service
@pytest.mark.postgres
def test_two_collectors_killed_on_postgres(tmp_path: Path, postgres: str) -> None:
    row = rehearse("small", "postgres", 2, tmp_path / "here", kills(3), new_database(postgres))
    assert row.good and row.kills == 3 and row.acknowledged >= 100, row


@pytest.mark.parametrize("cut", [0.0, 1.0], ids=["passed on", "answer cut"])
def test_the_proxy_ends_both_connections_at_once(monkeypatch: pytest.MonkeyPatch, cut: float) -> None:
    """Whose answer is cut sees the end, and is not left waiting; a client that is gone holds no connection to the service."""
    monkeypatch.setattr(crowd, "CUT", cut)
    monkeypatch.setattr(random, "choice", lambda options: options[-1])  # of the places to cut: the answer
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(5.0)
        proxy = Proxy([door.getsockname()[1]])
        proxy.start()
        address = urlsplit(proxy.url)
        try:
            with socket.create_connection((address.hostname, address.port), 5.0) as client:
                client.sendall(b"asked")
                served, _ = door.accept()
                with served:
                    served.settimeout(5.0)
                    assert served.recv(100) == b"asked"
                    time.sleep(0.3)  # the proxy waits for both sides by now
                    served.sendall(b"answered")
                    assert client.recv(100) == (b"" if cut else b"answered")
                    client.close()
                    assert served.recv(100) == b""
        finally:
            proxy.close()


def test_the_judge_sees_what_is_lost_and_what_is_double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bucket 1 counted once, 2 twice under two ids, 3 answered and never counted, 4 counted and never sent."""
    from confide.protocol.releases.sums import Pile
    from confide.service.collector import closing
    from confide.service.collector.store import Arrival, CollectorStore
    from confide.service.contract import Upload

    from .services import Lessons, folder_of

    monkeypatch.setattr(closing, "LearnerProcess", Lessons)
    folder = folder_of(tmp_path)
    made = folder.contract()
    store = CollectorStore(folder.database, made)
    store.prepare()
    closing.RoundCloser(store, closing.Publisher(store, folder), folder.key(made), lambda seconds: None).step()
    crowd, pile = Crowd(made, "http://127.0.0.1:1"), Pile(made.design)
    letters = [Upload.from_bytes(crowd.body(bucket)) for bucket in (1, 2, 4)]
    arrivals = [Arrival(letter.id, pile.check(letter.report)) for letter in letters]
    store.count([*arrivals, Arrival(bytes(16), arrivals[1].report)])
    store.close()
    crowd.sent |= {1, 2, 3}
    crowd.acknowledged |= {1, 2, 3}
    row = Row("judged", "local", "sqlite")
    monkeypatch.setattr(chaos, "BUCKETS", made.design.question.width)
    chaos._judge(row, crowd, Watcher(made, []), folder, made, None)
    assert (row.lost, row.double, row.changed) == (1, 2, 0)
    assert not row.good
