"""From how many people on half of the possible gain is had: a forecast by simulation, from the sizes of a world alone.

The gain is what people earn over acting at random, of what the best policy would earn over it. The learner is simulated as a
service of that guarantee would be designed, in `WORLDS` worlds of the given sizes, with 10^2, 10^2.5, ... 10^7 people, until the
regret is half of what acting at random loses; in between it is interpolated in logarithms. The forecast is the geometric mean over
worlds, which come in two kinds, easy and hard, with nothing at the median; its range are their quartiles. Worlds are drawn from a
prior: dense random ones, ladders of illness, and climbs where there are two actions, whose families are those that constants are
chosen on (`lab.experiments.worlds`); bandits where there is one step.

Nothing of it depends on how many people come, so that the same sizes and guarantee always have the same number: it is kept in the
user's cache folder, under a hash of the sources.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...compiled import cache_folder
from ...errors import InvalidInput
from ...mdp import Spec
from ...privacy import Guarantee, Joint, Local, Shuffle
from ...privacy.guarantee import JOINT, LOCAL, SHUFFLE
from ..environments import Environment
from ..environments.registry import resolve
from .record import sources_hash
from .setting import Choice
from .simulate import prepare, run

PEOPLE = tuple(round(10 ** (half / 2)) for half in range(4, 15))
"""10^2 to 10^7 in half decades."""
WORLDS, SEEDS, FIRST_SEED = 6, 2, 7000
"""Worlds of the prior, runs in each, and the seed of the first: no list of worlds has one like it."""
HALF = 0.5
BEYOND = 10**7.5
"""What is beyond 10^7 counts as this much."""


@dataclass(frozen=True)
class HalfGain:
    """The geometric mean over the prior's worlds, and their quartiles; infinite is more than 10^7."""

    people: float
    low: float
    high: float

    @property
    def sentence(self) -> str:
        """For people."""
        if math.isinf(self.people):
            least = "" if math.isinf(self.low) else f" (some worlds of these sizes: from about {_about(self.low)})"
            return f"half of the possible gain takes more than {PEOPLE[-1]:,} people{least}"
        return f"half of the possible gain from about {_about(self.people)} people ({_about(self.low)} to {_about(self.high)})"

    def as_json(self) -> dict[str, int | None]:
        """Whole numbers; None where it is more than 10^7."""
        numbers = {"people": self.people, "low": self.low, "high": self.high}
        return {name: None if math.isinf(each) else math.ceil(each) for name, each in numbers.items()}

    @classmethod
    def from_json(cls, document: Mapping[str, float | None]) -> HalfGain:
        """What `as_json` wrote."""
        numbers = (document[name] for name in ("people", "low", "high"))
        return cls(*(math.inf if number is None else float(number) for number in numbers))


def _about(people: float) -> str:
    """Two digits of it."""
    if math.isinf(people):
        return f"more than {PEOPLE[-1]:,}"
    size = 10 ** max(0, math.floor(math.log10(people)) - 1)
    return f"{round(people / size) * size:,}"


def prior(spec: Spec, worlds: int | None = None) -> list[Environment]:
    """Worlds of these sizes: `worlds` of them, by default `WORLDS`."""
    shape = f"{spec.states}x{spec.actions}"
    families: list[Callable[[int], str]] = [
        lambda seed: f"random/{shape}?seed={seed}",
        lambda seed: f"illness/{shape}?seed={seed}",
    ]
    if spec.actions == 2:
        families.append(lambda seed: f"climb/{spec.states}?slip={0.1 + 0.02 * (seed % 10):.2f}&rest=0.15")
    if spec.horizon == 1 or spec.states == 1:
        families = [lambda seed: f"arms/{shape}?seed={seed}"]
    addresses = [families[number % len(families)](FIRST_SEED + number) for number in range(worlds or WORLDS)]
    return [resolve(address, spec.horizon, spec.dynamics) for address in addresses]


def people_until_half(world: Environment | str, promise: Guarantee, seeds: int = SEEDS, **choices: Choice) -> float:
    """In one world: from how many people on the regret is half of what acting at random loses; infinite beyond 10^7."""
    before: tuple[float, float] | None = None
    for people in PEOPLE:
        share = _share(world, promise, people, seeds, choices)
        if share <= HALF:
            if before is None:
                return float(people)
            fewer, more_lost = before
            part = (more_lost - HALF) / (more_lost - share)
            return float(fewer * (people / fewer) ** part)
        before = (float(people), share)
    return math.inf


def _share(world: Environment | str, promise: Guarantee, people: int, seeds: int, choices: dict[str, Choice]) -> float:
    """The regret as a share of what acting at random loses; all of it where so few people make no batch."""
    try:
        share = run(prepare("ucbvi", world, promise, people, seeds=seeds, **choices)).share_of_random
    except InvalidInput:
        return 1.0
    return 1.0 if share is None else max(share, 0.0)


@lru_cache(maxsize=64)
def half_gain(spec: Spec, promise: Guarantee, claimed: bool = False) -> HalfGain:
    """The forecast for these sizes. claimed: under trust shuffle, as in `protocol.defaults`."""
    kept = _kept(spec, promise, claimed)
    if kept.is_file():
        return HalfGain.from_json(json.loads(kept.read_text(encoding="utf-8")))
    choices = {"claimed": True} if claimed else {}
    numbers = [people_until_half(world, promise, **choices) for world in prior(spec)]
    low, high = (float(np.quantile(numbers, share, method="nearest")) for share in (0.25, 0.75))
    beyond = sum(map(math.isinf, numbers)) > WORLDS / 2
    middle = math.inf if beyond else float(np.exp(np.mean(np.log(np.minimum(numbers, BEYOND)))))
    found = HalfGain(middle, low, high)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(found.as_json()), encoding="utf-8")
    return HalfGain.from_json(found.as_json())


def _kept(spec: Spec, promise: Guarantee, claimed: bool) -> Path:
    key = json.dumps([repr(spec), str(promise), claimed, PEOPLE, WORLDS, SEEDS, sources_hash()])
    return cache_folder() / "half-gain" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"


def beside(promise: Guarantee, delta: float = 1e-6) -> dict[str, Guarantee]:
    """The guarantee, and the same epsilon under the other trust models that services have, by their words."""
    if promise.epsilon is None:
        return {promise.trust: promise}
    other = promise.delta or delta
    every: dict[str, Guarantee] = {
        LOCAL: Local(promise.epsilon),
        SHUFFLE: Shuffle(promise.epsilon, other),
        JOINT: Joint(promise.epsilon, other),
    }
    first = {promise.trust: promise}
    return {**first, **every, **first}
