"""A folder full of things that go wrong, and the words that lead to them. `test_hostile` sees each refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, feather, parquet

from confide.privacy import Ledger
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, columns, episodes

SIZES = ("--states", str(STATES), "--actions", str(ACTIONS), "--horizon", str(HORIZON))
PROMISE = ("--rho", "0.5")
PEOPLE = 12

Words = tuple[str, ...]


def fit(*words: str, data: str = "log.parquet", sizes: Words = SIZES, promise: Words = PROMISE) -> Words:
    """A fit that would go ahead, but for `words`: of an option given twice the last one holds."""
    return ("fit", data, *sizes, *promise, "--out", "out", *words)


def by_option(option: str, values: Words, *more: str) -> dict[str, Words]:
    return {f"{option} {value!r}": fit(*more, option, value) for value in values}


def by_setting(name: str, values: Words, *more: str) -> dict[str, Words]:
    return {f"{' '.join(more)} {name}={value}": fit(*more, "--option", f"{name}={value}") for value in values}


def by_data(kind: str, names: Words, *more: str) -> dict[str, Words]:
    return {f"{kind} {name}": fit(*more, data=name) for name in names}


NUMBERS = ("0", "-1", "1.5", "nan", "inf", "x", "", "1e30")
LINEAR = ("--learner", "vapvi", "--features", "features.npy")
VECTORS = ("fit", "points.parquet", "--actions", "2", "--horizon", "4", *PROMISE, "--budget", "5", "--out", "out")
VECTORS = (*VECTORS, "--learner", "vapvi")

FLAGS: dict[str, Words] = {
    **by_option("--states", (*NUMBERS, "2", "1000000")),
    **by_option("--actions", (*NUMBERS, "1", "1000000000")),
    **by_option("--horizon", (*NUMBERS, "3", "1000000")),
    **{f"--rho {value!r}": fit(promise=("--rho", value)) for value in ("0", "-1", "nan", "inf", "x", "1e300", "")},
    **{f"--epsilon {value!r}": fit(promise=("--epsilon", value)) for value in ("0", "-1", "nan", "inf", "x", "1e9")},
    **{f"--delta {value}": fit("--delta", value, promise=("--epsilon", "1")) for value in ("1", "-1", "nan", "2", "x")},
    "no promise": fit(promise=()),
    "two promises": fit("--epsilon", "1"),
    "rho with delta": fit("--delta", "1e-6"),
    **by_option("--failure", ("0", "-1", "1", "nan", "inf", "0.9", "x")),
    **by_option("--bonus-scale", ("nan", "inf", "-inf", "-5", "x", "1e308")),
    **by_option("--bonus-scale", ("nan", "inf", "-5", "1e308"), *LINEAR),
    **by_setting("told_apart", ("x", "nan", "inf", "-1", "true", "none", "1e308")),
    **by_setting("fallback", ("7", "x")),
    **by_setting("pessimism", ("magic", "7")),
    **by_setting("calibration", ("magic", "7", "tight", "sound", "paper")),
    **by_setting("constants", ("7", "x")),
    **by_setting("knowledge", ("7",)),
    **by_setting("spec", ("7",)),
    **by_setting("no_such_thing", ("7",)),
    **by_setting("ridge", ("0", "-1", "nan", "x", "none", "1e300", "1e-300"), *LINEAR),
    **by_setting("constant", ("nan", "-1", "x", "1e300"), *LINEAR),
    **by_setting("remainder", ("inf", "-1", "1e300"), *LINEAR),
    **by_setting("failure", ("0", "1", "nan", "x"), *LINEAR),
    **by_setting("split", ("3", "maybe"), *LINEAR),
    **by_setting("weighted", ("false",), *LINEAR),
    **by_setting("end_reward", ("1",), *LINEAR),
    **by_setting("name", ("x",), *LINEAR),
    **by_setting("tight", ("false",), *LINEAR),
    **by_setting("calibration", ("paper", "sound", "tight"), *LINEAR),
    **{
        f"--option {name}": fit("--option", f"{name}=x")
        for name in ("noise", "out", "scale", "engine", "on_counted", "budget")
    },
    "--option without a value": fit("--option", "told_apart"),
    "--option without a name": fit("--option", "=7"),
    **by_option("--learner", ("apvy", "ucbvi", "po", "obi", "psrl", "pucb", "ucrl-vtr", "vapvi", "pevi")),
    **by_option("--pessimism", ("magic", "")),
    **by_option("--pessimism", ("bernstein",), *LINEAR),
    **by_option("--mechanism", ("magic", "laplace")),
    **by_option("--mechanism", ("laplace",), *LINEAR),
    **by_option("--engine", ("spark", "dask")),
    "a scheduler without dask": fit("--scheduler", "tcp://nowhere:1"),
    **by_option("--workers", ("0", "-1", "x", "1.5")),
    **by_option("--budget", ("0", "-1", "nan", "inf", "x", "7")),
    "--reward-range of one": fit("--reward-range", "1"),
    **{
        f"--reward-range {low} {high}": fit("--reward-range", low, high)
        for low, high in (
            ("nan", "1"),
            ("0", "inf"),
            ("1", "0"),
            ("0", "0"),
            ("1", "2"),
            ("-1e308", "1e308"),
            ("0", "1e-320"),
        )
    },
    **by_option(
        "--users", ("magic", "group", "group:1", "group:x", "group:0", "group:1.5", "limit:2", "", "group:1e7")
    ),
    "a group of a linear learner": fit(*LINEAR, "--users", "group:2"),
    "--feature-bound": fit(*LINEAR, "--feature-bound", "0"),
    **by_option("--feature-bound", ("-1", "nan", "0.1", "x"), *LINEAR),
    **by_option("--model", ("magic",)),
    "a flag that is none": fit("--magic"),
    "no out": ("fit", "log.parquet", *SIZES, *PROMISE),
    "no data": ("fit", *SIZES, *PROMISE, "--out", "out"),
    "no horizon": ("fit", "log.parquet", "--states", "3", "--actions", "2", *PROMISE, "--out", "out"),
    "no states": ("fit", "log.parquet", "--actions", "2", "--horizon", "4", *PROMISE, "--out", "out"),
    "--fixed-length of short ones": fit("--fixed-length"),
    "--order-by nothing": fit("--order-by", "wen"),
    "--order-by beside a step": fit("--order-by", "reward"),
    "vectors for apvi": (*VECTORS, "--learner", "apvi", "--state-columns", "x*", "--norm", "2"),
    "vectors that are not there": (*VECTORS, "--state-columns", "y*", "--norm", "2"),
    "vectors without a norm": (*VECTORS, "--state-columns", "x*"),
    "vectors with states": (*VECTORS, "--state-columns", "x*", "--norm", "2", "--states", "3"),
    "vectors longer than said": (*VECTORS, "--state-columns", "x*", "--norm", "0.001"),
    "vectors with features": (*VECTORS, "--state-columns", "x*", "--norm", "2", "--features", "features.npy"),
    "a norm without vectors": fit("--norm", "2"),
    "an intercept without vectors": fit("--intercept"),
    **{
        f"--norm {value}": (*VECTORS, "--state-columns", "x*", "--norm", value)
        for value in ("0", "-1", "nan", "inf", "x")
    },
}

QUERY = "duckdb:SELECT 1 AS user, 0 AS step, 0 AS state, 0 AS action, 0 AS reward"

FILES: dict[str, Words] = {
    **by_data(
        "no file:", ("nowhere.parquet", "nowhere/log.parquet", "*.nothing", "log.txt", "log.xlsx", "", ".", "empty")
    ),
    **by_data(
        "spoiled:", ("empty.parquet", "cut.parquet", "text.parquet", "folder.parquet", "swapped.csv", "none.csv")
    ),
    **by_data(
        "spoiled:", ("header.csv", "ragged.csv", "binary.csv", "semicolons.csv", "headless.csv", "spoiled.arrow")
    ),
    **by_data(
        "spoiled:", ("spoiled.feather", "no-rows.parquet", "twice.parquet", "twice.csv", "words.csv", "latin.csv")
    ),
    **by_data("no database:", ("nowhere.duckdb", "text.duckdb"), "--table", "visits"),
    **by_data("no table:", ("text.duckdb",)),
    **{
        f"query {query!r}": fit(data=f"duckdb:{query}")
        for query in (
            "",
            "SELECT",
            "SELECT * FROM nowhere",
            "SELECT * FROM 'nowhere.parquet'",
            "DROP TABLE x",
            "SELECT 1/0 AS user",
        )
    },
    "no Minari": fit("--ledger", "m.json", "--budget", "1", data="minari:nowhere-v0"),
    "a query that cannot be": fit("--ledger", "q.json", "--budget", "1", data=QUERY + " WHERE error('x')"),
    "no ledger for a query": fit(data=QUERY),
    "no ledger for two files": ("fit", "other.parquet", "log.csv", *SIZES, *PROMISE, "--out", "out"),
    "files unlike each other": ("fit", "log.parquet", "no-reward.parquet", *SIZES, *PROMISE, "--out", "out"),
    "a null byte": fit(data="log\0.parquet"),
    "a long name": fit(data="x" * 300 + ".parquet"),
}

COLUMNS: dict[str, Words] = {
    **by_option(
        "--columns", ("user", "user=", "magic=user", "user=nobody", "state=action", "step=reward", "=x", "state=")
    ),
    **by_option("--columns", ("next_state=state", "user=user,user=nobody", "action=user")),
    **by_data("columns:", ("no-state.parquet", "no-action.parquet", "no-reward.parquet", "no-user.parquet")),
    **by_data("columns:", ("two-states.parquet", "text-state.parquet", "list-state.parquet", "time-state.parquet")),
    **by_data("columns:", ("null-state.parquet", "text-step.parquet", "text-reward.parquet", "list-user.parquet")),
    **by_data("columns:", ("unordered.parquet", "struct-user.parquet")),
    "sorted without a step": fit("--sort", data="unordered.parquet"),
    "ordered by nothing": fit("--order-by", "when", data="unordered.parquet"),
    "ordered by ties": fit("--order-by", "reward", data="unordered.parquet"),
    "ordered and in order": fit("--order-by", "reward", "--in-order", data="unordered.parquet"),
    "limited without a step": fit("--users", "limit", "--in-order", data="unordered.parquet"),
}

# The column, what stands in its fourth row, and the kind of the column.
BAD_VALUES: dict[str, tuple[str, Any]] = {
    **{f"state-{value}": ("state", value) for value in (-1.0, 3.0, 0.5, 1e308, -1e308)},
    "state-nan": ("state", float("nan")),
    "state-inf": ("state", float("inf")),
    "state-null": ("state", None),
    **{f"action-{value}": ("action", value) for value in (-1.0, 2.0, 0.5, 1e308)},
    "action-nan": ("action", float("nan")),
    "action-null": ("action", None),
    **{f"reward-{value}": ("reward", value) for value in (1.5, -0.1, 1e308, -1e308)},
    "reward-nan": ("reward", float("nan")),
    "reward-inf": ("reward", float("inf")),
    "reward-minus-inf": ("reward", float("-inf")),
    "reward-null": ("reward", None),
    **{f"step-{value}": ("step", value) for value in (-1.0, 7.0, 0.5, 1e18)},
    "step-null": ("step", None),
    **{f"next_state-{value}": ("next_state", value) for value in (-1.0, 3.0, 9.0, 0.5, 1e308)},
    "user-null": ("user", None),
    "user-nan": ("user", float("nan")),
    "user-inf": ("user", float("inf")),
    "user-huge": ("user", 2.0**60),
    "user-again": ("user", 0.0),
}
VALUES: dict[str, Words] = {
    **by_data("values:", tuple(f"{name}.parquet" for name in BAD_VALUES)),
    **by_data(
        "values:",
        tuple(f"{name}.csv" for name in ("state--1.0", "reward-1e+308", "reward-nan", "reward-inf", "user-null")),
    ),
    "clipped NaN": fit("--clip", data="reward-nan.parquet"),
    "blank people": fit(data="blank.parquet"),
    "people twice": fit(data="twins.parquet"),
    "people twice in two kinds": (
        "fit",
        "log.parquet",
        "again.csv",
        *SIZES,
        *PROMISE,
        "--ledger",
        "log.parquet.ledger.json",
        "--out",
        "out",
    ),
    "three episodes in a group of two": fit("--users", "group:2", data="triplets.parquet"),
}

BAD_BOOKS = {
    "no-json": "states: well",
    "list": "[1, 2]",
    "empty": "",
    "no-labels": '{"states": [], "actions": []}',
    "double": '{"states": ["a", "a", "b"], "actions": ["0", "1"]}',
    "others": '{"states": ["a", "b", "c"], "actions": ["0", "1"]}',
    "numbers": '{"states": 3, "actions": 2}',
    "deep": "[" * 3000,
}
BAD_EDGES = {
    "no-json": "pulse: 3",
    "falling": '{"states": {"reward": [2, 1]}}',
    "infinite": '{"states": {"reward": [0, Infinity]}}',
    "nan": '{"states": {"reward": [NaN]}}',
    "none": '{"states": {"reward": []}}',
    "words": '{"states": {"reward": ["a"]}}',
    "nowhere": '{"states": {"pulse": [0.5, 0.7]}}',
    "list": "[3]",
}
TABLES: dict[str, Words] = {
    **{f"labels {name}": fit("--labels", f"labels-{name}.json", sizes=("--horizon", "4")) for name in BAD_BOOKS},
    **{f"edges {name}": fit("--edges", f"edges-{name}.json", sizes=SIZES[2:]) for name in BAD_EDGES},
    "labels nowhere": fit("--labels", "nowhere.json"),
    "labels as CSV": fit("--labels", "log.csv"),
    "labels and sizes": fit("--labels", "labels-others.json", "--states", "7"),
    "labels and edges": fit("--labels", "labels-others.json", "--edges", "edges-good.json", sizes=("--horizon", "4")),
    **{
        f"{option} {name}": fit(option, f"{name}.npy")
        for option, names in {
            "--support": ("nowhere", "vector", "words", "pickled", "cut", "dead-end", "floats", "square"),
            "--allowed": ("nowhere", "vector", "nothing-allowed", "floats", "number"),
            "--rewards": ("nowhere", "vector", "nan-rewards", "high-rewards", "words"),
            "--initial": ("nowhere", "square", "negative", "half", "nan-law"),
        }.items()
        for name in names
    },
    "two arrays": fit("--support", "two.npz"),
    **{
        f"features {name}": fit("--learner", "vapvi", "--features", f"{name}.npy")
        for name in ("nowhere", "vector", "words", "nan-features")
    },
}

BAD_LEDGERS = {
    "empty": "",
    "cut": '{"schema": "confide.ledger/1", "bud',
    "list": "[1]",
    "schema": '{"schema": "confide.ledger/9", "budget": 1, "entries": []}',
    "negative": '{"schema": "confide.ledger/1", "budget": 1, "entries": [{"rho": -5}]}',
    "nan": '{"schema": "confide.ledger/1", "budget": NaN, "entries": []}',
    "infinite": '{"schema": "confide.ledger/1", "budget": Infinity, "entries": []}',
    "bare": '{"schema": "confide.ledger/1", "budget": 1}',
    "words": '{"schema": "confide.ledger/1", "budget": 1, "entries": ["much"]}',
    "true": '{"schema": "confide.ledger/1", "budget": true, "entries": []}',
    "astray": '{"schema": "confide.ledger/1", "see": "/nowhere/at/all.json"}',
    "spent": '{"schema": "confide.ledger/1", "budget": 1, "entries": [{"rho": 0.9}]}',
}
PLACES: dict[str, Words] = {
    **{f"ledger {name}": fit("--ledger", f"ledger-{name}.json", data="other.parquet") for name in BAD_LEDGERS},
    **{f"budget {name}": ("budget", f"ledger-{name}.json") for name in BAD_LEDGERS if name != "spent"},
    "a second ledger": fit("--ledger", "second.json", "--budget", "1"),
    "a ledger that is a folder": fit("--ledger", "folder", data="other.parquet"),
    "a ledger under a file": fit("--ledger", "log.csv/ledger.json", "--budget", "1", data="other.parquet"),
    "no budget": fit(data="other.parquet"),
    "a file of a charged folder": fit("--budget", "1", data="charged/a.parquet"),
    "a folder of charged files": fit("--budget", "1", data="mixed"),
    "out is a file": fit("--out", "log.csv"),
    "out under a file": fit("--out", "log.csv/out"),
    "out is full of others": fit("--out", "folder"),
    "out is a link": fit("--out", "link"),
    "out has too long a name": fit("--out", "x" * 300),
    "out has a null byte": fit("--out", "out\0put"),
    "out is a device": fit("--out", "/dev/null/out"),
    "a release waits": fit("--out", "waiting"),
    "budget nowhere": ("budget", "nowhere.parquet"),
    "budget of nothing set": ("budget", "other.parquet"),
    "budget set twice": ("budget", "log.parquet", "--rho", "9"),
    "budget of a file in a charged folder": ("budget", "charged/a.parquet", "--rho", "1"),
    **{
        f"budget --rho {value}": ("budget", "other.parquet", "--rho", value) for value in ("0", "-1", "nan", "inf", "x")
    },
    "refit nowhere": ("refit", "nowhere", "--out", "out"),
    "refit spoiled": ("refit", "spoiled-policy", "--out", "out"),
    "refit other files": ("refit", "folder", "--out", "out"),
    "refit online": ("refit", "policy", "--learner", "ucbvi", "--out", "out"),
    "refit linear": ("refit", "policy", "--learner", "vapvi", "--out", "out"),
    "refit onto itself": ("refit", "policy", "--out", "policy"),
    **{
        f"refit --bonus-scale {value}": ("refit", "policy", "--out", "out", "--bonus-scale", value)
        for value in ("nan", "-5", "x")
    },
    **{
        f"refit told_apart={value}": ("refit", "policy", "--out", "out", "--option", f"told_apart={value}")
        for value in ("x", "nan", "-1")
    },
    "evaluate nowhere": ("evaluate", "nowhere"),
    "evaluate in no world": ("evaluate", "policy", "--env", "nowhere/7"),
    "evaluate in another world": ("evaluate", "policy", "--env", "riverswim/6"),
    **{
        f"evaluate {name}": ("evaluate", "policy", "--policy", f"{name}.npy")
        for name in ("nowhere", "words", "vector", "negative", "square")
    },
    "report nowhere": ("report", "nowhere"),
    "certificate nowhere": ("certificate", "nowhere"),
    "certificate of a ledger": ("certificate", "log.parquet.ledger.json"),
    **{
        f"forecast --states {value}": ("forecast", "--states", value, *SIZES[2:], *PROMISE)
        for value in ("0", "-1", "nan", "x", "1000000")
    },
    "forecast without a promise": ("forecast", *SIZES),
    "a command that is none": ("fitt", "log.parquet"),
}

CASES: dict[str, Words] = {**FLAGS, **FILES, **COLUMNS, **VALUES, **TABLES, **PLACES}


def build(place: Path) -> None:
    """Write everything that the words speak of."""
    log = episodes(PEOPLE, seed=1)
    columns_of_log: dict[str, Any] = {name: np.array(values, dtype=float) for name, values in columns(log).items()}
    table = pa.table(columns_of_log)
    parquet.write_table(table, place / "log.parquet")
    parquet.write_table(table, place / "other.parquet")
    csv.write_csv(table, place / "log.csv")
    Ledger(place / "log.parquet.ledger.json").open(5.0)
    _files(place, table)
    _columns(place, columns_of_log)
    _values(place, columns_of_log)
    _tables(place)
    _ledgers(place, table)
    _results(place)


def with_budget(path: Path) -> None:
    """Money beside the data, so that nothing but the fault stands in the way."""
    Ledger(path.with_name(path.name + ".ledger.json")).open(5.0)


def _files(place: Path, table: pa.Table) -> None:
    whole = (place / "log.parquet").read_bytes()
    for name, body in {
        "empty.parquet": b"",
        "cut.parquet": whole[: len(whole) // 2],
        "text.parquet": b"user,step\n1,2\n",
        "swapped.csv": whole,
        "none.csv": b"",
        "header.csv": b"user,step,state,action,reward,next_state\n",
        "ragged.csv": b"user,step,state,action,reward,next_state\n1,0,0\n1,1,0,0,0,0,0,0\n",
        "binary.csv": bytes(range(256)) * 9,
        "semicolons.csv": (place / "log.csv").read_bytes().replace(b",", b";"),
        "headless.csv": b"\n".join((place / "log.csv").read_bytes().splitlines()[1:]),
        "words.csv": b"user,step,state,action,reward,next_state\n1,0,zero,0,0,0\n",
        "latin.csv": "user,step,state,action,reward,next_state\n\xe9,0,\xe9,0,0,0\n".encode("latin-1"),
        "twice.csv": b"user,step,state,state,action,reward,next_state\n1,0,0,1,0,0,0\n",
        "spoiled.arrow": b"ARROW1\0\0no more",
        "spoiled.feather": b"FEA1",
        "log.txt": b"user",
        "log.xlsx": b"PK",
        "text.duckdb": b"no database",
    }.items():
        (place / name).write_bytes(body)
    for folder in ("folder.parquet", "empty", "folder"):
        (place / folder).mkdir()
    (place / "folder" / "thesis.tex").write_text("mine")
    (place / "link").symlink_to(place / "folder")
    parquet.write_table(table.slice(0, 0), place / "no-rows.parquet")
    with_budget(place / "no-rows.parquet")
    with_budget(place / "header.csv")
    doubled = pa.Table.from_arrays([*table.columns, table["state"]], names=[*table.column_names, "state"])
    parquet.write_table(doubled, place / "twice.parquet")
    x = np.random.default_rng(0).normal(size=(table.num_rows, 2))
    points = (
        table.drop_columns(["state", "next_state"])
        .append_column("x1", pa.array(x[:, 0]))
        .append_column("x2", pa.array(x[:, 1]))
    )
    parquet.write_table(points, place / "points.parquet")
    feather.write_feather(table, place / "log.feather")


def _columns(place: Path, told: dict[str, Any]) -> None:
    rows = len(told["user"])
    lists = pa.array([[1]] * rows)
    times = pa.array(np.arange(rows), pa.timestamp("s"))
    for name, changes in {
        "no-state": {"state": None},
        "no-action": {"action": None},
        "no-reward": {"reward": None},
        "no-user": {"user": None},
        "two-states": {"s": told["state"]},
        "text-state": {"state": pa.array(["well"] * rows)},
        "list-state": {"state": lists},
        "time-state": {"state": times},
        "null-state": {"state": pa.nulls(rows)},
        "text-step": {"step": pa.array(["one"] * rows)},
        "text-reward": {"reward": pa.array(["much"] * rows)},
        "list-user": {"user": lists},
        "struct-user": {"user": pa.array([{"id": 1}] * rows)},
        "unordered": {"step": None, "next_state": None},
        "blank": {"user": pa.array([" "] * rows)},
    }.items():
        table = pa.table({key: value for key, value in {**told, **changes}.items() if value is not None})
        parquet.write_table(table, place / f"{name}.parquet")
        with_budget(place / f"{name}.parquet")


def _values(place: Path, told: dict[str, Any]) -> None:
    """The second row of an episode of at least three, so that every rule is about it."""
    lengths = [int((told["user"] == user).sum()) for user in range(PEOPLE)]
    row = sum(lengths[: next(i for i, many in enumerate(lengths) if many >= 3 and i > 0)]) + 1
    for name, (column, value) in BAD_VALUES.items():
        entries = list(told[column])
        entries[row] = value
        table = pa.table({**told, column: pa.array(entries, pa.float64(), from_pandas=value is None)})
        for suffix in ("parquet", "csv"):
            path = place / f"{name}.{suffix}"
            csv.write_csv(table, path) if suffix == "csv" else parquet.write_table(table, path)
            with_budget(path)
    again = pa.table({**told, "user": pa.array([f"{int(user):04d}" for user in told["user"]])})
    csv.write_csv(again, place / "again.csv")
    for name, times in (("twins", 2), ("triplets", 3)):
        parquet.write_table(pa.concat_tables([pa.table(told)] * times), place / f"{name}.parquet")
        with_budget(place / f"{name}.parquet")


def _tables(place: Path) -> None:
    for kind, aggregates in (("labels", BAD_BOOKS), ("edges", BAD_EDGES)):
        for name, text in aggregates.items():
            (place / f"{kind}-{name}.json").write_text(text)
    (place / "edges-good.json").write_text(json.dumps({"states": {"reward": [0.2, 0.7]}}))
    full = np.ones((STATES, ACTIONS, STATES), dtype=bool)
    dead = full.copy()
    dead[1, 1] = False
    rng = np.random.default_rng(0)
    features = rng.random((STATES, ACTIONS, 2))
    for name, array in {
        "vector": np.ones(7, dtype=bool),
        "dead-end": np.concatenate([dead, np.zeros((STATES, ACTIONS, 1), dtype=bool)], axis=2),
        "floats": np.full((STATES, ACTIONS, STATES), 0.5),
        "square": np.ones((STATES, STATES), dtype=bool),
        "number": np.array(1),
        "nothing-allowed": np.zeros((STATES, ACTIONS), dtype=bool),
        "nan-rewards": np.full((STATES, ACTIONS), np.nan),
        "high-rewards": np.full((STATES, ACTIONS), 7.0),
        "negative": np.array([-1.0, 1.0, 1.0]),
        "half": np.full(STATES, 0.5),
        "nan-law": np.full(STATES, np.nan),
        "nan-features": np.where(features > 0.5, np.nan, features),
        "features": features,
    }.items():
        np.save(place / f"{name}.npy", array)
    np.save(place / "pickled.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (place / "words.npy").write_text("no numbers")
    (place / "cut.npy").write_bytes((place / "floats.npy").read_bytes()[:-9])
    np.savez(place / "two.npz", a=full, b=full)


def _ledgers(place: Path, table: pa.Table) -> None:
    for name, text in BAD_LEDGERS.items():
        (place / f"ledger-{name}.json").write_text(text)
    for folder in ("charged", "mixed"):
        (place / folder).mkdir()
        parquet.write_table(table, place / folder / "a.parquet")
    with_budget(place / "charged")
    with_budget(place / "mixed" / "a.parquet")
    (place / ".waiting.paid").mkdir()


def _results(place: Path) -> None:
    from confide.cli import run

    assert (
        run(["fit", str(place / "log.feather"), *SIZES, *PROMISE, "--budget", "5", "--out", str(place / "policy")]) == 0
    )
    (place / "spoiled-policy").mkdir()
    for file in (place / "policy").iterdir():
        (place / "spoiled-policy" / file.name).write_bytes(file.read_bytes()[:-7])
