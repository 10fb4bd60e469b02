"""The bytes of states of `linear`: the weights in use, how many people they rest on, and where its generator is."""

from __future__ import annotations

import json

import msgpack
import numpy as np

from ... import validation
from ...errors import ConfideError, FormatError
from .linear import FeatureContext, FeatureState

FORMAT = "confide.feature-state/1"
MOST_MODELS = 1024


def feature_to_bytes(state: FeatureState) -> bytes:
    """Versioned bytes of a state of `linear`."""
    weights = np.ascontiguousarray(state.weights, dtype="<f8")
    generator = json.dumps(state.rng.bit_generator.state)
    digest = state.context.question.digest
    return bytes(msgpack.packb([FORMAT, digest, state.users, len(weights), weights.tobytes(), generator]))


def feature_from_bytes(data: bytes, context: FeatureContext) -> FeatureState:
    """Read what `feature_to_bytes` wrote of a learner in this context; refuse anything else."""
    question = context.question
    try:
        name, digest, users, models, raw, generator = msgpack.unpackb(data, max_array_len=8, max_str_len=4096)
        if (name, digest) != (FORMAT, question.digest):
            raise ValueError("it is of another format, or of a learner with other statistics")
        validation.integer("models", models, 1, MOST_MODELS)
        shape = (models, question.horizon, question.features.blocks, question.features.dimension)
        weights = validation.array("weights", np.frombuffer(raw, "<f8").reshape(shape).astype(np.float64), shape)
        rng = np.random.default_rng(0)
        rng.bit_generator.state = json.loads(generator)
        return FeatureState(context, weights, validation.integer("users", users, 0), rng)
    except (ConfideError, ValueError, TypeError, KeyError, msgpack.UnpackException) as error:
        raise FormatError(
            "learner-state-unreadable", f"These bytes are not a state that this learner can go on from: {error}"
        ) from error
