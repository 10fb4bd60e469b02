"""What fits with described features gain: `python -m tools.feature_fits`, in the world of six covariates; --write, --kept FILE.

Every fit has a log of its own of `lab.environments.vitals`, with logged chances, and goes through `confide.fit` with its defaults,
whose noise is the operating system's: another run differs within the errors stated. Beside it learns fitted Q iteration from the
same log without privacy and from all its users: a regression of reward and next value on the same features, step by step. Gains are
differences of values of 200,000 simulated patients, with a standard error of about 0.006. *Covered*: whether the interval of the
adoption holds its true gain.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import confide as cf
from confide.lab.environments import vitals
from confide.mdp.described import DescribedFeatures
from confide.mdp.feature_policy import FeaturePolicy
from tools.coverage_document import written

PATIENTS, FIRST = 20_000, 300
RHOS = (0.1, 0.5, 1.0, 2.0)
TERMS = "squares"
DOCUMENT = Path(__file__).parents[1] / "docs" / "research" / "fits-with-features.md"


def described(terms: str = TERMS) -> DescribedFeatures:
    """Features of the six covariates."""
    inputs = [each.plain() for each in vitals.INPUTS]
    return DescribedFeatures.declared({"inputs": inputs, "actions": list(vitals.ACTIONS), "terms": terms})


def fitted_q(columns: dict[str, Any], terms: str) -> FeaturePolicy:
    """Fitted Q iteration without privacy: least squares, action by action and backwards."""
    features, horizon = described(terms), vitals.HORIZON
    x = features.all_x(np.column_stack([columns[each.name] for each in vitals.INPUTS]))[:, 0]
    step, taken = np.asarray(columns["step"]), np.searchsorted(sorted(vitals.ACTIONS), columns["treatment"])
    action = np.array([vitals.ACTIONS.index(name) for name in sorted(vitals.ACTIONS)])[taken]
    follows = np.append(step[1:] > step[:-1], False)
    weights, values = np.zeros((horizon, features.actions, features.dimension)), np.zeros(len(step) + 1)
    for h in reversed(range(horizon)):
        target = columns["stable"] + np.where(follows, values[1:], 0.0)
        for a in range(features.actions):
            mine = (step == h) & (action == a)
            weights[h, a] = np.linalg.lstsq(x[mine], target[mine], rcond=None)[0]
        here = np.flatnonzero(step == h)
        values[here] = np.clip((x[here] @ weights[h].T).max(axis=1), 0, horizon - h)
    return FeaturePolicy(features, weights)


def one_fit(rho: float, again: int) -> dict[str, Any]:
    """One fit, and what is true of it."""
    columns, usual = vitals.log(PATIENTS, FIRST + again), vitals.value()
    data = cf.trajectories.read(
        columns,
        horizon=vitals.HORIZON,
        features=described(),
        columns={"user": "patient", "action": "treatment", "reward": "stable"},
        propensity="chance",
        propensity_floor=vitals.CHANCE / len(vitals.ACTIONS),
    )
    with tempfile.TemporaryDirectory() as folder:
        fit = cf.fit(data, privacy=cf.Central(rho=rho), ledger=Path(folder) / "ledger.json", budget=100.0)
    judged: Any = fit.findings.get("judged")
    policy: Any = fit.policy
    adopted = vitals.value(policy, share=judged["alpha"]) - usual if judged else math.nan
    plain = {terms: vitals.value(fitted_q(columns, terms)) - usual for terms in ("linear", TERMS)}
    return {
        "gain": vitals.value(policy) - usual,
        "plain": plain,
        "alpha": judged["alpha"] if judged else 0.0,
        "sure": bool(judged and judged["sure"]),
        "width": judged["high"] - judged["low"] if judged else math.nan,
        "adopted": adopted,
        "covered": bool(judged and judged["low"] <= adopted <= judged["high"]),
    }


def document_row(rho: float, fits: Sequence[dict[str, Any]]) -> list[str]:
    """A row of the table; shares are of mean gains."""

    def mean(numbers: Sequence[float]) -> str:
        error = np.std(numbers, ddof=1) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan
        return f"{np.mean(numbers):.3f} ({error:.3f})"

    plain = [np.mean([one["plain"][terms] for one in fits]) for terms in ("linear", TERMS)]
    gains = [one["gain"] for one in fits]
    shares = [f"{np.mean(gains) / each:.2f}" for each in plain]
    counts = [str(sum(one[name] for one in fits)) for name in ("sure", "covered")]
    alphas = f"{np.mean([one['alpha'] for one in fits]):.2f}"
    return [
        f"{rho:g}",
        f"{PATIENTS:,}",
        str(len(fits)),
        mean(gains),
        *shares,
        alphas,
        mean([one["adopted"] for one in fits]),
        *counts,
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Fits of every rho in turn."""
    reader = argparse.ArgumentParser(prog="python -m tools.feature_fits", description="What fits with features gain.")
    reader.add_argument("--fits", type=int, default=10, help="of each rho")
    reader.add_argument("--rho", type=float, action="append", help="only these")
    reader.add_argument("--kept", type=Path, help="a file of fits, with which a run goes on")
    reader.add_argument("--minutes", type=float, default=math.inf, help="no fit begins after that")
    reader.add_argument("--write", action="store_true", help="put the rows into the table of the document")
    options = reader.parse_args(arguments)
    found: dict[tuple[float, int], dict[str, Any]] = {}
    if options.kept is not None and options.kept.is_file():
        for line in options.kept.read_text(encoding="utf-8").splitlines():
            rho, again, one = json.loads(line)
            found[rho, again] = one
    ends, rhos = time.monotonic() + 60 * options.minutes, options.rho or RHOS
    for again in range(options.fits):
        for rho in rhos:
            if (rho, again) not in found and time.monotonic() < ends:
                found[rho, again] = one_fit(rho, again)
                if options.kept is not None:
                    with open(options.kept, "a", encoding="utf-8") as file:
                        file.write(json.dumps([rho, again, found[rho, again]]) + "\n")
    table = [document_row(rho, fits) for rho in rhos if (fits := [one for (r, _), one in found.items() if r == rho])]
    print("\n".join(" | ".join(row) for row in table))
    if options.write:
        written(table, DOCUMENT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
