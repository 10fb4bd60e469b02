"""Sixty tables as people have them: each is read as the same log, or refused with the way out that mends it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

ROWS = [
    # user, step, state, action, reward
    (7, 0, 0, 1, 0.5),
    (7, 1, 2, 0, 0.0),
    (8, 0, 1, 0, 1.0),
    (8, 1, 1, 1, 0.25),
    (9, 0, 2, 1, 0.0),
    (9, 1, 0, 0, 0.75),
]
NAMES = ("user", "step", "state", "action", "reward")
STATES, ACTIONS = ("gut", "müde", "krank"), ("warten", "helfen")
BOOK = {"states": STATES, "actions": ACTIONS}
SIZES: dict[str, Any] = {"states": 3, "actions": 2, "horizon": 2}
LABELLED: dict[str, Any] = {"labels": BOOK, "horizon": 2}


def lines(delimiter: str = ",", names: tuple[str, ...] = NAMES, comma: bool = False, labels: bool = False) -> list[str]:
    rows = [delimiter.join(names)]
    for user, step, state, action, reward in ROWS:
        shown = f"{reward}".replace(".", ",") if comma else f"{reward}"
        rows.append(
            delimiter.join(
                [
                    str(user),
                    str(step),
                    STATES[state] if labels else str(state),
                    ACTIONS[action] if labels else str(action),
                    shown,
                ]
            )
        )
    return rows


def text(*args: Any, ends: str = "\n", **words: Any) -> str:
    return ends.join(lines(*args, **words)) + ends


def column(index: int) -> list[Any]:
    return [row[index] for row in ROWS]


def columns() -> dict[str, list[Any]]:
    return {name: column(index) for index, name in enumerate(NAMES)}


@dataclass(frozen=True)
class Messy:
    """name: of the file. content: bytes, or what writes the file. words: arguments of `read`. refused: what the sentence must
    say; then `mended` are the words with which it is read."""

    name: str
    content: bytes | str | Callable[[Path], None]
    words: dict[str, Any] = field(default_factory=lambda: SIZES)
    refused: str | None = None
    mended: dict[str, Any] | None = None


def by_text(**text: Any) -> dict[str, Any]:
    return {**SIZES, "text": text}


def _parquet(table: dict[str, Any]) -> Callable[[Path], None]:
    return lambda path: parquet.write_table(pa.table(table), path)


def _lists(extra: bool = False) -> dict[str, Any]:
    options: dict[str, Any] = {"user": [7, 8, 9], "states": [], "actions": [], "rewards": []}
    for start in range(0, 6, 2):
        two = ROWS[start : start + 2]
        options["states"].append([row[2] for row in two] + ([0] if extra else []))
        options["actions"].append([row[3] for row in two])
        options["rewards"].append([row[4] for row in two])
    return options


def _wide(first: int) -> str:
    heads = [f"{role}_{step}" for step in (first, first + 1) for role in ("state", "action", "reward")]
    rows = [",".join(["user", *heads])]
    for start in range(0, 6, 2):
        cells = [str(cell) for row in ROWS[start : start + 2] for cell in row[2:]]
        rows.append(",".join([str(ROWS[start][0]), *cells]))
    return "\n".join(rows) + "\n"


def _flagged(ended: str, cut: str | None = None, values: tuple[Any, Any] = (False, True)) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = {name: column(index) for index, name in enumerate(NAMES) if index > 1}
    over = [values[row[1]] for row in ROWS]
    table[ended] = over if cut is None else [values[0]] * 6
    if cut is not None:
        table[cut] = over
    table["next_state"] = [2, 0, 1, 0, 0, 0]
    return table


def _csv_of(table: dict[str, list[Any]]) -> str:
    rows = zip(*table.values(), strict=True)
    return "\n".join([",".join(table), *(",".join(map(str, row)) for row in rows)]) + "\n"


NO_USER = {**SIZES, "columns": ""}
UNUSED = "comment"
QUOTED = "\n".join([text().splitlines()[0] + ",comment", *(f'{line},"a, b\nc"' for line in text().splitlines()[1:])])
TITLED = "Export of 1 March\n\n" + text()
DATED = text(names=("user", "day", "state", "action", "reward")).replace(",0,", ",A,", 0)


def _dated(form: str) -> str:
    days = {0: "09.12.2025", 1: "03.01.2026"} if form == "de" else {0: "2025-12-09", 1: "2026-01-03"}
    rows = ["user,day,state,action,reward"]
    rows += [",".join(map(str, (user, days[step], *rest))) for user, step, *rest in ROWS]
    return "\n".join(rows) + "\n"


MESSY: dict[str, Messy] = {
    "plain": Messy("log.csv", text()),
    "semicolons": Messy("log.csv", text(";")),
    "tabs in .csv": Messy("log.csv", text("\t")),
    ".tsv": Messy("log.tsv", text("\t")),
    ".tsv with commas": Messy("log.tsv", text()),
    "bars": Messy("log.csv", text("|")),
    ".txt": Messy("log.txt", text(";")),
    "spaces": Messy("log.txt", text(" "), SIZES, "--delimiter space", by_text(delimiter="space")),
    "a strange delimiter": Messy("log.csv", text("~"), SIZES, "--delimiter", by_text(delimiter="~")),
    "decimal commas": Messy("log.csv", text(";", comma=True)),
    "decimal commas in quotes": Messy(
        "log.csv", "\n".join(",".join(f'"{cell}"' for cell in line.split(";")) for line in lines(";", comma=True))
    ),
    "decimal commas and tabs": Messy("log.tsv", text("\t", comma=True)),
    "commas and points": Messy(
        "log.csv", text(";", comma=True).replace("0,25", "0.25"), SIZES, "--decimal", None
    ),
    "a late decimal comma": Messy(
        "log.csv", text(";") + "".join(f"{n};0;0;0;1\n{n};1;0;0;0\n" for n in range(100, 9000)) + "9999;0;0;0;0,5\n",
        SIZES, "--decimal ','", None,
    ),
    "grouped thousands": Messy(
        "log.csv", text().replace("0.5", '"1,000.5"'), {**SIZES, "reward_range": (0, 2000)}, "must hold numbers", None
    ),
    "Windows line ends": Messy("log.csv", text(ends="\r\n")),
    "old line ends": Messy("log.csv", text(ends="\r")),
    "no line end at the end": Messy("log.csv", text().rstrip("\n")),
    "empty lines": Messy("log.csv", text(ends="\n\n")),
    "UTF-8 with a mark": Messy("log.csv", text(labels=True).encode("utf-8-sig"), LABELLED),
    "UTF-16": Messy("log.csv", text(labels=True).encode("utf-16"), LABELLED),
    "UTF-16 big end first": Messy("log.csv", b"\xfe\xff" + text(labels=True).encode("utf-16-be"), LABELLED),
    "UTF-16 without a mark": Messy("log.csv", text(labels=True).encode("utf-16-le"), LABELLED),
    "Latin-1": Messy(
        "log.csv", text(labels=True).encode("latin-1"), LABELLED, "--encoding cp1252",
        {**LABELLED, "text": {"encoding": "latin-1"}},
    ),
    "late Latin-1": Messy(
        "log.csv",
        (text(labels=True).replace("müde", "gut") + "".join(f"{n},0,gut,helfen,1\n" for n in range(100, 9000))).encode()
        + b"9999,0,m\xfcde,helfen,1\n",
        LABELLED, "--encoding cp1252", None,
    ),
    "an encoding that nobody knows": Messy("log.csv", text(), by_text(encoding="klingon"), "Say utf-8", SIZES),
    "the wrong encoding told": Messy("log.csv", b"\xff" + text().encode(), by_text(encoding="utf-8"), "another --encoding", None),
    "quotes around everything": Messy(
        "log.csv", "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in lines())
    ),
    "quotes with commas and lines": Messy("log.csv", QUOTED),
    "a quote that never closes": Messy("log.csv", text() + '7,"', SIZES, "never closes", None),
    "gzip": Messy("log.csv.gz", gzip.compress(text().encode())),
    "gzip of tabs": Messy("log.tsv.gz", gzip.compress(text("\t").encode())),
    "gzip without its name": Messy("log.csv", gzip.compress(text().encode()), SIZES, "end in .gz", None),
    "JSON rows": Messy("log.json", json.dumps([dict(zip(NAMES, row, strict=True)) for row in ROWS])),
    "JSON columns": Messy("log.json", json.dumps(columns())),
    "JSON in an envelope": Messy("log.json", json.dumps({"data": [dict(zip(NAMES, row, strict=True)) for row in ROWS]})),
    "JSON lines": Messy("log.ndjson", "\n".join(json.dumps(dict(zip(NAMES, row, strict=True))) for row in ROWS)),
    "JSON lines called .json": Messy(
        "log.json", "\n".join(json.dumps(dict(zip(NAMES, row, strict=True))) for row in ROWS)
    ),
    "JSON of something else": Messy("log.json", '{"a": 1}', SIZES, "must hold rows", None),
    "JSON called .csv": Messy("log.csv", json.dumps(columns()), SIZES, ".json", None),
    "spaces in the header": Messy("log.csv", text(names=(" User ID ", "Time step", " State", "Action ", "Reward"))),
    "capitals": Messy("log.csv", text(names=("USER_ID", "STEP", "STATE", "ACTION", "REWARD"))),
    "camels": Messy("log.csv", text(names=("userId", "timeStep", "state", "action", "reward"))),
    "no header": Messy(
        "log.csv", "\n".join(lines()[1:]), SIZES, "--header", by_text(header="user,step,state,action,reward")
    ),
    "a title above": Messy("log.csv", TITLED, SIZES, "--skip-rows 1", by_text(skip_rows=2)),
    "sep= above": Messy("log.csv", "sep=;\n" + text(";")),
    "two columns alike": Messy(
        "log.csv", text(names=("user", "step", "state", "state", "reward")), SIZES, "--header",
        by_text(header="user,step,state,action,reward", skip_rows=1),
    ),
    "an index without a name": Messy("log.csv", "\n".join(("" if i == 0 else str(i)) + "," + one for i, one in enumerate(lines()))),
    "rows too wide": Messy("log.csv", text() + "9,2,0,0,0,5\n", SIZES, "has a row of 6 entries", None),
    "True and False": Messy(
        "log.csv",
        "\n".join([",".join(NAMES), *(f"{u},{h},{s},{bool(a)},{r}" for u, h, s, a, r in ROWS)]),
    ),
    "yes and no": Messy(
        "log.csv",
        "\n".join([",".join(NAMES), *(f"{u},{h},{s},{'Yes' if a else 'No'},{r}" for u, h, s, a, r in ROWS)]),
    ),
    "yes and no as labels": Messy(
        "log.csv",
        "\n".join([",".join(NAMES), *(f"{u},{h},{s},{'yes' if a else 'no'},{r}" for u, h, s, a, r in ROWS)]),
        {"states": 3, "labels": {"actions": ["no", "yes"]}, "horizon": 2},
    ),
    "days of the year first": Messy("log.csv", _dated("iso"), {**SIZES, "order_by": "day"}),
    "days of the day first": Messy(
        "log.csv", _dated("de"), {**SIZES, "order_by": "day"}, "--time-format",
        {**SIZES, "order_by": "day", "text": {"time_format": "%d.%m.%Y"}},
    ),
    "an episode a row": Messy("log.parquet", _parquet(_lists())),
    "an episode a row, one state more": Messy("log.parquet", _parquet(_lists(extra=True))),
    "an episode a row in JSON": Messy("log.json", json.dumps(_lists())),
    "lists that differ": Messy(
        "log.json", json.dumps({**_lists(), "rewards": [[0.5], [1.0, 0.25], [0.0, 0.75]]}), SIZES, "equally long", None
    ),
    "a column for each step": Messy("log.csv", _wide(0)),
    "a column for each step from 1": Messy("log.csv", _wide(1)),
    "terminated and truncated": Messy("log.csv", _csv_of(_flagged("terminated", "truncated"))),
    "done as numbers": Messy("log.csv", _csv_of(_flagged("done", values=(0, 1)))),
    "cut too early": Messy(
        "log.csv", _csv_of({**_flagged("terminated", "truncated"), "truncated": [True, *[False, True] * 2, True]}),
        SIZES, "--columns terminated=, truncated=", None,
    ),
    "arrays of numpy": Messy(
        "log.npz", lambda path: np.savez(path, **{name: np.array(values) for name, values in columns().items()})
    ),
    "(n, H) arrays": Messy(
        "log.npz",
        lambda path: np.savez(path, **{name: np.array(_lists()[name]) for name in ("states", "actions", "rewards")}),
    ),
    "Parquet called .csv": Messy("log.csv", _parquet(columns()), SIZES, ".parquet", None),
    "a workbook": Messy("log.xlsx", b"PK\x03\x04....", SIZES, "Save the sheet as CSV", None),
    "a workbook called .csv": Messy("log.csv", b"PK\x03\x04....", SIZES, "save the sheet as CSV", None),
    "a pickle": Messy("log.pkl", b"\x80\x04.", SIZES, "Parquet", None),
    "a web page": Messy("log.csv", "<!doctype html><html></html>", SIZES, "web page", None),
    "nothing": Messy("log.csv", "", SIZES, "has no rows", None),
    "null bytes": Messy("log.csv", b"user,step\0,state\n1,2,3\n" * 3, SIZES, "null bytes", None),
    "text for a reward": Messy("log.csv", text().replace("0.25", "much"), SIZES, "'reward' of", None),
    "labels without a book": Messy("log.csv", text(labels=True), SIZES, "--labels", LABELLED),
    "numbers with spaces": Messy("log.csv", text(", ")),
}  # fmt: skip
