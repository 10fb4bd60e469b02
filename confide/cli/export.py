"""`confide export`: a policy in the forms that other tools take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from .init import folder_of
from .output import note

if TYPE_CHECKING:
    from ..analysis.results.fit import Fit
    from ..mdp.feature_policy import FeaturePolicy

FORMS = ("csv", "json", "sql", "npz", "py")


@click.command("export")
@click.argument("policy")
@click.option("--to", "form", type=click.Choice(FORMS), help="By default as the name of --out ends.")
@click.option("--out", type=click.Path(dir_okay=False), help="A file; by default the terminal, but for npz.")
def command(policy: str, form: str | None, out: str | None) -> None:
    """The policy in the folder POLICY as a table (csv), as JSON, as a CASE expression (sql), or as arrays of numpy (npz).

    A policy of described features is a formula: weights (csv, json), a SELECT over a table named log (sql), or a Python module that
    needs no other (py).

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
    if fit.formula is not None:
        _shown(_formula(fit, fit.formula, form), out)
        return
    fit.table()
    if form == "py":
        raise InvalidInput(
            "export-table-no-python", "A policy of states is a table, and no formula. Say --to csv, json, sql or npz."
        )
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
    _shown(text, out)


def _formula(fit: Fit, policy: FeaturePolicy, form: str) -> str:
    """The weights of a policy of described features, in one of the forms of text."""
    from ..analysis.results import feature_exports

    if form == "npz":
        raise InvalidInput(
            "export-formula-no-arrays", "A policy of features is a formula. Say --to csv, json, sql or py."
        )
    if form == "csv":
        return feature_exports.as_csv(policy)
    if form == "json":
        return feature_exports.as_json(policy, fit.certificate)
    if form == "py":
        return feature_exports.as_python(policy, fit.certificate)
    return feature_exports.as_sql(policy, fit.config["columns"].get("step") or "step", int(fit.config["steps_from"]))


def _shown(text: str, out: str | None) -> None:
    """Text on the terminal, or in a file."""
    if out is None:
        click.echo(text, nl=False)
        return
    Path(out).write_text(text, encoding="utf-8")
    note(f"written to {out}")
