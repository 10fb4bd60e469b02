"""Users' episodes, one at a time or as data sets.

Everything here is sensitive; nothing past the wall may reach it.
"""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .dataset import Dataset
    from .declaration import Declaration
    from .reading import read
    from .trajectory import Trajectory

__all__ = ["Dataset", "Declaration", "Trajectory", "read"]

_HOMES = {
    "Dataset": "dataset",
    "Declaration": "declaration",
    "Trajectory": "trajectory",
    "read": "reading",
}

__getattr__ = on_first_use(__name__, _HOMES)
