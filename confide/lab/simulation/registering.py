"""Parts of your own: registered under a name, they work in every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import validation
from ...learning import learners
from ...mechanisms import registry
from .. import environments

KINDS: dict[str, Callable[..., Callable[[Any], Any]]] = {
    "environment": environments.register,
    "learner": learners.register,
    "mechanism": registry.register,
    "counter": registry.register_counter,
    "shares": registry.register_shares,
}


def register(kind: str, name: str, **details: Any) -> Callable[[Any], Any]:
    """Register an environment, a learner, a mechanism, a continual counter or shares of noise of your own.

    Used as a decorator: `@confide.register("learner", "mine")` above a function that builds it. Packages announce theirs by
    entry points in the groups confide.environments, confide.learners and confide.mechanisms.
    """
    validation.choice("kind", kind, KINDS)
    return KINDS[kind](name, **details)
