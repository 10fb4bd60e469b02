"""`confide audit`: attack mechanisms, and compare what leaks with what is certified.

Runs the rows of an audit, in this process or in several, and divides the time among them, if it is short.

A row has an equal part of the time that is left when it begins, so what one leaves over goes to all that follow.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..lab.audit.pacing import BARELY, Pace, clock
from ..loading import worker_setup
from ..privacy.guarantee import rounded_down, rounded_up
from .options import Count
from .output import bar, emit, note, table

if TYPE_CHECKING:
    from ..lab.audit import AuditEntry, Finding


class AuditJob(NamedTuple):
    """One row: an entry of the catalogue with its number, which tells its stream of noise from others', and how it is attacked.

    seed: of replayable noise; None draws what devices and servers really draw. `promise`: `epsilon`, `delta` and `confidence`.
    """

    number: int
    entry: AuditEntry
    samples: int
    seed: int | None
    promise: dict[str, Any]


def run_job(job: AuditJob, seconds: float | None) -> Finding:
    """Run one audit, in whichever process."""
    from numpy.random import SeedSequence

    from ..mechanisms.noise import ReplayableNoise

    noise = None if job.seed is None else ReplayableNoise(SeedSequence(job.seed, spawn_key=(job.number,)))
    return job.entry.audit(samples=job.samples, noise=noise, seconds=seconds, **job.promise)


def share(left: float, busy: Sequence[float], waiting: int) -> float:
    """The seconds of the next row: an equal part, for each row that waits, of the time that is left.

    left: until the end. busy: how long each of the other workers will be.
    """
    together = left + sum(max(0.0, left - other) for other in busy)
    return max(BARELY, min(left, together / waiting))


def findings(jobs: Sequence[AuditJob], workers: int, seconds: float | None) -> Iterator[tuple[int, Finding]]:
    """The number and the finding of every job, as they end. seconds: for all of them; None is as long as they take."""
    pace = Pace.of(seconds)
    if workers == 1:
        for done, job in enumerate(jobs):
            yield job.number, run_job(job, share(pace.left(), (), len(jobs) - done) if pace.timed else None)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), **worker_setup()) as pool:
        waiting = list(jobs)
        running: dict[Future[Finding], tuple[int, float]] = {}
        while waiting or running:
            while waiting and len(running) < workers:
                busy = [max(0.0, ends - clock()) for _, ends in running.values()]
                busy += [0.0] * (workers - 1 - len(running))
                given = share(pace.left(), busy, len(waiting)) if pace.timed else None
                job = waiting.pop(0)
                running[pool.submit(run_job, job, given)] = job.number, clock() + (given or 0.0)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future)[0], future.result()


CLAIMS = ("shuffled-history", "visible-report")
# How many times the usual samples.
DEEP = 20
MINUTES = 60.0
"""How long a deep audit takes, at most."""
# From this many audits on they are shared among processes, of which there are no more than that.
MANY_JOBS, MOST_WORKERS = 12, 8


@click.command("audit")
@click.option("--trust", help="local, shuffle, joint or central.")
@click.option("--mechanism", help="Such as laplace, k-ary or toeplitz; with --trust alone, each that it knows.")
@click.option("--calibration", help="none (the mechanism alone), tight, sound or paper.  [default: none and tight]")
@click.option("--all", "everything", is_flag=True, help="Every calibration of whatever is not narrowed down.")
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="The guarantee to calibrate to.")
@click.option("--delta", type=float, help="0 is pure epsilon.  [default: 0, or 0.01 where a mechanism needs one]")
@click.option("--samples", type=Count(), help="Outputs of each of the two worlds.  [default: 1e5]")
@click.option("--deep", is_flag=True, help="Twenty times as many, as far as --minutes go.")
@click.option("--minutes", type=float, help=f"How long --deep may take in all.  [default: {MINUTES:g}]")
@click.option("--confidence", type=float, default=0.999, show_default=True, help="That a lower bound is true.")
@click.option("--seed", type=Count(), help="Draw replayable noise of this seed, not what devices and servers draw.")
@click.option("--claim", type=click.Choice(CLAIMS), help="Attack a claim about shuffling that is false.")
@click.option("--workers", type=Count(), help="Processes; by default one a processor where there is much to audit.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the page of the documentation.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool, as_markdown: bool, claim: str | None, **arguments: Any) -> int:
    """Attack a mechanism, or a whole privatizer, and compare what leaks with what is certified.

    Exits with 1 if a lower bound exceeds what is certified.
    """
    if as_markdown and as_json:
        raise click.UsageError("Choose --markdown or --json, not both.")
    started, used = time.perf_counter(), sum(os.times()[:4])
    found, skipped, workers = (
        _audited(**arguments) if claim is None else (_refuted(claim, arguments["seed"] or 0), {}, 1)
    )
    seconds = time.perf_counter() - started
    if as_json:
        about = {"false_alarm": false_alarm(found), "seed": arguments["seed"], "workers": workers, "seconds": seconds}
        about["processor_seconds"] = sum(os.times()[:4]) - used
        emit({"rows": [finding.as_json() for finding in found], "skipped": skipped, **about})
    elif as_markdown:
        click.echo(_page(found, seconds), nl=False)
    else:
        _show(found, arguments["epsilon"], arguments["seed"])
    for reason in dict.fromkeys(skipped.values()):
        names = [name for name, why in skipped.items() if why == reason]
        note(f"Not audited: {', '.join(names)}. {reason}")
    return 0 if all(finding.ok for finding in found) else 1


def _audited(
    trust: str | None,
    mechanism: str | None,
    calibration: str | None,
    everything: bool,
    samples: int | None,
    deep: bool,
    minutes: float | None,
    seed: int | None,
    workers: int | None,
    **promise: Any,
) -> tuple[list[Finding], dict[str, str], int]:
    """What was found; the names of rows that were skipped, with the reason; and how many processes there were."""
    from .. import validation
    from ..errors import InvalidInput
    from ..lab.audit import find

    if trust is None and mechanism is None and not everything:
        raise InvalidInput(
            "audit-too-much", "There is too much to audit at once. Give --mechanism or --trust, or ask for --all."
        )
    if minutes is not None and not deep:
        raise InvalidInput(
            "audit-minutes-without-deep", "--minutes is how long --deep may take. Add --deep, or leave it out."
        )
    seconds = 60 * validation.positive("minutes", MINUTES if minutes is None else minutes) if deep else None
    calibrations = ("none", "tight") if calibration is None else (calibration,)
    matching = find(trust, mechanism, () if everything and calibration is None else calibrations)
    skipped = {entry.name: why for entry in matching if (why := entry.missing(seed))}
    chosen = [entry for entry in matching if entry.name not in skipped]
    sizes = [entry.usual_samples * (DEEP if deep else 1) if samples is None else samples for entry in chosen]
    jobs = [AuditJob(at, entry, sizes[at], seed, promise) for at, entry in enumerate(chosen)]
    if workers is None:
        workers = min(os.cpu_count() or 1, MOST_WORKERS) if len(jobs) >= MANY_JOBS else 1
    validation.integer("workers", workers, 1)
    found: dict[int, Finding] = {}
    with bar(len(chosen), "audit") as progress:
        for number, finding in findings(jobs, workers, seconds):
            found[number] = finding
            progress(len(found))
            if deep:  # an hour is long to wait for the first word
                note(_in_a_line(finding))
    return [found[number] for number in sorted(found)], skipped, workers


def false_alarm(found: list[Finding]) -> float:
    """How likely it is, at most, that any of these bounds is too large: each may be with 1 - confidence."""
    return min(1.0, sum(1 - finding.confidence for finding in found))


def _refuted(claim: str, seed: int) -> list[Finding]:
    from ..lab.audit.shuffle_attacks import shuffled_history, visible_reports

    return [(shuffled_history if claim == "shuffled-history" else visible_reports)(seed=seed).finding()]


def _confidence(found: list[Finding]) -> str:
    """How sure one may be of each bound, and of all at once."""
    each = f"Each is true with confidence {found[0].confidence:g}"
    if len(found) == 1:
        return each
    return f"{each}; that any of the {len(found)} is not has a probability of {false_alarm(found):.2g} at most"


def _page(findings: list[Finding], seconds: float) -> str:
    """The page of the documentation: what is certified, what was proved, and what an ideal attack would have proved."""
    lines = [
        "# What the audit found",
        "",
        "Written by `confide audit --all --markdown`: what is certified, and what an attack proves. *Ideal* is what one",
        "would prove with as many samples that knew the best event; the page on audits says what each of these means.",
        f"{len(findings)} audits took {seconds:.0f} s. {sum(finding.ok for finding in findings)} of the bounds stay within what is "
        f"certified. {_confidence(findings)}.",
        "",
        "| what | calibration | certified | delta | at least | ideal | samples | whole runs | drawn by | it rests on |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for finding in findings:
        certified, proved = rounded_up(finding.certified_epsilon, 3), rounded_down(finding.lower_bound, 3)
        figures = f"{certified} | {finding.delta:g} | {proved} | {finding.ideal_bound:.3g}"
        runs = f"{finding.samples:,} | {finding.whole_runs:,} | {finding.drawn_by}"
        lines.append(f"| `{finding.name}` | {finding.calibration} | {figures} | {runs} | {finding.event} |")
    return "\n".join(lines) + "\n"


def _in_a_line(finding: Finding) -> str:
    certified = f"certified {rounded_up(finding.certified_epsilon, 3)} at delta {finding.delta:g}"
    proved = f"at least {rounded_down(finding.lower_bound, 3)}, ideal {finding.ideal_bound:.3g}"
    return f"{finding.name} ({finding.calibration}): {certified}, {proved}, {finding.samples:,} samples, {finding.seconds:.0f} s"


def _show(findings: list[Finding], epsilon: float, seed: int | None) -> None:
    heads = ("name", "calibration", "certified", "delta", "at least", "ideal", "samples", "drawn by", "seconds", "ok")
    rows = [
        (
            finding.name,
            finding.calibration,
            finding.certified_epsilon,
            finding.delta,
            finding.lower_bound,
            finding.ideal_bound,
            f"{finding.samples:,}",
            finding.drawn_by,
            f"{finding.seconds:.1f}",
            finding.ok,
        )
        for finding in findings
    ]
    replayed = (
        "" if seed is None else f". Noise was replayed from seed {seed}, and is not what devices and servers draw"
    )
    table(heads, rows, title=f"Lower bounds on epsilon. {_confidence(findings)}{replayed}")
    for finding in findings:
        if not finding.ok:
            note(f"{finding.name} gives away more than is certified. Its {finding.event} tells.")
        elif finding.lower_bound > epsilon:
            note(f"{finding.name}, as printed, claims {epsilon:g} and truly gives {finding.certified_epsilon:g}.")
