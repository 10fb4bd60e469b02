"""`confide simulate --offline`: learning from simulated logs, beside what is exactly true."""

from __future__ import annotations

from typing import Any

import click

from ..errors import InvalidInput
from . import options
from .output import emit, plain_number, table
from .progress import working

LINEAR = ("vapvi", "pevi")
SHARED = ("calibration", "horizon", "seed")


def simulate(environment: str, arguments: dict[str, Any], as_json: bool) -> None:
    """Log people who follow a behaviour policy, release once, learn, and compute what the policy is worth."""
    for name in ("plot", "out"):
        if arguments[name]:
            raise InvalidInput(f"--{name} is about curves over episodes; with --offline there are none. Leave it out.")
    if arguments["option"]:
        raise InvalidInput(
            "--option is for learning online here. Use fit, or cf.simulate_offline, for offline learners."
        )
    learner = "apvi" if arguments["learner"] == "ucbvi" else arguments["learner"]  # the default is for learning online
    unasked = arguments["epsilon"] is None and arguments["rho"] is None
    promise = (
        None if unasked else options.guarantee("central", arguments["epsilon"], arguments["delta"], arguments["rho"])
    )
    choices = {name: arguments[name] for name in SHARED}
    if arguments["bonus_scale"] != 1.0:
        choices["bonus_scale"] = arguments["bonus_scale"]
    if learner in LINEAR:
        _linear(environment, promise, learner, arguments, choices, as_json)
        return
    if learner != "apvi":
        raise InvalidInput(f"Learner {learner!r} learns online. With --offline use apvi, vapvi or pevi.")
    from ..simulation.offline import simulate_offline

    with working("learning from simulated logs"):
        run = simulate_offline(
            environment,
            promise,
            arguments["episodes"],
            arguments["seeds"],
            behaviour=arguments["behaviour"],
            support=not arguments["no_support"],
            mechanism=arguments["mechanism"],
            model=arguments["model"],
            **choices,
        )
    if as_json:
        emit(run.as_json())
        return
    rows = []
    # As the papers learn, all of the release chooses, and nothing is left to judge by.
    evaluations = run.evaluations or [None] * len(run.values)
    for index, (value, evaluation) in enumerate(zip(run.values, evaluations, strict=True), 1):
        estimated, better = "-", "-"
        if evaluation is not None:
            estimate, gain = evaluation.value, evaluation.gain
            estimated = _interval(estimate)
            better = f"{_interval(gain, sign=True)}{'' if gain.sure() else ', not sure'}"
        rows.append([str(index), *_measured(value, run.optimal_value), estimated, better])
    heads = ["seed", "worth", "below the best", "the release says", "over current practice, it says"]
    table(heads, rows, title=_title(run.environment, run.users, run.practice_value, run.optimal_value))
    click.echo(f"\n{run.certificate}")


def _linear(
    environment: str, promise: Any, learner: str, arguments: dict[str, Any], choices: dict[str, Any], as_json: bool
) -> None:
    from ..simulation.offline_linear import simulate_linear

    with working("learning from simulated logs"):
        run = simulate_linear(
            environment,
            promise,
            arguments["episodes"],
            arguments["seeds"],
            learner=learner,
            behaviour=arguments["behaviour"],
            **choices,
        )
    if as_json:
        emit(run.as_json())
        return
    rows = [[str(index), *_measured(value, run.optimal_value)] for index, value in enumerate(run.values, 1)]
    title = _title(run.environment, run.users, run.practice_value, run.optimal_value)
    table(["seed", "worth", "below the best"], rows, title=title)
    click.echo(f"\n{run.certificate}")


def _measured(value: float, best: float) -> tuple[str, str]:
    """What a policy is worth, and by how much that is less than the best."""
    return plain_number(value, digits=4), plain_number(best - value)


def _interval(estimate: Any, sign: bool = False) -> str:
    value, low, high = (plain_number(number, sign, 4) for number in (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} to {high})"


def _title(world: str, people: int, practice: float, best: float) -> str:
    usual, most = plain_number(practice, digits=4), plain_number(best, digits=4)
    return f"{world}, {people:,} logged people; current practice {usual}, the best {most}"
