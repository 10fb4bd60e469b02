"""Every experiment by its address; a module is imported when one of its experiments is wanted."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ... import validation
from .experiment import Experiment

HOMES = {
    "worlds": ("ours/worlds",),
    "cost": ("ours/cost-of-privacy",),
    "rivals": ("ours/rivals",),
    "bandits": ("ours/bandits",),
    "verdict": ("ours/claimed-and-true",),
    "online": ("ours/joint-riverswim", "ours/local-riverswim", *(f"ours/local-random-{e}" for e in ("0.2", "2", "20"))),
    "private_ucb": ("private-ucb/table-1-joint", "private-ucb/table-1-local"),
    "ldp_obi": (
        *(f"ldp-obi/figure-{number}" for number in (1, 2, 4, 5, 6, 7, 8, 9)),
        *("ldp-obi/table-1", "ldp-obi/lower-bound", "ldp-obi/theorem-5", "ldp-obi/proposition-4"),
    ),
    "shuffled": ("shuffled-obi/table-1", "shuffled-obi/theorem-6", "shuffled-obi/repair"),
    "vtr": (
        *(f"ldp-ucrl-vtr/figure-2-{name}" for name in ("3", "3-inhomogeneous", "5", "5-inhomogeneous")),
        "ldp-ucrl-vtr/lower-bound",
    ),
    "offline": (
        *("offline/figure-1a", "offline/figure-1b", "offline/theorem-3.3"),
        *("ours/offline-clinic", "ours/icu-sepsis"),
    ),
}
"""The addresses of each module's experiments; ours first."""

ADDRESSES = {address: home for home, addresses in HOMES.items() for address in addresses}


@cache
def catalogue() -> dict[str, Experiment]:
    """All experiments by address, paper by paper; ours first."""
    return {address: experiment for home in HOMES for address, experiment in _in(home).items()}


def _in(home: str) -> dict[str, Experiment]:
    module = import_module(f".{home}", __package__)
    return {experiment.address: experiment for experiment in module.EXPERIMENTS}


def chosen(names: tuple[str, ...]) -> list[Experiment]:
    """The experiments at these addresses; `all`, or the name of a paper, stands for many."""
    papers = {address.partition("/")[0] for address in ADDRESSES}
    wanted: dict[str, str] = {}
    for word in names:
        validation.choice("experiment", word, [*ADDRESSES, *sorted(papers), "all"])
        wanted |= {
            address: home
            for address, home in ADDRESSES.items()
            if word in ("all", address) or (word in papers and address.startswith(f"{word}/"))
        }
    return [_in(home)[address] for address, home in wanted.items()]
