"""A service's folder: the contract that everybody may read, the key that nobody else may, the database and the last head."""

from __future__ import annotations

from dataclasses import dataclass
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


def make_service(
    path: str | Path,
    spec: Spec,
    promise: Guarantee,
    people: int,
    *,
    name: str = "",
    operator: str = "",
    learner: str = "ucbvi",
    options: dict[str, Any] | None = None,
    schedule: Schedule | None = None,
    mechanism: str = AUTO,
    failure: float = 0.1,
    bonus_scale: float = 1.0,
    labels: dict[str, list[str]] | None = None,
    window: float | None = None,
    before: Contract | None = None,
    batch: int | None = None,
    honest: float = HONEST,
    between: dict[str, Any] | None = None,
    features: MixtureFeatures | None = None,
    rewards: Any = None,
) -> Folder:
    """Make a service: its keys, its contract and the operator's token, once, offline. The folder must be new or empty.

    window: seconds within which reports are sent, by default none under trust local and ten minutes elsewhere. before: the
    contract that this one follows: its name and operator, and the next version. batch, honest: of a shuffler, how many people
    a batch needs, and which share of them is honest. between: what else the contract is to say of its shuffler or its curator.
    features, rewards: of a linear mixture, what everybody knows: (H, S, A) rewards, and features, by default one-hot.
    """
    folder = Folder(Path(path))
    if folder.path.exists() and any(folder.path.iterdir()):
        raise InvalidInput(f"{path} is not empty. A contract is made once: choose a new folder.")
    users = validation.integer("people", people, 1)
    mixing = mixing_for(promise, users, batch, honest)
    rounds = rounds_for(users, schedule, mixing)
    learner_settings = {"name": learner, "options": options or {}, "failure": failure, "bonus_scale": bonus_scale}
    if rewards is not None:
        learner_settings["rewards"] = known_rewards(rewards, spec).tolist()
    served = ServedLearning(spec, promise, rounds, learner_settings, mechanism, mixing, features)
    private, private_between = keys.new_key(), keys.new_key()
    title = name or (folder.path.resolve().name if before is None else str(before.document["name"]))
    role = ROLES.get(promise.trust)
    seconds = window if window is not None else WINDOW if role else 0.0
    usual = {"operator": operator or title, "deadline": 2 * seconds, "patience": 2 * seconds, **(between or {})}
    contract = Contract.written(
        design_for(served),
        name=title,
        operator=operator or (title if before is None else before.operator),
        key=keys.public_key(private),
        learner=learner_settings,
        labels=labels,
        window=seconds,
        intermediary=Intermediary(**{"role": role, "key": keys.public_key(private_between), **usual}) if role else None,
        version=1 if before is None else before.document["version"] + 1,
    )
    loss = "" if before is None else weaker(contract, before)
    if loss:
        raise InvalidInput(f"Devices would refuse a successor that promises less: {loss}. Promise no less than before.")
    folder.path.mkdir(parents=True, exist_ok=True, mode=0o700)
    keys.save_key(folder.key_file, private)
    folder.token()
    if role:
        keys.save_key(folder.path / f"{role}.key", private_between)
    write_whole(folder.contract_file, contract.data)
    return folder
