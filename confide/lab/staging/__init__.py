"""Rehearsals: simulated users who visit a running service, and what an outsider can check of one."""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .checking import check_folder, check_url
    from .demo import demonstrate
    from .visits import Manners, visit

__all__ = ["Manners", "check_folder", "check_url", "demonstrate", "visit"]

_HOMES = {
    "Manners": "visits",
    "check_folder": "checking",
    "check_url": "checking",
    "demonstrate": "demo",
    "visit": "visits",
}

__getattr__ = on_first_use(__name__, _HOMES)
