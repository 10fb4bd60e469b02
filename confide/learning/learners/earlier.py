"""What earlier contracts taught: a learner goes on from their releases, and weighs each by its true noise.

Releases are public, so that beginning with them costs no one who took part before any privacy, and no one who comes now.

A new contract's releases are about its own users. To a learner that goes on, each is a release about all users of all contracts:
the sum of what was released before and of what is released now. Where noise is users' own, learners weigh those who came between
two releases by how noisy these are beside the average (`planning.weighing`), so plain sums are right. A curator's noise is the
same however few have come yet, and beside the first batch of a new contract it would drown what the one before taught. There

    w = 1 / (1 + 4 v/(n rho)),

scaled so that the larger of the two is 1: v the variance of the noise of a cell, n the users, rho the visits that one user pays to
the average pair. n rho/4 bounds the sampling variance of a cell, so 1/w is proportional to the variance of the release for each
visit, and these are the weights by which ratios of the sums (rows and mean rewards) err least. Weighing changes which users a
ratio is about, not what it estimates. Weights depend on public numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgpack
import numpy as np

from ...errors import ConfideError, FormatError, InvalidInput
from ...protocol.kinds.counts import average_visits
from ...protocol.releases import release_bytes
from ...protocol.releases.release import CURATORS, Array, CountRelease, Counts, Noise, Radius, Returned
from . import state_bytes
from .learner import Context, State, TabularLearner

FORMAT = "confide.earlier/1"


@dataclass(frozen=True, eq=False)
class Earlier:
    """What contracts before this one taught. release: about all their users. state: the learner's, which goes on.

    learner: which it is, in words; empty where it is always the same.
    """

    release: CountRelease
    state: bytes
    learner: str = ""

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        body: bytes = msgpack.packb([FORMAT, self.release.to_bytes(), self.state, self.learner])
        return body

    @classmethod
    def from_bytes(cls, data: bytes) -> Earlier:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            limit = max(len(data), 1)
            form, release, state, learner = msgpack.unpackb(data, max_bin_len=limit, max_array_len=4, max_str_len=200)
            if form != FORMAT or not isinstance(learner, str):
                raise ValueError(f"its format is {form!r}, not {FORMAT!r}")
            return cls(release_bytes.from_bytes(release), bytes(state), learner)
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "earlier-unreadable", f"These bytes are not what earlier contracts taught: {error}"
            ) from error

    def begin(self, learner: TabularLearner, context: Context, rng: np.random.Generator, words: str = "") -> State:
        """The state of a learner that goes on, in a contract with this context. words: which it is.

        The same learner goes on as it stands; another learns from the release of all users so far.
        """
        if self.release.question.spec != context.spec:
            raise InvalidInput(
                "earlier-other-sizes",
                f"The contract is about {context.spec}, those before it about {self.release.question.spec}. Begin without.",
            )
        known = replace(context, users=context.users + self.release.users)
        if self.learner != words:
            return learner.learn(learner.begin(known, rng), self.release)
        state = state_bytes.from_bytes(self.state, learner)
        begun = replace(state, context=known, constants=learner.constants(known), rng=rng)
        return learner.learn(begun, self.release)


def together(earlier: Earlier | None, release: CountRelease) -> CountRelease:
    """A release about the users of all contracts; the release itself where there was none before."""
    if earlier is None:
        return release
    before = earlier.release
    if before.question.objective != release.question.objective or before.noise.own != release.noise.own:
        raise InvalidInput(
            "earlier-other-question",
            "The contract before summed other rewards, or under another trust model. Begin without it.",
        )
    weights = _weights(before, release)
    return replace(
        release,
        users=before.users + release.users,
        counts=_summed(before, release, weights),
        radius=Radius(*(weights @ np.array([before.radius, release.radius], dtype=np.float64)).tolist()),
        failure=min(1.0, before.failure + release.failure),
        noise=_noise(before, release, weights),
        complete=before.complete and release.complete,
        visited=None,
        lost=None,
        returned=_returned(before.returned, release.returned),
    )


def _weights(before: CountRelease, release: CountRelease) -> Array:
    """(2,) the weights of the two, of which the larger is 1."""
    noise = np.array([before.noise.transitions, release.noise.transitions])
    if release.noise.own != CURATORS or not noise.any() or release.question.spec.horizon == 1:
        return np.ones(2)
    users = np.array([before.users, release.users], dtype=np.float64)
    paid = np.maximum(users, 1e-9) * average_visits(release.question.spec)
    weights = 1 / (1 + 4 * noise / paid)
    return np.asarray(weights / weights.max())


def _summed(before: CountRelease, release: CountRelease, weights: Array) -> Counts:
    first, second = before.counts, release.counts
    visits, rewards, squares, moved = (
        weights[0] * one + weights[1] * other for one, other in zip(first[:4], second[:4], strict=True)
    )
    if not (first.people.size or second.people.size):
        return Counts(visits, rewards, squares, moved)
    shape = second.visits.shape
    people = [
        counts.people if counts.people.size else np.full(shape, float(users))
        for counts, users in ((first, before.users), (second, release.users))
    ]
    return Counts(visits, rewards, squares, moved, people[0] + people[1])


def _noise(before: CountRelease, release: CountRelease, weights: Array) -> Noise:
    """Variances add up, by the squares of the weights; of sampling errors the mean by users."""
    squares = weights**2
    users = np.array([before.users, release.users], dtype=np.float64)
    one, other = before.noise, release.noise
    luck = float(users @ np.array([one.luck, other.luck]) / max(users.sum(), 1.0)) if users.sum() else other.luck
    added = squares @ np.array([one, other], dtype=np.float64)
    return Noise(*added.tolist())._replace(own=other.own, luck=luck)


def _returned(before: Returned | None, now: Returned | None) -> Returned | None:
    if before is None or now is None:
        return now
    return Returned(before.total + now.total, before.people + now.people)
