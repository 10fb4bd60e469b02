"""Options that choose an offline learner: shared by `fit` and `refit`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import FormatError, InvalidInput
from .output import plain_number

if TYPE_CHECKING:
    from ..analysis.reporting.stated import Findings, StatedJudgement
    from ..mdp.described import DescribedFeatures
    from ..privacy import Guarantee

F = TypeVar("F", bound=Callable[..., object])

OPTIONS = (
    click.option(
        "--learner",
        help="apvi, vapvi, pevi, linear or one of your own; by default apvi, linear with described features, pevi with a table.",
    ),
    click.option("--pessimism", help="adaptive, bernstein or hoeffding; for vapvi and pevi adaptive or printed."),
    click.option("--bonus-scale", type=float, help="Factor on the pessimism; never changes privacy."),
    click.option(
        "--features",
        type=click.Path(dir_okay=False),
        help="A public description (.json) of features of columns; or, for vapvi and pevi, a public table (S, A, d).",
    ),
    click.option(
        "--feature-bound", type=float, help="No feature vector is longer; by default the longest one's length."
    ),
    click.option("--clip-features", is_flag=True, help="Scale longer ones down instead of refusing them."),
    click.option(
        "--split", is_flag=True, help="For vapvi: variances from one random half of the users, values from the other."
    ),
    click.option(
        "--alone",
        is_flag=True,
        help="Also export the policy for states where the fit recommends no change, whatever its value there.",
    ),
    click.option("--option", multiple=True, metavar="NAME=VALUE", help="An option of the learner's own."),
)


RESERVED = (
    *(
        "budget",
        "calibration",
        "data",
        "engine",
        "fit",
        "learner",
        "ledger",
        "mechanism",
        "noise",
        "out",
        "privacy",
        "progress",
        "reward_centre",
        "visits",
    ),
    *("replace", "replacing", "scale", "on_counted"),
)
"""Names that `fit` and `refit` use for other arguments, so no option of a learner may have them."""


def learner_options(function: F) -> F:
    """Add all options that choose a learner to a command."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def chosen_learner(arguments: dict[str, Any], default: str | None = "auto") -> tuple[Any, dict[str, Any]]:
    """The learner's name and its settings; what chooses them is taken out of `arguments`."""
    learner = arguments.pop("learner") or default
    settings: dict[str, Any] = {"scale": arguments.pop("bonus_scale"), "alone": arguments.pop("alone")}
    pessimism = arguments.pop("pessimism")
    if pessimism is not None:
        settings["pessimism"] = pessimism
    table, bound, clip = (arguments.pop(name) for name in ("features", "feature_bound", "clip_features"))
    if isinstance(table, Mapping) or str(table).endswith(".json"):
        arguments["features"] = described_features(table, (bound, clip))
    elif table is not None:
        from ..mdp.knowledge import read_table
        from ..mdp.linear import LinearFeatures

        settings["features"] = LinearFeatures.declared(read_table(table, "features"), bound, clip)
    if arguments.pop("split"):
        settings["split"] = True
    settings |= own_options(arguments.pop("option"), RESERVED)
    return learner, settings


def described_features(place: object, about_tables: tuple[float | None, bool]) -> DescribedFeatures:
    """The features that a file of JSON, or a section of a fit file, describes. about_tables: bound and clip, which tables take."""
    from ..mdp.described import DescribedFeatures

    if about_tables != (None, False):
        raise InvalidInput(
            "features-have-ranges",
            "Described features are cut to their ranges. Leave --feature-bound and --clip-features out.",
        )
    if isinstance(place, Mapping):
        return DescribedFeatures.declared(place)
    try:
        values = json.loads(Path(str(place)).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InvalidInput("features-file-missing", f"There is no file {place}. Correct --features.") from error
    except ValueError as error:
        raise FormatError("features-not-json", f"A description of features is JSON. {place} is not: {error}") from error
    return DescribedFeatures.declared(values)


def own_options(texts: Sequence[str], reserved: Collection[str]) -> dict[str, Any]:
    """The options of `--option NAME=VALUE`, in the types that values look like; names that have a flag are refused."""
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise InvalidInput("option-form", f"--option takes NAME=VALUE. Got {text!r}.")
        if name in reserved:
            raise InvalidInput(
                "option-has-a-flag",
                f"--option is for options of a learner's own, and {name!r} is none. See --help for its flag.",
            )
        options[name] = _value(value)
    return options


def show_worth(findings: Findings, promise: Guarantee | None = None) -> None:
    """Show the verdict on a policy, and how far the data goes."""
    show_verdict(findings, promise)
    show_coverage(findings, promise)


def show_coverage(findings: Findings, promise: Guarantee | None = None) -> None:
    """Show which gain would have been found, and how far the data goes, where a policy was judged."""
    from ..analysis.reporting.numbers import plural
    from ..analysis.reporting.offline_report import noun, power_said

    gain = findings.get("gain")
    if gain is not None and findings.get("practice") is not None:
        unit = "person" if promise is None else noun(promise)
        stated = power_said(findings, unit, "" if gain["value"] else "no difference was found; ")
        for line in [*([stated] if stated else []), *coverage_lines(findings, plural(unit))]:
            click.echo(line)


def show_verdict(findings: Findings, promise: Guarantee | None = None) -> None:
    """Show whether a policy is better than current practice, by how much, how surely, under which guarantee; and if it is not
    surely better, how many people it would take.
    """
    from ..analysis.reporting.numbers import each, plural
    from ..analysis.reporting.offline_report import noun

    gain, practice = findings.get("gain"), findings.get("practice")
    unit = "person" if promise is None else noun(promise)
    judged = findings.get("judged")
    if gain is None and findings.get("judged_said"):
        surely = judged is not None and judged["sure"]
        click.echo(adoption_verdict(judged, unit) if judged and surely else "no change recommended: not surely better")
        for line in resting_lines(findings):
            click.echo(line)
        if promise is not None:
            click.echo(f"guarantee: {promise}, which hides {promise.unit}")
    if gain is not None and practice is not None:
        more, low, high = (plain_number(gain[key], sign=True) for key in ("value", "low", "high"))
        better = findings.get("recommended", gain["sure"])
        judged = findings.get("judged")
        untold = judged is not None and not judged["sure"] and not findings.get("alarms")
        doubt = "only the table is sure of it" if untold else "a check below does not support it"
        doubt = doubt if gain["sure"] else "not surely better"
        verdict = "better than current practice" if better else f"no change recommended: {doubt}"
        if not better and judged is not None and judged["sure"]:
            part, least, most = (plain_number(judged[key], sign=True) for key in ("gain", "low", "high"))
            often = f"better in part, if followed in {10 * judged['alpha']:g} of 10 decisions"
            click.echo(f"{often}: {part} {each(unit)}, from {least} to {most} ({findings['confidence']:.0%} interval)")
            verdict = "the whole policy is not recommended"
        click.echo(f"{verdict}: {more} {each(unit)}, from {low} to {high} ({findings['confidence']:.0%} interval)")
        click.echo(
            f"value {plain_number(findings['value'])} {each(unit)}; current practice {plain_number(practice['value'])}"
        )
        for line in resting_lines(findings):
            click.echo(line)
        if promise is not None:
            click.echo(f"guarantee: {promise}, which hides {promise.unit}")
        if not gain["sure"] and findings.get("needed_to_be_sure") is not None:
            needed = plain_number(findings["needed_to_be_sure"])
            click.echo(f"to be sure, if it is as good as it looks: about {needed} {plural(unit)}")


def adoption_verdict(judged: StatedJudgement, unit: str) -> str:
    """What is surely better where no value of the whole policy is stated: the share of decisions that others judged."""
    from ..analysis.reporting.numbers import each

    more, low, high = (plain_number(judged[key], sign=True) for key in ("gain", "low", "high"))
    often = f"better in part, if followed in {10 * judged['alpha']:g} of 10 decisions"
    better = "better than current practice" if judged["alpha"] == 1 else often
    return f"{better}: {more} {each(unit)}, from {low} to {high} (95% interval)"


def resting_lines(findings: Findings) -> list[str]:
    """Lines about what a value rests on, and which checks of that were made."""
    from ..analysis.reporting.group_gains import lines_of

    lines = [f"rests on: {line}" for line in findings.get("assumes") or []]
    lines += [f"{'checked' if check['passed'] else 'ALARM'}: {check['said']}" for check in findings.get("checks") or []]
    lines += [findings["judged_said"]] if findings.get("judged_said") else []
    return [*lines, *lines_of(findings.get("groups") or [])]


def coverage_lines(findings: Findings, people: str = "people") -> list[str]:
    """How far the data goes: what stays unchanged, what exceeds the noise, how many people it takes, what is automated."""
    coverage, needed, alone, lines = findings.get("coverage"), findings.get("needed"), findings.get("alone"), []
    if coverage is not None:
        lines.append(f"{coverage['kept']:.0%} of steps unchanged; {coverage['pairs']:.0%} of pairs exceed the noise")
    if needed is not None and coverage is not None:
        lines.append(f"the average pair exceeds the noise from {needed:,.0f} {people} on")
    if alone is not None and coverage is not None and coverage["kept"] > 0:
        value, low, high = (plain_number(alone[key]) for key in ("value", "low", "high"))
        worth = f"value {value}, from {low} to {high}"
        statement = "the release does not support an estimate of its value" if alone["vacuous"] else worth
        lines.append(f"fully automated, with estimated current practice where no change is recommended: {statement}")
    return lines


def _value(text: str) -> Any:
    from ..mdp.address import read_word

    return None if text.lower() == "none" else read_word(text)
