"""The tables of makers: which module designs each kind of question under each trust model, all in one place.

Modules are loaded when they are needed: a device reads a design, and needs neither who made it nor other trust models.
"""

from __future__ import annotations

from functools import cache

from ..loading import sibling

TRUSTS = {
    "local": "trusts.local",
    "joint": "trusts.joint",
    "none": "trusts.joint",
    "central": "trusts.central",
    "shuffle": "trusts.shuffle",
}
"""The module of each trust model."""

MAKERS = {
    ("counts", "local"): "trusts.local_counts",
    ("counts", "joint"): "trusts.joint",
    ("counts", "none"): "trusts.joint",
    ("counts", "central"): "trusts.central",
    ("counts", "shuffle"): "trusts.shuffle",
    ("mixture", "local"): "kinds.mixture_design",
    ("mixture", "joint"): "kinds.mixture_design",
    ("mixture", "none"): "kinds.mixture_design",
    ("bandit", "central"): "trusts.central",
    ("returns", "central"): "trusts.central",
    ("judged", "central"): "trusts.central",
    ("worth", "central"): "trusts.central",
    ("gram", "central"): "kinds.gram_design",
    ("gram", "none"): "kinds.gram_design",
}
"""The module that designs answers to a kind of question under a trust model."""


NOISES = {"gram": "kinds.gram_design"}
"""Kinds of question whose noise is made with them, and who writes it down. Other noise is in the catalogue of mechanisms."""


@cache
def load(module: str) -> None:
    """Import a module of ours, which registers what it has."""
    sibling(str(__package__), module)


def mechanisms(kind: str, trust: str) -> tuple[str, ...]:
    """The names of the mechanisms by which a kind of question is answered under a trust model; none where there is one."""
    if (kind, trust) not in MAKERS:
        return ()
    names = getattr(sibling(str(__package__), MAKERS[kind, trust]), "MECHANISMS", ())
    return tuple(name for name in names if name != "auto")
