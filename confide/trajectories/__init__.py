"""People's episodes come out of this room, one at a time or as data sets.

Everything here is sensitive; nothing past the wall may reach it.
"""

from .dataset import Dataset
from .reading import read
from .trajectory import Trajectory

__all__ = ["Dataset", "Trajectory", "read"]
