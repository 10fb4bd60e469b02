"""`confide fit`: learns a policy from logged trajectories."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from . import options
from .dataset import dataset_options, open_dataset
from .init import fill_from_file, in_fit_file
from .learner import chosen_learner, learner_options, show_coverage, show_verdict
from .output import emit, note, plain_number, stages

if TYPE_CHECKING:
    from ..analysis.fitting import Check
    from ..analysis.reporting.stated import Findings
    from ..analysis.results.fit import Fit
    from ..data.statistics.counting import DatasetCounts
    from ..data.trajectories import Dataset
    from ..privacy import Guarantee

EXAMPLES = """
\b
Examples:
  confide budget trajectories.parquet --rho 1
  confide fit trajectories.parquet --states 716 --actions 25 --horizon 20 --rho 0.5 --support possible.npz --out policy/
  confide fit 'visits/*.csv' --ledger visits.ledger.json --labels labels.json --horizon 12 --epsilon 1 --check
  confide fit "duckdb:SELECT * FROM 'log.parquet' ORDER BY user, step" --ledger log.ledger.json ...
"""


@click.command("fit", epilog=EXAMPLES)
@click.argument("data", nargs=-1, required=True)
@dataset_options
@learner_options
@options.privacy
@click.option(
    "--mechanism",
    type=click.Choice(["auto", "gaussian", "laplace"]),
    default="auto",
    show_default=True,
    help="Which noise; auto takes Laplace for a pure epsilon.",
)
@click.option(
    "--visits",
    type=options.Visits(),
    default="auto",
    show_default=True,
    help="Which of a user's visits are counted: all, or repeated ones within a budget B; auto chooses.",
)
@click.option(
    "--calibration",
    type=click.Choice(["paper", "sound", "tight"]),
    default="tight",
    show_default=True,
    help="tight: the least noise for the guarantee; paper: DP-APVI and DP-VAPVI as printed; sound: with noise that keeps it.",
)
@options.judge
@click.option(
    "--unconfounded",
    is_flag=True,
    help="Declare, of a single step, that nothing but the recorded state decided about actions; printed beside the verdict.",
)
@click.option(
    "--reward-centre",
    type=float,
    metavar="LEVEL",
    help="A public level that rewards are near, such as their rate where they are rare; by default the middle of their range.",
)
@click.option(
    "--failure", type=float, default=0.05, show_default=True, help="Probability that an error radius does not hold."
)
@click.option("--budget", type=float, metavar="RHO", help="Set the total privacy budget of this data, if none is set.")
@click.option(
    "--ledger", type=click.Path(dir_okay=False), help="Where the ledger of spent budget is, if not beside the data."
)
@click.option("--out", type=click.Path(file_okay=False), help="Folder for policy, release, certificate and report.")
@click.option("--replace", is_flag=True, help="Replace what is in --out.")
@click.option("--check", "only_check", is_flag=True, help="Report what would happen and what is wrong; spends nothing.")
@click.option(
    "--engine",
    type=click.Choice(["threads", "dask"]),
    default="threads",
    show_default=True,
    help="What computes the statistics.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster.")
@click.option("--workers", type=options.Count(), help="Threads; by default one a processor.")
@click.option(
    "--audit", "attack", is_flag=True, help="First audit the fit on synthetic users; the result is in the certificate."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    context: click.Context, /, data: tuple[str, ...], only_check: bool, attack: bool, as_json: bool, **arguments: Any
) -> int:
    """Learn a policy from logged trajectories, with a differential privacy guarantee for everyone in them.

    DATA are files (Parquet, CSV, JSON, Arrow ...), directories, patterns, databases, duckdb:QUERY or minari:NAME; or a
    fit file (confide init DATA), which flags override.
    """
    from ..analysis.fitting import check

    data = fill_from_file(context, data, arguments)
    _require(arguments, only_check)
    opened_data, learner, promise, choices = _chosen(data, arguments)
    if not only_check and choices["budget"] is None:
        choices["budget"] = _asked_budget(opened_data, choices["ledger"])
    with stages(len(opened_data.parts), "counting") as (progress, stage):
        choices |= {"progress": progress}
        if only_check:
            checked = check(opened_data, learner, promise, on_counted=_note_counts, **choices)
        else:
            result, shown = _fit(opened_data, learner, promise, {**choices, "stage": stage}, attack, as_json)
    if only_check:
        return _show_check(checked, as_json)
    if as_json:
        emit(result.as_json())
        return 0
    if not shown:
        show_verdict(result.findings, result.certificate.guarantee)
    _show_fit(result, choices["out"])
    return 0


def _chosen(data: tuple[str, ...], arguments: dict[str, Any]) -> tuple[Dataset, Any, Guarantee, dict[str, Any]]:
    """The data, opened; the learner; the guarantee; and the keyword arguments of `fit` that the command's arguments make."""
    from ..analysis.fitting import Engine
    from ..analysis.fitting.fit_file import sections_of

    fit_file = sections_of(data, arguments)
    arguments.pop("card", None)
    promise = options.guarantee("central", *(arguments.pop(name) for name in ("epsilon", "delta", "rho")))
    engine = Engine(arguments.pop("engine"), arguments.pop("scheduler"), arguments.pop("workers"))
    learner, settings = chosen_learner(arguments)
    if "failure" in settings:
        raise InvalidInput(
            "failure-has-a-flag",
            "How often error radii may be wrong has a flag of its own. Say --failure instead of --option.",
        )
    opened_data = open_dataset(data, arguments)
    if opened_data.vectors is not None and not opened_data.vectors.features.intercept:
        note(
            "confide: values are taken to be linear in the state columns; unless one of them is constant, add --intercept."
        )
    if opened_data.columns.by_row:
        note(
            "confide: no column names people, so each row is taken for one person; if that is wrong: --columns user=NAME."
        )
    return opened_data, learner, promise, {"engine": engine, "fit_file": fit_file, **settings, **arguments}


def _require(arguments: dict[str, Any], only_check: bool) -> None:
    """Refuse arguments without a horizon or a guarantee, or without a folder where something is learned."""
    _require_horizon(arguments)
    if arguments["epsilon"] is None and arguments["rho"] is None:
        raise InvalidInput(
            "fit-guarantee-missing", "A fit needs a guarantee. Give --rho, or --epsilon with or without --delta."
        )
    if arguments["out"] is None and not only_check:
        raise InvalidInput(
            "fit-out-missing", "A fit needs a folder for what it learns. Give --out, or look first with --check."
        )


def _fit(
    data: Dataset, learner: Any, promise: Guarantee, choices: dict[str, Any], attack: bool, as_json: bool
) -> tuple[Fit, bool]:
    """The fit, and whether its verdict was shown: as soon as it is there, unless JSON is wanted."""
    from ..analysis.fitting import fit

    shown: list[bool] = []

    def show(findings: Findings) -> None:
        if not as_json:
            show_verdict(findings, replace(promise, unit=data.unit))
            shown.append(True)

    result = fit(data, learner, promise, on_judged=show, audit=_auditor() if attack else None, **choices)
    return result, bool(shown)


def _show_fit(result: Fit, folder: str) -> None:
    """Show how far the data goes, and the certificate."""
    from ..analysis.fitting.plan import FEWEST_PEOPLE
    from ..analysis.reporting.numbers import plural
    from ..analysis.reporting.offline_report import noun

    guarantee = result.certificate.guarantee
    show_coverage(result.findings, guarantee)
    share, few = result.config.get("judge"), result.users < FEWEST_PEOPLE
    judges = f"; {share:.0%} judge, and are not counted" if share else ""
    if not share and few and not result.findings.get("linear"):
        judges = f"; no users judge: fewer than {FEWEST_PEOPLE:,}"
    click.echo(f"learned from {result.users:,} {plural(noun(guarantee))}{judges}")
    click.echo(str(result.certificate))
    note(f"saved in {folder}")


def _require_horizon(arguments: dict[str, Any]) -> None:
    """Refuse arguments without a horizon, naming with it the other sizes that must be declared."""
    if arguments["horizon"] is not None:
        return
    books = [arguments[name] for name in ("labels", "edges") if arguments[name] is not None]
    files = any(not isinstance(book, dict) for book in books)  # which may say either
    open_sizes = [
        kind
        for kind in ("states", "actions")
        if arguments[kind] is None and not files and not any(kind in book for book in books)
    ]
    if arguments["state_columns"] is not None and "states" in open_sizes:
        open_sizes.remove("states")
    numbers = "Choose a public number: --horizon H."
    if open_sizes:
        flags = " and ".join(f"--{kind}" for kind in open_sizes)
        numbers = f"Choose a public number, --horizon H, and declare {flags} or list them as --labels."
    raise InvalidInput("horizon-unsaid", f"The horizon, the most steps of an episode, must be declared. {numbers}")


def _asked_budget(data: Dataset, ledger: str | None) -> float | None:
    """The budget that the user types in at a terminal, if the ledger has none; None without a terminal."""
    from ..analysis.fitting.budget import account_of

    account = account_of(data, ledger).place_or_none
    if account is None or account.path.exists() or not sys.stdin.isatty():
        return None
    answer: float = click.prompt(
        f"{account.path} has no budget yet. What may ever be spent on this data, in rho?", type=float, err=True
    )
    return answer


def _auditor() -> Callable[[Any, Any], dict[str, Any]]:
    from ..lab.audit import audit_plan

    return audit_plan


def _note_counts(counted: DatasetCounts) -> None:
    """Write the counts of a check to stderr. A fit writes none: they are exact, and what it writes may be kept or shown."""
    done = ((counted.clipped, "reward", "clipped"), (counted.shortened, "state", "scaled down"))
    changes = [f", {many:,} {what}{'' if many == 1 else 's'} {how}" for many, what, how in done if many]
    note(f"confide: {counted.read:,} rows read{''.join(changes)}; for your eyes only.")


def _show_check(checked: Check, as_json: bool) -> int:
    from ..analysis.reporting.numbers import plural
    from ..analysis.reporting.offline_report import noun

    if as_json:
        emit(
            {
                "ok": not checked.problems,
                "problems": [asdict(problem) for problem in checked.problems],
                "guarantee": checked.guarantee.as_json(),
                "unit": checked.guarantee.unit,
                "cost": checked.cost,
                "left": checked.left,
                "noise": checked.noise,
                "users": checked.users,
                "needed": checked.needed,
                "judge": checked.judge,
            }
        )
        return 2 if checked.problems else 0
    click.echo(f"guarantee  {checked.guarantee}; hides {checked.guarantee.unit}")
    remaining = "no budget is set" if checked.left is None else f"{checked.left:g} is left"
    click.echo(f"costs      rho = {checked.cost:g} of its ledger, where {remaining}")
    click.echo(f"noise      standard deviation {plain_number(checked.noise, digits=4)} in {checked.noise_in}")
    unit = plural(noun(checked.guarantee))
    click.echo(f"{unit:<10} {checked.users:,} (public: neighbouring data sets have equally many)")
    if checked.judge:
        click.echo(f"judges     {checked.judge:.0%} of them, who are not counted")
    if checked.needed is not None:
        enough = "" if checked.users >= checked.needed else ", so most of the policy will recommend no change"
        click.echo(
            f"needed     {checked.needed:,.0f} {unit} until the average pair exceeds the noise; a sure gain takes more{enough}"
        )
    for problem in checked.problems:
        click.echo(f"wrong      {in_fit_file(problem.sentence, click.get_current_context().params.get('data', ()))}")
    if any(problem.rows for problem in checked.problems):
        click.echo("A row counts under its first fault only: others may show when that is mended.")
    click.echo("This fit would be refused." if checked.problems else "This fit would go ahead. Nothing was spent.")
    return 2 if checked.problems else 0
