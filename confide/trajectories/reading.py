"""`read`: from files, tables, arrays and queries to a data set, with everything public declared and checked."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from .. import validation
from ..errors import InvalidInput
from ..mdp import STATIONARY, Spec
from ..mdp.knowledge import Knowledge
from .arrays import MinariPart, table_of
from .columns import Columns, find, parse
from .dataset import ONE, Dataset, Users, first_step
from .labels import Coding, Cut, Labelled, coding, read_book, read_edges
from .sorting import SortedPart
from .sources import ARROW, CSV, DATABASE, PARQUET, ArrowPart, CsvPart, ParquetPart, Part, QueryPart, quoted
from .vectors import Vectors

Source: TypeAlias = Any
"""A path, glob or directory, `duckdb:SELECT ...`, `minari:NAME`, a table with an Arrow interface, arrays by name."""

SUFFIXES = (*PARQUET, *CSV, *ARROW)


def read(
    *sources: Source,
    horizon: int,
    states: int | None = None,
    actions: int | None = None,
    model: str = STATIONARY,
    columns: str | Mapping[str, str] = "",
    labels: str | Path | Mapping[str, Sequence[object]] | None = None,
    edges: str | Path | Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    support: Any = None,
    allowed: Any = None,
    rewards: Any = None,
    initial: Any = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    clip: bool = False,
    users: str = "one",
    fixed_length: bool = False,
    table: str | None = None,
    sort: bool = False,
    state_columns: str | Sequence[str] | None = None,
    norm: float | None = None,
    intercept: bool = False,
) -> Dataset:
    """Open logged trajectories and declare what is public about them. Only names, types and one step are looked at.

    labels, edges: a public label book and public bin edges, or files of them. support (S, A, S), allowed (S, A),
    rewards (S, A) in people's units, initial (S,): public tables. users: `one`, `limit` or `group:K`. fixed_length:
    every episode has `horizon` steps, so no end state is added. table: the table, or query, of a database file. sort:
    bring rows into the order of person, episode and step first. state_columns: names or patterns such as `x*`; states
    are then vectors, none longer than `norm` (or scaled down if `clip`), with a one added if `intercept`.
    """
    if not sources:
        raise InvalidInput("There is nothing to read. Give a file, a directory, a table or a query.")
    low, high = _range(reward_range, fixed_length)
    book, cuts = _book(labels), _edges(edges)
    action_code = coding("actions", actions, book, cuts)
    parts = tuple(part for source in sources for part in _parts(source, table))
    vectors = None
    if state_columns is not None:
        tables = {"states": states, "support": support, "allowed": allowed, "rewards": rewards, "initial": initial}
        _only_vectors({**tables, "labels of states": book.get("states"), "edges of states": cuts.get("states")})
        names = parts[0].schema().names
        vectors = Vectors.declared(state_columns, names, action_code.size, norm, intercept, clip)
    elif norm is not None or intercept:
        raise InvalidInput("--norm and --intercept are about states that are vectors. Name their --state-columns.")
    state_code = coding("states", states, book, cuts) if vectors is None else vectors
    spec = Spec(state_code.size, action_code.size, horizon, model)
    known = None if rewards is None else (validation.array("rewards", rewards, _free(rewards)) - low) / (high - low)
    end_reward = 0.0 if fixed_length else -low / (high - low)
    knowledge = Knowledge.declared(spec, support, allowed, known, initial, not fixed_length, end_reward)
    told = parse(columns) if isinstance(columns, str) else columns
    found = _columns(parts, told, state_code, action_code, known is not None)
    texts = _texts(found, state_code, action_code)
    parts = tuple(replace(part, texts=texts) if isinstance(part, CsvPart) else part for part in parts)
    if sort:
        order = tuple(name for name in (found.user, found.episode, found.step) if name is not None)
        parts = (SortedPart(parts, order),)
    treated = Users.parse(users)
    if treated.mode != ONE and found.step is None:
        raise InvalidInput(
            "Where people have several episodes, rows must tell their step. Name it: --columns step=NAME."
        )
    return Dataset(
        parts,
        knowledge,
        found,
        state_code,
        action_code,
        (low, high),
        clip,
        treated,
        first_step(parts, found.step),
        _home(sources),
        vectors,
    )


def _range(given: tuple[float, float], fixed_length: bool) -> tuple[float, float]:
    low, high = (validation.number("reward range", bound) for bound in given)
    if low >= high:
        raise validation.refusal("reward range", "two numbers, the lower first", given)
    if not fixed_length and not low <= 0 <= high:
        raise validation.refusal(
            "reward range", "around 0, which is what is paid after an episode's end", given, "Or say --fixed-length."
        )
    return low, high


def _only_vectors(given: Mapping[str, Any]) -> None:
    """Refuse what speaks of numbered states beside state columns."""
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        raise InvalidInput(f"States that are vectors have no numbers, so {wrong[0]} cannot be given. Leave it out.")


def _free(value: Any) -> tuple[None, ...]:
    import numpy as np

    return (None,) * np.ndim(value)


def _book(labels: Any) -> dict[str, Labelled]:
    if labels is None:
        return {}
    if isinstance(labels, Mapping):
        return {kind: Labelled(tuple(map(str, names))) for kind, names in labels.items()}
    return read_book(labels)


def _edges(edges: Any) -> dict[str, Cut]:
    if edges is None:
        return {}
    if isinstance(edges, Mapping):
        return {
            kind: Cut(tuple((column, tuple(map(float, cuts))) for column, cuts in by_column.items()))
            for kind, by_column in edges.items()
        }
    return read_edges(edges)


def _parts(source: Source, table: str | None) -> Iterable[Part]:
    """The parts that a source stands for."""
    if not isinstance(source, str | Path):
        return [table_of(source)]
    text = str(source)
    scheme, colon, rest = text.partition(":")
    if colon and scheme == "duckdb":
        return [QueryPart(rest.strip().rstrip(";"))]
    if colon and scheme == "minari":
        return [MinariPart(rest)]
    path = Path(text)
    if path.suffix.lower() in DATABASE:
        if table is None:
            raise InvalidInput(f"{text} is a database. Say which table: --table NAME.")
        query = table if " " in table.strip() else f"SELECT * FROM {quoted(table)}"
        return [QueryPart(query.strip().rstrip(";"), text, f"table {table} of {text}")]
    if path.is_dir():
        return _files(path.rglob("*"), f"The directory {text}")
    if glob.has_magic(text) and not path.exists():
        return _files(map(Path, glob.glob(text, recursive=True)), f"The pattern {text}")
    return [_file(path)]


def _files(found: Iterable[Path], what: str) -> list[Part]:
    visible = [path for path in found if path.is_file() and not path.name.startswith((".", "_"))]
    chosen = sorted(path for path in visible if path.suffix.lower() in SUFFIXES)
    if not chosen:
        raise InvalidInput(f"{what} holds no file that ends in {', '.join(SUFFIXES)}. Check the path.")
    return [_file(path) for path in chosen]


def _file(path: Path) -> Part:
    kind = path.suffix.lower()
    if not path.exists():
        raise InvalidInput(f"There is no file {path}. Check the path.")
    if kind in PARQUET:
        return ParquetPart(str(path))
    if kind in CSV:
        return CsvPart(str(path))
    if kind in ARROW:
        return ArrowPart(str(path))
    raise validation.refusal("a data file's name", f"one that ends in {', '.join(SUFFIXES)}", str(path))


def _columns(parts: Sequence[Part], told: Mapping[str, str], states: Coding, actions: Coding, known: bool) -> Columns:
    """The columns of the first part, which every other part must have too, with entries of the same kind."""
    first = parts[0].schema()
    found = find(first.names, told, states.columns, actions.columns, known)
    _check_types(parts[0], first, found, states, actions)
    kinds = {name: _kind(first.field(name).type) for name in found.names}
    for part in parts[1:]:
        schema = part.schema()
        for name, kind in kinds.items():
            if name not in schema.names:
                raise InvalidInput(
                    f"All parts must have the same columns. {part.name} has no column {name!r}, but {parts[0].name} "
                    "has. Read them apart, or write them alike."
                )
            if _kind(schema.field(name).type) != kind:
                raise InvalidInput(
                    f"All parts must have the same columns. {name!r} has another type in {part.name} than in "
                    f"{parts[0].name}. Write them alike."
                )
    return found


def _check_types(part: Part, schema: Any, found: Columns, states: Coding, actions: Coding) -> None:
    """Columns that must hold numbers do."""
    texts = _texts(found, states, actions)
    for name in found.names:
        if name not in texts and _kind(schema.field(name).type) != "number":
            raise InvalidInput(
                f"Column {name!r} of {part.name} must hold numbers. It does not. Give a label book (--labels), or name "
                "another column."
            )


def _texts(found: Columns, states: Coding, actions: Coding) -> tuple[str, ...]:
    """The columns that may hold text."""
    texts = [name for name in (found.user, found.episode) if name is not None]
    coded = (((*found.state, *found.next_state), states), (found.action, actions))
    return (*texts, *(name for names, coding in coded if isinstance(coding, Labelled) for name in names))


def _kind(type_: Any) -> str:
    """Types that are compared and counted alike."""
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    if any(test(type_) for test in numbers):
        return "number"
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return "text" if any(test(type_) for test in texts) else str(type_)


def _home(sources: Sequence[Source]) -> Path | None:
    """What a ledger may lie beside: one file or directory. Of anything else no one place can speak."""
    if len(sources) == 1 and isinstance(sources[0], str | Path):
        path = Path(sources[0])
        if path.exists():
            return path
    return None
