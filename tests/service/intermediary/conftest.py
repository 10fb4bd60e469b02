"""The Postgres of the collector's tests."""

from tests.service.collector.conftest import postgres

__all__ = ["postgres"]
