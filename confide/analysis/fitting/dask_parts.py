"""Logged steps that lie with the workers of a Dask cluster: rows stay where they were read, sums travel.

Each part is counted once and stays in the memory of the worker that read it. A question goes to every part, and the answers are
whole numbers, so they add up to what one machine would have answered, exactly. Should a worker be lost, its parts are read
again; if they are not what they were, nothing more is answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...data.statistics.counting import Counted, Partial, count_part
from ...data.statistics.gram import Integers, check_size
from ...data.statistics.points import LoggedPoints, random_halves
from ...data.statistics.tally import Chosen
from ...data.trajectories.dataset import Dataset
from ...errors import InvalidInput, MissingExtra, PrivacyError, install
from ...loading import load_files, loaded_files
from ...mdp.critic import Critic
from ...mdp.linear import BlockFeatures
from ...protocol.kinds.gram import GramForm, GramQuestion

PATIENCE = 2.0
"""Seconds that a Dask scheduler has for an answer, and its first worker to come."""


class HeldPart(NamedTuple):
    """Sensitive: a part's counts and steps that a worker keeps, and a digest by which it is known again."""

    partial: Partial
    digest: bytes


@dataclass(eq=False)
class ClusterParts:
    """The parts of a data set on a cluster: counted there, kept there, asked there, until it is closed."""

    client: Any
    data: Dataset
    question: Counted
    held: list[Any] = field(default_factory=list, repr=False)
    sizes: list[int] = field(default_factory=list, repr=False)

    def count(self, key: int, chosen: Sequence[Chosen]) -> Iterator[Partial]:
        """Count every part, and yield its counts as they are done. What an earlier count left with the workers is forgotten."""
        shared = self.client.scatter(self.data, broadcast=True)
        self.held = [
            self.client.submit(hold, shared, self.question, number, key, chosen[number], pure=False)
            for number in range(len(self.data.parts))
        ]
        self.sizes = [0] * len(self.held)
        summaries = [self.client.submit(_summary, part, pure=False) for part in self.held]
        for people, partial in finished(summaries):
            self.sizes[partial.part] = people
            yield partial

    def logged(self, features: BlockFeatures, split: bool) -> LoggedElsewhere:
        """Every user's steps, to be asked. split: in two random halves."""
        ends = np.cumsum(self.sizes)[:-1]
        second = np.split(random_halves(sum(self.sizes)), ends) if split else None
        digests = tuple(
            digest.result() for digest in [self.client.submit(_digest, held, pure=False) for held in self.held]
        )
        return LoggedElsewhere(self.client, features, tuple(self.held), tuple(self.sizes), digests, second)

    def close(self) -> None:
        """Close the client, and let the workers forget their parts."""
        self.held = []
        self.client.close()


@dataclass(frozen=True, eq=False)
class LoggedElsewhere:
    """`Logged` steps in parts, each asked where it lies. second: for each part, who is in the second group."""

    client: Any = field(repr=False)
    features: BlockFeatures
    held: tuple[Any, ...] = field(repr=False)
    sizes: tuple[int, ...] = field(repr=False)
    digests: tuple[bytes, ...] = field(repr=False)
    second: list[NDArray[np.bool_]] | None = field(default=None, repr=False)

    @property
    def people(self) -> tuple[int, ...]:
        """How many people there are in each group."""
        many, after = sum(self.sizes), 0 if self.second is None else sum(int(members.sum()) for members in self.second)
        return (many,) if self.second is None else (many - after, after)

    def sums(self, question: GramQuestion) -> tuple[Integers, Integers]:
        """As `Logged` says."""
        check_size(question.form, question.step, question.kind, sum(self.people))
        matrices, vectors = zip(*self._answers("sums", question), strict=True)
        return np.sum(matrices, axis=0), np.sum(vectors, axis=0)

    def values(self, form: GramForm, first: Critic) -> Integers:
        """As `Logged` says."""
        return np.asarray(np.sum(list(self._answers("values", form, first)), axis=0))

    def _answers(self, what: str, *arguments: Any) -> Iterator[Any]:
        seconds: Sequence[Any] = self.second or [None] * len(self.held)
        answers = [
            self.client.submit(answered, part, self.features, second, what, arguments, pure=False)
            for part, second in zip(self.held, seconds, strict=True)
        ]
        for answer, digest in zip(answers, self.digests, strict=True):
            result, now = answer.result()
            if now != digest:
                raise PrivacyError(
                    "dask-worker-lost",
                    "A worker was lost and its part is no longer what it was. No further statistics are computed.",
                )
            yield result


def hold(data: Dataset, question: Counted, number: int, key: int, chosen: Chosen) -> HeldPart:
    """Count a part on a worker, which keeps its steps."""
    partial = count_part(data, question, number, key, chosen)
    digest = blake2b(digest_size=16)
    for step in partial.steps:
        for column in step:
            digest.update(np.ascontiguousarray(column).data)
    return HeldPart(partial, digest.digest())


def answered(
    held: HeldPart, features: BlockFeatures, second: NDArray[np.bool_] | None, what: str, arguments: tuple[Any, ...]
) -> tuple[Any, bytes]:
    """A part's answer to one question, and by which digest the part is known."""
    ask = methodcaller(what, *arguments)
    return ask(LoggedPoints(features, held.partial.steps, second)), held.digest


def _summary(held: HeldPart) -> tuple[int, Partial]:
    """What leaves the worker: how many people, and sums, without any user's steps."""
    steps = held.partial.steps
    return len(steps[0].actions) if steps else 0, replace(held.partial, steps=())


def _digest(held: HeldPart) -> bytes:
    return held.digest


def connect(scheduler: str) -> Any:
    """A client of the Dask scheduler at that address, whose workers have run the users' files that this process has."""
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra("dask-missing", f"dask must be installed. It was not found. {install('dask')}") from error
    cluster: Any = distributed
    try:
        client = cluster.Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            "dask-unreachable", f"No Dask scheduler responds at {scheduler}. Check the address."
        ) from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        if loaded_files():
            client.run(load_files, loaded_files())
    except TimeoutError as error:
        client.close()
        raise InvalidInput(
            "dask-no-workers", f"The Dask scheduler at {scheduler} has no workers. Start some: dask worker {scheduler}"
        ) from error
    return client


def finished(tasks: list[Any]) -> Iterator[Any]:
    """The results of tasks on a cluster, as they are done."""
    from distributed import as_completed

    together: Any = as_completed
    for done in together(tasks):
        yield done.result()
        done.release()
