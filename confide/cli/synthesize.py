"""`confide synthesize`: trajectories of people who never lived, from a private release."""

from __future__ import annotations

import click

from .init import folder_of
from .output import emit, note, working


@click.command("synthesize")
@click.argument("policy")
@click.option("--people", type=click.IntRange(1), required=True, help="The number of synthetic people.")
@click.option(
    "--out", required=True, help="FILE.parquet, FILE.csv, or minari:NAME for a Minari data set on this machine."
)
@click.option(
    "--follow",
    type=click.Choice(("practice", "policy")),
    default="practice",
    show_default=True,
    help="How they act: as the logged people did, or by the learned policy.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed draws the same people."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(policy: str, people: int, out: str, follow: str, seed: int, as_json: bool) -> None:
    """Draw synthetic trajectories from the private release in the folder POLICY. Spends nothing.

    Good for trying out code and for teaching; not for findings: they are at most as good as the release. A column `synthetic`
    is true in every row.

    Example: confide synthesize policy/ --people 1000 --out synthetic.parquet
    """
    from ..analysis.fitting.synthesizing import synthesize, to_minari
    from ..analysis.results.fit import Fit

    fit = Fit.load(folder_of(policy))
    with working("drawing"):
        log = synthesize(fit, people, follow, seed)
        name = out.removeprefix("minari:")
        kept = log.save(out) if name == out else to_minari(log, fit, name)
    if as_json:
        emit({"out": str(kept), "people": people, "rows": len(log), **log.note})
        return
    note(f"{len(log):,} rows of {people:,} synthetic people are in {kept}; nothing was spent ({log.note['guarantee']})")
