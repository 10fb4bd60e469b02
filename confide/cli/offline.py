"""`confide simulate --offline`: learning from simulated logs, beside what is exactly true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from . import options
from .learner import own_options
from .output import emit, plain_number, table, working

if TYPE_CHECKING:
    from ..lab.simulation.offline import OfflineEvaluation, OfflineRun
    from ..learning.planning.estimates import Estimate

LINEAR = ("vapvi", "pevi")
SHARED = ("calibration", "horizon", "seed")
COUNTED = ("no_support", "mechanism", "model", "return_range", "visits", "judge")
"""Options for learning from counts."""
USEFUL = (
    *(
        "environment",
        "learner",
        "trust",
        "epsilon",
        "delta",
        "rho",
        "episodes",
        "seeds",
        "bonus_scale",
        "behaviour",
        "offline",
    ),
    *("option", "as_json", *SHARED),
)
"""Options that say something with --offline."""
RESERVED = (*USEFUL, *COUNTED, "privacy", "support", "known_rewards", "knowledge", "features")
"""Names that `--option` cannot set."""


def simulate(environment: str, arguments: dict[str, Any], given: Sequence[str], as_json: bool) -> None:
    """Log people who follow a behaviour policy, release once, learn, and compute the value of the policy. given: the names of
    what stands on the command line; what has no effect here is refused.
    """
    learner = arguments["learner"] if "learner" in given else "apvi"  # the default is for learning online
    if learner not in ("apvi", *LINEAR):
        raise InvalidInput(
            "offline-learner-online", f"Learner {learner!r} learns online. With --offline use apvi, vapvi or pevi."
        )
    _refuse_useless(learner, given)
    unasked = arguments["epsilon"] is None and arguments["rho"] is None
    trust = arguments["trust"] if "trust" in given else "central"
    promise = None if unasked else options.guarantee(trust, arguments["epsilon"], arguments["delta"], arguments["rho"])
    choices = {**own_options(arguments["option"], RESERVED), **{name: arguments[name] for name in SHARED}}
    if arguments["bonus_scale"] != 1.0:
        choices["bonus_scale"] = arguments["bonus_scale"]
    if learner in LINEAR:
        choices["learner"] = learner
    else:
        choices |= {
            "support": not arguments["no_support"],
            "mechanism": arguments["mechanism"],
            "visits": arguments["visits"] or "auto",
            "return_range": arguments["return_range"],
            "model": arguments["model"],
            "judge": arguments["judge"] or "auto",
        }
    people, seeds, behaviour = (arguments[name] for name in ("episodes", "seeds", "behaviour"))
    with working("learning from simulated logs"):
        run = _simulation(learner)(environment, promise, people, seeds, behaviour=behaviour, **choices)
    if as_json:
        emit(run.as_json())
        return
    heads, rows = ["seed", "value", "below the best"], [_measured(value, run.optimal_value) for value in run.values]
    if learner not in LINEAR:
        heads += ["the release says", "over current practice, it says"]
        # As the papers learn, all of the release chooses, and nothing is left to judge by.
        evaluations = run.evaluations or [None] * len(run.values)
        rows = [[*row, *_judged(evaluation)] for row, evaluation in zip(rows, evaluations, strict=True)]
        if any(evaluation is not None and evaluation.judged is not None for evaluation in evaluations):
            heads.append("those who judge say")
            rows = [[*row, _said(evaluation)] for row, evaluation in zip(rows, evaluations, strict=True)]
    title = _title(run.environment, run.users, run.practice_value, run.optimal_value)
    table(heads, [[str(index), *row] for index, row in enumerate(rows, 1)], title=title)
    click.echo(f"\n{run.certificate}")


def _refuse_useless(learner: str, given: Sequence[str]) -> None:
    """Refuse options that would change nothing."""
    useless = [name for name in given if name not in (*USEFUL, *(() if learner in LINEAR else COUNTED))]
    if useless:
        word = useless[0].replace("_", "-")
        reason = "has no effect with" if learner not in LINEAR else f"has no effect for {learner} with"
        raise InvalidInput(
            "offline-flag", f"--{word} {reason} --offline: people are logged once, under central privacy. Leave it out."
        )


def _simulation(learner: str) -> Callable[..., OfflineRun]:
    """What simulates a learner: by features, or by counts."""
    if learner in LINEAR:
        from ..lab.simulation.offline_linear import simulate_linear

        return simulate_linear
    from ..lab.simulation.offline import simulate_offline

    return simulate_offline


def _measured(value: float, best: float) -> list[str]:
    """The value of a policy, and by how much that is less than the best."""
    return [plain_number(value, digits=4), plain_number(best - value)]


def _judged(evaluation: OfflineEvaluation | None) -> list[str]:
    """The value that the release gives a policy, and by how much that is more than current practice."""
    if evaluation is None:
        return ["-", "-"]
    gain = evaluation.gain
    return [_interval(evaluation.value), f"{_interval(gain, sign=True)}{'' if gain.sure() else ', not sure'}"]


def _said(evaluation: OfflineEvaluation | None) -> str:
    """What those who judge say of an adoption of the policy, with the names of alarms."""
    said: Any = None if evaluation is None else evaluation.judged
    if said is None or said["judged"] is None:
        return "-"
    judged = said["judged"]
    gain, low, high = (plain_number(judged[name], True, 3) for name in ("gain", "low", "high"))
    alarms = f", ALARM: {', '.join(said['alarms'])}" if said["alarms"] else ""
    return f"{10 * judged['alpha']:g} of 10: {gain} ({low} to {high}){'' if judged['sure'] else ', not sure'}{alarms}"


def _interval(estimate: Estimate, sign: bool = False) -> str:
    value, low, high = (plain_number(number, sign, 4) for number in (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} to {high})"


def _title(world: str, people: int, practice: float, best: float) -> str:
    usual, most = plain_number(practice, digits=4), plain_number(best, digits=4)
    return f"{world}, {people:,} logged people; current practice {usual}, the best {most}"
