"""What a collector is compared with: the same web stack and the same database, storing each body, in groups of the
same making, and doing nothing else.

`python -m benchmarks.bare DATABASE_URL PORT`.
"""

from __future__ import annotations

import asyncio
import queue
import socket
import sys
import threading
import time

import uvicorn
from sqlalchemy import Column, LargeBinary, MetaData, Table, insert
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from confide.service.http.databases import connect
from confide.service.http.group_commit import LINGER

TABLES = MetaData()
bodies = Table(
    "bodies",
    TABLES,
    Column("id", LargeBinary(16), primary_key=True),
    Column("body", LargeBinary),
    sqlite_with_rowid=False,
)


def main() -> None:
    """Serve until killed."""
    engine = connect(sys.argv[1]).execution_options(writes=True)
    TABLES.create_all(engine)
    waiting: queue.Queue[tuple[bytes, asyncio.Future[None]]] = queue.Queue()

    def store() -> None:
        while True:
            group = [waiting.get()]
            time.sleep(LINGER)
            while len(group) < 512:
                try:
                    group.append(waiting.get_nowait())
                except queue.Empty:
                    break
            with engine.begin() as connection:
                connection.execute(insert(bodies), [{"id": body[4:20], "body": body} for body, _ in group])
            futures = [future for _, future in group]
            futures[0].get_loop().call_soon_threadsafe(
                lambda futures=futures: [waiter.set_result(None) for waiter in futures]
            )

    async def door(request: Request) -> Response:
        body = await request.body()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.put((body, future))
        await future
        return Response(b'{"outcome": "counted"}', 201, media_type="application/json")

    async def ready(request: Request) -> Response:
        return PlainTextResponse("ready\n")

    threading.Thread(target=store, daemon=True).start()
    app = Starlette(routes=[Route("/v1/reports", door, methods=["POST"]), Route("/readyz", ready)])
    line = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    line.bind(("127.0.0.1", int(sys.argv[2])))
    line.listen(1024)
    config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[line])


if __name__ == "__main__":
    main()
