"""`confide simulate --offline`: learning from simulated logs, beside what is exactly true."""

from __future__ import annotations

from typing import Any

import click

from ..errors import InvalidInput
from . import options
from .output import emit, table

LINEAR = ("vapvi", "pevi")
KEPT = ("calibration", "horizon", "seed")


def simulate(environment: str, given: dict[str, Any], as_json: bool) -> None:
    """Log people who follow a behaviour policy, release once, learn, and compute what the policy is worth."""
    for name in ("plot", "out"):
        if given[name]:
            raise InvalidInput(f"--{name} is about curves over episodes; with --offline there are none. Leave it out.")
    if given["option"]:
        raise InvalidInput(
            "--option is for learning online here. Use fit, or cf.simulate_offline, for offline learners."
        )
    learner = "apvi" if given["learner"] == "ucbvi" else given["learner"]  # the default is for learning online
    unasked = given["epsilon"] is None and given["rho"] is None
    promise = None if unasked else options.guarantee("central", given["epsilon"], given["delta"], given["rho"])
    words = {name: given[name] for name in KEPT}
    if given["bonus_scale"] != 1.0:
        words["bonus_scale"] = given["bonus_scale"]
    if learner in LINEAR:
        _linear(environment, promise, learner, given, words, as_json)
        return
    if learner != "apvi":
        raise InvalidInput(f"Learner {learner!r} learns online. With --offline use apvi, vapvi or pevi.")
    from ..simulation.offline import simulate_offline

    run = simulate_offline(
        environment,
        promise,
        given["episodes"],
        given["seeds"],
        behaviour=given["behaviour"],
        support=not given["no_support"],
        mechanism=given["mechanism"],
        model=given["model"],
        **words,
    )
    if as_json:
        emit(run.as_json())
        return
    rows = []
    # As the papers learn, all of the release chooses, and nothing is left to judge by.
    evaluations = run.evaluations or [None] * len(run.values)
    for index, (value, said) in enumerate(zip(run.values, evaluations, strict=True), 1):
        told, better = "-", "-"
        if said is not None:
            found, gain = said.value, said.gain
            told = f"{found.value:.4g} ({found.low:.4g} to {found.high:.4g})"
            better = f"{gain.value:+.4g} ({gain.low:+.4g} to {gain.high:+.4g}){'' if gain.sure() else ', not sure'}"
        rows.append([str(index), f"{value:.4g}", f"{run.optimal_value - value:.3g}", told, better])
    heads = ["seed", "worth", "below the best", "the release says", "over current practice, it says"]
    table(heads, rows, title=_title(run.environment, run.users, run.practice_value, run.optimal_value))
    click.echo(f"\n{run.certificate}")


def _linear(
    environment: str, promise: Any, learner: str, given: dict[str, Any], words: dict[str, Any], as_json: bool
) -> None:
    from ..simulation.offline_linear import simulate_linear

    run = simulate_linear(
        environment,
        promise,
        given["episodes"],
        given["seeds"],
        learner=learner,
        behaviour=given["behaviour"],
        **words,
    )
    if as_json:
        emit(run.as_json())
        return
    rows = [
        [str(index), f"{value:.4g}", f"{run.optimal_value - value:.3g}"] for index, value in enumerate(run.values, 1)
    ]
    title = _title(run.environment, run.users, run.practice_value, run.optimal_value)
    table(["seed", "worth", "below the best"], rows, title=title)
    click.echo(f"\n{run.certificate}")


def _title(world: str, people: int, practice: float, best: float) -> str:
    return f"{world}, {people:,} logged people; current practice {practice:.4g}, the best {best:.4g}"
