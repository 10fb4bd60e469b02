"""`Declaration`: everything that is said of logged data before it is looked at, as one value. All of it is public."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ... import validation
from ...errors import InvalidInput
from .columns import LOST, PROPENSITY, WEIGHT, parse
from .dataset import Users
from .labels import Cut, Labelled, read_book, read_edges
from .order import RowOrder
from .text_forms import TextForm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from ...mdp.described import DescribedFeatures

NARROWEST = 1e-150
"""Of a reward range, so that no float overflows that is divided by its width, or multiplied, or squared."""


LabelsDeclared: TypeAlias = "str | Path | Mapping[str, Sequence[object]] | None"
EdgesDeclared: TypeAlias = "str | Path | Mapping[str, Mapping[str, Sequence[float]]] | None"
Declared: TypeAlias = (
    "str | Path | float | Sequence[str] | tuple[float, float] | Mapping[str, object] | ArrayLike | DescribedFeatures"
    " | None"
)
"""What a declaration can be."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What is declared of a log: sizes, columns, codings, public tables, rewards, people, and the order of rows."""

    horizon: int
    """The most steps of an episode."""
    states: int | None = None
    """How many states; None where labels or edges say it, or where states are vectors."""
    actions: int | None = None
    """How many actions; None where labels or edges say it."""
    model: str | None = None
    """`stationary` or `per-step`: whether moves depend on the step. By default stationary, or as a paper has it."""

    columns: str | Mapping[str, str] = ""
    """Columns by role, `state=ward,action=drug`, as far as their names do not say it."""
    table: str | None = None
    """The table, or query, of a database file."""
    text: Mapping[str, str | int] | None = None
    """How text tables are written, where that cannot be seen: delimiter, encoding, decimal, header, skip_rows, time_format."""

    labels: LabelsDeclared = None
    """The public labels of states and actions, or a file of them."""
    labels_source: str | None = None
    """`data` if the labels were taken from the data, which the certificate then says."""
    edges: EdgesDeclared = None
    """Public bin edges for columns of numbers, or a file of them."""

    support: ArrayLike | None = None
    """(S, A, S) public table: which transitions can happen at all."""
    allowed: ArrayLike | None = None
    """(S, A) public table: which actions may be taken."""
    rewards: ArrayLike | None = None
    """(S, A) public table of mean rewards in people's units, where they are known."""
    initial: ArrayLike | None = None
    """(S,) public law of the first state, where it is known."""

    reward_range: tuple[float, float] = (0.0, 1.0)
    """The least and the most that one step pays."""
    return_range: tuple[float, float] | None = None
    """The least and the most that all steps of an episode pay together, if less than steps could; returns are clipped to it."""
    clip: bool = False
    """Clip rewards and scale state vectors down that are beyond what is declared, instead of refusing them."""
    fixed_length: bool = False
    """Every episode has `horizon` steps, so no end state is added."""

    missing: str | None = None
    """What becomes of missing entries: `category`, states have one more for them; `end`, the episode ends before the row, and its
    person is lost; None refuses them."""
    lost: str | None = None
    """The column that is true in the last row of a person who was lost to follow-up; the others came to their end."""

    weight: str | None = None
    """The column of sampling weights, of which that in an episode's first row counts."""
    weight_bound: float | None = None
    """A public number above which no weight lies."""
    weight_mean: float = 1.0
    """The public mean of the weights of all people."""

    groups: str | Mapping[str, Sequence[object]] | None = None
    """Public groups of people, `sex=f,m`, whose gains are judged apart; all others are one more group."""

    users: str = "one"
    """Several episodes of one person: `one` (refused), `limit` (one is chosen), `all:K` (one history) or `group:K`."""
    sort: bool = False
    """Sort rows by person, episode and step first."""
    order_by: str | None = None
    """A column that orders the rows of an episode, such as a time, where none has the step."""
    in_order: bool = False
    """Rows without a step stand in the order they happened, on your word."""

    state_columns: str | Sequence[str] | None = None
    """Names or patterns such as `x*`: states are vectors of these columns."""
    norm: float | None = None
    """No state vector is longer."""
    intercept: bool = False
    """Add a one to every state vector."""

    features: DescribedFeatures | None = None
    """A public description of features: states are what its inputs observe, in columns of these names."""

    propensity: str | None = None
    """The column of logged probabilities of the actions; for one step, and for `compare`."""
    propensity_floor: float | None = None
    """A public number below which none of them lies."""

    @classmethod
    def of(cls, declared: Mapping[str, Declared]) -> Declaration:
        """The declaration that keywords make; an unknown one is answered with the nearest."""
        for name in declared:
            validation.choice("declaration", name, (each.name for each in fields(cls)))
        if "horizon" not in declared:
            raise InvalidInput(
                "horizon-undeclared", "The horizon must be declared: the most steps of an episode. It is missing."
            )
        make: Callable[..., Declaration] = cls  # what each may be is checked where it is used
        return make(**declared)

    @property
    def tables(self) -> dict[str, ArrayLike | None]:
        """The public tables by name, None where there is none."""
        return {"support": self.support, "allowed": self.allowed, "rewards": self.rewards, "initial": self.initial}

    @property
    def units(self) -> RewardUnits:
        """The range of rewards, checked."""
        return RewardUnits(_range("reward range", self.reward_range), self.fixed_length)

    @property
    def order(self) -> RowOrder:
        """How rows come into order."""
        return RowOrder(self.sort, self.order_by, self.in_order)

    @property
    def user_rule(self) -> Users:
        """What becomes of several episodes of one person."""
        return Users.parse(self.users)

    @property
    def form(self) -> TextForm:
        """How text tables are written, as far as it is declared."""
        make: Callable[..., TextForm] = TextForm.declared  # which checks each word
        return make(**(self.text or {}))

    @property
    def roles(self) -> dict[str, str]:
        """Declared columns by role."""
        roles = dict(parse(self.columns) if isinstance(self.columns, str) else self.columns)
        more = {PROPENSITY: self.propensity, LOST: self.lost, WEIGHT: self.weight}
        return {**roles, **{role: name for role, name in more.items() if name is not None}}


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

    def returns(self, bounds: tuple[float, float] | None, horizon: int) -> tuple[float, float] | None:
        """A range of returns in people's units, as sums of rewards in [0, 1] over the horizon; None if there is none."""
        if bounds is None:
            return None
        low, high = self.range
        first, last = _range("return range", bounds)
        if min(last, high * horizon) <= max(first, low * horizon):
            possible = f"a range that overlaps [{low * horizon:g}, {high * horizon:g}], which {horizon} steps can pay"
            raise validation.refusal(
                "return-range-impossible", "return range", possible, bounds, "Declare another, or leave it out."
            )
        return (first - low * horizon) / (high - low), (last - low * horizon) / (high - low)

    def scaled(self, rewards: ArrayLike) -> NDArray[np.float64]:
        """Public rewards in people's units, as numbers in [0, 1]."""
        import numpy as np

        low, high = self.range
        return np.asarray((validation.array("rewards", rewards, (None,) * np.ndim(rewards)) - low) / (high - low))


def _range(name: str, bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = (validation.number(name, bound) for bound in bounds)
    if low >= high:
        raise validation.refusal("range-form", name, "two numbers, the lower first", bounds)
    if not NARROWEST <= high - low <= 1 / NARROWEST:
        width = f"between {NARROWEST:g} and {1 / NARROWEST:g} wide"
        raise validation.refusal("range-width", name, width, bounds, "Rewards in other units can be distinguished.")
    return low, high


def label_book(labels: LabelsDeclared) -> dict[str, Labelled]:
    """The labels of states and actions, by kind, as far as there are any: given, or in a file."""
    if labels is None:
        return {}
    if isinstance(labels, Mapping):
        return {kind: Labelled(tuple(map(str, names))) for kind, names in labels.items()}
    return read_book(labels)


def bin_edges(edges: EdgesDeclared) -> dict[str, Cut]:
    """The bin edges of states and actions, by kind, as far as there are any: given, or in a file."""
    if edges is None:
        return {}
    if isinstance(edges, Mapping):
        return {
            kind: Cut(tuple((column, tuple(map(float, cuts))) for column, cuts in by_column.items()))
            for kind, by_column in edges.items()
        }
    return read_edges(edges)
