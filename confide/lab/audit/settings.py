"""The small problems at which every design is audited: up to 3 steps, pooled or not, up to 15 releases, budgets, trees.

Sizes are small on purpose: what an audit can see falls fast with the number of cells in which two inputs differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...data.trajectories.declaration import Declared
from ...mdp import PER_STEP, MixtureFeatures, Spec
from ...privacy import Central, Guarantee, Participation, Schedule
from ...privacy.guarantee import CENTRAL, JOINT, LOCAL, SHUFFLE
from ...protocol.kinds import (
    CountQuestion,
    Question,
    asked_return,
    bandit,
    budgeted,
    counts,
    mixture,
    moments,
    step,
    targets,
)
from ...protocol.kinds.bandit import BanditQuestion
from ...protocol.trusts.mixing import Mixing
from .auditing import Target

# People among whom one hides under shuffling.
CROWD, SMALL_CROWD = 10, 4

BASIC = Spec(2, 2, 1)
LONGER, STEPWISE = Spec(2, 2, 3), Spec(2, 2, 2, PER_STEP)


RETURN = "return"
"""The setting at which one in `ONE_IN` users reports a return."""
ONE_IN = 3
ONLY_WHERE_NAMED = (budgeted.KIND, asked_return.KIND)
"""Kinds of question that only those settings take that name them."""


@dataclass(frozen=True)
class AuditSetting:
    """One problem. label: what distinguishes it from the basic one. changes: other fields of a request (`designs.Request`).

    without: mechanisms that are not audited here. kinds, only: of question, and mechanisms, if it is not for all; budgets and
    returns are.
    """

    label: str
    spec: Spec
    schedule: Schedule
    changes: dict[str, Any] = field(default_factory=dict, hash=False)
    without: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def takes(self, kind: str, mechanism: str) -> bool:
        """Whether such questions are audited here, answered by this mechanism."""
        named = mechanism not in self.without and (not self.only or mechanism in self.only)
        return named and (kind in self.kinds if self.kinds else kind not in ONLY_WHERE_NAMED)


def _batches(number: int) -> Schedule:
    return Schedule.batches(number, number)


def _shuffled(label: str, spec: Spec, batches: int = 1, crowd: int = CROWD, **mixed: bool) -> AuditSetting:
    """A setting with shufflers of this many base batches; those of several sizes take whole episodes only."""
    mixing = Mixing(crowd, **mixed)
    without = ("shuffled-step", *(SHARED if mixing.tree else ())) if mixed else ()
    return AuditSetting(label, spec, mixing.schedule(batches * crowd), {"mixing": mixing}, without)


# Bounded noise takes seconds to calibrate, and differs from other noise in nothing that these add.
SLOW = ("bounded",)
# Of reports that are made again, those whose losses add up in different ways.
FEW = ("laplace", "gaussian", "k-ary")
# Shares of noise are for users who come once.
SHARED = ("skellam",)
AGAIN, THRICE = {"participation": Participation(2)}, Participation(3, 2)

SETTINGS: dict[str, tuple[AuditSetting, ...]] = {
    LOCAL: (
        AuditSetting("", BASIC, _batches(1)),
        AuditSetting("h3", LONGER, _batches(1), {"budget": 0}),
        AuditSetting("h2-per-step", STEPWISE, _batches(1), without=SLOW),
        AuditSetting("budgeted", LONGER, _batches(1), {"budget": 3}, kinds=(budgeted.KIND,), only=("gaussian",)),
        AuditSetting(RETURN, LONGER, _batches(1), {"one_in": ONE_IN}, kinds=(asked_return.KIND,)),
        AuditSetting("return-per-step", STEPWISE, _batches(1), {"one_in": ONE_IN}, kinds=(asked_return.KIND,)),
        AuditSetting("twice", BASIC, _batches(2), AGAIN, kinds=(counts.KIND, step.KIND), only=FEW),
    ),
    SHUFFLE: (
        _shuffled("", BASIC),
        _shuffled("h2-per-step", STEPWISE),
        _shuffled("h3", LONGER),
        _shuffled("tree", BASIC, batches=3, crowd=SMALL_CROWD, tree=True),
        _shuffled("tree-h2-per-step", STEPWISE, batches=3, crowd=SMALL_CROWD, tree=True),
        _shuffled("widening", BASIC, batches=18, crowd=SMALL_CROWD, widening=True),
        _shuffled("widening-h2-per-step", STEPWISE, batches=18, crowd=SMALL_CROWD, widening=True),
        replace(_shuffled("twice", BASIC, batches=2), changes={"mixing": Mixing(CROWD), **AGAIN}, without=SHARED),
        replace(_shuffled("budgeted", LONGER), changes={"mixing": Mixing(CROWD), "budget": 3}, kinds=(budgeted.KIND,)),
    ),
    JOINT: (
        AuditSetting("", BASIC, _batches(2)),
        AuditSetting("h3", LONGER, _batches(3), {"budget": 0}),
        AuditSetting("h2-per-step", STEPWISE, _batches(2)),
        AuditSetting("r15", Spec(2, 1, 1), _batches(15), {}, ("tree-laplace", "buffered-toeplitz"), (counts.KIND,)),
        AuditSetting("budgeted", LONGER, _batches(2), {"budget": 3}, kinds=(budgeted.KIND,)),
        AuditSetting("twice", BASIC, _batches(3), {"participation": Participation(2, 2)}, kinds=(counts.KIND,)),
        AuditSetting("thrice", Spec(2, 1, 1), _batches(5), {"participation": THRICE}, kinds=(counts.KIND,)),
    ),
    CENTRAL: (
        AuditSetting("", BASIC, _batches(1)),
        AuditSetting("h3", LONGER, _batches(1)),
        AuditSetting("h2-per-step", STEPWISE, _batches(1)),
        AuditSetting("group", BASIC, _batches(1), {"episodes": 2}),
    ),
}
"""The settings by trust model. The first is where every calibration is audited; the others are for `tight`."""

ProblemMaker = Callable[[AuditSetting], Question]


def _mixture(setting: AuditSetting) -> Question:
    """The table of two states and two actions as a mixture; it needs two steps."""
    from ...protocol.kinds.mixture import MixtureForm

    spec = Spec(2, 2, max(2, setting.spec.horizon), setting.spec.dynamics)
    after = np.arange(spec.horizon - 1, -1, -1, dtype=np.float64)
    return MixtureForm(spec, MixtureFeatures.one_hot(2, 2), after)


def _moments(setting: AuditSetting) -> Question:
    """Both states of two as features that are not orthogonal, and the next state foreseen: few cells, all of which two
    people can fill."""
    from ...mdp.described import IS, Category, DescribedFeatures, Factor
    from ...protocol.kinds.moments import MomentsQuestion

    terms = tuple((Factor("state", IS, value),) for value in "01")
    mix = np.array([[1.0, -0.6], [0.0, 0.8]])
    features = DescribedFeatures((Category("state", ("0", "1")),), ("0", "1"), terms, mix, terms[:1], np.array([[2.0]]))
    return MomentsQuestion.of(features, setting.spec.horizon, setting.spec.dynamics)


def _targets(setting: AuditSetting) -> Question:
    """Two models of two states and two actions, of which one stays and one moves: who saw either point in opposite directions, and
    all who took a step are clipped. It needs two steps."""
    from ...protocol.kinds.targets import TargetsQuestion

    phi = np.zeros((2, 2, 2, 2))
    for state in range(2):
        phi[state, :, state, 0] = phi[state, :, 1 - state, 1] = 1.0
    spec = Spec(2, 2, max(2, setting.spec.horizon), setting.spec.dynamics)
    return replace(TargetsQuestion.of(spec, MixtureFeatures.from_array(phi)), bound=0.5)


PROBLEMS: dict[str, ProblemMaker] = {
    counts.KIND: lambda setting: CountQuestion(setting.spec),
    mixture.KIND: _mixture,
    moments.KIND: _moments,
    targets.KIND: _targets,
    bandit.KIND: lambda setting: BanditQuestion.of(replace(setting.spec, horizon=1)),
}
"""What is asked at a setting, by kind of question. Gram sums are audited as fits."""


def register_problem(kind: str, problem: ProblemMaker) -> None:
    """Enter the statistic of a setting where a kind of one's own is audited."""
    PROBLEMS[kind] = problem


FIT = "fit"
"""The kind of whole fits, which are not one design but several."""

FITS: dict[str, Callable[[Guarantee, str], list[Target]]] = {}
"""The functions that make the targets of a whole fit, by label, given a guarantee and a name."""
SOUND_FITS: set[str] = set()
"""Those of them that are as sound calibration has them; the others are tight."""


def _counted(
    label: str, spec: Spec, mechanism: str, users: str = "one", visits: str | int = "auto", **declared: Declared
) -> None:
    def targets(promise: Guarantee, name: str) -> list[Target]:
        from .fits import count_plan, fit_targets

        plan = count_plan(spec, promise, mechanism, users, visits, False, **declared)
        return fit_targets(name, plan, spec, **declared)

    FITS[f"{mechanism}{label and '/' + label}"] = targets


def _linear(label: str, spec: Spec, split: bool = False, weighted: bool = True) -> None:
    def targets(promise: Guarantee, name: str) -> list[Target]:
        from .fits import fit_targets, linear_plan

        return fit_targets(name, linear_plan(spec, promise, split, weighted=weighted), spec, fixed_length=True)

    FITS[f"gram{label and '/' + label}"] = targets


def _judged(mechanism: str) -> None:
    def targets(promise: Guarantee, name: str) -> list[Target]:
        from .judges import judged_targets

        return judged_targets(name, promise, mechanism)

    def grouped(promise: Guarantee, name: str) -> list[Target]:
        from .judges import judged_targets

        return judged_targets(name, promise, mechanism, ("one", "two"))

    FITS[f"{mechanism}/judged"] = targets
    FITS[f"{mechanism}/judged/groups"] = grouped


def _worst_gram(label: str, spec: Spec) -> None:
    def targets(promise: Guarantee, name: str) -> list[Target]:
        from .fits import linear_plan
        from .grams import gram_targets

        return gram_targets(name, linear_plan(spec, promise), spec, fixed_length=True)

    FITS[f"gram/{label}"] = targets


for _mechanism in ("gaussian", "laplace"):
    _counted("", BASIC, _mechanism)
    _counted("h3", LONGER, _mechanism)
    _counted("h2-per-step", STEPWISE, _mechanism)
_counted("group", BASIC, "gaussian", "group:2")
_counted("group", BASIC, "laplace", "group:2")
_counted("budgeted", LONGER, "gaussian", visits=3)
_counted("history", LONGER, "gaussian", "all:2", visits=6)
_counted("known-start", LONGER, "gaussian", initial=[0.5, 0.5])
for _mechanism in ("gaussian", "laplace"):
    _counted("propensity", BASIC, _mechanism, propensity="p", propensity_floor=0.25)
    _counted("return-range", LONGER, _mechanism, return_range=(0.0, 0.25))
    _judged(_mechanism)
_counted("lost", LONGER, "gaussian", lost="left")
_counted("weight", LONGER, "gaussian", weight="w", weight_bound=6.0, weight_mean=3.0)
_linear("", Spec(2, 2, 2, PER_STEP))
_linear("h3", Spec(2, 2, 3, PER_STEP))
_linear("split", Spec(2, 2, 2, PER_STEP), split=True)
_linear("pevi", Spec(2, 2, 2, PER_STEP), weighted=False)
_worst_gram("worst-h2", Spec(2, 2, 2, PER_STEP))
_worst_gram("worst-h3", Spec(2, 2, 3, PER_STEP))


def _pure_gram(label: str, spec: Spec) -> None:
    """Gram sums with Laplace noise, as DP-VAPVI has them under pure epsilon."""

    def targets(promise: Guarantee, name: str) -> list[Target]:
        from .fits import linear_plan
        from .grams import gram_targets

        return gram_targets(name, linear_plan(spec, Central(promise.epsilon)), spec, fixed_length=True)

    FITS[f"gram-laplace/{label}"] = targets
    SOUND_FITS.add(f"gram-laplace/{label}")


_pure_gram("worst-h2", Spec(2, 2, 2, PER_STEP))
_pure_gram("worst-h3", Spec(2, 2, 3, PER_STEP))
