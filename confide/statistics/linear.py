"""One person's X X' and X Y, and how far she can move them; proved here, brute-forced in the tests.

Write w for the weight of the Gram matrix: cells have l2^2 = w ||dG||_F^2 + ||du||^2 with w = 1/2 if the diagonal is
over sqrt 2; without that ||dG||_F^2/2 + sum of dG_ii^2/2 <= ||dG||_F^2, so w = 1 is safe. Two people have X, Y and
X', Y' in a step, p = ||X||, q = ||X'||, both at most B, |Y|, |Y'| <= v, and <X, X'> = -t p q. Then l2^2 is

    w (p^4 + q^4 - 2 t^2 p^2 q^2) + p^2 Y^2 + q^2 Y'^2 + 2 t p q Y Y'.

* If t <= 0 and Y, Y' >= 0 the terms in t only take away, so 2 w B^4 + 2 B^2 v^2: where no two features have a negative
  inner product and values are not negative.
* Otherwise, over all t the maximum is w (p^4 + q^4) + p^2 Y^2 + q^2 Y'^2 + (Y Y')^2/(2w) at t = Y Y'/(2 w p q), and all
  terms grow with p, q, |Y|, |Y'|. If v^2 <= 2 w B^2 it is reached at t <= 1: 2 w B^4 + 2 B^2 v^2 + v^4/(2w). If not,
  t = 1 is best: w (p^2 - q^2)^2 + (p |Y| + q |Y'|)^2 = (B + p)^2 (w (B - p)^2 + v^2) at q = B, which grows with p as
  w B^2/2 < v^2: 4 B^2 v^2. (w = 1/2, B = v: 4 v^4. w = 1, B = v: 4.5 v^4.)
* Where no coordinate is used by two pairs (one-hot), either the pairs differ and t = 0, so the diagonal can be told
  apart: B^4 + (2w - 1) Q + 2 B^2 v^2, Q bounding sum_i X_i^4; or they agree and X = X': B^2 (range of Y)^2.

A step that was not taken has X = 0, which is within all of these. Steps that have cells of their own add their squares;
steps that share cells (a stationary model) add their distances.
Rounding cells to a grid g moves the difference by at most g in each of the cells that two people can differ in.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import InvalidInput, PrivacyError
from ..privacy import Sensitivity
from ..releases.linear import ROUNDING, MixtureForm, MixtureQuestion
from ..trajectories import Trajectory


def mixture_sensitivity(form: MixtureForm, grid: float = 0.0) -> Sensitivity:
    """The largest change one person, replaced, makes to the cells of any question of this form, rounded to a grid."""
    squares = [step_square(form, step) for step in range(form.steps)]
    shared = form.steps // form.layers
    touched = min(2 * shared, form.features.blocks) * form.block_cells * form.layers
    exact = math.sqrt(sum(squares)) if shared == 1 else sum(map(math.sqrt, squares))
    l2 = exact * (1 + ROUNDING) + grid * math.sqrt(touched)
    l1 = l2 * math.sqrt(touched)
    return Sensitivity(l1, l2, ((l1, 1),), touched)


def step_square(form: MixtureForm, step: int) -> float:
    """The squared l2 sensitivity of one step, without rounding."""
    low, high = form.reference(step)
    square, quartic = form.bounds[step]
    most, weight = max(abs(low), abs(high)) ** 2, 1.0 if form.even else 0.5
    apart = 2 * square * most
    if form.features.disjoint:
        return max(square**2 + (2 * weight - 1) * quartic + apart, square * (high - low) ** 2)
    apart += 2 * weight * square**2
    if low >= 0 and form.features.acute:
        return apart
    if most <= 2 * weight * square:
        return apart + most**2 / (2 * weight)
    return 4 * square * most


def gram_cells(question: MixtureQuestion, trajectory: Trajectory, grid: float) -> NDArray[np.int64]:
    """The cells of one person's answer, in whole multiples of the grid.

    Recomputed from the value function in the question. Values were checked when the question was made; here norms
    are, so that nothing a server sends can make a person more visible than she was told.
    """
    form, features = question.form, question.form.features
    scaled, _, _ = question.scaled
    steps = _admitted(form, trajectory)
    gram = np.zeros((form.layers, features.blocks, features.size, features.size))
    vector = np.zeros((form.layers, features.blocks, features.size))
    for step in range(form.steps):
        reached = features.weighted(scaled[step])
        bound, _ = form.bounds[step]
        if (reached**2).sum(axis=-1).max() > bound * (1 + ROUNDING) + ROUNDING:
            raise PrivacyError("phi_V must stay below its norm bound. It does not, so nothing was answered.")
        if step < steps:
            s, a = trajectory.states[step], trajectory.actions[step]
            x, where = reached[s, a], features.block[s, a]
            layer = step if form.layers > 1 else 0
            gram[layer, where] += np.outer(x, x)
            vector[layer, where] += x * scaled[step, trajectory.states[step + 1]]
    return np.rint(form.pack(gram, vector) / grid).astype(np.int64)


def _admitted(form: MixtureForm, trajectory: Trajectory) -> int:
    """How many steps of an episode are asked about; an episode of other sizes than the form's is refused."""
    if trajectory.steps > form.spec.horizon:
        raise validation.refusal("episode", f"at most {form.spec.horizon} steps long", trajectory.steps, "Cut it.")
    steps = min(trajectory.steps, form.steps)
    if len(trajectory.states) <= steps:
        raise InvalidInput("The state after the last step is needed but unknown. Give every step its next state.")
    validation.indices("states", trajectory.states, form.spec.states)
    validation.indices("actions", trajectory.actions, form.spec.actions)
    return steps
