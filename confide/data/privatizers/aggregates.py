"""Opens the aggregates of every design: those of reports, which are public, and those of curators, who hold episodes."""

from __future__ import annotations

from collections.abc import Callable

from ...mechanisms.noise import NoiseSource
from ...protocol.design import Design
from ...protocol.releases import Aggregate
from ...protocol.trusts.trust import find
from .curator import CuratorAggregate
from .dataset import DatasetAggregate
from .gram import GramAggregate, ValuesAggregate
from .judged import JudgedAggregate
from .returns import ReturnsAggregate

EpisodeAggregateOpener = Callable[[Design, NoiseSource | None, bool], Aggregate]

_OWN: dict[str, EpisodeAggregateOpener] = {
    "gram": GramAggregate,
    "returns": ReturnsAggregate,
    "judged": JudgedAggregate,
    "values": ValuesAggregate,
}
"""The aggregates of kinds of question that are asked of a whole log in their own way."""


def open_aggregate(design: Design, noise: NoiseSource | None = None, *, simulated: bool = False) -> Aggregate:
    """An empty aggregate for a design. Replayable noise is refused unless the people are simulated, or nothing is drawn."""
    trust = find(design.trust)
    if not trust.episodes:
        return trust.open_aggregate(design)
    anyone = simulated or not design.requested.private
    own = design.kind.curators_aggregate(design, noise, anyone)
    opener: EpisodeAggregateOpener = CuratorAggregate if trust.continual else DatasetAggregate
    return _OWN.get(design.question.kind, opener)(design, noise, anyone) if own is None else own
