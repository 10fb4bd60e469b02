"""`confide refit`: learn again from a saved release, which costs nothing."""

from __future__ import annotations

from typing import Any

import click

from .init import folder_of
from .learner import chosen_learner, learner_options, show_worth
from .output import emit, note, working


@click.command("refit")
@click.argument("policy")
@learner_options
@click.option("--out", type=click.Path(file_okay=False), required=True, help="Folder for the new policy.")
@click.option("--replace", is_flag=True, help="Replace what is in --out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(policy: str, out: str, replace: bool, as_json: bool, **arguments: Any) -> None:
    """Learn again from the release in the folder POLICY, with another learner or other options. Spends nothing."""
    from ..analysis.fitting import refit

    learner, settings = chosen_learner(arguments, None)
    with working("learning and judging"):
        result = refit(folder_of(policy), learner, out=out, replacing=replace, **settings)
    if as_json:
        emit(result.as_json())
        return
    show_worth(result.findings, result.certificate.guarantee)
    click.echo(str(result.certificate))
    note(f"saved in {out}; nothing was spent")
