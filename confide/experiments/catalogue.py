"""Every experiment by its address."""

from __future__ import annotations

from functools import cache

from .. import validation
from .experiment import Experiment


@cache
def catalogue() -> dict[str, Experiment]:
    """All experiments by address, paper by paper; ours first."""
    from . import cost, ldp_obi, offline, online, private_ucb, shuffled, verdict, vtr, worlds

    rooms = (worlds, cost, verdict, online, private_ucb, ldp_obi, shuffled, vtr, offline)
    return {experiment.address: experiment for room in rooms for experiment in room.EXPERIMENTS}


def chosen(names: tuple[str, ...]) -> list[Experiment]:
    """The experiments at these addresses; `all`, or the name of a paper, stands for many."""
    known = catalogue()
    papers = {address.partition("/")[0] for address in known}
    experiments: dict[str, Experiment] = {}
    for word in names:
        validation.choice("experiment", word, [*known, *sorted(papers), "all"])
        experiments |= {
            address: experiment
            for address, experiment in known.items()
            if word in ("all", address) or (word in papers and address.startswith(f"{word}/"))
        }
    return list(experiments.values())
