"""The wall, the only room that sees both sides: episodes in; reports (on a device) or releases (at a curator) out."""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .aggregates import open_aggregate
    from .curator import CuratorAggregate, Total
    from .dataset import DatasetAggregate
    from .devices import respond
    from .simulated import drawn

__all__ = ["CuratorAggregate", "DatasetAggregate", "Total", "drawn", "open_aggregate", "respond"]

_HOMES = {
    "CuratorAggregate": "curator",
    "DatasetAggregate": "dataset",
    "Total": "curator",
    "drawn": "simulated",
    "open_aggregate": "aggregates",
    "respond": "devices",
}

__getattr__ = on_first_use(__name__, _HOMES)
