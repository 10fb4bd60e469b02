"""`python -m benchmarks service [--json]`: what a report costs a collector, against a bare endpoint of the same stack.

S=10, A=4, H=20, `ucbvi`, unary at epsilon 1. Costs are CPU seconds of the serving process and its children, from /proc, between two
moments of the same load; the load generator is not counted. Each figure is the least of a few turns, which alternate; of tokens
the median of more.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.measures import SPEC, cpu, letters, resident, tokens
from confide.lab.staging.admission import make_admitting
from confide.lab.staging.processes import Process
from confide.privacy import Joint, Local, Schedule
from confide.service.collector.founding import make_service
from confide.service.contract.encoding import from_base64
from confide.service.contract.tokens import MEDIA_TYPE as TOKEN_TYPE
from confide.service.contract.uploads import MEDIA_TYPE
from confide.service.device.transport import Transport, Unreachable
from confide.service.issuer.folder import IssuerFolder
from tools.chaos import free_port
from tools.postgres import new_database, server

REPORTS, WORKERS, TURNS = 2000, 48, 3
ADMITTED, ADMITTED_TURNS = 300, 15
"""Reports and tickets with tokens, in a turn: to sign and blind a token takes longer than to spend it. Many short turns, of which
the median is taken: what a report costs depends on how many come at once, by more than what a token adds."""
POLICIES = 5000
MOST_POLICY = 150e-6
"""CPU seconds that a policy may cost the server."""
UNLIMITED = ("--rate", "1e9")
"""All submissions come from one address here: a benchmark sets the limit that it needs."""
BenchmarkRow = dict[str, Any]


def load(urls: list[str], bodies: list[bytes], path: str = "/v1/reports") -> None:
    """Send them all, some at a time, to one server after the other, each until it is counted."""
    transports = [Transport(url, 30.0, keep=True) for url in urls]
    media_type = MEDIA_TYPE if path == "/v1/reports" else TOKEN_TYPE

    def send(number: int) -> None:
        until = time.monotonic() + 60
        while True:
            answer = transports[number % len(urls)].post(path, bodies[number], media_type)
            if answer.wait is None or time.monotonic() > until:
                break
            time.sleep(answer.wait)  # a limit is met by waiting as long as it says
        if answer.status not in (200, 201):
            raise RuntimeError(f"answered {answer.status}")

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(send, range(len(bodies))))
    for transport in transports:
        transport.close()


def cost(
    pids: list[int],
    urls: list[str],
    bodies: list[bytes],
    settled: Callable[[], bool] = lambda: True,
    path: str = "/v1/reports",
) -> float:
    """CPU seconds a report; `settled` says when what it set off is done."""
    before = sum(map(cpu, pids))
    load(urls, bodies, path)
    until = time.monotonic() + 60
    while not settled() and time.monotonic() < until:
        time.sleep(0.05)
    return (sum(map(cpu, pids)) - before) / len(bodies)


def policy_cost(process: Process) -> float:
    """CPU seconds of a policy, which devices ask for again and again."""
    head = json.loads(Transport(process.url).get("/v1/rounds/current").body)
    path = "/v1/policies/" + json.loads(from_base64(head["head"]))["policy"]
    transport = Transport(process.url, 30.0, keep=True)
    for _ in range(10):
        transport.get(path)
    before = cpu(process.pid)
    for _ in range(POLICIES):
        if transport.get(path).status != 200:
            raise RuntimeError("a policy is missing")
    transport.close()
    return (cpu(process.pid) - before) / POLICIES


def _bare(place: Path) -> tuple[subprocess.Popen[bytes], str]:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.bare", f"sqlite:///{place / 'bare.db'}", str(port)]
    process = subprocess.Popen(command)
    url = f"http://127.0.0.1:{port}"
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if Transport(url).get("/readyz").status == 200:
                return process, url
        except Unreachable:
            time.sleep(0.05)
    raise RuntimeError("the bare endpoint did not come up")


def service() -> list[BenchmarkRow]:
    """The rows."""
    with tempfile.TemporaryDirectory(prefix="confide-bench-") as name:
        place = Path(name)
        folders = {}
        for word, rounds in (("counting", 1), ("learning", 100)):
            people = 10**5
            schedule = Schedule.batches(people, rounds)
            folders[word] = make_service(place / word, SPEC, Local(1.0), people, mechanism="unary", schedule=schedule)
        bare, bare_url = _bare(place)
        processes = {word: Process(folder.path, options=UNLIMITED).start(120) for word, folder in folders.items()}
        try:
            best: dict[str, float] = {}
            for turn in range(TURNS + 1):
                for word in ("bare", "counting", "learning"):
                    bodies = letters(folders["counting" if word == "bare" else word].contract(), REPORTS, turn)
                    if word == "bare":
                        spent = cost([bare.pid], [bare_url], bodies)
                    else:
                        process = processes[word]
                        wanted = 2 * (turn + 1) + 1 if word == "learning" else 1
                        spent = cost([process.pid], [process.url], bodies, lambda p=process, w=wanted: _round(p) >= w)
                    if turn:  # the first warms up
                        best[word] = min(best.get(word, spent), spent)
            rss = resident(processes["learning"].pid)
            policy = min(policy_cost(processes["counting"]) for _ in range(TURNS))
        finally:
            bare.kill()
            bare.wait()
            for process in processes.values():
                process.stop()
    rows = [_row("a report, whole path", best["counting"], best["bare"], 1.25)]
    rows.append(_row("a report, learning every 1,000", best["learning"], best["bare"], 1.6))
    rows.append({"name": "resident MB of the serving process", "ratio": rss / 250, "goal": 1.0, "ok": rss < 250})
    rows[-1]["seconds"] = {"confide": rss, "most": 250}
    ratio = policy / MOST_POLICY
    rows.append({"name": "a policy, from memory", "ratio": ratio, "goal": 1.0, "ok": ratio <= 1})
    rows[-1]["seconds"] = {"confide": policy, "most": MOST_POLICY}
    return rows


def admission() -> list[BenchmarkRow]:
    """A report and a ticket with a token of an issuer, against one without."""
    people, turns = 10**5, dict[str, list[float]]()
    between = {"window": 60.0, "schedule": Schedule.batches(people, 2)}
    kinds = {
        "report": (Local(1.0), {"mechanism": "unary", "schedule": Schedule.batches(people, 1)}, "/v1/reports"),
        "ticket": (Joint(1.0, 1e-6), between, "/v1/tickets"),
    }
    with tempfile.TemporaryDirectory(prefix="confide-bench-") as name, contextlib.ExitStack() as held:
        for kind, (promise, choices, path) in kinds.items():
            served = {}
            for word, made in (("open", make_service), ("token", make_admitting)):
                place = Path(name) / f"{kind}-{word}"
                folder = made(place, spec=SPEC, promise=promise, people=people, **choices)  # type: ignore[operator]
                process, url = _serving(folder.path, kind, held)
                served[word] = (folder, process, url)
            for turn in range(ADMITTED_TURNS + 1):
                for word, (folder, process, url) in served.items():
                    contract = folder.contract()
                    key = IssuerFolder(folder.issuer_path).key() if word == "token" else None
                    shown = [] if key is None else tokens(contract, key, ADMITTED)
                    tickets = shown or [b""] * ADMITTED
                    bodies = letters(contract, ADMITTED, turn, shown) if kind == "report" else tickets
                    spent = cost([process.pid], [url], bodies, path=path)
                    if turn:
                        turns.setdefault(f"{kind} {word}", []).append(spent)
    usual = {name: statistics.median(spent) for name, spent in turns.items()}
    rows = [_row("a report with a token", usual["report token"], usual["report open"], 1.1)]
    rows.append(_row("a ticket with a token", usual["ticket token"], usual["ticket open"], 2.0))
    for row in rows:
        row["seconds"]["open"] = row["seconds"].pop("bare")
    return rows


def _serving(path: Path, kind: str, held: contextlib.ExitStack) -> tuple[Process, str]:
    """The process that takes reports or issues tickets, and its address; ended with `held`. Tickets are a curator's, who waits for
    a collector to open a round."""
    if kind == "report":
        process = Process(path, options=(*UNLIMITED, "--issuer", "http://127.0.0.1:9")).start(120)
        held.callback(process.stop)
        return process, process.url
    curator = Process(path, command="curate", options=UNLIMITED).start(120)
    held.callback(curator.stop)
    options = (*UNLIMITED, "--curator", curator.url, "--issuer", "http://127.0.0.1:9")
    collector = Process(path, options=options).start(120)
    held.callback(collector.stop)
    return curator, curator.url


def collectors() -> list[BenchmarkRow]:
    """Two collectors on one Postgres against one, the database's own work included."""
    people = 10**5
    best: dict[int, float] = {}
    with tempfile.TemporaryDirectory(prefix="confide-bench-") as name:
        place = Path(name)
        (place / "server").mkdir()
        with server(place / "server") as address:
            database_pid = int((place / "server" / "data" / "postmaster.pid").read_text().split()[0])
            running: dict[int, list[Process]] = {}
            contracts = {}
            try:
                for many in (1, 2):
                    first = make_service(
                        place / f"{many}-0",
                        SPEC,
                        Local(1.0),
                        people,
                        mechanism="unary",
                        schedule=Schedule.batches(people, 1),
                    )
                    contracts[many], database = first.contract(), new_database(address)
                    for other in range(1, many):
                        shutil.copytree(first.path, place / f"{many}-{other}")
                    running[many] = [
                        Process(place / f"{many}-{k}", 0, database, options=UNLIMITED).start(120) for k in range(many)
                    ]
                for turn in range(TURNS + 1):
                    for many, processes in running.items():
                        bodies = letters(contracts[many], REPORTS, turn)
                        pids = [database_pid, *(process.pid for process in processes)]
                        spent = cost(pids, [process.url for process in processes], bodies)
                        if turn:
                            best[many] = min(best.get(many, spent), spent)
            finally:
                for processes in running.values():
                    for process in processes:
                        process.stop()
    row = _row("a report, two collectors on one Postgres", best[2], best[1], 1.15)
    row["seconds"] = {"confide": best[2], "one": best[1]}
    return [row]


def _round(process: Process) -> int:
    head = json.loads(Transport(process.url).get("/v1/rounds/current").body)
    return int(json.loads(from_base64(head["head"]))["round"])


def _row(name: str, ours: float, theirs: float, goal: float) -> BenchmarkRow:
    ratio = ours / theirs
    return {
        "name": name,
        "ratio": ratio,
        "goal": goal,
        "ok": ratio <= goal,
        "seconds": {"confide": ours, "bare": theirs},
    }
