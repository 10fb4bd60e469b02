"""`confide service`: make a service, check one, or watch one for a minute.

Reads what is publicly known of a linear mixture: rewards and features, from a file or a named world.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import click
import numpy as np

from .. import validation
from ..errors import InvalidInput
from ..lab.environments import make
from ..mdp import MixtureFeatures
from ..mdp.described import DescribedFeatures
from ..validation import Json
from . import options
from .output import emit, note, table

if TYPE_CHECKING:
    from ..lab.simulation.half_gain import HalfGain
    from ..privacy import Guarantee
    from ..service.contract.folder import Folder
    from ..service.contract.periods import Periods

SIZES = ("horizon", "states", "actions")


def read_known(arguments: dict[str, Any]) -> tuple[MixtureFeatures | None, Any]:
    """Features, if any, and rewards (H, S, A) that `--known` names; sizes that were not given are filled in from them."""
    name = arguments["known"]
    features, rewards = from_file(name) if Path(name).is_file() else from_world(name, arguments["horizon"])
    if rewards.ndim != len(SIZES):
        raise InvalidInput(
            "known-rewards-axes", f"rewards must have three axes: {', '.join(SIZES)}. Got {rewards.shape}."
        )
    for size, number in zip(SIZES, rewards.shape, strict=True):
        arguments[size] = arguments[size] or number
    return features, rewards


def read_described(arguments: dict[str, Any]) -> DescribedFeatures:
    """The description that `--features` names; sizes are filled in from it, and others are refused."""
    name = arguments["features"]
    if Path(name).is_file():
        described = DescribedFeatures.from_bytes(Path(name).read_bytes())
    else:
        world = make(name, arguments["horizon"])
        if world.world is None:
            raise InvalidInput(
                "features-of-table",
                f"{name} describes no features. Give a JSON file, or a world such as linear-bandit/6x4.",
            )
        described = world.world.features
        arguments["horizon"] = arguments["horizon"] or world.spec.horizon
    for size, number in (("states", described.states), ("actions", described.actions)):
        if arguments[size] not in (None, number):
            raise InvalidInput(
                "service-features-sizes",
                f"The features describe {number} {size}. Got --{size} {arguments[size]}. Leave it out.",
            )
        arguments[size] = number
    return described


def from_world(name: str, horizon: int | None) -> tuple[MixtureFeatures | None, Any]:
    """Features and rewards of a world by its address."""
    world = make(name, horizon)
    if world.model is None:
        raise InvalidInput(
            "known-world-unknown", f"Nothing is known of {name}. Give a file with rewards, or another world."
        )
    return world.features, np.repeat(world.model.rewards, world.spec.horizon // len(world.model.rewards), axis=0)


def from_file(path: str) -> tuple[MixtureFeatures | None, Any]:
    """Features and rewards of an .npz file: `rewards`, and `features` (S, A, S, d) if they are not one-hot."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            tables = {name: np.asarray(arrays[name], dtype=np.float64) for name in arrays.files}
    except (OSError, ValueError, TypeError, AttributeError, BadZipFile) as error:
        raise InvalidInput("known-file-unreadable", f"{path} is not an .npz file of arrays: {error}.") from error
    if "rewards" not in tables or set(tables) - {"rewards", "features"}:
        raise InvalidInput(
            "known-file-content",
            f"{path} must hold rewards, and may hold features. It holds {', '.join(sorted(tables))}.",
        )
    features = tables.get("features")
    return None if features is None else MixtureFeatures.from_array(features), tables["rewards"]


EXAMPLES = """
\b
Examples:
  confide service new tea --states 6 --actions 2 --horizon 20 --trust local --epsilon 2 --people 100000
  confide service new tea --states 6 --actions 2 --horizon 20 --epsilon 2 --people 100000 --check --environment riverswim/6
  confide service new tea --states 6 --actions 2 --horizon 20 --trust joint --epsilon 1 --delta 1e-6 --people 100000 --returns 4
  confide service check tea
  confide service check http://127.0.0.1:8000
  confide service new tea2 --succeeds tea --states 6 --actions 2 --horizon 20 --epsilon 1 --people 100000
  confide service succeed tea tea2
  confide service end tea
  confide service carry tea tea2
  confide service delete tea
  confide service backup tea tea-monday
  confide service restore tea-monday tea --seen https://witness.example/CONTRACT-HASH
  confide service pause tea
  confide service resume tea
  confide service token tea
  confide service rotate tea
  confide service export tea public/
  confide service demo
"""


TRIAL = 60.0
"""Seconds: a batch that closes sooner is a trial."""
NEXT = {"shuffler": "confide shuffle {0} --port 8001; then confide serve {0} --shuffler http://127.0.0.1:8001"}
"""What comes after `service new`, where it is not `confide serve` alone."""
_DATABASE = options.database("Where it counts, if not in FOLDER: postgresql://user@host/name.")
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")


def _show(results: dict[str, Json], as_json: bool) -> None:
    if as_json:
        emit(results)
        return
    named = {"people": "users of closed rounds"}
    table(["what", "found"], [(named.get(name, name), value) for name, value in results.items() if value is not None])


@click.group("service", epilog=EXAMPLES, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Services that learn from users whose data stays on their devices."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command.command("new")
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--states", type=options.Count(), help="How many states.")
@click.option("--actions", type=options.Count(), help="How many actions.")
@click.option("--horizon", type=options.Count(), help="Steps of an episode, at most.")
@click.option("--people", type=options.Count(), help="Total number of users; with --returns, of their visits.")
@click.option("--returns", type=options.Count(), default=1, show_default=True, help="How often a user may take part.")
@click.option(
    "--apart",
    type=options.Count(),
    default=1,
    show_default=True,
    help="joint, with --returns: how many batches apart a user's visits are, at least.",
)
@click.option(
    "--period",
    type=float,
    help="Days after which every user's guarantee is given anew, by the collector's signed clock; by default never.",
)
@click.option(
    "--trust",
    default="local",
    show_default=True,
    help="Trust model: local (no server), shuffle (a shuffler) or joint (a curator).",
)
@options.privacy
@click.option("--model", type=click.Choice(["stationary", "per-step"]), default="stationary", show_default=True)
@click.option(
    "--learner", default="ucbvi", show_default=True, help="ucbvi, po, obi, psrl, ucrl-vtr, linear or your own."
)
@click.option(
    "--known",
    help="ucrl-vtr: public rewards (H,S,A) and features (S,A,S,d) in an .npz file, or an environment's address.",
)
@click.option(
    "--features",
    help="linear: the public description of what devices observe, in a JSON file, or an environment's address.",
)
@click.option("--bonus-scale", type=float, default=1.0, show_default=True, help="Factor on the exploration bonus.")
@click.option("--mechanism", default="auto", show_default=True, help="auto takes the one with least variance.")
@click.option("--schedule", help="batches:20, growth:1.1 or every; by default as `simulate` has it.")
@click.option("--endless", is_flag=True, help="More or fewer than --people may come: the schedule's rule has no end.")
@click.option("--state-labels", help="Names of the states, with commas between; by default s0,s1,...")
@click.option("--action-labels", help="Names of the actions, with commas between; by default a0,a1,...")
@click.option("--window", type=float, help="Seconds within which a report is sent; by default 0 (local) or 600.")
@click.option("--batch", type=options.Count(), help="shuffle: users in a batch; by default batches widen.")
@click.option("--honest", type=float, help="shuffle: assumed share of honest users; one half by default.")
@options.devices
@click.option(
    "--tickets", type=options.Count(), help="shuffle: tickets of a batch; by default a quarter more than it needs."
)
@click.option(
    "--deadline", type=float, help="shuffle, joint: seconds from last ticket to closing; by default two windows."
)
@click.option("--publication", type=float, help="shuffle, joint: seconds from closing to publishing; by default 60.")
@click.option("--patience", type=float, help="shuffle, joint: seconds a batch stays open after a restart; two windows.")
@click.option("--address", help="shuffle, joint: where the shuffler or the curator will be.")
@click.option("--between", help="shuffle, joint: who runs it; by default the operator.")
@click.option("--name", default="", help="What the service is called; by default the folder.")
@click.option("--operator", default="", help="Who runs it; by default its name.")
@click.option("--open", "is_open", is_flag=True, help="Take what comes without tokens: one client may be many users.")
@click.option("--issuer", default="", help="Who runs the issuer of tokens; by default the operator.")
@click.option("--issuer-address", help="Where the issuer will be; by default `serve` starts it.")
@click.option(
    "--issuer-key", type=click.Path(exists=True, dir_okay=False), help="The public key of an issuer made elsewhere."
)
@click.option("--check", is_flag=True, help="Make nothing: simulate this contract, and say what it loses.")
@click.option(
    "--forecast", is_flag=True, help="Simulate from how many users on half of the gain is had; the contract says it."
)
@click.option("--environment", help="--check: a world of these sizes; by default a random one.")
@click.option("--succeeds", type=click.Path(exists=True, file_okay=False), help="The folder of the service it follows.")
@click.option("--from", "source", type=click.Path(exists=True, dir_okay=False), help="A TOML file with these options.")
@_JSON
def new(folder: str, source: str | None, as_json: bool, **arguments: Any) -> None:
    """Make a service in FOLDER: its key, and the public contract, once and offline."""
    from ..lab.simulation.setting import parse_schedule
    from ..mdp import Spec
    from ..protocol.accepted import BROWSERS
    from ..service.collector.founding import following, make_service
    from ..service.collector.promises import renewed
    from ..service.contract.admission import admission_lines
    from ..service.contract.folder import Folder

    context = click.get_current_context()
    if source is not None:
        arguments = _from_file(source, arguments, context)
    features, rewards = (None, None) if arguments["known"] is None else read_known(arguments)
    described = None if arguments["features"] is None else read_described(arguments)
    lacking = [name for name in ("states", "actions", "horizon", "people") if arguments[name] is None]
    if lacking:
        raise InvalidInput(
            "service-flags-missing",
            f"A service needs --{' and --'.join(lacking)}. The help has examples: confide service new --help.",
        )
    promise = options.guarantee(arguments["trust"], arguments["epsilon"], arguments["delta"], arguments["rho"])
    schedule = None if arguments["schedule"] is None else parse_schedule(arguments["schedule"], arguments["people"])
    if arguments["environment"] is not None and not arguments["check"]:
        raise InvalidInput(
            "environment-without-check",
            "--environment goes with --check, which simulates a contract in it. Leave it out, or add --check.",
        )
    made = partial(
        make_service,
        spec=Spec(arguments["states"], arguments["actions"], arguments["horizon"], arguments["model"]),
        promise=promise,
        people=arguments["people"],
        learner=arguments["learner"],
        schedule=schedule,
        mechanism=arguments["mechanism"],
        bonus_scale=arguments["bonus_scale"],
        window=arguments["window"],
        labels=_labels(arguments),
        endless=arguments["endless"],
        returns=arguments["returns"],
        apart=arguments["apart"],
        period=_period(arguments["period"]),
        batch=arguments["batch"],
        honest=arguments["honest"],
        devices=arguments["devices"] or BROWSERS,
        between=_between(arguments),
        features=features,
        rewards=rewards,
        described=described,
    )
    forecast = _forecast(folder, arguments, promise) if arguments["forecast"] or arguments["check"] else None
    if forecast is not None:
        made = partial(made, forecast=forecast.as_json())
    before = None if arguments["succeeds"] is None else Folder(Path(arguments["succeeds"]))
    if arguments["check"]:
        checked = partial(made, **({} if before is None else following(before)))
        _rehearsed(checked, arguments["environment"] or "", as_json)
        return
    service_folder = _founded(folder, made, before, arguments)
    contract = service_folder.contract()
    if as_json:
        issuer = str(service_folder.issuer_path) if service_folder.issuer_path.is_dir() else None
        told: dict[str, Json] = {"folder": str(service_folder.path), "pin": contract.pin, "rounds": len(contract.ends)}
        emit(
            {
                **told,
                "open": contract.issuer is None,
                "issuer": issuer,
                "forecast": contract.document["learner"].get("forecast"),
            }
        )
        return
    for line in admission_lines(contract):
        click.echo(line)
    click.echo(str(contract.design.certificate("plain")))
    for line in renewed(contract):
        click.echo(line)
    if forecast is not None:
        click.echo(f"\nA forecast: {forecast.sentence}.")
    click.echo(f"\nThe contract is {service_folder.contract_file}. Devices join with pin={contract.pin!r}.")
    about = contract.intermediary
    if about is not None:
        note(
            f"confide: a batch closes {about.deadline:,g} s after its last ticket, and is shown {about.publication:,g} s later"
            + ("" if about.deadline < TRIAL else "; to try it out, --window 2 --publication 1")
        )
    steps = NEXT.get("" if about is None else about.role, "confide serve {0}").format(folder)
    note(f"confide: {service_folder.key_file} is secret. Next: {steps}")
    if service_folder.issuer_path.is_dir():
        note(
            f"confide: {service_folder.issuer_path} issues one token per user, and belongs on a machine of its own: "
            f"confide issue. Simulated users: confide visit URL --login {service_folder.issuer_path}"
        )


def _forecast(folder: str, arguments: dict[str, Any], promise: Guarantee) -> HalfGain | None:
    """From how many users on half of the possible gain is had, by simulation; None for what has no prior of worlds."""
    from ..lab.simulation.half_gain import half_gain
    from ..mdp import Spec

    if arguments["learner"] in ("ucrl-vtr", "linear"):
        return None
    spec = Spec(arguments["states"], arguments["actions"], arguments["horizon"], arguments["model"])
    operator = arguments["operator"] or arguments["name"] or Path(folder).resolve().name
    return half_gain(spec, promise, not arguments["is_open"] and (arguments["between"] or operator) != operator)


def _founded(folder: str, made: Callable[..., Folder], before: Folder | None, arguments: dict[str, Any]) -> Folder:
    """Make the service, and beside it the issuer of its tokens, unless it is open or the issuer is elsewhere."""
    from ..lab.staging.admission import make_admitting
    from ..service.collector.founding import following

    settings = {name: arguments[name] for name in ("issuer_address", "issuer_key")}
    named = {"operator": arguments["operator"], "name": arguments["name"]}
    if not arguments["is_open"]:
        return make_admitting(folder, before=before, issuer_name=arguments["issuer"], made=made, **settings, **named)
    if arguments["issuer"] or any(settings.values()):
        raise InvalidInput(
            "issuer-of-open-service",
            "A service with --open has no issuer. Leave --open out, or what is said of the issuer.",
        )
    return made(folder, **({} if before is None else following(before)), **named)


def _rehearsed(made: Callable[[Path], Folder], environment: str, as_json: bool) -> None:
    """Simulate the contract that would be made, and show what it loses; nothing of it is kept."""
    import tempfile

    from ..analysis.reporting.intervals import mean_interval
    from ..lab.staging.rehearsing import DAYS, rehearse

    with tempfile.TemporaryDirectory() as place:
        contract = made(Path(place) / "service").contract()
    found = rehearse(contract, environment)
    regret = mean_interval(found.regret)
    forecast = contract.document["learner"].get("forecast")
    results: dict[str, Json] = {
        "environment": found.environment,
        "users": found.users,
        "days": DAYS,
        "rounds": len(contract.ends),
        "asked": contract.design.question.kind,
        "mechanism": contract.design.mechanism.name,
        "regret": float(found.regret.mean()),
        "interval": [regret.low, regret.high],
        "at_random": found.at_random,
        "needed": math.ceil(found.needed),
        "forecast": forecast,
    }
    if as_json:
        emit(results)
        return
    table(["what", "found"], [(name, value) for name, value in results.items() if name != "forecast"])
    enough = "enough" if found.needed <= found.users else "not enough"
    click.echo(
        f"\n{found.users:,} users lose {regret.text()} in {found.environment}, and {found.at_random:,.0f} if they act at random. "
        f"About {math.ceil(found.needed):,} are needed until something is learned: these are {enough}."
    )
    if forecast is not None:
        from ..lab.simulation.half_gain import HalfGain

        click.echo(f"A forecast: {HalfGain.from_json(forecast).sentence}.")


def _period(days: float | None) -> Periods | None:
    """The period of this number of days; None for none."""
    from ..service.contract.periods import Periods

    return None if days is None else Periods(round(validation.positive("period", days) * 86400))


def _labels(arguments: dict[str, Any]) -> dict[str, list[str]] | None:
    """Names of states and actions, where any are given; the others are counted."""
    texts = {"states": arguments["state_labels"], "actions": arguments["action_labels"]}
    if not any(texts.values()):
        return None
    labels = {
        name: [word.strip() for word in text.split(",")]
        if text
        else [f"{name[0]}{number}" for number in range(arguments[name])]
        for name, text in texts.items()
    }
    for name, names in labels.items():
        if len(names) != arguments[name] or len(set(names)) != len(names) or not all(names):
            raise InvalidInput(
                "service-labels-count",
                f"--{name[:-1]}-labels must name {arguments[name]} different {name}. Got {len(names)}: {', '.join(names)}.",
            )
    return labels


def _between(arguments: dict[str, Any]) -> dict[str, Any]:
    """The settings of a shuffler or a curator that were given."""
    settings = {name: arguments[name] for name in ("tickets", "deadline", "publication", "patience", "address")}
    return {name: value for name, value in {**settings, "operator": arguments["between"]}.items() if value is not None}


def _from_file(source: str, arguments: dict[str, Json], context: click.Context) -> dict[str, Json]:
    """The arguments completed by the options of a file; those on the command line go before."""
    import tomllib

    from click.core import ParameterSource

    try:
        settings = tomllib.loads(Path(source).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput("service-file-not-toml", f"{source} cannot be read as TOML: {error}.") from error
    settings = {key.replace("-", "_"): value for key, value in settings.items()}
    unknown = sorted(set(settings) - set(arguments))
    if unknown:
        raise InvalidInput("service-file-keys", f"{source} has options that are not known: {', '.join(unknown)}.")
    typed = {name for name in arguments if context.get_parameter_source(name) == ParameterSource.COMMANDLINE}
    return {**arguments, **{name: value for name, value in settings.items() if name not in typed}}


@command.command("succeed")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("successor", type=click.Path(exists=True, file_okay=False))
@_DATABASE
@_JSON
def succeed(folder: str, successor: str, database: str | None, as_json: bool) -> None:
    """Say that the contract in SUCCESSOR follows the one in FOLDER: heads name it from the next round on."""
    from ..service.collector.ending import succeed as name_successor
    from ..service.contract.folder import Folder

    _show(name_successor(Folder(Path(folder)), Folder(Path(successor)), database), as_json)


@command.command("carry")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("successor", type=click.Path(exists=True, file_okay=False))
@_DATABASE
@_JSON
def carry(folder: str, successor: str, database: str | None, as_json: bool) -> None:
    """Let the service in SUCCESSOR, before it is served, begin with what the one in FOLDER has published: it costs no privacy."""
    from ..service.collector.ending import carry as carry_on
    from ..service.contract.folder import Folder

    _show(carry_on(Folder(Path(folder)), Folder(Path(successor)), database), as_json)


@command.command("end")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@_DATABASE
@_JSON
def end(folder: str, database: str | None, as_json: bool) -> None:
    """End the service in FOLDER now. Reports of its open round are dropped; its last policy stays published."""
    from ..service.collector.ending import end as end_service
    from ..service.contract.folder import Folder

    _show(end_service(Folder(Path(folder)), database), as_json)


@command.command("delete")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@_DATABASE
@click.option("--yes", is_flag=True, help="Do not ask.")
@_JSON
def delete(folder: str, database: str | None, yes: bool, as_json: bool) -> None:
    """Delete a service that has ended: FOLDER with its key, and its tables. Nothing of it can be published again."""
    from ..service.collector.ending import delete as delete_service
    from ..service.contract.folder import Folder

    if not yes:
        click.confirm(f"Delete {folder}, its key and its tables for good?", abort=True, err=True)
    _show(delete_service(Folder(Path(folder)), database), as_json)


_FOLDER = click.argument("folder", type=click.Path(exists=True, file_okay=False))
_ROLE = click.option(
    "--role", type=click.Choice(["curator", "shuffler"]), help="Its token; by default the collector's."
)


@command.command("backup")
@_FOLDER
@click.argument("target", type=click.Path())
@_DATABASE
@_JSON
def backup(folder: str, target: str, database: str | None, as_json: bool) -> None:
    """Copy the service in FOLDER, with keys and database, and the issuer beside it, to the new folder TARGET, while it is served.
    TARGET is secret."""
    from ..service.contract.folder import Folder
    from . import kit

    _show(kit.backup(Folder(Path(folder)), Path(target), database), as_json)


@command.command("restore")
@click.argument("copy", metavar="BACKUP", type=click.Path(exists=True, file_okay=False))
@click.argument("folder", type=click.Path())
@click.option(
    "--seen",
    help="A witness (its address or folder), or a collector that still serves: the backup must not be behind what it shows.",
)
@_DATABASE
@_JSON
def restore(copy: str, folder: str, seen: str | None, database: str | None, as_json: bool) -> None:
    """Put BACKUP in the place of FOLDER; refused if anything was published since. What FOLDER held is kept beside it."""
    from ..service.contract.folder import Folder
    from . import kit

    results = kit.restore(Folder(Path(copy)), Folder(Path(folder)), database, seen)
    _show(results, as_json)
    if results["compared"] is None:
        note(
            "confide: nothing was there to compare with. If devices saw a later round they refuse this one: give --seen."
        )
    if results["issuer"]:
        note("confide: the issuer was restored too. Users who took a token since the backup can take another.")


@command.command("pause")
@_FOLDER
@_JSON
def pause(folder: str, as_json: bool) -> None:
    """Count no report and issue no ticket from now on; devices keep what they have. Policies stay published."""
    from ..service.contract.folder import Folder
    from ..service.contract.pausing import pause as begin

    Folder(Path(folder)).contract()
    begin(Path(folder))
    _show({"folder": folder, "paused": True}, as_json)


@command.command("resume")
@_FOLDER
@_JSON
def resume(folder: str, as_json: bool) -> None:
    """End a pause."""
    from ..service.contract.pausing import resume as finish

    if not finish(Path(folder)):
        raise InvalidInput("not-paused", f"{folder} is not paused, so there is nothing to resume.")
    _show({"folder": folder, "paused": False}, as_json)


@command.command("token")
@_FOLDER
@_ROLE
def token(folder: str, role: str | None) -> None:
    """Print the operator's token, which opens /v1/operator, and of a curator or shuffler the metrics that are not public."""
    from ..service.contract.folder import Folder
    from . import kit

    click.echo(kit.token(Folder(Path(folder)), role))


@command.command("rotate")
@_FOLDER
@_ROLE
def rotate(folder: str, role: str | None) -> None:
    """Make a new operator's token and print it; the old one opens nothing any more. Servers need no restart."""
    from ..service.contract.folder import Folder
    from . import kit

    click.echo(kit.rotate(Folder(Path(folder)), role))


@command.command("export")
@_FOLDER
@click.argument("target", type=click.Path())
@_DATABASE
@_JSON
def export(folder: str, target: str, database: str | None, as_json: bool) -> None:
    """Write all that is public of a service to the new folder TARGET, as files that any web server can show."""
    from ..service.contract.folder import Folder
    from . import kit

    _show(kit.export(Folder(Path(folder)), Path(target), database), as_json)


@command.command("check")
@click.argument("where", metavar="FOLDER|URL")
@_DATABASE
@click.option(
    "--witness", type=click.Path(file_okay=False), help="URL: keep what was shown here, and refuse any other."
)
@_JSON
def check(where: str, database: str | None, witness: str | None, as_json: bool) -> None:
    """Verify a service from its public data: the guarantee is recomputed, every signature and hash is checked.

    Of a FOLDER the database is read, where there is one; a collector need not run. With --witness heads are kept in a folder
    that any web server may show to devices; a service that shows less than before, or other heads, is refused, with a proof.
    """
    from ..lab.staging.checking import check_folder, check_url

    if not where.startswith(("http://", "https://")):
        if witness is not None:
            raise InvalidInput(
                "witness-with-folder",
                "--witness goes with a URL: a witness keeps what all devices were shown. Leave it out.",
            )
        _show(check_folder(where, database), as_json)
        return
    if database is not None:
        raise InvalidInput(
            "database-with-url",
            "--database goes with a FOLDER. Leave it out: a running service is queried over the network.",
        )
    _show(check_url(where, witness), as_json)


@command.command("demo")
@click.option("--people", type=options.Count(), default=3000, show_default=True, help="Number of simulated users.")
@click.option("--trust", default="local", show_default=True, help="local, shuffle or joint.")
@click.option("--stay", type=float, help="Seconds its pages stay afterwards; at a terminal until Ctrl-C, else 0.")
@_JSON
def demo(people: int, trust: str, stay: float | None, as_json: bool) -> None:
    """One minute: a collector on this machine, simulated people over HTTP, and a policy that got better.

    Meanwhile, and afterwards, its dashboard can be looked at in a browser, and a game be played that reports to it.
    """
    import contextlib
    import signal
    import sys
    import time

    from ..lab.staging.demo import DemoRound, DemoSummary, demonstrate
    from ..privacy import Certificate

    def show_round(row: DemoRound) -> None:
        if not as_json:
            note(f"round {row['round']:>2}  people {row['people']:>6,}  value of the policy {row['value']:.3f}")

    def show_address(url: str) -> None:
        note(f"confide: the dashboard: {url}/; a game to play: {url}/demo")

    def show_end(summary: DemoSummary) -> None:
        if as_json:
            emit(summary)
            return
        click.echo(f"\n{Certificate.from_json(summary['certificate']['certificate'])}")
        first, last = summary["rounds"][0]["value"], summary["rounds"][-1]["value"]
        click.echo(f"\nThe policy's true value, which only a simulation knows, went from {first:.3f} to {last:.3f}.")
        click.echo(f"Reports: {summary['reports']}; {summary['seconds']:.1f} s.")
        at_terminal = sys.stdin.isatty() and sys.stderr.isatty()
        wait = (86400.0 if at_terminal else 0.0) if stay is None else stay
        if wait > 0:
            note("confide: its pages stay open; Ctrl-C ends it")
            with contextlib.suppress(KeyboardInterrupt):
                time.sleep(wait)

    # On its signal to end, it ends the processes that it started.
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        demonstrate(people, show_round, trust, None if as_json else show_address, show_end)
    finally:
        signal.signal(signal.SIGTERM, before)
