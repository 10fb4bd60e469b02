"""`confide export`: a policy in the forms that other tools take."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import InvalidInput
from .init import folder_of
from .output import note

FORMS = ("csv", "json", "sql", "npz")


@click.command("export")
@click.argument("policy")
@click.option("--to", "form", type=click.Choice(FORMS), help="By default as the name of --out ends.")
@click.option("--out", type=click.Path(dir_okay=False), help="A file; by default the terminal, but for npz.")
def command(policy: str, form: str | None, out: str | None) -> None:
    """The policy in the folder POLICY as a table (csv), as JSON, as a CASE expression (sql), or as arrays of numpy (npz).

    In Python `confide.load(POLICY).predict(table)` takes many users at once.
    """
    from ..analysis.results import exports
    from ..analysis.results.fit import TABLE, Fit

    form = form or (Path(out).suffix.lower().lstrip(".") if out else "csv")
    if form not in FORMS:
        raise InvalidInput(
            "export-form-unknown", f"A policy is exported to {', '.join(FORMS)}. Got {form!r}. Say --to."
        )
    folder = folder_of(policy)
    fit = Fit.load(folder)
    fit.table()
    if form == "npz":
        if out is None:
            raise InvalidInput(
                "export-arrays-need-file", "Arrays are no text. Say where to write them: --out policy.npz."
            )
        import numpy as np

        np.savez_compressed(out, **exports.as_arrays(fit))  # type: ignore[arg-type]
        note(f"written to {out}")
        return
    if form == "csv":
        text = (Path(folder) / TABLE).read_text(encoding="utf-8")
    else:
        text = exports.as_sql(fit) if form == "sql" else exports.as_json(fit)
    if out is None:
        click.echo(text, nl=False)
        return
    Path(out).write_text(text, encoding="utf-8")
    note(f"written to {out}")
