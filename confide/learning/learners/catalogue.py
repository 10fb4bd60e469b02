"""Learners by name: ours, those registered at run time, and those other packages announce."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ... import validation
from ...errors import InvalidInput
from ...loading import announced, sibling
from ...validation import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...mdp.knowledge import Knowledge
    from ...mdp.linear import BlockFeatures, LinearFeatures
    from ..planning.pessimism import Constants

GROUP = "confide.learners"
"""The entry-point group in which other packages announce learners."""

Option: TypeAlias = "Json | NDArray[np.float64] | BlockFeatures | LinearFeatures | Constants | Knowledge"
"""What an option of a learner can be: what JSON can say, and what only Python can give."""

Build = Callable[..., Any]
"""Makes a learner out of its options: one that learns online (`learner.Learner`), or from one release of logged people."""

L = TypeVar("L")


@dataclass(frozen=True)
class LearnerListing:
    """A name, what it stands for, who builds it, and the options that give the algorithm as its paper prints it.

    logged: whether it learns from people who were logged beforehand, all at once, and not online; None if not declared.
    """

    name: str
    description: str
    build: Build
    paper: dict[str, Json] = field(default_factory=dict)
    logged: bool | None = None

    @property
    def takes_knowledge(self) -> bool:
        """Whether it can learn from logged people: by its own word, or since its function takes what is public, as `knowledge`."""
        if self.logged is not None:
            return self.logged
        parameters = inspect.signature(self.build).parameters.values()
        return any(each.name == "knowledge" or each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)


def names() -> list[str]:
    """Every name that `make` knows."""
    return sorted({*_LISTINGS, *announced(GROUP)})


def listing(name: str) -> LearnerListing:
    """The listing of a name; the error for an unknown one names the nearest."""
    validation.choice("learner", name, names())
    if name in _LISTINGS:
        return _LISTINGS[name]
    point = announced(GROUP)[name]
    return LearnerListing(name, f"announced by {point.value}", point.load())


def registered(name: str) -> Build | None:
    """The function that was registered under a name in this process, or None."""
    return _LISTINGS[name].build if name in _LISTINGS else None


def make(name: str, **options: Option) -> Any:
    """The learner of that name. Options are those of its function, such as `bonus` of `ucbvi`."""
    return _built(name, listing(name).build, options)


def _built(name: str, build: Callable[..., L], options: Mapping[str, Option]) -> L:
    """The learner of a builder. Only options it does not take are the caller's mistake; its own errors stay."""
    signature = inspect.signature(build)
    try:
        signature.bind(**options)
    except TypeError as error:
        taken = ", ".join(signature.parameters) or "none"
        raise InvalidInput(
            "learner-options", f"learner {name!r} does not take these options: {error}. It takes: {taken}."
        ) from error
    return build(**options)


def register(name: str, description: str = "") -> Callable[[Build], Build]:
    """Give a name to a function that builds a learner; it then works wherever a learner is named."""

    def enter(build: Build) -> Build:
        if name in _LISTINGS and not _same_source(_LISTINGS[name].build, build):
            raise validation.refusal("learner-name-taken", "name", "one that no learner has yet", name)
        _LISTINGS[name] = LearnerListing(name, description or (build.__doc__ or "").strip().split("\n")[0], build)
        return build

    return enter


def _same_source(known: Build, build: Build) -> bool:
    """Whether this is the same line of the same file, imported a second time, as loading compiled code may do."""
    functions = inspect.isfunction(known) and inspect.isfunction(build)
    return known is not build and functions and known.__code__ == build.__code__


def _ours(name: str, description: str, module: str, paper: dict[str, Json], logged: bool = False) -> LearnerListing:
    """A learner of this room, imported when it is made: compiled code is not loaded before it is needed."""

    def build(**options: Option) -> object:
        return _built(name, vars(sibling(str(__package__), module))[name.replace("-", "_")], options)

    return LearnerListing(name, description, build, paper, logged)


_LISTINGS = {
    entry.name: entry
    for entry in (
        _ours("ucbvi", "value iteration: UCB-VI, PRIVATE-UCB-VI, DP-UCBVI", "ucbvi", {"bonus": "private"}),
        _ours("po", "optimistic policy optimisation: PRIVATE-UCB-PO", "po", {"steps": "paper"}),
        _ours("obi", "optimistic backward induction: LDP-OBI", "obi", {"bonus": "paper"}),
        _ours("psrl", "posterior sampling: PSRL, LDP-PSRL", "psrl", {"posterior": "paper"}),
        _ours("rlsvi", "randomised value iteration without privacy: RLSVI", "rlsvi", {}),
        _ours("q-learning", "optimistic Q-learning without privacy: UCB-H", "q_learning", {}),
        _ours("pucb", "private upper confidence bounds: PUCB", "pucb", {"bonus": "paper"}),
        _ours("thompson", "bandits with contexts: private Thompson sampling", "arms", {}),
        _ours("elimination", "bandits with contexts: private successive elimination", "arms", {}),
        _ours("policy-elimination", "policy elimination in stages: SDP-PE", "policy_elimination", {}),
        _ours("apvi", "from logged episodes: APVI, DP-APVI", "apvi", {"calibration": "paper"}, logged=True),
        _ours("vapvi", "from logged episodes, linear: VAPVI, DP-VAPVI", "vapvi", {"calibration": "paper"}, logged=True),
        _ours("pevi", "from logged episodes, linear: PEVI", "vapvi", {"calibration": "paper"}, logged=True),
        _ours(
            "ucrl-vtr",
            "value-targeted regression: UCRL-VTR, LDP-UCRL-VTR",
            "vtr",
            {"beta": "printed", "definite": "shift"},
        ),
        _ours("linear", "linear models of described features, for bandits and several steps", "linear", {}),
        _ours("linucb", "bandits with features: private LinUCB, for comparison", "linucb", {}),
    )
}
