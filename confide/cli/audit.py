"""`confide audit`: attack mechanisms, and compare what leaks with what is certified."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ..loading import worker_setup
from .options import Count
from .output import emit, note, table
from .progress import bar

if TYPE_CHECKING:
    from ..audit import AuditEntry, Finding

CLAIMS = ("shuffled-history", "visible-report")
# How many times the usual samples.
DEEP, SECURE = 20, 0.1
# From so many audits on they are shared among processes, of which there are no more than that.
MANY_JOBS, MOST_WORKERS = 12, 8


@click.command()
@click.option("--trust", help="local, shuffle, joint or central.")
@click.option("--mechanism", help="Such as laplace, k-ary or toeplitz; with --trust alone, each that it knows.")
@click.option("--calibration", help="none (the mechanism alone), tight, sound or paper.  [default: none and tight]")
@click.option("--all", "everything", is_flag=True, help="Every calibration of whatever is not narrowed down.")
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="The promise to calibrate to.")
@click.option("--delta", type=float, help="0 is pure epsilon.  [default: 0, or 0.01 where a mechanism needs one]")
@click.option("--samples", type=Count(), help="Outputs of each of the two worlds.  [default: 1e5]")
@click.option("--deep", is_flag=True, help="Twenty times as many: about an hour for everything.")
@click.option("--confidence", type=float, default=0.999, show_default=True, help="That a lower bound is true.")
@click.option("--secure", is_flag=True, help="Draw secure noise, a tenth of the samples; else replayable noise.")
@click.option("--seed", type=Count(), help="Of replayable noise.  [default: 0]")
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
    started = time.perf_counter()
    findings = _audited(**arguments) if claim is None else [_refuted(claim, arguments["seed"] or 0)]
    if as_json:
        emit({"rows": [finding.as_json() for finding in findings]})
    elif as_markdown:
        click.echo(_page(findings, time.perf_counter() - started), nl=False)
    else:
        _show(findings, arguments["epsilon"])
    return 0 if all(finding.ok for finding in findings) else 1


def _audited(
    trust: str | None,
    mechanism: str | None,
    calibration: str | None,
    everything: bool,
    samples: int | None,
    deep: bool,
    secure: bool,
    seed: int | None,
    workers: int | None,
    **promise: Any,
) -> list[Finding]:
    from ..audit import find
    from ..errors import InvalidInput

    if trust is None and mechanism is None and not everything:
        raise InvalidInput("There is too much to audit at once. Give --mechanism or --trust, or ask for --all.")
    if secure and seed is not None:
        raise InvalidInput("Secure noise takes no seed, by design. Leave out --seed, or --secure.")
    calibrations = ("none", "tight") if calibration is None else (calibration,)
    chosen: list[AuditEntry] = find(trust, mechanism, () if everything and calibration is None else calibrations)
    times = (DEEP if deep else 1) * (SECURE if secure else 1)
    jobs = [(entry, number, samples, times, secure, seed or 0, promise) for number, entry in enumerate(chosen)]
    if workers is None:
        workers = min(os.cpu_count() or 1, MOST_WORKERS) if len(jobs) >= MANY_JOBS else 1
    findings: list[Finding] = []
    with bar(len(chosen), "audit") as progress, _pool(workers) as run:
        for finding in run(_run_job, jobs):
            findings.append(finding)
            progress(len(findings))
            if deep:  # an hour is long to wait for the first word
                note(_in_a_line(finding))
    return findings


Job = tuple["AuditEntry", int, int | None, float, bool, int, dict[str, Any]]


def _run_job(job: Job) -> Finding:
    """Run one audit, in whichever process: each has a stream of noise of its own."""
    from numpy.random import SeedSequence

    from ..mechanisms.noise import ReplayableNoise, SecureNoise

    entry, number, samples, times, secure, seed, promise = job
    noise = SecureNoise() if secure else ReplayableNoise(SeedSequence(seed, spawn_key=(number,)))
    return entry.audit(samples=samples, times=times, noise=noise, **promise)


@contextmanager
def _pool(workers: int) -> Iterator[Callable[[Callable[[Job], Finding], list[Job]], Iterable[Finding]]]:
    """A `map` in this process, or in several, which run the same users' files."""
    if workers == 1:
        yield map
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, get_context("spawn"), **worker_setup()) as pool:
        yield pool.map


def _refuted(claim: str, seed: int) -> Finding:
    from ..audit.shuffle_attacks import shuffled_history, visible_reports

    return (shuffled_history if claim == "shuffled-history" else visible_reports)(seed=seed).finding()


def _page(findings: list[Finding], seconds: float) -> str:
    """The page of the documentation: what is certified, what was proved, and what an ideal attack would have proved."""
    lines = [
        "# What the audit found",
        "",
        "Written by `confide audit --all --markdown`: what is certified, and what an attack proves. *Ideal* is what one",
        "would prove with as many samples that knew the best event; [audit.md](audit.md) says what each of these means.",
        f"{len(findings)} audits took {seconds:.0f} s. {sum(finding.ok for finding in findings)} of the bounds stay within what is "
        f"certified; each is true with confidence {findings[0].confidence:g}.",
        "",
        "| what | calibration | certified | delta | at least | ideal | samples | whole runs | it rests on |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for finding in findings:
        figures = f"{finding.certified_epsilon:.3f} | {finding.delta:g} | {finding.lower_bound:.3f} | {finding.ideal_bound:.3f}"
        runs = f"{finding.samples:,} | {finding.whole_runs:,}"
        lines.append(f"| `{finding.name}` | {finding.calibration} | {figures} | {runs} | {finding.event} |")
    return "\n".join(lines) + "\n"


def _in_a_line(finding: Finding) -> str:
    certified = f"certified {finding.certified_epsilon:.3f} at delta {finding.delta:g}"
    proved = f"at least {finding.lower_bound:.3f}, ideal {finding.ideal_bound:.3f}"
    return f"{finding.name} ({finding.calibration}): {certified}, {proved}, {finding.samples:,} samples, {finding.seconds:.0f} s"


def _show(findings: list[Finding], epsilon: float) -> None:
    heads = ("name", "trust", "calibration", "certified", "delta", "at least", "ideal", "samples", "seconds", "ok")
    rows = [
        (
            finding.name,
            finding.trust,
            finding.calibration,
            finding.certified_epsilon,
            finding.delta,
            finding.lower_bound,
            finding.ideal_bound,
            f"{finding.samples:,}",
            f"{finding.seconds:.1f}",
            finding.ok,
        )
        for finding in findings
    ]
    confidence = findings[0].confidence
    table(heads, rows, title=f"Lower bounds on epsilon, each true with confidence {confidence:g}")
    for finding in findings:
        if not finding.ok:
            note(f"{finding.name} gives away more than is certified. Its {finding.event} tells.")
        elif finding.lower_bound > epsilon:
            note(f"{finding.name}, as printed, promises {epsilon:g} and truly gives {finding.certified_epsilon:g}.")
