"""One person's X X' and X Y, as `questions.mixture` prices them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput, PrivacyError
from ...protocol.kinds.mixture import ROUNDING, MixtureForm, MixtureQuestion
from ..trajectories.trajectory import Trajectory


def gram_cells(question: MixtureQuestion, trajectory: Trajectory, grid: float) -> NDArray[np.int64]:
    """The cells of one person's answer, in whole multiples of the grid.

    Recomputed from the value function in the question. Values were checked when the question was made; here norms
    are, so that nothing a server sends can make a person more visible than her guarantee says.
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
            raise PrivacyError(
                "feature-norm-exceeded", "phi_V must stay below its norm bound. It does not, so nothing was sent."
            )
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
        raise validation.refusal(
            "episode-too-long", "episode", f"at most {form.spec.horizon} steps long", trajectory.steps, "Cut it."
        )
    steps = min(trajectory.steps, form.steps)
    if len(trajectory.states) <= steps:
        raise InvalidInput(
            "last-state-unknown", "The state after the last step is needed but unknown. Give every step its next state."
        )
    validation.indices("states", trajectory.states, form.spec.states)
    validation.indices("actions", trajectory.actions, form.spec.actions)
    return steps
