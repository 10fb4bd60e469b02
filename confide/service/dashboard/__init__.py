"""Pages over a service's public data: the dashboard of a collector, and a game to try a device on.

Nothing here holds anything: whatever a page shows is served to all clients, or computed from that.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .pages import routes
    from .story import story_of

__all__ = ["device_folder", "routes", "story_of"]

_HOMES = {"routes": "pages", "story_of": "story"}

__getattr__ = on_first_use(__name__, _HOMES)


def device_folder() -> Path:
    """Where the npm package is: in the installed package, or beside it in a checkout; audits read it without a server."""
    room = Path(__file__).parent
    inside = room / "device"
    return inside if inside.is_dir() else room.parents[2] / "js"
