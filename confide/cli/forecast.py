"""`confide forecast`: what privacy will cost, before anything is spent."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ..mdp import Spec
from ..privacy.guarantee import LOCAL
from . import options
from .init import fill_from_file, fit_file_in
from .output import emit, note, plain_number, table

if TYPE_CHECKING:
    from ..analysis.fitting.forecast import Forecast, Prospect


@click.command("forecast")
@click.argument("fit_file", required=False)
@click.option("--states", type=options.Count())
@click.option("--actions", type=options.Count())
@click.option("--horizon", type=options.Count())
@click.option("--model", type=click.Choice(["stationary", "per-step"]), default="stationary", show_default=True)
@click.option(
    "--people", type=options.Count(), help="Number of users you have; rows begin there, or at the number needed."
)
@click.option("--next-states", type=options.Count(), help="How many a public table leaves a pair; else a tenth of all.")
@click.option("--rewards-known", is_flag=True, help="Rewards are a public table.")
@click.option("--last-state/--no-last-state", default=True, help="Whether the log has the state after a last step.")
@options.judge
@click.option("--trust", type=click.Choice(["central", "local", "shuffle"]), default="central", show_default=True)
@options.privacy
@click.option("--batch", type=options.Count(), help="shuffle: users in a batch.")
@click.option("--local-epsilon", type=float, help="shuffle: local guarantee of each device.")
@click.option("--honest", type=float, help="shuffle: honest users in a batch, a share or a number; half by default.")
@click.option("--reward-bits", type=options.Count(), help="shuffle: bits per reported reward; 1 by default.")
@click.option(
    "--plot", type=click.Path(dir_okay=False), help="Draw users needed over guarantees: a name in .svg or .html."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(context: click.Context, /, fit_file: str | None, trust: str, as_json: bool, **arguments: Any) -> None:
    """How much data a guarantee needs, for a problem of these sizes, or for that of FIT_FILE.

    With --trust shuffle: any one of --epsilon, --batch and --local-epsilon from the other two.
    """
    from ..analysis.fitting.forecast import forecast, what_if

    plot = arguments.pop("plot")
    options.check_plot(plot)
    _sizes(context, fit_file, arguments)
    epsilon, delta, rho = (arguments.pop(name) for name in ("epsilon", "delta", "rho"))
    mixing = {name: arguments.pop(name) for name in ("batch", "local_epsilon", "honest", "reward_bits")}
    mixing = {name: value for name, value in mixing.items() if value is not None}
    if trust == "shuffle":
        if rho is not None:
            raise InvalidInput(
                "forecast-shuffle-rho", "Shuffling is accounted for in epsilon and delta, not rho. Give --delta."
            )
        _shuffle(
            Spec(arguments["states"], arguments["actions"], arguments["horizon"], arguments["model"]),
            epsilon,
            delta,
            mixing,
            as_json,
        )
        return
    if mixing:
        raise InvalidInput(
            "forecast-shuffle-only", f"Only --trust shuffle takes {', '.join(mixing)}. Choose it, or leave that out."
        )
    if epsilon is None and rho is None:
        raise InvalidInput(
            "forecast-guarantee-missing",
            "A forecast needs a guarantee. Give --rho, or --epsilon with or without --delta.",
        )
    outlook = forecast(privacy=options.guarantee(trust, epsilon, delta, rho), **arguments)
    arguments.pop("people")
    prospects = what_if(outlook, **arguments)
    if plot is not None:
        _draw(plot, prospects, "epsilon" if rho is None else "rho")
    if as_json:
        _print_json(outlook, prospects)
    else:
        _show(outlook, prospects)


def _print_json(outlook: Forecast, prospects: list[Prospect]) -> None:
    """Print the forecast, and those of other guarantees, as one JSON object."""
    emit(
        {
            "guarantee": outlook.guarantee.as_json(),
            "mechanism": outlook.mechanism,
            "noise": outlook.noise,
            "noise_people": outlook.people_at,
            "next_states": outlook.next_states,
            "needed": outlook.needed,
            "needed_with_support": outlook.needed_supported,
            "rows": [asdict(row) for row in outlook.rows],
            "what_if": [
                {
                    "guarantee": row.promise.as_json(),
                    "needed": row.needed,
                    "needed_with_support": row.needed_supported,
                }
                for row in prospects
            ],
        }
    )


def _show(outlook: Forecast, prospects: list[Prospect]) -> None:
    """Show how many people a guarantee needs, what they would give, and what other guarantees would need."""
    at = f" for {outlook.people_at:,} people" if outlook.guarantee.trust == LOCAL else ""
    noise = plain_number(outlook.noise, digits=4)
    click.echo(f"{outlook.guarantee}: {outlook.mechanism} noise of standard deviation {noise} in every count{at}")
    click.echo(
        f"The average pair of state and action exceeds the noise from {_many(outlook.needed)} people on; with a public table of "
        f"possible transitions that leaves {outlook.next_states} next states, from {_many(outlook.needed_supported)}."
    )
    click.echo()
    heads = ("people", "visits of a pair", "error by chance", "with privacy", "and a public table")
    rows = [(f"{row.people:,}", row.visits, row.chance, row.private, row.supported) for row in outlook.rows]
    table(heads, rows)
    click.echo("Errors: of the value of a pair's next state, on a scale from 0 to 1. From 1 on nothing is known.")
    click.echo()
    prospect_rows = [(str(row.promise), _many(row.needed), _many(row.needed_supported)) for row in prospects]
    table(("under another guarantee", "people needed", "with a public table"), prospect_rows)


def _sizes(context: click.Context, fit_file: str | None, arguments: dict[str, Any]) -> None:
    """Fill in sizes and guarantee of a fit file where no flag gives them. Labels and edges count the states and actions."""
    if fit_file is not None:
        read_file = fit_file_in((fit_file,))
        if read_file is None:
            raise InvalidInput(
                "forecast-not-a-fit-file",
                f"A forecast needs no data, only sizes, or a fit file that ends in .toml. Got {fit_file}.",
            )
        fill_from_file(context, (fit_file,), arguments)
        known = read_file.options.get("rewards") is not None
        arguments["rewards_known"] = arguments["rewards_known"] or known
        columns = read_file.options.get("columns") or {}
        if columns and not columns.get("next_state"):  # named with the others, if there is one
            arguments["last_state"] = False
        arguments.pop("labels_source", None)
        codes: dict[str, int] = {}
        if arguments["states"] is None or arguments["actions"] is None:
            from ..data.trajectories.reading import codings

            codes = codings(read_file.options.get("labels"), read_file.options.get("edges"))
        for kind, size in codes.items():
            arguments[kind] = arguments[kind] if arguments[kind] is not None else size
        for name in set(arguments) - set(context.params):
            arguments.pop(name)
    for name in ("states", "actions", "horizon"):
        if arguments[name] is None:
            raise InvalidInput(
                "forecast-size-unsaid",
                f"A forecast needs to know the {name}. Give --{name}, or a fit file that says it.",
            )


def _draw(path: str, prospects: list[Prospect], unit: str) -> None:
    from ..analysis.reporting import drawing, pages

    series = [
        ("people needed", [(row.strength, row.needed) for row in prospects]),
        ("with a table of what is possible", [(row.strength, row.needed_supported) for row in prospects]),
    ]
    curves = [(name, [point for point in points if math.isfinite(point[1])]) for name, points in series]
    curves = [(name, points) for name, points in curves if points]
    if not curves:
        raise InvalidInput(
            "forecast-nothing-to-draw",
            "No number of people is enough under any of these guarantees. There is nothing to draw.",
        )

    def draw(width: int) -> str:
        return drawing.logarithms(
            curves, f"{unit} (smaller is more private)", "users until the average pair exceeds the noise", width
        )

    text = drawing.alone(draw(drawing.WIDE))
    if path.lower().endswith(".html"):
        text = pages.page(
            "What privacy will cost", f"<h1>What privacy will cost</h1><figure>{drawing.both(draw)}</figure>"
        )
    Path(path).write_text(text, encoding="utf-8")
    note(f"drawn in {path}")


def _shuffle(spec: Spec, epsilon: float | None, delta: float, mixing: dict[str, Any], as_json: bool) -> None:
    from ..protocol.trusts.shuffle_forecast import shuffle_forecast

    rows = [asdict(row) for row in shuffle_forecast(spec, delta, epsilon=epsilon, **mixing)]
    if as_json:
        emit({"rows": rows})
        return
    heads = ("mechanism", "epsilon", "delta", "local epsilon", "batch", "honest", "flip", "bits", "noise")
    table(heads, [tuple(row.values()) for row in rows])
    click.echo(
        "Noise: standard deviation of one transition count, over one batch. Batches add up, and so do their variances."
    )


def _many(people: float) -> str:
    return f"{people:,.0f}" if people < 1e15 else "over a million billion"
