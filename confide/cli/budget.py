"""`confide budget`: what may be spent on a data set, and what has been."""

from __future__ import annotations

import click

from .output import emit


@click.command("budget")
@click.argument("path")
@click.option("--rho", type=float, help="Set the budget, once.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(path: str, rho: float | None, as_json: bool) -> None:
    """Set or show the budget of a data set.

    PATH is a file or directory of data, beside which the ledger lies, or a ledger itself: a name in .json.
    """
    from pathlib import Path

    from ..errors import InvalidInput
    from ..fitting.budget import Account, ledger_of

    ledger = ledger_of(path)
    if ledger.path != Path(path) and not Path(path).exists():
        raise InvalidInput(f"There is no data at {path}. Check the path, or name a ledger that ends in .json.")
    balance = ledger.open(rho) if rho is not None else Account(ledger).balance()
    said = {"ledger": str(ledger.path), "budget": balance.budget, "spent": balance.spent, "left": balance.left}
    if as_json:
        emit({**said, "charges": list(balance.charges)})
        return
    releases = f"{len(balance.charges)} release{'' if len(balance.charges) == 1 else 's'}"
    click.echo(f"{ledger.path}: rho = {balance.budget:g}, spent {balance.spent:g} on {releases}, left {balance.left:g}")
