"""Options that choose an offline learner: shared by `fit` and `refit`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import InvalidInput
from .output import plain_number

if TYPE_CHECKING:
    from ..privacy import Guarantee

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS = (
    click.option("--learner", help="apvi, vapvi, pevi or one of your own; by default apvi, or pevi with features."),
    click.option("--pessimism", help="adaptive, bernstein or hoeffding; for vapvi and pevi adaptive or printed."),
    click.option("--bonus-scale", type=float, help="Factor on the pessimism; never changes privacy."),
    click.option("--features", type=click.Path(dir_okay=False), help="For vapvi and pevi: a public table (S, A, d)."),
    click.option(
        "--feature-bound", type=float, help="No feature vector is longer; by default the longest one's length."
    ),
    click.option("--clip-features", is_flag=True, help="Scale longer ones down instead of refusing them."),
    click.option(
        "--split", is_flag=True, help="For vapvi: variances from one random half of the people, values from the other."
    ),
    click.option(
        "--alone",
        is_flag=True,
        help="Keep what a machine would play where people go on as now, whatever that is worth.",
    ),
    click.option("--option", multiple=True, metavar="NAME=VALUE", help="An option of the learner's own."),
)


RESERVED = (
    *("budget", "data", "engine", "fit", "learner", "ledger", "mechanism", "noise", "out", "privacy", "progress"),
    *("replace", "replacing", "scale", "told"),
)
"""What `fit` and `refit` mean something else by."""


def teaching(function: F) -> F:
    """All options that choose a learner."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def chosen(given: dict[str, Any], default: str | None = "auto") -> tuple[Any, dict[str, Any]]:
    """The learner's name and its settings; what chooses them is taken out of `given`."""
    learner = given.pop("learner") or default
    settings: dict[str, Any] = {"scale": given.pop("bonus_scale"), "alone": given.pop("alone")}
    pessimism = given.pop("pessimism")
    if pessimism is not None:
        settings["pessimism"] = pessimism
    table, bound, clip = (given.pop(name) for name in ("features", "feature_bound", "clip_features"))
    if table is not None:
        from ..mdp.knowledge import read_table
        from ..mdp.linear import LinearFeatures

        settings["features"] = LinearFeatures.declared(read_table(table, "features"), bound, clip)
    if given.pop("split"):
        settings["split"] = True
    settings |= own_options(given.pop("option"), RESERVED)
    return learner, settings


def own_options(texts: Sequence[str], reserved: Collection[str]) -> dict[str, Any]:
    """What `--option NAME=VALUE` says, in the types that values look like; names that have a flag are refused."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise InvalidInput(f"--option takes NAME=VALUE. Got {text!r}.")
        if name in reserved:
            raise InvalidInput(
                f"--option is for options of a learner's own, and {name!r} is none. See --help for its flag."
            )
        found[name] = _value(value)
    return found


def show_worth(said: dict[str, Any], promise: Guarantee | None = None) -> None:
    """First things first: is it better than current practice, by how much, how sure, for what promise; and if not, how many
    people would it take?
    """
    from ..reporting.numbers import each
    from ..reporting.offline_report import noun, plural

    gain, practice = said.get("gain"), said.get("practice")
    one = "person" if promise is None else noun(promise)
    if gain is not None and practice is not None:
        more, low, high = (plain_number(gain[key], sign=True) for key in ("value", "low", "high"))
        verdict = "better than current practice" if gain["sure"] else "go on as now: not surely better"
        click.echo(f"{verdict}: {more} {each(one)}, from {low} to {high} ({said['confidence']:.0%} interval)")
        click.echo(
            f"worth {plain_number(said['value'])} {each(one)}; current practice {plain_number(practice['value'])}"
        )
        if promise is not None:
            click.echo(f"promise: {promise}, which hides {promise.unit}")
        if not gain["sure"] and said.get("needed_to_be_sure") is not None:
            many = plain_number(said["needed_to_be_sure"])
            click.echo(f"to be sure, if it is as good as it looks: about {many} {plural(one)}")
        elif not gain["sure"] and gain["value"] == 0:
            click.echo(
                f"no difference was found; one below {plain_number(gain['high'])} {each(one)} could not have been seen"
            )
        for line in told_coverage(said, plural(one)):
            click.echo(line)


def told_coverage(said: dict[str, Any], people: str = "people") -> list[str]:
    """How far the data goes: what stays as now, what stands out, how many people it would take, and what runs alone."""
    found, needed, alone, lines = said.get("coverage"), said.get("needed"), said.get("alone"), []
    if found is not None:
        lines.append(
            f"{found['kept']:.0%} of steps stay as now; {found['pairs']:.0%} of pairs stand out from the noise"
        )
    if needed is not None and found is not None:
        lines.append(f"the average pair stands out from {needed:,.0f} {people} on")
    if alone is not None and found is not None and found["kept"] > 0:
        value, low, high = (plain_number(alone[key]) for key in ("value", "low", "high"))
        worth = f"worth {value}, from {low} to {high}"
        told = "nobody can tell what it is worth" if alone["vacuous"] else worth
        lines.append(f"run by a machine alone, without people who go on as now: {told}")
    return lines


def _value(text: str) -> Any:
    from ..environments.address import read_word

    return None if text.lower() == "none" else read_word(text)
