"""`confide forecast`: what privacy will cost, before anything is spent."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ..mdp import Spec
from . import options
from .output import emit, note, plain_number, table
from .study import filled, study_in

if TYPE_CHECKING:
    from ..fitting.forecast import Prospect


@click.command("forecast")
@click.argument("study", required=False)
@click.option("--states", type=options.Count())
@click.option("--actions", type=options.Count())
@click.option("--horizon", type=options.Count())
@click.option("--model", type=click.Choice(["stationary", "per-step"]), default="stationary", show_default=True)
@click.option("--people", type=options.Count(), help="How many you have; rows begin where they, or those needed, are.")
@click.option("--next-states", type=options.Count(), help="How many a public table leaves a pair; else a tenth of all.")
@click.option("--rewards-known", is_flag=True, help="Rewards are a public table.")
@click.option("--next-told/--next-not-told", default=True, help="Whether the log tells the state after a last step.")
@click.option("--trust", type=click.Choice(["central", "local", "shuffle"]), default="central", show_default=True)
@options.privacy
@click.option("--batch", type=options.Count(), help="shuffle: people in a batch.")
@click.option("--local-epsilon", type=float, help="shuffle: what each device keeps by itself.")
@click.option("--honest", type=float, help="shuffle: honest people in a batch, a share or a number; all by default.")
@click.option("--reward-bits", type=options.Count(), help="shuffle: by how many bits a reward is told; 1 by default.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw people over promises: a name in .svg or .html.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(context: click.Context, /, study: str | None, trust: str, as_json: bool, **given: Any) -> None:
    """How much data privacy will cost, for a problem of these sizes and a promise, or for those of STUDY.

    With --trust shuffle: any one of --epsilon, --batch and --local-epsilon from the other two.
    """
    from ..fitting.forecast import forecast, what_if

    plot = given.pop("plot")
    if plot is not None and not plot.lower().endswith((".svg", ".html")):
        raise InvalidInput(f"--plot must name a file that ends in .svg or .html. Got {plot}.")
    _sizes(context, study, given)
    epsilon, delta, rho = (given.pop(name) for name in ("epsilon", "delta", "rho"))
    mixing = {name: given.pop(name) for name in ("batch", "local_epsilon", "honest", "reward_bits")}
    mixing = {name: value for name, value in mixing.items() if value is not None}
    if trust == "shuffle":
        if rho is not None:
            raise InvalidInput("Shuffling is accounted for in epsilon and delta, not rho. Give --delta.")
        _shuffle(
            Spec(given["states"], given["actions"], given["horizon"], given["model"]), epsilon, delta, mixing, as_json
        )
        return
    if mixing:
        raise InvalidInput(f"Only --trust shuffle takes {', '.join(mixing)}. Choose it, or leave that out.")
    if epsilon is None and rho is None:
        raise InvalidInput("A forecast needs a promise. Give --rho, or --epsilon with or without --delta.")
    found = forecast(privacy=options.guarantee(trust, epsilon, delta, rho), **given)
    given.pop("people")
    others = what_if(found, **given)
    if plot is not None:
        _draw(plot, others, "epsilon" if rho is None else "rho")
    if as_json:
        emit(
            {
                "guarantee": found.guarantee.as_json(),
                "mechanism": found.mechanism,
                "noise": found.noise,
                "noise_people": found.people_at,
                "next_states": found.next_states,
                "needed": found.needed,
                "needed_with_support": found.needed_supported,
                "rows": [asdict(row) for row in found.rows],
                "what_if": [
                    {
                        "guarantee": row.promise.as_json(),
                        "needed": row.needed,
                        "needed_with_support": row.needed_supported,
                    }
                    for row in others
                ],
            }
        )
        return
    at = f" for {found.people_at:,} people" if trust == "local" else ""
    click.echo(
        f"{found.guarantee}: {found.mechanism} noise of standard deviation {plain_number(found.noise, digits=4)} in every count{at}"
    )
    click.echo(
        f"The average pair of state and action stands out from {_many(found.needed)} people on; with a public table of "
        f"possible transitions that leaves {found.next_states} next states, from {_many(found.needed_supported)}."
    )
    click.echo()
    heads = ("people", "visits of a pair", "error by chance", "with privacy", "and a public table")
    rows = [(f"{row.people:,}", row.visits, row.chance, row.private, row.supported) for row in found.rows]
    table(heads, rows)
    click.echo("Errors: of what a pair's next state is worth, on a scale from 0 to 1. From 1 on nothing is known.")
    click.echo()
    told = [(str(row.promise), _many(row.needed), _many(row.needed_supported)) for row in others]
    table(("under another promise", "people needed", "with a public table"), told)


def _sizes(context: click.Context, study: str | None, given: dict[str, Any]) -> None:
    """Sizes and promise of a study, where no flag says them. Labels and edges say how many there are."""
    if study is not None:
        found = study_in((study,))
        if found is None:
            raise InvalidInput(f"A forecast needs no data, only sizes, or a study that ends in .toml. Got {study}.")
        filled(context, (study,), given)
        known = found.words.get("rewards") is not None
        given["rewards_known"] = given["rewards_known"] or known
        columns = found.words.get("columns") or {}
        if columns and not columns.get(
            "next_state"
        ):  # a study that names columns names this one too, where there is one
            given["next_told"] = False
        given.pop("labels_source", None)
        codes: dict[str, Any] = {}
        if given["states"] is None or given["actions"] is None:
            from ..trajectories.reading import codings

            codes = codings(found.words.get("labels"), found.words.get("edges"))
        for kind, size in codes.items():
            given[kind] = given[kind] if given[kind] is not None else size
        for name in set(given) - set(context.params):
            given.pop(name)
    for name in ("states", "actions", "horizon"):
        if given[name] is None:
            raise InvalidInput(f"A forecast needs to know the {name}. Give --{name}, or a study that says it.")


def _draw(path: str, others: list[Prospect], unit: str) -> None:
    from ..reporting import drawing, pages

    series = [
        ("people needed", [(row.strength, row.needed) for row in others]),
        ("with a table of what is possible", [(row.strength, row.needed_supported) for row in others]),
    ]
    shown = [(name, [point for point in points if math.isfinite(point[1])]) for name, points in series]
    shown = [(name, points) for name, points in shown if points]
    if not shown:
        raise InvalidInput("No number of people is enough under any of these promises. There is nothing to draw.")

    def draw(width: int) -> str:
        return drawing.logarithms(
            shown, f"{unit} (smaller is more private)", "people until the average pair stands out", width
        )

    text = drawing.alone(draw(drawing.WIDE))
    if path.lower().endswith(".html"):
        text = pages.page(
            "What privacy will cost", f"<h1>What privacy will cost</h1><figure>{drawing.both(draw)}</figure>"
        )
    Path(path).write_text(text, encoding="utf-8")
    note(f"drawn in {path}")


def _shuffle(spec: Spec, epsilon: float | None, delta: float, mixing: dict[str, Any], as_json: bool) -> None:
    from ..designs.shuffle_forecast import shuffle_forecast

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
