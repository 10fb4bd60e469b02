"""One person's episode comes out of this room. Everything here is sensitive; nothing past the wall may reach it."""

from .trajectory import Trajectory

__all__ = ["Trajectory"]
