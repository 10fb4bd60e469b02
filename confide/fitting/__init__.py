"""Fits come out of this room: policies learned from real data, with its budget kept in a ledger."""
