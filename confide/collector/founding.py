"""A service's folder: the contract that everybody may read, the key that nobody else may, the database and the last head."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import learners, validation
from ..contracts import keys
from ..contracts.contract import Contract, weaker
from ..contracts.files import write_whole
from ..contracts.intermediary import ROLES, Intermediary
from ..designs import AUTO, Design, Mixing, Request, make
from ..designs.local_counts import PORTABLE
from ..errors import FormatError, InvalidInput
from ..learners import Context
from ..mdp import MixtureFeatures, Spec
from ..privacy import Guarantee, Schedule
from ..privacy.guarantee import LOCAL, SHUFFLE
from .adapters import MIXTURE, known_rewards

WINDOW = 600.0
"""Seconds within which reports are sent where tickets are taken, by default."""
HONEST = 0.5
"""Which share of those who come to a shuffler is counted on to be honest, by default."""
ROUNDS = 20
"""In how many equal rounds people come if no schedule is given."""


@dataclass(frozen=True)
class Folder:
    """The folder of one service."""

    path: Path

    @property
    def contract_file(self) -> Path:
        """The public contract."""
        return self.path / "contract.json"

    @property
    def key_file(self) -> Path:
        """The private key, which is secret."""
        return self.path / "key"

    @property
    def token_file(self) -> Path:
        """The operator's token, which is secret: it opens what is not public."""
        return self.path / "token"

    @property
    def head_file(self) -> Path:
        """The last head that was published, outside the database."""
        return self.path / "head.json"

    @property
    def database(self) -> str:
        """The address of the database if none is given."""
        return f"sqlite:///{(self.path / 'collector.db').resolve()}"

    @property
    def counts_here(self) -> bool:
        """Whether a collector has counted, or could have, in the folder itself."""
        return (self.path / "collector.db").is_file()

    def contract(self) -> Contract:
        """The contract, checked."""
        try:
            data = self.contract_file.read_bytes()
        except OSError as error:
            raise FormatError(
                f"{self.path} is not the folder of a service: {error}. Make one: confide service new."
            ) from error
        return Contract.from_bytes(data)

    def key(self, contract: Contract) -> bytes:
        """The private key, which must be the one that the contract names."""
        private = keys.load_key(self.key_file)
        if keys.public_key(private) != contract.key:
            raise FormatError(f"{self.key_file} is not the key that the contract names.")
        return private

    def token(self) -> str:
        """The operator's token; a folder that has none yet, or of an earlier version, gets one."""
        if not self.token_file.exists():
            keys.save_key(self.token_file, keys.new_key())
        return keys.load_key(self.token_file).hex()


class ServedLearning(NamedTuple):
    """What a service learns: of which sizes, under which promise, when, by which learner (as its contract says it) and mechanism.

    mixing: of a shuffler. features: of a linear mixture, by default one-hot.
    """

    spec: Spec
    promise: Guarantee
    schedule: Schedule
    learner: dict[str, Any]
    mechanism: str = AUTO
    mixing: Mixing | None = None
    features: MixtureFeatures | None = None


def design_for(served: ServedLearning) -> Design:
    """The design of a service: how its learner's question is answered."""
    spec, promise, schedule, learner, mechanism, mixing, features = served
    if promise.trust != LOCAL and promise.trust not in ROLES:
        raise InvalidInput(f"Services have trust local, shuffle or joint. Got {promise.trust!r}. Simulate the others.")
    context = Context(spec, schedule.users, learner["failure"], learner["bonus_scale"])
    algorithm = learners.make(learner["name"], **learner["options"])
    if getattr(algorithm, "family", "") == MIXTURE:
        return _mixture_design(served)
    if not isinstance(algorithm, learners.TabularLearner):
        raise InvalidInput(
            f"Services have learners that learn online from counts, and ucrl-vtr. {learner['name']} is neither. Choose ucbvi."
        )
    if features is not None or "rewards" in learner:
        raise InvalidInput(f"{learner['name']} asks for nothing to be known. Leave --known out, or choose ucrl-vtr.")
    question = algorithm.ask(algorithm.begin(context, np.random.default_rng(0)))
    how = PORTABLE if mechanism == AUTO and promise.trust == LOCAL else mechanism
    return make(Request(question, promise, schedule, mechanism=how, failure=learner["failure"], mixing=mixing))


def _mixture_design(served: ServedLearning) -> Design:
    """The design for a learner of linear mixtures, whose question carries the value function of its round."""
    from ..designs.mixture import MixtureProblem
    from ..planning.value_targeted import value_ranges

    spec, promise, schedule, learner, mechanism, _, features = served
    if promise.trust != LOCAL:
        raise InvalidInput(
            f"{learner['name']} is served under trust local. Got {promise.trust!r}. Simulate the others."
        )
    known = features or MixtureFeatures.one_hot(spec.states, spec.actions)
    problem = MixtureProblem(spec, known, value_ranges(known_rewards(learner.get("rewards"), spec)))
    return make(Request(problem, promise, schedule, mechanism=mechanism, failure=learner["failure"]))


def mixing_for(promise: Guarantee, users: int, batch: int | None, honest: float) -> Mixing | None:
    """How a shuffler mixes people, None without one: in equal batches unless their size is given."""
    if promise.trust != SHUFFLE:
        if batch is not None:
            raise InvalidInput(
                "Only a shuffler's batches have a size of their own. Leave --batch out, or give a --schedule."
            )
        return None
    return Mixing(batch or max(2, users // ROUNDS), honest)


def rounds_for(users: int, schedule: Schedule | None, mixing: Mixing | None) -> Schedule:
    """The schedule that was given, else equal rounds; under shuffling whole batches, since a short last one is never given out."""
    if mixing is not None:
        return Schedule.sized(max(users // mixing.batch, 1) * mixing.batch, mixing.batch)
    return schedule or Schedule.batches(users, min(ROUNDS, users))


@dataclass(frozen=True)
class ServiceChoices:
    """What is chosen of a new service: sizes, promise and people, and what has a default."""

    spec: Spec
    promise: Guarantee
    people: int
    name: str = ""
    """By default that of the contract before, or the folder's."""
    operator: str = ""
    """Who runs it; by default as in the contract before, or its name."""
    learner: str = "ucbvi"
    options: dict[str, Any] = field(default_factory=dict)
    """Of the learner."""
    schedule: Schedule | None = None
    """When policies change; by default in equal rounds."""
    mechanism: str = AUTO
    failure: float = 0.1
    bonus_scale: float = 1.0
    labels: dict[str, list[str]] | None = None
    """Names of states and actions, for pages."""
    window: float | None = None
    """Seconds within which reports are sent; by default none under trust local, and ten minutes elsewhere."""
    before: Contract | None = None
    """The contract that this one follows: its name and operator, and the next version."""
    batch: int | None = None
    """Of a shuffler: how many people a batch needs."""
    honest: float = HONEST
    """Of a shuffler: which share of them is honest."""
    between: dict[str, Any] = field(default_factory=dict)
    """What else the contract is to say of its shuffler or its curator."""
    features: MixtureFeatures | None = None
    """Of a linear mixture, by default one-hot."""
    rewards: Any = None
    """(H, S, A) known rewards of a linear mixture."""

    @property
    def role(self) -> str | None:
        """The role of whoever stands between devices and the collector; None if nobody does."""
        return ROLES.get(self.promise.trust)

    @property
    def seconds(self) -> float:
        """The window, or its default."""
        return self.window if self.window is not None else WINDOW if self.role else 0.0

    def served(self) -> ServedLearning:
        """What the service learns, with its rounds."""
        users = validation.integer("people", self.people, 1)
        mixing = mixing_for(self.promise, users, self.batch, self.honest)
        learner = {
            "name": self.learner,
            "options": self.options,
            "failure": self.failure,
            "bonus_scale": self.bonus_scale,
        }
        if self.rewards is not None:
            learner["rewards"] = known_rewards(self.rewards, self.spec).tolist()
        rounds = rounds_for(users, self.schedule, mixing)
        return ServedLearning(self.spec, self.promise, rounds, learner, self.mechanism, mixing, self.features)

    def intermediary(self, title: str, key: bytes) -> Intermediary | None:
        """What the contract says of the shuffler or the curator who has that public key; None without one."""
        if self.role is None:
            return None
        patience = 2 * self.seconds
        usual = {"operator": self.operator or title, "deadline": patience, "patience": patience}
        return Intermediary(**{"role": self.role, "key": key, **usual, **self.between})


def make_service(path: str | Path, spec: Spec, promise: Guarantee, people: int, **choices: Any) -> Folder:
    """Make a service: its keys, its contract and the operator's token, once, offline. The folder must be new or empty.

    `choices` are the other fields of `ServiceChoices`.
    """
    folder, chosen = Folder(Path(path)), ServiceChoices(spec, promise, people, **choices)
    if folder.path.exists() and any(folder.path.iterdir()):
        raise InvalidInput(f"{path} is not empty. A contract is made once: choose a new folder.")
    served, before = chosen.served(), chosen.before
    private, private_between = keys.new_key(), keys.new_key()
    title = chosen.name or (folder.path.resolve().name if before is None else str(before.document["name"]))
    contract = Contract.written(
        design_for(served),
        name=title,
        operator=chosen.operator or (title if before is None else before.operator),
        key=keys.public_key(private),
        learner=served.learner,
        labels=chosen.labels,
        window=chosen.seconds,
        intermediary=chosen.intermediary(title, keys.public_key(private_between)),
        version=1 if before is None else before.document["version"] + 1,
    )
    loss = "" if before is None else weaker(contract, before)
    if loss:
        raise InvalidInput(f"Devices would refuse a successor that promises less: {loss}. Promise no less than before.")
    folder.path.mkdir(parents=True, exist_ok=True, mode=0o700)
    keys.save_key(folder.key_file, private)
    folder.token()
    if chosen.role:
        keys.save_key(folder.path / f"{chosen.role}.key", private_between)
    write_whole(folder.contract_file, contract.data)
    return folder
