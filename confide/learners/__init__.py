"""Recipes come out of this room: which question to ask next, and what to learn from a release."""
