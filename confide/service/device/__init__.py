"""One person's end of a service: it follows the policy of the day and sends one private report.

It loads nothing that is compiled: numpy, msgpack and, when a signature is checked, cryptography.
"""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .device import Device
    from .episode import Episode
    from .notices import Notice
    from .store import FileStore, MemoryStore
    from .transport import Transport

__all__ = ["Device", "Episode", "FileStore", "MemoryStore", "Notice", "Transport"]

_HOMES = {
    "Device": "device",
    "Episode": "episode",
    "FileStore": "store",
    "MemoryStore": "store",
    "Notice": "notices",
    "Transport": "transport",
}

__getattr__ = on_first_use(__name__, _HOMES)
