"""`confide report`: the page that came with a policy."""

from __future__ import annotations

from pathlib import Path

import click

from .init import folder_of
from .output import emit


@click.command("report")
@click.argument("policy")
@click.option("--open", "show", is_flag=True, help="Show it in a browser.")
@click.option("--out", type=click.Path(dir_okay=False), help="Write it anew, to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(policy: str, show: bool, out: str | None, as_json: bool) -> None:
    """Where the report of the policy in the folder POLICY is; --open shows it."""
    from ..analysis.results.fit import REPORT, Fit

    policy = folder_of(policy)
    fit = Fit.load(policy)
    page = fit.report(out) if out is not None else Path(policy) / REPORT
    if show:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
    if as_json:
        emit({"report": str(page)})
    else:
        click.echo(str(page))
