"""Commands whose part may not be installed say so in one sentence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..errors import MissingExtra

PARTS = {"service": ("starlette", "uvicorn", "sqlalchemy", "psycopg", "prometheus_client", "cryptography", "anyio")}
"""What an extra of the package brings."""


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """What is done inside needs an extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in PARTS[extra]:
            raise
        raise MissingExtra(f"This command needs {error.name}. Install it: pip install 'confide[{extra}]'.") from error
