"""Mutants of what is said over seeds, of what is kept of an interrupted run, and of what a run records."""

from __future__ import annotations

from .planted import Mutant

INTERVALS, KEPT, STOPPED = (
    "tests/analysis/reporting/test_intervals.py",
    "tests/lab/simulation/test_record.py",
    "tests/cli/test_interrupted.py",
)

UNSEEN = "it changes what is said of simulations, and nothing that is released"

MUTANTS = (
    Mutant(
        "an interval over seeds has the quantile of a normal law",
        "analysis/reporting/intervals.py",
        "    return float(stdtrit(freedom, level))\n",
        "    return float(stdtrit(1e9, level))\n",
        (INTERVALS,),
        unseen=UNSEEN,
    ),
    Mutant(
        "seeds that happen to be equal have an interval without width",
        "analysis/reporting/intervals.py",
        "prior * PRIOR_DEVIATION**2 + (len(rows)",
        "0 * PRIOR_DEVIATION**2 + (len(rows)",
        (INTERVALS,),
        unseen=UNSEEN,
    ),
    Mutant(
        "a ratio forgets that the other side has seeds too",
        "analysis/reporting/intervals.py",
        "_error([values[:, None] / one, others[:, None] / other])",
        "_error([values[:, None] / one])",
        (INTERVALS,),
        unseen=UNSEEN,
    ),
    Mutant(
        "one seed has an interval without width",
        "analysis/reporting/intervals.py",
        "    if count == 1:\n        return SeedInterval(mean)\n    if mean > 0",
        "    if count == 1:\n        return SeedInterval(mean, mean, mean)\n    if mean > 0",
        (INTERVALS, "tests/analysis/results/test_run.py"),
        unseen=UNSEEN,
    ),
    Mutant(
        "a finished seed is not kept",
        "lab/studies/seeds.py",
        "        if self.kept is not None:\n            self.kept.put(index, finished)\n",
        "",
        (STOPPED,),
        unseen=UNSEEN,
    ),
    Mutant(
        "seeds of other choices are taken for this run's",
        "lab/studies/seeds.py",
        'choices = {**named, "seeds": None}',
        'choices = {"seeds": None}',
        (KEPT,),
        unseen=UNSEEN,
    ),
    Mutant(
        "a changed file of the user goes unnoticed",
        "lab/simulation/record.py",
        '    return record is None or now == [file["sha256"] for file in record["files"]]\n',
        "    return True\n",
        (KEPT,),
        unseen=UNSEEN,
    ),
    Mutant(
        "a wrapped world has the plain name",
        "lab/environments/gym.py",
        "for layer in layers[::-1] if layer.changes)",
        "for layer in layers[::-1] if False)",
        (KEPT,),
        unseen=UNSEEN,
    ),
)
