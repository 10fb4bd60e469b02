"""`confide check`: the words of `fit`, and nothing spent."""

from __future__ import annotations

import click

from .fit import command as fit

command = click.Command(
    "check",
    params=[one for one in fit.params if one.name != "only_check"],
    callback=lambda **given: fit.callback(only_check=True, **given),  # type: ignore[misc]
    help="Read every row, say what a fit would do and what is wrong. Spends and writes nothing.\n\nDATA are as for fit.",
)
