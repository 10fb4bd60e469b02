"""Runs come out of this room: all parties played on this machine, with the world's luck seeded and recorded."""
