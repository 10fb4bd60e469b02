"""Learning to treat sepsis from clinicians' records, without any patient's record being visible in the policy.

Run it: python examples/icu_sepsis.py [patients ...], with numbers such as 1e5 1e6. It needs `pip install confide[icu]`.
Patients are simulated in the ICU-Sepsis world (716 states, 25 doses, 20 steps), where they follow the clinicians'
policy; what is learned is evaluated exactly. Which transitions are possible is public knowledge here.
"""

from __future__ import annotations

import sys

import confide as cf
from confide.lab.simulation import simulate_offline

PROMISE = cf.Central(rho=0.5)


def main(patients: list[float]) -> None:
    """One line for each number of patients."""
    print("patients   worth   the clinicians   the best   what the private release says of the gain")
    for many in patients:
        run = simulate_offline("icu-sepsis", PROMISE, many, 1)
        gain = run.gains[0]
        told = f"{gain.value:+.3f}, between {gain.low:+.3f} and {gain.high:+.3f}"
        print(
            f"{many:8.0e}   {run.values[0]:.3f}   {run.practice_value:.3f}            {run.optimal_value:.3f}      {told}"
        )
    print(run.certificate)


if __name__ == "__main__":
    main([float(word) for word in sys.argv[1:]] or [1e5, 1e6])
