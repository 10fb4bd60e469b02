"""`confide demo`: a one-minute tour with real parts and nothing to set up."""

from __future__ import annotations

from pathlib import Path

import click

from ..privacy.guarantee import Central, Joint, Local
from .learner import show_worth
from .output import table

PATIENTS, VISITS = 5000, 8


@click.command("demo")
@click.option(
    "--out", type=click.Path(file_okay=False), default="confide-demo", show_default=True, help="Where results go."
)
def command(out: str) -> None:
    """A one-minute tour: learning online, learning from records, certificates, a report, and an audit."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    _online(folder)
    _records(folder)
    _audit()
    click.echo("\nNext: confide simulate --help, confide fit --help, confide verdicts, confide audit --all.")


def _online(folder: Path) -> None:
    """Simulate four guarantees in one world; show a table, a picture and a certificate."""
    from ..analysis.reporting.figures import regret_figure
    from ..lab.simulation import simulate
    from .output import bar

    click.echo("1. A service learns online from 20,000 simulated users, who swim up a river of 4 places.\n")
    settings = (
        ("no privacy; tight", None, "tight"),
        ("joint, epsilon 1; sound", Joint(1.0, 1e-6), "sound"),
        ("joint, epsilon 1; tight", Joint(1.0, 1e-6), "tight"),
        ("local, epsilon 4; tight", Local(4.0), "tight"),
    )
    runs = []
    with bar(len(settings), "learning") as progress:
        for done, (label, promise, calibration) in enumerate(settings):
            run = simulate("ucbvi", "riverswim/4", promise, 20_000, 3, label=label, horizon=8, calibration=calibration)
            runs.append(run)
            progress(done + 1)
    rows = [
        (run.label, f"{run.summary()['mean']:,.0f}", f"{run.final_value.mean():.3f} of {run.optimal_value:.3f}")
        for run in runs
    ]
    table(["guarantee; calibration", "regret", "value of the last policy"], rows)
    click.echo("sound: a published algorithm, with the noise that its claim needs; tight: confide's own, by default.")
    picture = folder / "regret.png"
    regret_figure([(run.label, run.checkpoints, run.regret) for run in runs], str(picture), title="RiverSwim, 4 places")
    click.echo(f"\nDrawn in {picture}. The certificate of the third run:\n")
    click.echo(str(runs[2].certificate))


def _records(folder: Path) -> None:
    """Simulate a clinic's records and fit them; show the policy's value, its certificate and its report."""
    import numpy as np
    import pyarrow
    from pyarrow import parquet

    from ..analysis.fitting import fit, ledger_of
    from ..data.trajectories import read
    from ..lab.environments import clinic, make
    from ..lab.simulation.offline import known_model
    from ..lab.simulation.offline_log import draw_records
    from ..learning.planning import policy_value

    click.echo(f"\n2. A clinic learns from its own records: {PATIENTS:,} patients, {VISITS} visits each, rho 0.1.\n")
    world, doctors, records = known_model(make("clinic", VISITS)), clinic.practice(VISITS), folder / "records.parquet"
    ledger_of(records).path.unlink(missing_ok=True)  # other patients than last time
    drawn = draw_records(world, doctors, PATIENTS, np.random.default_rng(0), clinic.STATES, clinic.ACTIONS)
    parquet.write_table(pyarrow.table(drawn), records)
    data = read(
        records,
        labels={"states": clinic.STATES, "actions": clinic.ACTIONS},
        horizon=VISITS,
        rewards=world.rewards[0],
        support=world.transitions[0] > 0,
        fixed_length=True,
    )
    result = fit(data, "apvi", Central(rho=0.1), budget=0.5, out=folder / "clinic", replace=True)
    show_worth(result.findings)
    truth = policy_value(world, result.table()) - policy_value(world, doctors)
    click.echo(f"in truth, which only a simulation knows: {truth:+.4g}")
    click.echo(f"severe, first visit: doctors mostly give tablets, the policy says {result.act(0, 'severe')}\n")
    click.echo(str(result.certificate))
    click.echo(f"\nThe report is {folder / 'clinic' / 'report.html'}; open it in a browser.")


def _audit() -> None:
    """Attack one mechanism and show what the attack proves."""
    from ..lab.audit import find
    from ..mechanisms.noise import ReplayableNoise

    finding = find("local", "laplace", ("tight",))[0].audit(
        samples=100_000, noise=ReplayableNoise(0), epsilon=1.0, delta=None
    )
    click.echo("\n3. We attack our own mechanism: a device with Laplace noise at epsilon 1.\n")
    table(
        ["certified epsilon", "what the attack proves", "expected of the best attack", "samples"],
        [(finding.certified_epsilon, finding.lower_bound, finding.ideal_bound, f"{finding.samples:,}")],
    )
