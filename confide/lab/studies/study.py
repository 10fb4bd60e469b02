"""A study: learners against each other in several worlds under several guarantees, as one object.

    study = cf.Study(["ucbvi", "private-ucb-vi"], ["riverswim/6", "chain/5"], [cf.Joint(1, 1e-6), cf.Local(2)],
                     episodes=1e5, seeds=10, folder="study")
    study.run(workers=4)
    print(study.table())
    study.plot("figure.pdf")
    study.compare("ucbvi", "private-ucb-vi")

Every argument of `simulate` may be a list: then it is an axis, and the study has a cell for each combination. With a folder every
finished seed is kept, so that Ctrl-C, a crash or a closed notebook loses none: the same call goes on from them, at any number of
workers and on a Dask cluster, to the same digits as if nothing had happened.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...analysis.reporting.comparison import TEXT, Contrast, RunRow, contrast, holm, run_table
from ...analysis.reporting.facets import INTERVAL, FacetCurve, facet_figure
from ...analysis.results import Run
from ...analysis.results.folder import discard, kept_place
from ...errors import FormatError, InvalidInput, RecordWarning
from ...learning.learners.learner import AnyLearner
from ...mdp import Model
from ...privacy import Guarantee
from ..environments import Environment
from ..simulation import Choices
from ..simulation.record import RECORD, same_sources
from ..simulation.setting import Choice, users_level
from .cells import SAVED, Axis, StudyCell, cells_of, values_of
from .seeds import UnfinishedRun, finished_runs
from .spreading import DASK, TaskEngine

WORLD = "world"
Progress = Callable[[int], None]
"""Called after every finished seed with the number of seeds that are done."""


class Study:
    """Simulations over axes: a list in place of any argument of `simulate` is an axis.

    learner, environment, privacy, episodes, seeds and all other choices are those of `simulate`; learners may be addresses such as
    `private-ucb-vi` or `ucbvi?bonus=bernstein`. folder: where runs are saved as they are finished, and seeds as they are.
    """

    def __init__(
        self,
        learner: str | AnyLearner,
        environment: str | Environment | Model | Sequence[str | Environment | Model],
        privacy: Guarantee | Sequence[Guarantee] | None = None,
        episodes: float | Sequence[float] = 10_000,
        seeds: int | Sequence[int] = 5,
        *,
        folder: str | Path | None = None,
        **choices: Choice,
    ) -> None:
        arguments: dict[str, Axis] = {
            "learner": learner,
            "environment": environment,
            "privacy": privacy,
            "episodes": episodes,
            "seeds": seeds,
        }
        self._begin(cells_of({**arguments, **choices}, None if folder is None else Path(folder)))

    @classmethod
    def of_cells(cls, cells: Sequence[StudyCell]) -> Study:
        """A study of cells that were made elsewhere, as a command does."""
        study = cls.__new__(cls)
        study._begin(cells)
        return study

    @classmethod
    def load(cls, folder: str | Path) -> Study:
        """The finished runs in a folder that a study was saved in, or a command with `--compare` and `--out`."""
        places = sorted(place for place in Path(folder).glob("*") if place.is_dir() and not place.name.startswith("."))
        runs = [Run.load(place) for place in places]
        if not runs:
            raise FormatError("study-no-runs", f"{folder} holds no runs. Give the folder of a study, or that of --out.")
        study = cls.of_cells(
            [
                StudyCell(Choices.from_json(run.config[SAVED]), run.label, place)
                for run, place in zip(runs, places, strict=True)
            ]
        )
        study._runs = dict(enumerate(runs))
        return study

    def _begin(self, cells: Sequence[StudyCell]) -> None:
        self.cells = tuple(cells)
        self.values = values_of([cell.choices for cell in self.cells])
        self._runs: dict[int, Run] = {}
        self._unfinished: dict[int, UnfinishedRun] = {}

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        axes = ", ".join(f"{axis}: {len({each[axis] for each in self.values})}" for axis in self.values[0])
        return f"Study({axes or 'one cell'}; {len(self._runs)} of {len(self)} runs finished)"

    def run(
        self, workers: int = 1, scheduler: str | None = None, *, replace: bool = False, progress: Progress | None = None
    ) -> Study:
        """Run what is not finished, in this process, in several, or on a Dask cluster, and return the study itself.

        A cell that its folder holds already is not run again. Where a folder holds a run of other choices, or of a file of yours
        that has changed since, `replace` runs that cell again, and those that other sources of confide made. Warns of cells in
        which the noise drowns everything (`NoiseWarning`), and of runs that other sources made (`RecordWarning`).
        """
        for _ in self.finished(workers, scheduler, replace=replace, progress=progress):
            pass
        return self

    def finished(
        self, workers: int = 1, scheduler: str | None = None, *, replace: bool = False, progress: Progress | None = None
    ) -> Iterator[tuple[int, Run, bool]]:
        """As `run`, with the runs as they are finished: number of the cell, run, and whether it was there before."""
        self._check(replace)
        others, known = 0, set[str]()
        for number, cell in enumerate(self.cells):
            if number not in self._runs and number not in self._unfinished:
                saved = cell.saved(exactly=replace)
                if saved is None:
                    self._unfinished[number] = cell.begun(known)
                else:
                    self._runs[number] = saved
                    others += not same_sources(saved.config.get(RECORD))
                    yield number, saved, True
        if others:
            warnings.warn(
                f"{others} of {len(self)} saved runs were made by other sources of confide than these, and may have other digits. "
                "Run them again with replace.",
                RecordWarning,
                stacklevel=users_level(),
            )
        engine = TaskEngine(DASK, 1, scheduler) if scheduler else TaskEngine(workers=workers)
        waiting = dict(self._unfinished)
        for number, run in finished_runs(waiting, engine, progress or (lambda done: None)):
            folder = self.cells[number].folder
            if folder is not None:
                run.save(folder, replace=replace)
                discard(kept_place(folder))  # the seeds are in the run now
            self._runs[number] = run
            del self._unfinished[number]
            yield number, run, False

    def _check(self, replace: bool) -> None:
        """Refuse, before anything runs, folders in which runs could not be saved; those that hold the same run are kept."""
        for number, cell in enumerate(self.cells):
            if number in self._runs or cell.folder is None or cell.saved() is not None:
                continue
            try:
                Run.check_folder(cell.folder, replace=replace)
            except InvalidInput as error:
                if error.code != "folder-holds-result":
                    raise
                raise InvalidInput(
                    "study-cell-differs",
                    f"{cell.folder} holds a run of other choices, or of a file of yours that has changed. Choose another "
                    "folder, or replace what differs: run(replace=True), or --replace.",
                ) from None

    @property
    def missing_seeds(self) -> int:
        """The number of seeds that are still to be run, as far as is known."""
        begun = sum(len(run.missing) for run in self._unfinished.values())
        new = set(range(len(self))) - self._runs.keys() - self._unfinished.keys()
        return begun + sum(self.cells[number].choices.seeds for number in new)

    @property
    def runs(self) -> list[Run]:
        """The runs in the order of the cells; refused before all are finished."""
        if len(self._runs) < len(self):
            raise InvalidInput(
                "study-unfinished",
                f"{len(self._runs)} of {len(self)} runs of the study are finished. Call run() first.",
            )
        return [self._runs[number] for number in range(len(self))]

    @property
    def measure(self) -> str:
        """What the runs measure: regret, or return where models are not known."""
        measures = sorted({run.measure for run in self.runs})
        if len(measures) > 1:
            raise InvalidInput(
                "study-mixed-measures",
                "Runs side by side must measure the same. Some have regret and some returns. Split them.",
            )
        return measures[0]

    def table(self, form: str = TEXT) -> str:
        """A table of all runs: `text`, `csv` (all digits) or `latex` (booktabs), with the interval over seeds of each."""
        rows = [
            RunRow(values, run.seeds, run.final_interval, run.share_of_random, str(run.certificate.guarantee))
            for values, run in zip(self._columns(), self.runs, strict=True)
        ]
        return run_table(rows, form, measure=self.measure, fixed=self._fixed())

    def to_dict(self) -> dict[str, NDArray[np.generic]]:
        """All curves as columns: the axes, seed, episodes, and regret (or return), as `Run.to_dict` has those of one."""
        runs = [(values, run.to_dict()) for values, run in zip(self._columns(), self.runs, strict=True)]
        axes = {
            axis: np.concatenate([np.full(len(curves["seed"]), values[axis], dtype=object) for values, curves in runs])
            for axis in runs[0][0]
        }
        names = ("seed", "episodes", self.measure)
        return {**axes, **{name: np.concatenate([curves[name] for _, curves in runs]) for name in names}}

    def _columns(self) -> list[dict[str, str]]:
        """The axes of the table; the learner, where nothing differs."""
        return [values or {"learner": run.learner} for values, run in zip(self.values, self.runs, strict=True)]

    def _fixed(self) -> str:
        """What all runs share, of world, episodes and seeds."""
        shared: dict[str, set[str] | set[int]] = {
            "{}": {run.environment for run in self.runs},
            "{:,} episodes": {run.episodes for run in self.runs},
            "{} seeds": {run.seeds for run in self.runs},
        }
        return ", ".join(form.format(*values) for form, values in shared.items() if len(values) == 1)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        facet: str = WORLD,
        band: str = INTERVAL,
        log: bool = False,
        per_episode: bool = False,
    ) -> NDArray[np.generic]:
        """Draw all curves, a panel for each value of the axis `facet`, and return the matplotlib axes of the panels.

        band: `interval` over seeds, `range`, or `none`. path: a PNG, SVG or PDF file to save the picture in; the figure is
        `axes[0].figure`.
        """
        known = {WORLD, *self.values[0]}
        if facet not in known:
            raise InvalidInput(
                "study-facet", f"facet must be an axis of the study: {', '.join(sorted(known))}. Got {facet!r}."
            )
        curves = [
            FacetCurve(
                values.get(facet, run.environment) if facet == WORLD else values[facet],
                {axis: value for axis, value in values.items() if axis != facet} or {"learner": run.name},
                run.checkpoints,
                run.regret,
            )
            for values, run in zip(self.values, self.runs, strict=True)
        ]
        return facet_figure(curves, path, band=band, log=log, per_episode=per_episode, measure=self.measure)

    def compare(self, one: str, other: str, *, paired: bool | None = None) -> list[Contrast]:
        """Test whether one value of an axis has less regret than another, wherever all else is the same.

        Student's t-test on final regrets, seed by seed (`paired`) where both sides had the same seeds, which share their random
        numbers, else Welch's; with Holm's correction over all places. What each place says is its `verdict`.
        """
        axis = self._axis_of(one, other)
        sides: dict[str, dict[str, Run]] = {}
        for values, run in zip(self.values, self.runs, strict=True):
            place = ", ".join(value for name, value in values.items() if name != axis)
            sides.setdefault(place, {})[values[axis]] = run
        both = [(place, found[one], found[other]) for place, found in sides.items() if {one, other} <= found.keys()]
        return holm(
            [
                contrast(
                    (one, other),
                    mine.regret[:, -1],
                    theirs.regret[:, -1],
                    paired=_share_seeds(mine, theirs) if paired is None else paired,
                    place=place,
                )
                for place, mine, theirs in both
            ]
        )

    def _axis_of(self, one: str, other: str) -> str:
        """The axis on which both values lie."""
        for axis in self.values[0]:
            if {one, other} <= {values[axis] for values in self.values} and one != other:
                return axis
        values = sorted({value for each in self.values for value in each.values()})
        raise InvalidInput(
            "study-compare-values",
            f"compare takes two values of one axis. Got {one!r} and {other!r}. There are {', '.join(values)}.",
        )


def _share_seeds(one: Run, other: Run) -> bool:
    """Whether two runs had the same seeds, so that seed by seed they had the same random numbers to draw from."""
    return one.seeds == other.seeds and one.config.get("seed") == other.config.get("seed")
