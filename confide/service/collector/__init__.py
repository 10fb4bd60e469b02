"""A server that never sees an episode: it counts private reports, learns, and publishes policies.

It cannot load what holds episodes: a contract of the rooms forbids it, and it looks again when it starts.
"""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from ..contract.folder import Folder
    from ..http.serving import Endpoint
    from .app import application
    from .founding import make_service
    from .serving import serve
    from .store import CollectorStore

__all__ = ["CollectorStore", "Endpoint", "Folder", "application", "make_service", "serve"]

_HOMES = {
    "Folder": "founding",
    "CollectorStore": "store",
    "Endpoint": "serving",
    "application": "app",
    "make_service": "founding",
    "serve": "serving",
}

__getattr__ = on_first_use(__name__, _HOMES)
