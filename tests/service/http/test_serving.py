"""Log lines of what servers share: one JSON object a line, whichever server it is, and nothing of what was sent; handshakes."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import logging
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from starlette.applications import Starlette
from starlette.routing import Route

from confide.service.http import serving
from confide.service.http.connections import protocol
from confide.service.http.group_commit import GroupCommitter
from confide.service.http.serving import LOGGER, Ending, Endpoint, listen, log_to

from .test_connections import ASK, Reasons, hello

SECRET = "state 3, action 1"


class FullDisk:
    """A store that cannot commit."""

    def count(self, arrivals: Sequence[Any]) -> Sequence[Any]:
        raise OSError(f"no space left for {arrivals}")


@pytest.fixture
def logger() -> Iterator[str]:
    names = ("confide.tests", LOGGER, "uvicorn.error")
    before = {name: (logging.getLogger(name).handlers, logging.getLogger(name).propagate) for name in names}
    yield names[0]
    for name, (handlers, propagate) in before.items():
        logging.getLogger(name).handlers, logging.getLogger(name).propagate = handlers, propagate


def test_a_commit_that_fails_is_one_line_of_json_at_every_server(
    logger: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def submitted() -> str:
        committer = GroupCommitter(FullDisk(), lambda: None, lambda many, seconds: None)
        committer.start()
        try:
            return str(await committer.submit(SECRET))
        except OSError:
            return "failed"
        finally:
            committer.stop()

    log_to(logger)
    assert asyncio.run(submitted()) == "failed"
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert (told["level"], told["error"], told["reports"]) == ("error", "OSError", 1)
    assert SECRET not in line


def certified(folder: Path) -> tuple[str, str]:
    """Files with a certificate of this machine, signed by itself, and with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    made, kept = folder / "certificate.pem", folder / "key.pem"
    made.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    kept.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return str(made), str(kept)


@pytest.mark.parametrize("loop", ["auto", asyncio.SelectorEventLoop], ids=["collector", "intermediary"])
def test_a_handshake_that_never_ends_is_ended_and_others_are_served(
    loop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "HANDSHAKE", 0.5)
    monkeypatch.setattr(serving, "_allow_files", lambda: None)
    certificate, key = certified(tmp_path)
    ready, ending = queue.SimpleQueue[str](), Ending()
    endpoint = Endpoint(port=0, certificate=certificate, certificate_key=key, ready=ready.put)
    app = Starlette(routes=[Route("/", hello)])
    thread = threading.Thread(target=listen, args=(app, endpoint, protocol(Reasons().answer), ending, loop))
    thread.start()
    try:
        port = int(ready.get(timeout=20).rpartition(":")[2])
        trusting = ssl.create_default_context(cafile=certificate)
        with contextlib.ExitStack() as held:
            silent = [held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)) for _ in range(50)]
            began = time.monotonic()
            with trusting.wrap_socket(
                socket.create_connection(("127.0.0.1", port), 20), server_hostname="localhost"
            ) as line:
                line.sendall(ASK)
                assert line.recv(1000).startswith(b"HTTP/1.1 200")
            for each in silent:
                with contextlib.suppress(ConnectionResetError):
                    assert each.recv(1) == b"", "it is closed, long before a minute is over"
            assert time.monotonic() - began < 15
    finally:
        ending.act()
        thread.join(20)
    assert not thread.is_alive()
