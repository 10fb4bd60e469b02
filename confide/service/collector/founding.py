"""Makes a service: what it learns, under which guarantee and when, becomes its contract and its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import validation
from ...errors import InvalidInput
from ...learning import learners
from ...learning.learners import Context
from ...learning.learners.learner import family_of
from ...mdp import MixtureFeatures, Spec
from ...mdp.described import DescribedFeatures
from ...privacy import ONCE, Guarantee, Participation, Schedule
from ...privacy.guarantee import LOCAL, SHUFFLE
from ...protocol.accepted import BROWSERS
from ...protocol.design import AUTO, Design, make
from ...protocol.releases.report import report_length
from ...validation import Json, Plain
from ..contract import keys
from ..contract.contract import Contract, keys_needed, weaker
from ..contract.files import write_whole
from ..contract.folder import Folder
from ..contract.intermediary import ROLES, Intermediary
from ..contract.periods import Periods
from ..contract.sealed import LONGEST
from ..contract.sealed import public_key as sealing_key
from ..contract.tokens import TokenIssuer
from .adapters import FEATURES, MIXTURE, known_rewards

if TYPE_CHECKING:
    from ...protocol.kinds import Question
    from ...protocol.kinds.mixture import MixtureForm
    from ...protocol.kinds.moments import MomentsQuestion

RIVAL = "linucb"
"""A learner of features that no service has."""
WINDOW = 600.0
"""Seconds within which reports are sent where tickets are taken, by default."""


@dataclass(frozen=True)
class ServiceChoices:
    """What is chosen of a new service: sizes, guarantee and people, and what has a default."""

    spec: Spec
    promise: Guarantee
    people: int
    name: str = ""
    """By default that of the contract before, or the folder's."""
    operator: str = ""
    """Who runs it; by default as in the contract before, or its name."""
    learner: str = "ucbvi"
    options: Mapping[str, Json] = field(default_factory=dict)
    """Of the learner."""
    schedule: Schedule | None = None
    """When policies change; by default as in a simulation."""
    mechanism: str = AUTO
    failure: float = 0.1
    bonus_scale: float = 1.0
    labels: dict[str, list[str]] | None = None
    """Names of states and actions, for pages."""
    window: float | None = None
    """Seconds within which reports are sent; by default none under trust local, and ten minutes elsewhere."""
    before: Contract | None = None
    """The contract that this one follows: its name and operator, and the next version."""
    endless: bool = False
    """Whether more or fewer than `people` may come: the rule of the schedule is public, and has no end that is ever reached."""
    returns: int = 1
    """How often one person may take part."""
    apart: int = 1
    """Under joint: how many batches apart, at least."""
    period: Periods | None = None
    """After how long each person's guarantee is given anew; None for never."""
    batch: int | None = None
    """Of a shuffler: how many people a batch needs, where all are to be equal."""
    honest: float | None = None
    """Of a shuffler: which share of them is honest, one half by default."""
    devices: str = BROWSERS
    """Whose devices take part: those in pages too, or any."""
    between: Mapping[str, Json] = field(default_factory=dict)
    """What else the contract is to say of its shuffler or its curator."""
    between_key: bytes | None = None
    """Of a successor, the private key of the shuffler or curator before; None where its operator has it."""
    issuer: TokenIssuer | Callable[[int], TokenIssuer] | None = None
    """Who issues tokens, one a person and visit, or what makes it for a number of keys; None: open to any client."""
    forecast: Mapping[str, int | None] | None = None
    """From how many people on half of the possible gain is had, as a simulation says: `people`, `low` and `high`."""
    features: MixtureFeatures | None = None
    """Of a linear mixture, by default one-hot."""
    rewards: ArrayLike | None = None
    """(H, S, A) known rewards of a linear mixture."""
    described: DescribedFeatures | None = None
    """The public description of what devices observe, for a learner of features; `spec` then has its sizes."""

    @property
    def role(self) -> str | None:
        """The role of the intermediary between devices and the collector; None without one."""
        return ROLES.get(self.promise.trust)

    @property
    def claimed(self) -> bool:
        """Whether the guarantee of a shuffler can be claimed: tokens are issued, and the shuffler has another operator."""
        between = str(self.between.get("operator") or ("" if self.goes_on is None else self.goes_on.operator))
        return self.issuer is not None and between not in ("", self.operator)

    @property
    def seconds(self) -> float:
        """The window, or its default."""
        return self.window if self.window is not None else WINDOW if self.role else 0.0

    def learner_entry(self) -> dict[str, Json]:
        """The learner, as the contract names it."""
        entry: dict[str, Json] = {
            "name": self.learner,
            "options": self.options,
            "failure": self.failure,
            "bonus_scale": self.bonus_scale,
            **({"expected": self.people} if self.endless else {}),
            **({} if self.forecast is None else {"forecast": self.forecast}),
        }
        return entry if self.rewards is None else {**entry, "rewards": self._known_rewards().tolist()}

    def _known_rewards(self) -> NDArray[np.float64]:
        return known_rewards(self.rewards, self.spec)

    def design(self) -> Design:
        """The design of the service: how its learner's question is answered, when, and by whom."""
        from ...protocol.defaults import request_for  # it loads a compiler, which a collector that serves does without

        if self.promise.trust != LOCAL and self.role is None:
            raise InvalidInput(
                "service-trust",
                f"Services have trust local, shuffle or joint. Got {self.promise.trust!r}. Simulate the others.",
            )
        users = validation.integer("people", self.people, 1)
        request = request_for(
            self._question(users),
            self.promise,
            users,
            schedule=self.schedule,
            shuffling={"batch": self.batch, "honest": self.honest},
            mechanism=self.mechanism,
            devices=self.devices,
            claimed=self.claimed,
            failure=self.failure,
            endless=self.endless,
            participation=Participation(self.returns, self.apart) if self.returns > 1 else ONCE,
        )
        return make(request)

    def _question(self, users: int) -> Question:
        """The question that the learner asks first."""
        algorithm = learners.make(self.learner, **self.options)
        family = family_of(algorithm)
        if family == MIXTURE:
            return self._mixture_problem()
        if family == FEATURES:
            return self._feature_problem()
        if not isinstance(algorithm, learners.TabularLearner):
            raise InvalidInput(
                "service-learner",
                f"Services have learners from counts, ucrl-vtr and linear. {self.learner} is none of these. Choose ucbvi.",
            )
        if self.described is not None:
            raise InvalidInput(
                "service-features-unused",
                f"{self.learner} learns from numbered states. Leave --features out, or choose linear.",
            )
        if self.features is not None or self.rewards is not None:
            raise InvalidInput(
                "service-known-unused",
                f"{self.learner} asks for nothing to be known. Leave --known out, or choose ucrl-vtr.",
            )
        context = Context(self.spec, users, self.failure, self.bonus_scale)
        return algorithm.ask(algorithm.begin(context, np.random.default_rng(0)))

    def _feature_problem(self) -> MomentsQuestion:
        """The moments of the described features, which devices compute, or a curator."""
        from ...protocol.kinds.moments import MomentsQuestion

        if self.learner == RIVAL:
            raise InvalidInput(
                "service-learner-compared",
                f"{self.learner} is there for comparison, and its policies are no weights. Choose linear.",
            )
        if self.described is None:
            raise InvalidInput(
                "service-features-missing",
                f"{self.learner} learns from described features. Give --features FILE, or choose ucbvi.",
            )
        return MomentsQuestion.of(self.described, self.spec.horizon, self.spec.dynamics)

    def _mixture_problem(self) -> MixtureForm:
        """The family of a learner of linear mixtures, whose question carries the value function of its round."""
        from ...learning.planning.value_targeted import value_ranges
        from ...protocol.kinds.mixture import MixtureForm

        if self.promise.trust != LOCAL:
            raise InvalidInput(
                "service-learner-trust",
                f"{self.learner} is served under trust local. Got {self.promise.trust!r}. Simulate the others.",
            )
        known = self.features or MixtureFeatures.one_hot(self.spec.states, self.spec.actions)
        return MixtureForm(self.spec, known, value_ranges(self._known_rewards()))

    @property
    def goes_on(self) -> Intermediary | None:
        """The shuffler or curator of the contract before, which a successor of the same trust keeps: devices refuse another."""
        known = None if self.before is None else self.before.intermediary
        return known if known is not None and known.role == self.role else None

    def intermediary(self, title: str, design: Design, private: bytes | None) -> Intermediary | None:
        """What the contract says of the shuffler or the curator; None without one. private: its key, or None where that of the
        contract before goes on with a key that is elsewhere."""
        if self.role is None:
            return None
        patience, known = 2 * self.seconds, self.goes_on
        usual: dict[str, Plain] = {"operator": self.operator or title, "deadline": patience, "patience": patience}
        if known is not None:
            usual |= {"key": known.key, "operator": known.operator, "address": known.address, "sealing": known.sealing}
        if private is not None:
            usual |= {"key": keys.public_key(private), "sealing": sealing_key(private) if _short(design) else None}
        entered: Callable[..., Intermediary] = Intermediary  # whose words a contract checks
        return entered(**{"role": self.role, **usual, **self.between})


def _short(design: Design) -> bool:
    """Whether uploads are short enough to be handed over by a page that closes. Episodes are, up to thousands of steps."""
    reports = [report_length(design, one) for one in range(len(design.devices))] if design.trust == SHUFFLE else []
    return max(reports, default=0) <= LONGEST


def make_service(path: str | Path, spec: Spec, promise: Guarantee, people: int, **choices: Any) -> Folder:
    """Make a service: its keys, its contract and the operator's token, once, offline. The folder must be new or empty.

    `choices` are the other fields of `ServiceChoices`.
    """
    folder, chosen = Folder(Path(path)), ServiceChoices(spec, promise, people, **choices)
    folder.check_new()
    design, before = chosen.design(), chosen.before
    private, private_between = keys.new_key(), keys.new_key() if chosen.goes_on is None else chosen.between_key
    title = chosen.name or (folder.path.resolve().name if before is None else str(before.document["name"]))
    contract = Contract.written(
        design,
        name=title,
        operator=chosen.operator or (title if before is None else before.operator),
        key=keys.public_key(private),
        learner=chosen.learner_entry(),
        labels=chosen.labels,
        window=chosen.seconds,
        intermediary=chosen.intermediary(title, design, private_between),
        issuer=chosen.issuer(keys_needed(design, chosen.period)) if callable(chosen.issuer) else chosen.issuer,
        version=1 if before is None else before.document["version"] + 1,
        period=chosen.period,
    )
    loss = "" if before is None else weaker(contract, before)
    if loss:
        raise InvalidInput(
            "successor-weaker",
            f"Devices would refuse a successor with a weaker guarantee: {loss}. Give a guarantee at least as strong.",
        )
    folder.path.mkdir(parents=True, exist_ok=True, mode=0o700)
    keys.save_key(folder.key_file, private)
    folder.token()
    if chosen.role and private_between is not None:
        keys.save_key(folder.path / f"{chosen.role}.key", private_between)
    write_whole(folder.contract_file, contract.data)
    return folder


def following(before: Folder) -> dict[str, Any]:
    """What `make_service` is given for a successor: the contract, and the key of the shuffler or curator if it is here."""
    contract = before.contract()
    about = contract.intermediary
    path = before.path / f"{'' if about is None else about.role}.key"
    return {"before": contract, "between_key": keys.load_key(path) if path.exists() else None}
