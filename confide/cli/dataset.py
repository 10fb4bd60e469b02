"""Options that declare a data set: shared by every command that reads one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import click

from . import options

if TYPE_CHECKING:
    from ..data.trajectories import Dataset

F = TypeVar("F", bound=Callable[..., object])

DECLARED = (
    click.option("--states", type=options.Count(), help="How many states; left out where labels or edges say it."),
    click.option("--actions", type=options.Count(), help="How many actions; likewise."),
    click.option("--horizon", type=options.Count(), help="The most steps of an episode."),
    click.option(
        "--model",
        type=click.Choice(["stationary", "per-step"]),
        help="Whether moves depend on the step; by default stationary, or as the paper of --calibration has it.",
    ),
    click.option(
        "--state-columns", metavar="NAMES", help="States are vectors of these columns, such as 'x*'; for vapvi, pevi."
    ),
    click.option(
        "--norm", type=float, help="No state vector is longer; longer ones are refused, or scaled with --clip."
    ),
    click.option("--intercept", is_flag=True, help="Add a one to every state vector."),
    click.option("--columns", default="", metavar="ROLE=NAME,...", help="Columns that are not found by their name."),
    click.option("--labels", type=click.Path(dir_okay=False), help="Public list of labels of states and actions."),
    click.option("--edges", type=click.Path(dir_okay=False), help="Public bin edges for columns of numbers."),
    click.option("--support", type=click.Path(dir_okay=False), help="Public table (S, A, S) of possible transitions."),
    click.option("--allowed", type=click.Path(dir_okay=False), help="Public table (S, A) of allowed actions."),
    click.option("--rewards", type=click.Path(dir_okay=False), help="Public table (S, A) of rewards, if known."),
    click.option("--initial", type=click.Path(dir_okay=False), help="Public law (S,) of the first state, if known."),
    click.option("--reward-range", type=(float, float), default=(0.0, 1.0), show_default=True, help="Of one step."),
    click.option(
        "--return-range", type=(float, float), help="Of all steps together, if narrower; returns are clipped."
    ),
    click.option("--clip", is_flag=True, help="Clip rewards, and scale state vectors down, instead of refusing them."),
    click.option(
        "--missing",
        type=click.Choice(["category", "end"]),
        help="Missing entries: of states, one more public category; or the episode ends before them, its user lost.",
    ),
    click.option(
        "--weight", metavar="COLUMN", help="Sampling weights of users; values are then those of the population."
    ),
    click.option("--weight-bound", type=float, metavar="B", help="A public number above which no weight lies."),
    click.option("--weight-mean", type=float, default=1.0, show_default=True, help="The public mean of the weights."),
    click.option("--lost", metavar="COLUMN", help="True in the last row of users who were lost to follow-up."),
    click.option(
        "--groups", metavar="COLUMN=LABEL,...", help="Public groups of users, such as sex=f,m: who gains and who loses."
    ),
    click.option(
        "--users", default="one", show_default=True, help="Several episodes of one: one, limit, all:K or group:K."
    ),
    click.option("--fixed-length", is_flag=True, help="Every episode has HORIZON steps; add no end state."),
    click.option("--table", help="The table, or a query, of a database file."),
    click.option("--sort", is_flag=True, help="Sort rows by user, episode and step first."),
    click.option("--order-by", metavar="COLUMN", help="Sort the rows of an episode by this column, such as a time."),
    click.option("--in-order", is_flag=True, help="Vouch that rows without a step stand in the order they happened."),
    click.option("--delimiter", metavar="SIGN", help="Of a text table, where it is not seen: ';', tab, '|', space."),
    click.option("--encoding", metavar="NAME", help="Of a text table, where it is not seen: cp1252, latin-1, utf-16."),
    click.option("--decimal", metavar="SIGN", help="Of numbers in a text table: '.' or ','."),
    click.option("--header", metavar="NAMES", help="Of the columns of a text table whose first row names none."),
    click.option("--skip-rows", type=options.Count(), metavar="N", help="Lines above the header of a text table."),
    click.option("--time-format", metavar="FORM", help="Of the column to order by, such as '%d.%m.%Y'."),
)
PROPENSITY = (
    click.option("--propensity", metavar="COLUMN", help="Logged probabilities of the actions, for compare; one step."),
    click.option("--propensity-floor", type=float, metavar="F", help="A public number below which none of them lies."),
)
TEXT = ("delimiter", "encoding", "decimal", "header", "skip_rows", "time_format")
TABLES = ("support", "allowed", "rewards", "initial")


def dataset_options(function: F) -> F:
    """Add all options that declare a data set to a command."""
    for option in reversed((*DECLARED, *PROPENSITY)):
        function = option(function)
    return function


def open_dataset(sources: tuple[str, ...], arguments: dict[str, Any]) -> Dataset:
    """The data set that the arguments declare; what declares it is taken out of `arguments`."""
    from ..data.trajectories import Declaration, read
    from ..mdp.knowledge import read_table

    declared = {name: arguments.pop(name) for name in (each.name for each in fields(Declaration)) if name in arguments}
    for name in TABLES:
        if declared[name] is not None:
            declared[name] = read_table(declared[name], name)
    text = {name: arguments.pop(name) for name in TEXT}
    return read(*sources, **declared, text={name: value for name, value in text.items() if value is not None})
