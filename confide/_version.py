"""The version, alone in its file so that nothing else need be imported to read it."""

__version__ = "0.2.0"
