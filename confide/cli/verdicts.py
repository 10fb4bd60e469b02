"""`confide verdicts`: what the papers claim, and what is true."""

from __future__ import annotations

import click

from . import output


@click.command("verdicts")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the page of the documentation.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_markdown: bool, as_json: bool) -> None:
    """Judge every noise constant that the papers print: what it claims, what is true, and what it takes."""
    if as_markdown and as_json:
        raise click.UsageError("Choose --markdown or --json, not both.")
    from ..lab.experiments.linear_verdicts import all_verdicts
    from ..protocol.verdicts import SCREEN, markdown, on_screen

    verdicts = all_verdicts()
    if as_json:
        output.emit({"rows": [verdict.as_json() for verdict in verdicts]})
    elif as_markdown:
        click.echo(markdown(verdicts), nl=False)
    else:
        output.table(SCREEN, map(on_screen, verdicts))
