"""A clinic learns from its own records, and no patient can be found in what it learned.

Run it: python examples/clinic.py [folder]. It takes seconds. Patients are simulated here; everything after the first
step is what a real clinic would do with a file of its own.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np

import confide as cf
from confide.lab.environments import clinic
from confide.lab.simulation.offline_log import draw_records
from confide.learning.planning import optimal_value, policy_value

PATIENTS, HORIZON = 5000, 8


def write_records(path: Path, patients: int = PATIENTS, seed: int = 0) -> None:
    """A CSV file of visits: who, which visit, state, treatment, next state."""
    world, usual = clinic.clinic(HORIZON), clinic.practice(HORIZON)
    drawn = draw_records(world, usual, patients, np.random.default_rng(seed), clinic.STATES, clinic.ACTIONS)
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(drawn)
        rows.writerows(zip(*drawn.values(), strict=True))


def main(folder: Path) -> None:
    """Write records, learn, report."""
    folder.mkdir(parents=True, exist_ok=True)
    records, world = folder / "records.csv", clinic.clinic(HORIZON)
    write_records(records)
    data = cf.trajectories.read(
        records,
        labels={"states": clinic.STATES, "actions": clinic.ACTIONS},
        horizon=HORIZON,
        rewards=world.rewards[0],  # the value of each visit is agreed, not measured
        support=world.transitions[0] > 0,  # so is what can happen at all: free, and replaces a lot of data
        fixed_length=True,
    )
    fit = cf.fit(data, privacy=cf.Central(rho=0.1), budget=0.5, out=folder / "policy", replace=True)
    gain = fit.findings["gain"]
    print(f"better than the doctors by {gain['value']:.2f}, surely between {gain['low']:.2f} and {gain['high']:.2f}")
    usual = clinic.practice(HORIZON)
    truth = policy_value(world, fit.table().followed_by(usual.probabilities)) - policy_value(world, usual)
    print(f"in truth by {truth:.2f}")
    print(f"the best policy is worth {optimal_value(world):.2f}, this one {policy_value(world, fit.policy):.2f}")
    print(f"severe, first visit: {fit.act(0, 'severe')}")
    print(f"report: {folder / 'policy' / 'report.html'}")
    print(fit.certificate)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
