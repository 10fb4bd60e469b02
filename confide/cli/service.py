"""`confide service`: make a service, check one, or watch one for a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import InvalidInput
from . import options
from .output import emit, note, table

EXAMPLES = """
\b
Examples:
  confide service new tea --states 6 --actions 2 --horizon 20 --trust local --epsilon 2 --people 100000
  confide service check tea
  confide service check http://127.0.0.1:8000
  confide service new tea2 --succeeds tea --states 6 --actions 2 --horizon 20 --epsilon 1 --people 100000
  confide service succeed tea tea2
  confide service end tea
  confide service delete tea
  confide service demo
"""


_DATABASE = click.option("--database", help="Where it counts, if not in FOLDER: postgresql://user@host/name.")
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")


def _show(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit(found)
        return
    table(["what", "found"], [(name, "" if value is None else value) for name, value in found.items()])


@click.group("service", epilog=EXAMPLES)
def command() -> None:
    """Services that learn from people they never see."""


@command.command("new")
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--states", type=options.Count(), help="How many states.")
@click.option("--actions", type=options.Count(), help="How many actions.")
@click.option("--horizon", type=options.Count(), help="Steps of an episode, at most.")
@click.option("--people", type=options.Count(), help="How many people will take part in all.")
@click.option(
    "--trust",
    default="local",
    show_default=True,
    help="Who is trusted: local is nobody, shuffle a shuffler, joint a curator.",
)
@options.privacy
@click.option("--model", type=click.Choice(["stationary", "per-step"]), default="stationary", show_default=True)
@click.option("--learner", default="ucbvi", show_default=True, help="ucbvi, po, obi, psrl, ucrl-vtr or your own.")
@click.option(
    "--known",
    help="ucrl-vtr: what everybody knows, an .npz file with rewards (H,S,A) and features (S,A,S,d), or a world's address.",
)
@click.option("--bonus-scale", type=float, default=1.0, show_default=True, help="Factor on the exploration bonus.")
@click.option("--mechanism", default="auto", show_default=True, help="auto takes the one with least variance.")
@click.option("--schedule", help="batches:20, growth:1.1 or every; by default 20 equal rounds.")
@click.option("--state-labels", help="Names of the states, with commas between; by default s0,s1,...")
@click.option("--action-labels", help="Names of the actions, with commas between; by default a0,a1,...")
@click.option("--window", type=float, help="Seconds within which a report is sent; by default 0 (local) or 600.")
@click.option("--batch", type=options.Count(), help="shuffle: how many people a batch needs; by default 20 batches.")
@click.option("--honest", type=float, default=0.5, show_default=True, help="shuffle: which share of them is honest.")
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
@click.option("--succeeds", type=click.Path(exists=True, file_okay=False), help="The folder of the service it follows.")
@click.option("--from", "source", type=click.Path(exists=True, dir_okay=False), help="A TOML file with these options.")
@_JSON
def new(folder: str, source: str | None, as_json: bool, **given: Any) -> None:
    """Make a service in FOLDER: its key, and the public contract, once and offline."""
    from ..collector.founding import Folder, found
    from ..mdp import Spec
    from ..simulation.setting import parse_schedule
    from . import known

    context = click.get_current_context()
    if source is not None:
        given = _from_file(source, given, context)
    features, rewards = (None, None) if given["known"] is None else known.read(given)
    lacking = [name for name in ("states", "actions", "horizon", "people") if given[name] is None]
    if lacking:
        raise InvalidInput(f"A service needs --{', --'.join(lacking)}.")
    promise = options.guarantee(given["trust"], given["epsilon"], given["delta"], given["rho"])
    when = None if given["schedule"] is None else parse_schedule(given["schedule"], given["people"])
    made = found(
        folder,
        Spec(given["states"], given["actions"], given["horizon"], given["model"]),
        promise,
        given["people"],
        name=given["name"],
        operator=given["operator"],
        learner=given["learner"],
        schedule=when,
        mechanism=given["mechanism"],
        bonus_scale=given["bonus_scale"],
        window=given["window"],
        labels=_labels(given),
        batch=given["batch"],
        honest=given["honest"],
        between=_between(given),
        features=features,
        rewards=rewards,
        before=None if given["succeeds"] is None else Folder(Path(given["succeeds"])).contract(),
    )
    contract = made.contract()
    if as_json:
        emit({"folder": str(made.path), "pin": contract.pin, "rounds": len(contract.ends)})
        return
    click.echo(str(contract.design.certificate("plain")))
    click.echo(f"\nThe contract is {made.contract_file}. Devices join with pin={contract.pin!r}.")
    note(f"confide: {made.key_file} is secret. Next: confide serve {folder}")


def _labels(given: dict[str, Any]) -> dict[str, list[str]] | None:
    """Names of states and actions, where any are given; the others are counted."""
    told = {"states": given["state_labels"], "actions": given["action_labels"]}
    if not any(told.values()):
        return None
    found = {
        name: [word.strip() for word in text.split(",")]
        if text
        else [f"{name[0]}{number}" for number in range(given[name])]
        for name, text in told.items()
    }
    for name, words in found.items():
        if len(words) != given[name] or len(set(words)) != len(words) or not all(words):
            raise InvalidInput(
                f"--{name[:-1]}-labels must name {given[name]} different {name}. Got {len(words)}: {', '.join(words)}."
            )
    return found


def _between(given: dict[str, Any]) -> dict[str, Any]:
    """What was said of a shuffler or a curator."""
    told = {name: given[name] for name in ("tickets", "deadline", "publication", "patience", "address")}
    return {name: value for name, value in {**told, "operator": given["between"]}.items() if value is not None}


def _from_file(source: str, given: dict[str, Any], context: click.Context) -> dict[str, Any]:
    """Options from a file; those on the command line go before."""
    import tomllib

    from click.core import ParameterSource

    try:
        told = tomllib.loads(Path(source).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{source} cannot be read as TOML: {error}.") from error
    told = {key.replace("-", "_"): value for key, value in told.items()}
    unknown = sorted(set(told) - set(given))
    if unknown:
        raise InvalidInput(f"{source} has options that are not known: {', '.join(unknown)}.")
    typed = {name for name in given if context.get_parameter_source(name) == ParameterSource.COMMANDLINE}
    return {**given, **{name: value for name, value in told.items() if name not in typed}}


@command.command("succeed")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("successor", type=click.Path(exists=True, file_okay=False))
@_DATABASE
@_JSON
def succeed(folder: str, successor: str, database: str | None, as_json: bool) -> None:
    """Say that the contract in SUCCESSOR follows the one in FOLDER: heads name it from the next round on."""
    from ..collector.ending import succeed as name_successor
    from ..collector.founding import Folder

    _show(name_successor(Folder(Path(folder)), Folder(Path(successor)), database), as_json)


@command.command("end")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@_DATABASE
@_JSON
def end(folder: str, database: str | None, as_json: bool) -> None:
    """End the service in FOLDER now. Reports of its open round are dropped; its last policy stays published."""
    from ..collector.ending import end as end_service
    from ..collector.founding import Folder

    _show(end_service(Folder(Path(folder)), database), as_json)


@command.command("delete")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@_DATABASE
@click.option("--yes", is_flag=True, help="Do not ask.")
@_JSON
def delete(folder: str, database: str | None, yes: bool, as_json: bool) -> None:
    """Delete a service that has ended: FOLDER with its key, and its tables. Nothing of it can be published again."""
    from ..collector.ending import delete as delete_service
    from ..collector.founding import Folder

    if not yes:
        click.confirm(f"Delete {folder}, its key and its tables for good?", abort=True, err=True)
    _show(delete_service(Folder(Path(folder)), database), as_json)


@command.command("check")
@click.argument("where", metavar="FOLDER|URL")
@_JSON
def check(where: str, as_json: bool) -> None:
    """Verify a service as anybody may: what is promised is recomputed, every signature and hash is checked."""
    if where.startswith(("http://", "https://")):
        from ..staging.checking import check_url

        found = check_url(where)
    else:
        from ..collector.founding import Folder

        contract = Folder(Path(where)).contract()
        found = {"contract": contract.pin, "rounds": len(contract.ends), "heads": None, "ended": None}
        found["promise"] = str(contract.design.guarantee)
    _show(found, as_json)


@command.command("demo")
@click.option("--people", type=options.Count(), default=3000, show_default=True, help="How many simulated people.")
@click.option("--trust", default="local", show_default=True, help="local, shuffle or joint.")
@click.option("--stay", type=float, help="Seconds its pages stay afterwards; at a terminal until Ctrl-C, else 0.")
@_JSON
def demo(people: int, trust: str, stay: float | None, as_json: bool) -> None:
    """One minute: a collector on this machine, simulated people over HTTP, and a policy that got better.

    Meanwhile, and afterwards, its dashboard can be looked at in a browser, and a game be played that reports to it.
    """
    import contextlib
    import sys
    import time

    from ..privacy import Certificate
    from ..staging.demo import demonstrate

    def tell(row: dict[str, Any]) -> None:
        if not as_json:
            note(f"round {row['round']:>2}  people {row['people']:>6,}  value of the policy {row['value']:.3f}")

    def served(url: str) -> None:
        note(f"confide: the dashboard: {url}/; a game to play: {url}/demo")

    def afterwards(found: dict[str, Any]) -> None:
        if as_json:
            emit(found)
            return
        click.echo(f"\n{Certificate.from_json(found['certificate']['certificate'])}")
        first, last = found["rounds"][0]["value"], found["rounds"][-1]["value"]
        click.echo(f"\nThe policy's true value, which only a simulation knows, went from {first:.3f} to {last:.3f}.")
        click.echo(f"Reports: {found['reports']}; {found['seconds']:.1f} s.")
        at_terminal = sys.stdin.isatty() and sys.stderr.isatty()
        wait = (86400.0 if at_terminal else 0.0) if stay is None else stay
        if wait > 0:
            note("confide: its pages stay open; Ctrl-C ends it")
            with contextlib.suppress(KeyboardInterrupt):
                time.sleep(wait)

    demonstrate(people, tell, trust, None if as_json else served, afterwards)
