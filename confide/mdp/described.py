"""Features by a public description: from what is observed of a person to a vector x, in Python and in a page alike, with no code.

A description is a versioned list of plain values. It names *inputs*: numbers with a public range, and categories with their public
values; *actions*, which may have numbers of their own; and *terms*, each a product of factors:

    {"number": "age", "power": 2}     u^2, where u in [-1, 1] is the number's place in its range; outside it is moved to the
    nearest end
    {"number": "age", "cos": 1}       cos(pi u); and "sin" alike: Fourier terms
    {"category": "plan", "is": "pro"} 1 or 0
    {"action": "price"}               a number of the action that was taken

so a term of no factors is the constant, one of two is an interaction. Of all terms, in their order, t = (t_1 .. t_m), the features
are x = mix t: `mix` (d, m) is public too. Where no term names an action, every action has a block of weights of its own;
else all share
one. *Next features* psi, of a state alone, are made alike of terms without actions: what is to be foreseen of the next state.

`over_cloud` makes the mix: features are orthogonal over a public cloud of states (spread evenly over the declared ranges,
never over
data), with a mean square norm of 1; and psi has mean zero there where the constant is the first term.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import ConfideError, FormatError, InvalidInput
from ..validation import Json

Array = NDArray[np.float64]

FORMAT = "confide.features/1"
CLOUD = 1024
"""Points of the public cloud; all states where these are the values of one category."""
MOST = {"inputs": 64, "values": 4096, "terms": 512, "actions": 4096, "power": 16}
"""The most of each that a description may have: its readers must be able to compute it."""
POWER, COS, SIN, IS, ACTION = "power", "cos", "sin", "is", "action"
LARGEST = 1e6
"""The largest number in a mix or of an action: beyond it floats would lose what is clipped."""
USUAL_SPREAD = 0.4
"""One deviation of a number around the middle of its range, in halves of it, where logs are concerned: charts and forms have room
for more than what is usual."""
NORMAL = NormalDist()
LEAST_SPREAD = 1e-9
"""Of its variance over the cloud, what of a term must not be explained by those before it."""


@dataclass(frozen=True)
class Number:
    """A number that is observed, with its public range."""

    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = validation.number(self.name, self.low), validation.number(self.name, self.high)
        if low >= high:
            raise validation.refusal("feature-range-empty", f"range of {self.name}", "from low to high", (low, high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def plain(self) -> dict[str, Json]:
        """Name and range."""
        return {"number": self.name, "low": self.low, "high": self.high}

    forms = (POWER, COS, SIN)
    listed = 0

    labels: ClassVar[tuple[str, ...]] = ()
    """None: a number is no list."""

    @property
    def range(self) -> tuple[float, float] | None:
        """Low and high."""
        return self.low, self.high

    def encode(self, value: Any) -> float:
        """The number itself, moved into the range."""
        return min(max(validation.number(self.name, value), self.low), self.high)

    def decode(self, place: float) -> float:
        """The number itself."""
        return place

    def check(self, factor: Factor) -> None:
        """Refuse a power, or a frequency, that is none."""
        validation.integer(f"{factor.form} of {self.name}", factor.of, 1, MOST["power"])

    def foreign(self, column: Array) -> bool:
        """False: any number has a place in the range."""
        return False

    def factor(self, factor: Factor, column: Array) -> Array:
        """(n,) the power, cosine or sine of places in the range."""
        place = 2 * (np.clip(column, self.low, self.high) - self.low) / (self.high - self.low) - 1
        if factor.form == POWER:
            return np.asarray(place ** int(factor.of))
        return np.asarray((np.cos if factor.form == COS else np.sin)(math.pi * int(factor.of) * place))

    def alone(self) -> list[Term]:
        """No terms of its own: powers are those of all numbers together."""
        return []

    def spread(self, places: Array) -> Array:
        """Values at places in [0, 1) of the range."""
        return self.low + (self.high - self.low) * places

    def usual(self, places: Array) -> Array:
        """Values at quantiles in [0, 1) of what is usual: normal around the middle, within the range."""
        cut = np.clip(places, 1e-4, 1 - 1e-4)
        normal = np.array([NORMAL.inv_cdf(float(one)) for one in cut])
        return np.asarray(self.spread((1 + np.clip(USUAL_SPREAD * normal, -1.0, 1.0)) / 2))


@dataclass(frozen=True)
class Category:
    """One of some public values; it is encoded as its place among them."""

    name: str
    values: tuple[str, ...]

    forms = (IS,)

    def __post_init__(self) -> None:
        values = tuple(self.values)
        validation.integer(f"values of {self.name}", len(values), 1, MOST["values"])
        if len(set(values)) < len(values) or not all(isinstance(value, str) and value for value in values):
            raise validation.refusal("category-values", f"values of {self.name}", "different words", values)
        object.__setattr__(self, "values", values)

    def plain(self) -> dict[str, Json]:
        """Name and values."""
        return {"category": self.name, "values": list(self.values)}

    @property
    def labels(self) -> tuple[str, ...]:
        """The values."""
        return self.values

    @property
    def range(self) -> tuple[float, float] | None:
        """None: a category is no number."""
        return None

    def encode(self, value: Any) -> float:
        """The place of a value."""
        if value not in self.values:
            raise unknown_value(self.name)
        return float(self.values.index(value))

    def decode(self, place: float) -> str:
        """The value at a place."""
        return self.values[int(place)]

    def check(self, factor: Factor) -> None:
        """Refuse a value that is none."""
        self.encode(factor.of)

    def foreign(self, column: Array) -> bool:
        """Whether some number in a column is the place of no value."""
        return bool(((column < 0) | (column >= len(self.values)) | (column != np.floor(column))).any())

    def factor(self, factor: Factor, column: Array) -> Array:
        """(n,) 1 where the category has the value."""
        return np.asarray(column == self.values.index(str(factor.of)), dtype=np.float64)

    def alone(self) -> list[Term]:
        """A term for every value but the first."""
        return [(Factor(self.name, IS, value),) for value in self.values[1:]]

    @property
    def listed(self) -> int:
        """How many values there are; 0 of numbers, which are no list."""
        return len(self.values)

    def spread(self, places: Array) -> Array:
        """Values at places in [0, 1)."""
        return np.floor(places * len(self.values))

    def usual(self, places: Array) -> Array:
        """The same: no value is more usual than another."""
        return self.spread(places)


def unknown_value(name: str) -> InvalidInput:
    """The refusal of a value, which it does not repeat: it may be a user's."""
    return InvalidInput("category-unknown", f"{name} must be one of its public values. It is not.")


Input = Number | Category


END = Category("episode", ("goes on", "has ended"))
"""What is observed after the last step of an episode that came to its end, beside inputs of which no one may have that name."""


@dataclass(frozen=True)
class Factor:
    """One factor of a term: the power, cosine or sine of a number, whether a category has a value, or a number of the action."""

    name: str
    form: str
    of: int | str = 1

    def plain(self) -> dict[str, Json]:
        """The factor as a description has it."""
        if self.form == ACTION:
            return {ACTION: self.name}
        return {"category" if self.form == IS else "number": self.name, self.form: self.of}

    @classmethod
    def read(cls, values: Any) -> Factor:
        """The factor of plain values; anything else is refused."""
        if isinstance(values, Mapping) and list(values) == [ACTION]:
            return cls(str(values[ACTION]), ACTION)
        form = next((form for form in (POWER, COS, SIN, IS) if isinstance(values, Mapping) and form in values), "")
        owner = "category" if form == IS else "number"
        if not form or set(values) != {owner, form}:
            raise ValueError("a factor is a power, cos or sin of a number, a category that is a value, or an action")
        return cls(str(values[owner]), form, values[form])


Term = tuple[Factor, ...]


@dataclass(frozen=True, eq=False)
class DescribedFeatures:
    """inputs: what is observed. actions: their names; numbers: what actions have, by name, a value for each action.

    terms, mix: x = mix t, (d, m). next_terms, next_mix: psi, (q, m'); none for problems of one step.
    """

    inputs: tuple[Input, ...]
    actions_named: tuple[str, ...]
    terms: tuple[Term, ...]
    mix: Array = field(repr=False)
    next_terms: tuple[Term, ...] = ()
    next_mix: Array = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    numbers: tuple[tuple[str, tuple[float, ...]], ...] = ()

    def __post_init__(self) -> None:
        names = [each.name for each in self.inputs]
        for what, many in (
            ("inputs", len(names)),
            ("actions", len(self.actions_named)),
            ("terms", len(self.terms)),
        ):
            validation.integer(what, many, 1, MOST[what])
        if len({*names, *(name for name, _ in self.numbers)}) < len(names) + len(self.numbers):
            raise validation.refusal("feature-names", "names of inputs and of numbers of actions", "different", names)
        if len(set(self.actions_named)) < len(self.actions_named):
            raise validation.refusal("action-names", "names of actions", "different", self.actions_named)
        for name, values in self.numbers:
            validation.array(f"{name} of actions", values, (len(self.actions_named),))
        for term in (*self.terms, *self.next_terms):
            for factor in term:
                self._check(factor)
        if any(factor.form == ACTION for term in self.next_terms for factor in term):
            raise validation.refusal("next-features", "next features", "of a state alone", "one of an action")
        mix = validation.array("mix", self.mix, (None, len(self.terms)))
        next_mix = validation.array("next mix", self.next_mix, (None, len(self.next_terms)))
        validation.integer("features", len(mix), 1, MOST["terms"])
        held = [np.abs(mix), np.abs(next_mix), *(np.abs(np.asarray(values)) for _, values in self.numbers)]
        largest = max(float(each.max(initial=0.0)) for each in held)
        validation.between("weights of terms and numbers of actions, without signs", largest, 0.0, LARGEST)
        object.__setattr__(self, "mix", mix)
        object.__setattr__(self, "next_mix", next_mix)

    def _check(self, factor: Factor) -> None:
        known: dict[str, Input | None] = {each.name: each for each in self.inputs}
        known |= {name: None for name, _ in self.numbers}
        if factor.name not in known:
            raise validation.refusal(
                "feature-input-unknown", "a factor", f"of one of {', '.join(known)}", factor.name, "Declare it."
            )
        owner = known[factor.name]
        forms = (ACTION,) if owner is None else owner.forms
        if factor.form not in forms:
            raise validation.refusal(
                "feature-factor-form", f"a factor of {factor.name}", " or ".join(forms), factor.form
            )
        if owner is not None:
            owner.check(factor)

    @classmethod
    def over_cloud(
        cls,
        inputs: Sequence[Input],
        actions: Sequence[str],
        terms: Iterable[Sequence[Factor]],
        next_terms: Iterable[Sequence[Factor]] | None = None,
        numbers: Mapping[str, Sequence[float]] | None = None,
        combined: Array | None = None,
    ) -> DescribedFeatures:
        """Features that are orthogonal over the public cloud, with a mean square norm of 1.

        next_terms: None for those of `terms` that name no action. combined: (d, m) combinations of terms that features are
        made of, if not of
        each.
        """
        raw = cls._unmixed(inputs, actions, terms, next_terms, numbers)
        return raw._mixed_over(raw.cloud, combined)

    @classmethod
    def usually(
        cls,
        inputs: Sequence[Input],
        actions: Sequence[str],
        terms: Iterable[Sequence[Factor]],
        numbers: Mapping[str, Sequence[float]] | None = None,
    ) -> DescribedFeatures:
        """The same over public states as they are usually spread."""
        return cls._unmixed(inputs, actions, terms, None, numbers)._mixed_over(usual(inputs))

    @classmethod
    def _unmixed(
        cls,
        inputs: Sequence[Input],
        actions: Sequence[str],
        terms: Iterable[Sequence[Factor]],
        next_terms: Iterable[Sequence[Factor]] | None,
        numbers: Mapping[str, Sequence[float]] | None,
    ) -> DescribedFeatures:
        """Features that are the terms themselves."""
        listed = tuple(tuple(term) for term in terms)
        has = tuple((name, tuple(map(float, values))) for name, values in (numbers or {}).items())
        following = listed if next_terms is None else tuple(tuple(term) for term in next_terms)
        if next_terms is None and any(factor.form == ACTION for term in listed for factor in term):
            following = tuple(term for term in listed if all(factor.form != ACTION for factor in term))
        return cls(tuple(inputs), tuple(actions), listed, np.eye(len(listed)), following, np.eye(len(following)), has)

    def _mixed_over(self, points: Array, combined: Array | None = None) -> DescribedFeatures:
        """The same terms, mixed so that features are orthogonal over these points."""
        many = len(self.terms)
        pairs = self.all_x(points).reshape(-1, many)
        sums = np.eye(many) if combined is None else combined
        mix = _orthogonal(pairs @ sums.T, "terms") @ sums
        ahead = _orthogonal(self.psi(points), "next terms")
        if self.next_terms and self.next_terms[0] == ():
            ahead = ahead[1:]  # the constant needs no foreseeing, and all others have mean zero
        return replace(self, mix=mix, next_mix=ahead)

    @property
    def actions(self) -> int:
        """The number of actions, A."""
        return len(self.actions_named)

    @property
    def dimension(self) -> int:
        """d, the features of a block."""
        return len(self.mix)

    @property
    def ahead(self) -> int:
        """q, the features of a next state."""
        return len(self.next_mix)

    @cached_property
    def blocks(self) -> int:
        """A, or 1 where terms name numbers of actions."""
        return 1 if any(factor.form == ACTION for term in self.terms for factor in term) else self.actions

    @property
    def states(self) -> int:
        """How many states there are where one category is all that is observed; else 1, since states are then no list."""
        return (self.inputs[0].listed or 1) if len(self.inputs) == 1 else 1

    def block(self, actions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The blocks of actions."""
        return actions if self.blocks > 1 else np.zeros_like(actions)

    def encode(self, observed: Mapping[str, Any]) -> Array:
        """(k,) what is observed, by name, as numbers; missing and unknown names are refused."""
        missing = [each.name for each in self.inputs if each.name not in observed]
        unknown = sorted(set(observed) - {each.name for each in self.inputs})
        if missing or unknown:
            raise InvalidInput(
                "observation-names",
                f"What is observed must be {', '.join(each.name for each in self.inputs)}. "
                f"{'Missing' if missing else 'Unknown'}: {(missing or unknown)[0]}.",
            )
        return np.array([each.encode(observed[each.name]) for each in self.inputs])

    def decode(self, row: Array) -> dict[str, float | str]:
        """What is observed, by name, of its numbers (k,)."""
        return {each.name: each.decode(float(value)) for each, value in zip(self.inputs, row, strict=True)}

    def checked(self, observations: Any) -> Array:
        """(n, k) encoded observations; one that is no number, or no value of its category, is refused."""
        rows = validation.array("observations", observations, (None, len(self.inputs)))
        for place, each in enumerate(self.inputs):
            if each.foreign(rows[:, place]):
                raise unknown_value(each.name)
        return rows

    @cached_property
    def _action_factors(self) -> Array:
        """(A, m) the product of the action's numbers in every term."""
        table, held = np.ones((self.actions, len(self.terms))), dict(self.numbers)
        for place, term in enumerate(self.terms):
            for factor in term:
                if factor.form == ACTION:
                    table[:, place] *= np.asarray(held[factor.name])
        return table

    def _values(self, observations: Array, terms: tuple[Term, ...]) -> Array:
        """(n, m) products of the factors of inputs."""
        columns = {each.name: (each, observations[:, place]) for place, each in enumerate(self.inputs)}
        found: dict[Factor, Array] = {}
        values = np.ones((len(observations), len(terms)))
        for place, term in enumerate(terms):
            for factor in term:
                if factor.form == ACTION:
                    continue
                if factor not in found:
                    found[factor] = columns[factor.name][0].factor(factor, columns[factor.name][1])
                values[:, place] *= found[factor]
        return values

    def x(self, observations: Array, actions: NDArray[np.int64]) -> Array:
        """(n, d) the features of observations (n, k) with the actions taken (n,)."""
        values = self._values(observations, self.terms)
        return np.asarray((values if self.blocks > 1 else values * self._action_factors[actions]) @ self.mix.T)

    def all_x(self, observations: Array) -> Array:
        """(n, B, d) the features of observations: alike for all actions (B = 1) where each has a block, else by action (B = A)."""
        values = self._values(observations, self.terms)
        if self.blocks > 1 or (self.actions == 1 and not self.numbers):
            return np.asarray(values @ self.mix.T)[:, None]
        return np.asarray((values[:, None] * self._action_factors) @ self.mix.T)

    def scores(self, features: Array, weights: Array) -> Array:
        """(n, A) inner products of `all_x` with weights (blocks, d)."""
        if self.blocks > 1:
            return np.asarray(features[:, 0] @ weights.T)
        return np.asarray(features @ weights[0])

    def psi(self, observations: Array) -> Array:
        """(n, q) the features that are foreseen."""
        return np.asarray(self._values(observations, self.next_terms) @ self.next_mix.T)

    @cached_property
    def cloud(self) -> Array:
        """(N, k) public states, spread evenly over all that can be observed."""
        if self.states > 1:
            return np.arange(float(self.states))[:, None]
        return spread_evenly(self.inputs, CLOUD)

    def with_end(self) -> DescribedFeatures:
        """The same features where episodes may come to an end: a category says whether one has, and next features are those of
        states that go on (0 after the end), and last that there is none. x does not look at it."""
        going, gone = (Factor(END.name, IS, value) for value in END.values)
        following = (*((*term, going) for term in self.next_terms), (gone,))
        mix = np.zeros((self.ahead + 1, len(following)))
        mix[:-1, :-1], mix[-1, -1] = self.next_mix, 1.0
        inputs = (*self.inputs, END)
        return DescribedFeatures(inputs, self.actions_named, self.terms, self.mix, following, mix, self.numbers)

    def plain(self) -> dict[str, Json]:
        """Plain values, for JSON."""
        return {
            "format": FORMAT,
            "inputs": [each.plain() for each in self.inputs],
            "actions": list(self.actions_named),
            "numbers": {name: list(values) for name, values in self.numbers},
            "terms": [[factor.plain() for factor in term] for term in self.terms],
            "mix": self.mix.tolist(),
            "next_terms": [[factor.plain() for factor in term] for term in self.next_terms],
            "next_mix": self.next_mix.tolist(),
        }

    def to_bytes(self) -> bytes:
        """Versioned bytes: its JSON, with keys in order; equal descriptions have equal bytes."""
        return json.dumps(self.plain(), sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @classmethod
    def from_plain(cls, values: Any) -> DescribedFeatures:
        """The features that plain values describe; anything else is refused."""
        try:
            if not isinstance(values, Mapping) or values.get("format") != FORMAT:
                raise ValueError(f"its format is not {FORMAT!r}")
            expected = {"format", "inputs", "actions", "numbers", "terms", "mix", "next_terms", "next_mix"}
            if set(values) != expected:
                raise ValueError(f"it has other keys than {', '.join(sorted(expected))}")
            terms, following = (
                tuple(tuple(Factor.read(factor) for factor in term) for term in values[name])
                for name in ("terms", "next_terms")
            )
            return cls(
                tuple(_read_input(each) for each in values["inputs"]),
                tuple(map(str, values["actions"])),
                terms,
                np.array(values["mix"], dtype=np.float64).reshape(len(values["mix"]), len(terms)),
                following,
                np.array(values["next_mix"], dtype=np.float64).reshape(len(values["next_mix"]), len(following)),
                tuple((str(name), tuple(map(float, each))) for name, each in values["numbers"].items()),
            )
        except (ConfideError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise FormatError(
                "features-unreadable", f"This is not a description of features this version knows: {error}"
            ) from error

    @classmethod
    def declared(cls, values: object) -> DescribedFeatures:
        """The features that people describe: as `from_plain` reads them, or with no more than `inputs`, `actions`, `terms` and
        `numbers`, for which the mix is made over public states as they are usually spread. terms: a list of them, or a word of
        `WORDS`."""
        if not isinstance(values, Mapping) or "mix" in values:
            return cls.from_plain(values)
        try:
            unknown = set(values) - {"format", "inputs", "actions", "terms", "numbers"}
            if unknown or values.get("format", FORMAT) != FORMAT:
                raise ValueError(
                    f"its format is not {FORMAT!r}, or it says more: {', '.join(sorted(unknown)) or 'nothing'}"
                )
            inputs = tuple(_read_input(each) for each in values["inputs"])
            terms = values.get("terms", SQUARES)
            if isinstance(terms, str):
                if terms not in WORDS:
                    raise ValueError(f"terms are a list, or one of {', '.join(WORDS)}")
                listed = WORDS[terms](inputs)
            else:
                listed = [tuple(Factor.read(factor) for factor in term) for term in terms]
            named, numbers = tuple(map(str, values["actions"])), dict(values.get("numbers", {}))
            return cls.usually(inputs, named, listed, numbers)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise FormatError(
                "features-unreadable", f"This is not a description of features this version knows: {error}"
            ) from error

    @classmethod
    def from_bytes(cls, data: bytes) -> DescribedFeatures:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            values = json.loads(data)
        except ValueError as error:
            raise FormatError(
                "features-not-json", f"A description of features is JSON. This is not: {error}"
            ) from error
        return cls.from_plain(values)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.digest == self.digest

    def __hash__(self) -> int:
        return int.from_bytes(self.digest[:8], "big", signed=True)

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint."""
        return hashlib.sha256(self.to_bytes()).digest()


def _read_input(values: Any) -> Input:
    if set(values) == {"number", "low", "high"}:
        return Number(str(values["number"]), values["low"], values["high"])
    if set(values) == {"category", "values"}:
        return Category(str(values["category"]), tuple(values["values"]))
    raise ValueError("an input is a number with low and high, or a category with values")


def spread_evenly(inputs: Sequence[Input], points: int) -> Array:
    """(points, k) values at the places of an additive recurrence: evenly spread in every dimension, and always the same ones."""
    places = even_places(inputs, points)
    return np.column_stack([each.spread(places[:, place]) for place, each in enumerate(inputs)])


def even_places(inputs: Sequence[Input], points: int) -> Array:
    """(points, k) places in [0, 1) of an additive recurrence."""
    golden = 1.0
    for _ in range(64):  # the positive root of g^(k+1) = g + 1
        golden = (1 + golden) ** (1 / (len(inputs) + 1))
    steps = golden ** -np.arange(1.0, len(inputs) + 1)
    return (0.5 + np.arange(1, points + 1)[:, None] * steps) % 1.0


def usual(inputs: Sequence[Input], points: int = CLOUD) -> Array:
    """(points, k) public states as they are usually spread: numbers around the middle of their range, normally, with a deviation of
    `USUAL_SPREAD`; categories evenly."""
    places = even_places(inputs, points)
    return np.column_stack([each.usual(places[:, place]) for place, each in enumerate(inputs)])


def squares(inputs: Sequence[Input]) -> list[Term]:
    """The constant, every number and its square, and categories but their first values."""
    numbers = [each.name for each in inputs if not each.listed]
    powers: list[Term] = [(Factor(name, POWER, power),) for power in (1, 2) for name in numbers]
    return [(), *powers, *(term for each in inputs for term in each.alone())]


def linear(inputs: Sequence[Input]) -> list[Term]:
    """The constant, every number, and categories but their first values."""
    return polynomial(inputs, 1)


def quadratic(inputs: Sequence[Input]) -> list[Term]:
    """The constant, every number, all products of two of them, and categories but their first values."""
    return polynomial(inputs, 2)


def polynomial(inputs: Sequence[Input], degree: int) -> list[Term]:
    """The constant, then all products of powers of numbers up to a total degree, then categories but their first values."""
    numbers = [each.name for each in inputs if not each.listed]
    terms: list[Term] = [()]
    for total in range(1, degree + 1):
        for powers in itertools.product(range(total, -1, -1), repeat=len(numbers)):
            if sum(powers) == total:
                held = zip(numbers, powers, strict=True)
                terms.append(tuple(Factor(name, POWER, power) for name, power in held if power))
    return terms + [term for each in inputs for term in each.alone()]


SQUARES = "squares"
WORDS: dict[str, Callable[[Sequence[Input]], list[Term]]] = {"linear": linear, SQUARES: squares, "quadratic": quadratic}
"""Lists of terms that have a name."""


def _orthogonal(rows: Array, name: str) -> Array:
    """(d, m) the mix that makes rows (N, m) orthogonal, each after those before it, with a mean square norm of 1 in all."""
    if not rows.shape[1]:
        return np.zeros((0, 0))
    moments = rows.T @ rows / len(rows)
    size = np.sqrt(np.diag(moments))
    if (size == 0).any():
        raise InvalidInput("feature-always-zero", f"The {name} must not be zero everywhere. One is. Leave it out.")
    lower = np.linalg.cholesky(moments / np.outer(size, size) + 1e-15 * np.eye(len(size)))
    if (np.diag(lower) ** 2 < LEAST_SPREAD).any():
        place = int(np.argmax(np.diag(lower) ** 2 < LEAST_SPREAD))
        raise InvalidInput(
            "features-collinear",
            f"No term may be a combination of those before it over the declared ranges. The {name} have one: number {place + 1}. "
            "Leave it out.",
        )
    return np.asarray(np.linalg.solve(lower, np.diag(1 / size)) / math.sqrt(len(size)))
