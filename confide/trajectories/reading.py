"""`read`: from files, tables, arrays and queries to a data set, with everything public declared and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import validation
from ..errors import InvalidInput
from ..mdp import STATIONARY, Spec
from ..mdp.knowledge import Knowledge
from ..mdp.memory import check_memory
from .columns import PROPENSITY, DeclaredColumns, parse
from .dataset import GROUP, Dataset, Users, first_step
from .kinds import columns_of, order_kept, text_columns
from .labels import Cut, Labelled, coding, read_book, read_edges
from .order import RowOrder
from .places import DataSource, home_of, homes_of, parts_of
from .sources import DataPart
from .texts import TextForm
from .unpacking import unpacked
from .vectors import Vectors

NARROWEST = 1e-150
"""Of a reward range, so that no float overflows that is divided by its width, or multiplied, or squared."""


def read(
    *sources: DataSource,
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
    order_by: str | None = None,
    in_order: bool = False,
    state_columns: str | Sequence[str] | None = None,
    norm: float | None = None,
    intercept: bool = False,
    text: Mapping[str, Any] | None = None,
    labels_source: str | None = None,
    propensity: str | None = None,
    propensity_floor: float | None = None,
) -> Dataset:
    """Open logged trajectories and declare what is public about them. Only names, types and one step are looked at.

    labels, edges: a public label book and public bin edges, or files of them. support (S, A, S), allowed (S, A),
    rewards (S, A) in people's units, initial (S,): public tables. users: `one`, `limit` or `group:K`. fixed_length:
    every episode has `horizon` steps, so no end state is added. table: the table, or query, of a database file. sort:
    bring rows into the order of person, episode and step first. order_by: a column that says in which order the rows of
    an episode happened, such as a time, where no step is told; in_order: they stand in that order already, on your word.
    state_columns: names or patterns such as `x*`; states are then vectors, none longer than `norm` (or scaled down if
    `clip`), with a one added if `intercept`. text: how text tables are written, where that cannot be seen: delimiter,
    encoding, decimal, header, skip_rows, time_format. labels_source: `data` if the labels came from it, which the
    certificate then says. propensity: the column with the probability with which a row's action was chosen, none of which is
    below the public number `propensity_floor`; for one step, and for `compare`.
    """
    if not sources:
        raise InvalidInput("There is nothing to read. Give a file, a directory, a table or a query.")
    units = RewardUnits(_range(reward_range), fixed_length)
    book, cuts = _book(labels), _edges(edges)
    action_code = coding("actions", actions, book, cuts)
    cut = tuple(name for coding_ in cuts.values() for name in coding_.columns)
    parts = _parts(sources, table, TextForm.declared(**(text or {})), cut)
    tables = {"support": support, "allowed": allowed, "rewards": rewards, "initial": initial}
    vectors = None
    if state_columns is not None:
        labelled = {"labels of states": book.get("states"), "edges of states": cuts.get("states")}
        _only_vectors({"states": states, **tables, **labelled})
        names = parts[0].schema().names
        vectors = Vectors.declared(state_columns, names, action_code.size, norm, intercept, clip)
    elif norm is not None or intercept:
        raise InvalidInput("--norm and --intercept are about states that are vectors. Name their --state-columns.")
    state_code = coding("states", states, book, cuts) if vectors is None else vectors
    spec = Spec(state_code.size, action_code.size, horizon, model)
    check_memory(spec)
    tables["rewards"] = None if rewards is None else units.scaled(rewards)
    knowledge = Knowledge.declared(spec, **tables, ends=not fixed_length, end_reward=units.end_reward)
    roles = dict(parse(columns) if isinstance(columns, str) else columns)
    if propensity is not None:
        roles[PROPENSITY] = propensity
    wanted = DeclaredColumns(
        roles, state_code.columns, action_code.columns, rewards is not None, order_by, spec.horizon == 1
    )
    columns_read = columns_of(parts, wanted, state_code, action_code)
    texts, inferred = text_columns(columns_read, state_code, action_code), order_kept(parts, columns_read)
    users_rule, order = Users.parse(users), RowOrder(sort, order_by, in_order)
    no_propensities = vectors is not None or rewards is not None or users_rule.mode == GROUP
    floor = _floor(columns_read.propensity, propensity_floor, spec, no_propensities)
    order.check(columns_read, users_rule, spec.horizon)
    parts = order.arranged(tuple(part.reading(texts, inferred) for part in parts), columns_read, spec.horizon)
    return Dataset(
        parts,
        knowledge,
        columns_read,
        state_code,
        action_code,
        units.range,
        clip,
        users_rule,
        0 if columns_read.order is not None else first_step(parts, columns_read.step),
        home_of(sources),
        vectors,
        tuple(home for source in sources for home in homes_of(source)),
        units.declared,
        labels_source == "data",
        floor,
    )


def _parts(
    sources: Sequence[DataSource], table: str | None, form: TextForm, cut: Sequence[str]
) -> tuple[DataPart, ...]:
    """The parts of all sources, each with one row a step. cut: the columns that public bin edges cut."""
    parts = [part for source in sources for part in parts_of(source, table, form)]
    return tuple(unpacked(part, number, cut) for number, part in enumerate(parts))


@dataclass(frozen=True)
class RewardUnits:
    """The declared range of rewards. Where episodes may end early 0 is in the range too: it is what is paid after the end."""

    declared: tuple[float, float]
    fixed_length: bool

    @property
    def range(self) -> tuple[float, float]:
        """The numbers that become 0 and 1."""
        low, high = self.declared
        return self.declared if self.fixed_length else (min(low, 0.0), max(high, 0.0))

    @property
    def end_reward(self) -> float:
        """What a step after the end pays, in [0, 1]."""
        low, high = self.range
        return 0.0 if self.fixed_length else -low / (high - low)

    def scaled(self, rewards: Any) -> Any:
        """Public rewards in people's units, as numbers in [0, 1]."""
        low, high = self.range
        return (validation.array("rewards", rewards, _free(rewards)) - low) / (high - low)


def _floor(column: str | None, floor: float | None, spec: Spec, unlike: bool) -> float | None:
    """The public number below which no propensity lies; None where none are told. unlike: rewards are known, states are
    vectors, or people come several times.
    """
    if column is None and floor is None:
        return None
    if column is None:
        raise InvalidInput(
            "A floor is about logged propensities. Name their column (--propensity COLUMN), or leave it out."
        )
    if spec.horizon > 1:
        raise InvalidInput(
            f"Propensities are taken for one step, and the horizon is {spec.horizon}. Over several they multiply, until noise "
            "drowns what is left of a person's weight. Leave --propensity out: actions are counted by their states."
        )
    if unlike:
        raise InvalidInput(
            "Propensities weigh logged rewards of people who come once, by states that are counted. Leave --propensity out."
        )
    if floor is None:
        raise InvalidInput(
            "Below which number no propensity lies must be said, and not read off the data: --propensity-floor F."
        )
    return validation.between("propensity floor", floor, 1e-6, 1.0)


def _range(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = (validation.number("reward range", bound) for bound in bounds)
    if low >= high:
        raise validation.refusal("reward range", "two numbers, the lower first", bounds)
    if not NARROWEST <= high - low <= 1 / NARROWEST:
        width = f"between {NARROWEST:g} and {1 / NARROWEST:g} wide"
        raise validation.refusal("reward range", width, bounds, "Rewards in other units can be told apart.")
    return low, high


def _only_vectors(options: Mapping[str, Any]) -> None:
    """Refuse what speaks of numbered states beside state columns."""
    wrong = [name for name, value in options.items() if value is not None]
    if wrong:
        raise InvalidInput(f"States that are vectors have no numbers, so {wrong[0]} cannot be given. Leave it out.")


def _free(value: Any) -> tuple[None, ...]:
    import numpy as np

    return (None,) * np.ndim(value)


def codings(labels: Any, edges: Any) -> dict[str, int]:
    """How many states and actions a label book and bin edges speak of, as far as they do."""
    books, cuts = _book(labels), _edges(edges)
    return {kind: code.size for kind, code in books.items()} | {kind: code.size for kind, code in cuts.items()}


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
