"""Options that several commands share, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..errors import InvalidInput
from ..privacy.guarantee import CENTRAL, NONE, Guarantee

F = TypeVar("F", bound=Callable[..., object])


class Visits(click.ParamType[str | int]):
    """`auto`, `all`, or a whole number."""

    name = "auto|all|B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        """The word, or the number that a text means; everything else is refused in a sentence."""
        return str(value) if value in ("auto", "all") else Count().convert(value, param, ctx)


class Share(click.ParamType[str | float]):
    """`auto`, `none`, or a share."""

    name = "auto|none|SHARE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | float:
        """The word, or the number that a text means; everything else is refused in a sentence."""
        return value if value in ("auto", "none") else click.FLOAT.convert(value, param, ctx)


judge = click.option(
    "--judge",
    type=Share(),
    default="auto",
    show_default=True,
    metavar="SHARE|auto|none",
    help="Share of the users who are not counted, and judge a partial adoption instead; auto: 0.3 of 2,000 users or more.",
)
"""The option of who judges, for `fit` and `forecast`."""


class Count(click.ParamType[int]):
    """A whole number that may be written as 1e8."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The whole number that a text means; everything else is refused in a sentence."""
        try:
            number = float(value)
            integer = int(value) if str(value).lstrip("+-").isdigit() else int(number)
        except (ValueError, OverflowError):
            integer, number = 0, math.nan
        if integer != number:
            name = (param.name if param else None) or "number"
            sentence = f"{name} must be a whole number such as 1e6. Got {value!r}."
            raise InvalidInput("flag-not-whole-number", sentence, about=name)
        return integer


def check_plot(path: str | None) -> None:
    """Refuse a `--plot` that names no picture a browser shows."""
    if path is not None and not path.lower().endswith((".svg", ".html")):
        raise InvalidInput("plot-suffix", f"--plot must name a file that ends in .svg or .html. Got {path}.")


def privacy(function: F) -> F:
    """Add --epsilon, --delta and --rho to a command."""
    for option in (
        click.option("--rho", type=float, help="The guarantee in zCDP, in place of epsilon and delta."),
        click.option(
            "--delta", type=float, default=0.0, show_default=True, help="Of the guarantee; 0 is pure epsilon-DP."
        ),
        click.option("--epsilon", type=float, help="Of the guarantee: (epsilon, delta)-DP per user."),
    ):
        function = option(function)
    return function


DATABASE = "CONFIDE_DATABASE"
"""The environment variable with the address of a database."""


def read_database(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The address of a database: as given, from a file (`@FILE`), or from the environment; no password on a command line."""
    from urllib.parse import urlsplit

    from click.core import ParameterSource

    if value is None or not value:
        return None
    if value.startswith("@"):
        try:
            with open(value[1:], encoding="utf-8") as file:
                return file.read().strip()
        except OSError as error:
            raise InvalidInput(
                "database-file", f"--database {value} names a file that cannot be read: {error}."
            ) from error
    typed = context.get_parameter_source(parameter.name or "") == ParameterSource.COMMANDLINE
    try:
        password = urlsplit(value).password
    except ValueError:
        password = None
    if typed and password:
        raise InvalidInput(
            "database-password",
            "A password on the command line is shown to every user of this machine (ps). Put the address into a file and give "
            f"--database @FILE, or into ${DATABASE}.",
        )
    return value


def database(help_text: str) -> Callable[[F], F]:
    """Add --database to a command, which may also come from a file or the environment."""
    text = f"{help_text} With a password: @FILE that holds it, or ${DATABASE}."
    return click.option("--database", callback=read_database, envvar=DATABASE, help=text)


def endpoint(port: int, rate: str) -> Callable[[F], F]:
    """Add the options about where a process listens to a command. rate: what --rate counts."""

    def add(function: F) -> F:
        for option in (
            click.option("--certificate-key", type=click.Path(exists=True), help="Its key."),
            click.option(
                "--certificate", type=click.Path(exists=True), help="A TLS certificate; else put a proxy before it."
            ),
            click.option(
                "--proxy", help="The address or network of proxies before it, whose X-Forwarded-For is believed."
            ),
            click.option("--connections", type=Count(), help="Most open connections of one address; 200 by default."),
            click.option("--rate", type=float, help=rate),
            click.option("--port", type=Count(), default=port, show_default=True, help="0 takes a free one."),
            click.option("--bind", default="127.0.0.1", show_default=True, help="The address to serve on."),
        ):
            function = option(function)
        return function

    return add


DEVICES = "devices"
devices = click.option(
    "--devices",
    type=click.Choice(["browsers", "any"]),
    help="Which devices report: those of pages too, the default; or any.",
)
CLAIMED = "claimed"
claimed = click.option(
    "--claimed",
    is_flag=True,
    default=None,
    help="shuffle: users have tokens, and the shuffler another operator: devices may add shares of noise.",
)
SHUFFLING = ("batch", "honest", "local_epsilon", "reward_bits", "tree", "burn_in", "widening")


def shuffling(function: F) -> F:
    """Add the options of --trust shuffle to a command."""
    for option in (
        click.option("--burn-in", type=Count(), help="shuffle, paper: number of users who act at random first."),
        click.option(
            "--tree", is_flag=True, default=None, help="shuffle: a tree of shufflers, each user in log2(batches) sums."
        ),
        click.option("--reward-bits", type=Count(), help="shuffle: bits per reported reward; 1 by default."),
        click.option(
            "--local-epsilon",
            type=float,
            help="shuffle: local guarantee of each device; by default it follows from the batch.",
        ),
        click.option(
            "--honest", type=float, help="shuffle: honest users in a batch, a share or a number; half by default."
        ),
        click.option(
            "--widening",
            is_flag=True,
            default=None,
            help="shuffle: with --batch: later batches are 2, 4, 8 ... times as large.",
        ),
        click.option("--batch", type=Count(), help="shuffle: users in a batch; by default batches that widen."),
    ):
        function = option(function)
    return function


def guarantee(trust: str, epsilon: float | None, delta: float, rho: float | None) -> Guarantee:
    """The guarantee that the options spell out."""
    if trust == NONE:
        if epsilon is not None or rho is not None:
            raise InvalidInput(
                "trust-none-with-flags",
                "--trust none has no guarantee, so it takes no --epsilon or --rho. Choose local or joint.",
            )
        return Guarantee.none()
    if epsilon is None and rho is None:
        raise InvalidInput(
            "trust-needs-guarantee",
            f"--trust {trust} needs a guarantee. Give --epsilon or --rho, or --trust none for no privacy.",
        )
    for name, value in (("rho", rho), ("epsilon", epsilon)) if trust == CENTRAL else ():
        if value is not None and value <= 0:
            raise InvalidInput(
                "guarantee-not-above-zero",
                f"A guarantee must be above 0: --{name} {value:g} is no guarantee. Usual choices are --rho 0.1 to "
                "1, or --epsilon 1 to 5 with --delta 1e-6.",
            )
    return Guarantee(trust, epsilon, delta, rho)
