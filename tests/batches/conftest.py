"""The Postgres of the collector's tests."""

from tests.collector.conftest import postgres

__all__ = ["postgres"]
