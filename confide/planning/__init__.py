"""Policies and their values come out of this room, as pure functions of releases and public models."""
