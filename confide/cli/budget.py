"""`confide budget`: what may be spent on a data set, what has been, and what the rest still buys."""

from __future__ import annotations

from dataclasses import asdict

import click

from ..validation import Json
from .output import emit, table


@click.command("budget")
@click.argument("path")
@click.option("--rho", type=float, help="Set the budget, once.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(path: str, rho: float | None, as_json: bool) -> None:
    """Set or show the budget of a data set.

    PATH is a file or directory of data, beside which the ledger lies, a ledger itself (a name in .json), or a fit file.
    """
    from pathlib import Path

    from ..analysis.fitting.budget import account_at
    from ..errors import InvalidInput
    from ..privacy.conversion import zcdp_epsilon
    from ..privacy.guarantee import STATED_DELTA, rounded_down, rounded_up

    path, rho = _of_fit_file(path, rho)
    if Path(path).suffix != ".json" and not Path(path).expanduser().exists():
        raise InvalidInput(
            "budget-data-missing", f"There is no data at {path}. Check the path, or name a ledger that ends in .json."
        )
    account = account_at(path, rho)
    ledger, balance = account.ledger, account.balance() if rho is None else account.open()
    remaining = max(balance.left, 0.0)
    buys = {
        "rho": remaining,
        "epsilon": zcdp_epsilon(remaining, STATED_DELTA) if remaining else 0.0,
        "delta": STATED_DELTA,
    }
    summary: dict[str, Json] = {
        "ledger": str(ledger.path),
        "budget": balance.budget,
        "spent": balance.spent,
        "left": balance.left,
    }
    if as_json:
        entries = [asdict(entry) for entry in balance.entries]
        emit({**summary, "charges": list(balance.charges), "entries": entries, "buys": buys})
        return
    releases = f"{len(balance.charges)} release{'' if len(balance.charges) == 1 else 's'}"
    # What a ledger takes for rounding, so that 1 - 0.9 is said to leave 0.1, which can be spent.
    slack = 1e-12 * balance.budget
    spent, rest = rounded_up(max(balance.spent - slack, 0.0)), rounded_down(remaining + slack)
    click.echo(f"{ledger.path}: rho = {balance.budget:g}, spent {spent} on {releases}, left {rest}")
    if balance.entries:
        rows = [
            [entry.date or "-", entry.command or "-", rounded_up(entry.rho), (entry.certificate or "-")[:12]]
            for entry in balance.entries
        ]
        table(["day", "for", "rho", "certificate"], rows)
    if remaining > slack:
        epsilon = rounded_up(buys["epsilon"], 3)
        click.echo(f"what is left buys one release of rho = {rest}: epsilon {epsilon} at delta {STATED_DELTA:g}")
    else:
        click.echo("nothing is left; what was released can still be learned from: confide refit")


def _of_fit_file(path: str, rho: float | None) -> tuple[str, float | None]:
    """The data, or the ledger, that a fit file names; what it says of the budget is set by a fit, or by --rho."""
    from ..errors import InvalidInput
    from .init import fit_file_in

    fit_file = fit_file_in((path,))
    if fit_file is None:
        return path, rho
    ledger = fit_file.options.get("ledger")
    if ledger is None and len(fit_file.sources) != 1:
        raise InvalidInput(
            "fit-file-ledger-unsaid", f"{fit_file.path} names several sources and no ledger. Say ledger in [guarantee]."
        )
    return (ledger or fit_file.sources[0]), rho
