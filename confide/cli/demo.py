"""`confide demo`: a one-minute tour with real parts and nothing to set up."""

from __future__ import annotations

from pathlib import Path

import click

from ..privacy.guarantee import Joint, Local
from .output import table


@click.command("demo")
@click.option(
    "--out", type=click.Path(file_okay=False), default="confide-demo", show_default=True, help="Where pictures go."
)
def command(out: str) -> None:
    """A one-minute tour: learning online under joint and local privacy, the certificate, and an audit."""
    from ..reporting.figures import regret_figure
    from ..simulation import simulate
    from .progress import bar

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    click.echo("1. A service learns online. 20,000 people swim a river of 4 places; the server hides each of them.\n")
    shown = (
        ("no privacy, ours", None, "tight"),
        ("joint, epsilon 1, as the papers do it, made true", Joint(1.0, 1e-6), "sound"),
        ("joint, epsilon 1, ours", Joint(1.0, 1e-6), "tight"),
        ("local, epsilon 4, ours", Local(4.0), "tight"),
    )
    runs = []
    with bar(len(shown), "learning") as progress:
        for done, (label, promise, calibration) in enumerate(shown):
            run = simulate("ucbvi", "riverswim/4", promise, 20_000, 3, label=label, horizon=8, calibration=calibration)
            runs.append(run)
            progress(done + 1)
    rows = [
        (run.label, f"{run.summary()['mean']:,.0f}", f"{run.final_value.mean():.3f} of {run.optimal_value:.3f}")
        for run in runs
    ]
    table(["promise", "regret", "value of the last policy"], rows)
    picture = folder / "regret.png"
    regret_figure([(run.label, run.checkpoints, run.regret) for run in runs], str(picture), title="RiverSwim, 4 places")
    click.echo(f"\nDrawn in {picture}.\n")
    click.echo("2. What was promised to every one of them, in the third run:\n")
    click.echo(str(runs[2].certificate))
    _audit()
    click.echo("\nNext: confide simulate --help, confide verdicts, confide audit --all.")


def _audit() -> None:
    """Attack one mechanism and say what came out."""
    from ..audit import find
    from ..mechanisms.noise import ReplayableNoise

    finding = find("local", "laplace", ("tight",))[0].audit(
        samples=100_000, noise=ReplayableNoise(0), epsilon=1.0, delta=None
    )
    click.echo("\n3. We attack our own mechanism: a device with Laplace noise at epsilon 1.\n")
    table(
        ["certified epsilon", "what the attack proves", "at best it could", "samples"],
        [(finding.certified_epsilon, finding.lower_bound, finding.ideal_bound, f"{finding.samples:,}")],
    )
