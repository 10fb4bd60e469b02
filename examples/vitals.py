"""Six covariates, from the log to the report: what can be said of treating sepsis otherwise, by a table of cut covariates.

Run it: python examples/vitals.py [patients] [folder]. Patients are drawn in `confide.lab.environments.vitals`, where what to do
depends on all six covariates; cut at public edges they are 96 states, which do not hold all that matters. So the probabilities with
which treatments were chosen are logged, and three in ten patients judge. At the end the policy is held against the truth.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

sys.path.insert(0, str(Path(__file__).parents[1]))

import confide as cf
from confide.lab.environments import vitals

EDGES = {
    "pressure": [65, 75],
    "lactate": [4],
    "creatinine": [2.5],
    "oxygen": [92],
    "heart_rate": [105],
    "age": [60],
}
"""Where covariates are cut: three bins of the pressure, two of each other."""

FLOOR = vitals.CHANCE / len(vitals.ACTIONS)


def log_of(patients: int) -> pa.Table:
    """A row for every step that a patient lived, with the ward's public age groups."""
    columns = vitals.log(patients, seed=3)
    return pa.table({**columns, "older": np.where(columns["age"] >= 60, "60 and over", "under 60")})


def read(place: Path) -> cf.trajectories.Dataset:
    """The log, with all that is public about it."""
    return cf.trajectories.read(
        place,
        columns={"user": "patient", "action": "treatment", "reward": "stable"},
        labels={"actions": list(vitals.ACTIONS)},
        edges={"states": EDGES},
        horizon=vitals.HORIZON,
        groups={"older": ["under 60", "60 and over"]},
        propensity="chance",
        propensity_floor=FLOOR,
    )


def value(data: cf.trajectories.Dataset, fit: cf.Fit, patients: int = 200_000) -> float:
    """How many steps patients are stable if the policy is followed as it is meant: by the bins of what a chart shows, and with
    current practice where no change is recommended."""
    rng, table, names = np.random.default_rng(7), fit.table(), [each.name for each in vitals.INPUTS]
    here, alive, paid = vitals.start(patients, rng), np.ones(patients, dtype=np.bool_), np.zeros(patients)
    for step in range(vitals.HORIZON):
        charted = np.round(here, 1)
        state = data.states.encode([pa.array(charted[:, names.index(name)]) for name in EDGES])
        chances = table.probabilities[step, state]
        if table.unchanged is not None:
            chances = np.where(table.unchanged[step, state][:, None], vitals.practice(here), chances)
        drawn = rng.random((patients, 1)) > np.cumsum(chances, axis=1)
        action = np.minimum(drawn.sum(axis=1), len(vitals.ACTIONS) - 1)
        paid += alive * (rng.random(patients) < vitals.stable(here, action))
        here, died = vitals.move(here, action, rng)
        alive &= ~died
    return float(paid.mean())


def main(patients: int, folder: Path) -> None:
    """Write the log, fit, say what the first screen says, and compare with the truth."""
    folder.mkdir(parents=True, exist_ok=True)
    csv.write_csv(log_of(patients), folder / "vitals.csv")
    data = read(folder / "vitals.csv")
    fit = cf.fit(data, privacy=cf.Central(rho=1.0), budget=2.0, out=folder / "policy", replace=True)
    found = fit.findings
    gain, judged = found["gain"], found["judged"]
    assert gain is not None and judged is not None
    part = f"in part: follow it in {10 * judged['alpha']:g} of 10 decisions, log that, and fit again"
    print(f"better? {'yes' if found['recommended'] else part if judged['sure'] else 'no change recommended'}")
    print(
        f"by how much, if bins hold all that matters: {gain['value']:+.2f} ({gain['low']:+.2f} to {gain['high']:+.2f})"
    )
    print(
        f"whatever they leave out, in {10 * judged['alpha']:g} of 10 decisions: {judged['gain']:+.2f} "
        f"({judged['low']:+.2f} to {judged['high']:+.2f})"
    )
    print(f"alarms: {', '.join(found['alarms'] or []) or 'none'}")
    for group in found["groups"] or []:
        print(f"{group['group']}: {group['verdict']}")
    usual, learned = vitals.value(), value(data, fit)
    print(f"in truth: {usual:.2f} steps under practice, {learned:.2f} under the policy, {learned - usual:+.2f}")
    print(f"report: {folder / 'policy' / 'report.html'}")


if __name__ == "__main__":
    many = int(float(sys.argv[1])) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as temporary:
        main(many, Path(sys.argv[2] if len(sys.argv) > 2 else temporary))
