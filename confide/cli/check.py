"""`confide check`: takes the options of `fit`, and spends nothing."""

from __future__ import annotations

import click

from .fit import command as fit

command = click.Command(
    "check",
    params=[parameter for parameter in fit.params if parameter.name != "only_check"],
    callback=lambda **arguments: fit.callback(only_check=True, **arguments),  # type: ignore[misc]
    help="Read every row; report what a fit would do and what is wrong. Spends and writes nothing.\n\nDATA are as for fit.",
)
