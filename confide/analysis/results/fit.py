"""The result of a fit on real data: a policy, the release it was learned from, and its certificate.

Everything here may be published: it is the release, what was computed from it, and what was public before.

The arrays of a saved policy: what it does, the value it surely has, and what was public beforehand.
"""

from __future__ import annotations

import csv
import os
import secrets
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import validation
from ...errors import FormatError, InvalidInput, NotRecommended
from ...mdp import CURRENT_PRACTICE, Policy, Spec
from ...mdp.critic import Critic, VectorPolicy
from ...mdp.feature_policy import FeaturePolicy
from ...mdp.knowledge import Knowledge
from ...mdp.linear import BlockFeatures, LinearFeatures
from ...privacy import Certificate
from ...protocol.releases.release_bytes import pack_file, unpack_file
from ...validation import Json
from ..reporting.stated import Findings, FitDocument, StatedDifference, with_labels
from .card import card_json, card_page
from .folder import (
    CERTIFICATE,
    CONFIG,
    POLICY,
    check_free,
    complete_folder,
    config_text,
    held_in,
    paid_place,
    read_config,
)
from .toml import as_toml

Table = NDArray[np.float64]
FittedPolicy = Policy | VectorPolicy | FeaturePolicy


def arrays_of(
    policy: Policy | VectorPolicy, values: Table | None, knowledge: Knowledge, features: LinearFeatures | None
) -> dict[str, NDArray[np.generic]]:
    """The arrays of a policy, by the names under which they are saved.

    A policy for vectors: weights (H, B, d), doubt (H, B, d, d) and numbers (H, 4) of its critics, and its features.
    """
    arrays = _tables(knowledge)
    if features is not None:
        arrays |= {"phi": features.phi, "bound": np.array(features.bound)}
    if isinstance(policy, VectorPolicy):
        weights, doubt, numbers = (
            np.array(critic) for critic in zip(*(critic.arrays() for critic in policy.critics), strict=True)
        )
        features_of = policy.features
        shape = np.array(
            [features_of.width, features_of.bound, features_of.intercept, features_of.clip], dtype=np.float64
        )
        return {**arrays, "weights": weights, "doubt": doubt, "numbers": numbers, "vectors": shape}
    if policy.unchanged is not None:
        arrays["unchanged"] = policy.unchanged
    return {**arrays, "probabilities": policy.probabilities, "values": np.asarray(values)}


def read_arrays(
    stored: Any, config: dict[str, Any]
) -> tuple[FittedPolicy, Table | None, Knowledge, LinearFeatures | None]:
    """The policy, values, knowledge and features that `arrays_of` saved."""
    if "features" in stored.files:
        described = FeaturePolicy.from_bytes(stored["features"].tobytes())
        spec = Spec(1, described.features.actions, described.horizon, config["model"])
        return described, None, _knowledge(stored, spec, config), None
    features = LinearFeatures(stored["phi"], float(stored["bound"])) if "phi" in stored.files else None
    if "vectors" in stored.files:
        width, bound, intercept, clip = validation.array("vectors", stored["vectors"], (4,)).tolist()
        block = BlockFeatures(int(config["actions"]), int(width), bound, bool(intercept), bool(clip))
        rows = zip(stored["weights"], stored["doubt"], stored["numbers"], strict=True)
        critics = tuple(Critic.of(*row).checked(block.blocks, block.dimension) for row in rows)
        spec = Spec(1, block.actions, len(critics), config["model"])
        return VectorPolicy(block, critics), None, _knowledge(stored, spec, config), features
    policy = Policy(stored["probabilities"], stored["unchanged"] if "unchanged" in stored.files else None)
    horizon, states, actions = policy.probabilities.shape
    values = validation.array("values", stored["values"], (horizon + 1, states))
    return policy, values, _knowledge(stored, Spec(states, actions, horizon, config["model"]), config), features


def _tables(knowledge: Knowledge) -> dict[str, NDArray[np.generic]]:
    """The public tables, over the declared states."""
    states = knowledge.states
    tables: dict[str, NDArray[np.generic]] = {
        "support": np.packbits(knowledge.support[:states]),
        "allowed": knowledge.allowed[:states],
    }
    if knowledge.rewards is not None:
        tables["rewards"] = knowledge.rewards[:, :states]
    if knowledge.initial is not None:
        tables["initial"] = knowledge.initial[:states]
    if knowledge.returns is not None:
        tables["returns"] = np.array(knowledge.returns)
    return tables


def _knowledge(stored: Any, spec: Spec, config: dict[str, Any]) -> Knowledge:
    ends = bool(config["ends"])
    shape = (spec.states, spec.actions, spec.states + ends)
    bits = None
    if spec.horizon > 1:  # after a single step there is nothing to say
        bits = np.unpackbits(stored["support"], count=int(np.prod(shape))).reshape(shape).astype(np.bool_)
    rewards = stored["rewards"] if "rewards" in stored.files else None
    if rewards is not None and len(rewards) == 1:
        rewards = rewards[0]
    initial = stored["initial"] if "initial" in stored.files else None
    returns = tuple(validation.array("returns", stored["returns"], (2,))) if "returns" in stored.files else None
    return Knowledge.declared(spec, bits, stored["allowed"], rewards, initial, ends, config["end_reward"], returns)


SCHEMA = "confide.fit/1"
TABLE, RELEASE, REPORT, FIT_FILE = "policy.csv", "release", "report.html", "fit.toml"
CARD, CARD_PAGE = "card.json", "card.html"
FILES = (POLICY, TABLE, RELEASE, CERTIFICATE, REPORT, CONFIG, CARD, CARD_PAGE)
KNOWN = (*FILES, FIT_FILE)
"""The files that may lie in a folder: a fit file does where a command used one."""
HEADER = ("step", "state", "action", "probability", "value")


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A policy learned from a private release.

    policy: for the declared states. values: (H+1, S), what is surely reached from each step and state on, as far as
    the learner can tell, in learners' units: sums of rewards in [0, 1]; None where states are vectors. knowledge: what
    was public beforehand. releases: all that was ever learned from the data, as bytes by name. findings: plain numbers
    computed from them, in people's units. features: the public table of a linear learner, if it has one.
    """

    policy: FittedPolicy
    values: NDArray[np.float64] | None
    knowledge: Knowledge
    releases: dict[str, bytes]
    certificate: Certificate
    findings: Findings
    config: dict[str, Any]
    states: tuple[str, ...]
    actions: tuple[str, ...]
    features: LinearFeatures | None = None

    def __repr__(self) -> str:
        return f"Fit({self.config.get('learner')}, {self.certificate.guarantee})"

    @property
    def formula(self) -> FeaturePolicy | None:
        """The policy by described features, if it is one."""
        return cast(FeaturePolicy, self.policy) if self.config.get("features") is not None and self._learned else None

    @property
    def tabled(self) -> Policy | VectorPolicy:
        """The policy for numbered states, or for vectors, where it is no formula."""
        return cast("Policy | VectorPolicy", self.policy)

    @property
    def _learned(self) -> bool:
        """Whether anything was learned from the release yet."""
        return "assumes" in self.findings

    @property
    def users(self) -> int:
        """How many people the data held: public, as neighbouring data sets have equally many."""
        return int(self.findings["users"])

    def act(
        self, step: int, state: ArrayLike | Mapping[str, object], rng: np.random.Generator | None = None
    ) -> int | str:
        """An action for one person in a state: a number, a label, a vector, or what is observed by name. Labels are answered with
        labels.

        Where people should go on as they do now, the answer is `"current practice"`.
        """
        if self.formula is not None:
            self.warn_of(True)
            return self.formula.act(step, cast(Mapping[str, object], state))
        if not isinstance(state, str):
            action = self.tabled.act(step, cast(ArrayLike, state), rng)
            self.warn_of(action != CURRENT_PRACTICE)
            return action
        number = self.states.index(validation.choice("state", state, self.states))
        action = self.tabled.act(step, number, rng)
        self.warn_of(action != CURRENT_PRACTICE)
        return self.actions[action] if isinstance(action, int) else action

    def warn_of(self, change: bool) -> None:
        """Warn a caller who asks for a change that this fit found no reason to recommend."""
        if change and self.findings.get("recommended") is False:
            warnings.warn(
                "This policy is not recommended: its fit could not say that it is better than current practice. `report` says why.",
                NotRecommended,
                stacklevel=3,
            )

    def predict(self, inputs: Any, step: Any = None) -> NDArray[np.generic]:
        """(n,) the policy's actions for many people at once, with labels; see `exports.predict`."""
        from .exports import predict

        return predict(self, inputs, step)

    @property
    def differences(self) -> list[StatedDifference[str]]:
        """Where the policy leaves current practice and the value of that, the greatest first, with labels."""
        return with_labels(self.findings.get("differences") or [], self.states, self.actions)

    def _repr_html_(self) -> str:
        """HTML for a notebook: whether the policy is better, and its value."""
        from ..reporting.offline_report import summary

        return summary(self.findings, self.certificate, int(self.config["horizon"]))

    def table(self) -> Policy:
        """The policy as a table over numbered states; refused where states are vectors."""
        if not isinstance(self.policy, Policy):
            raise InvalidInput(
                "policy-of-vectors",
                "This policy is for states that are vectors. Use a policy for numbered states here.",
            )
        return self.policy

    def with_audit(self, audit: dict[str, Json]) -> Fit:
        """The same fit with the findings of an audit in its certificate."""
        return replaced(self, certificate=self.certificate.with_audit(audit))

    def as_json(self) -> FitDocument:
        """The stable machine-readable form."""
        found = self.findings
        return {
            "value": found.get("value"),
            "low": found.get("low"),
            "high": found.get("high"),
            "lower": found.get("lower"),
            "alone": found.get("alone"),
            "practice": found.get("practice"),
            "gain": found.get("gain"),
            "recommended": found.get("recommended"),
            "coverage": found.get("coverage"),
            "needed": found.get("needed"),
            "power": found.get("power"),
            "assumes": found.get("assumes"),
            "checks": found.get("checks"),
            "ended": found.get("ended"),
            "judged": found.get("judged"),
            "alarms": found.get("alarms"),
            "groups": found.get("groups"),
            "needed_to_be_sure": found.get("needed_to_be_sure"),
            "users": self.users,
            "certificate": self.certificate.as_json(),
        }

    def report(self, path: str | Path) -> Path:
        """Write the report, one HTML file that needs no network."""
        target = Path(path)
        target.write_text(self._page(), encoding="utf-8")
        return target

    def _page(self) -> str:
        from ..reporting.offline_report import render

        return render(
            policy=self.policy,
            certificate=self.certificate,
            findings=self.findings,
            config=self.config,
            states=self.states,
            actions=self.actions,
        )

    def save(self, folder: str | Path, *, replace: bool = False) -> Path:
        """Write everything to a folder that appears complete or not at all."""
        return self._save(check_free(folder, KNOWN, replace), self._page())

    def keep(self, folder: Path) -> Path:
        """Write what `load` needs and no more, as quickly as can be: for a release that was just paid for."""
        return self._save(check_free(folder, KNOWN), None)

    def rehearse(self) -> None:
        """Refuse choices that could not be written down."""
        try:
            config_text(SCHEMA, self._config())
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                "fit-choices-not-plain",
                f"The choices of a fit are written beside its policy, and these cannot be: {error}. Use plain values.",
            ) from error

    def _save(self, target: Path, page: str | None) -> Path:
        try:
            with complete_folder(target) as draft:
                self._write(draft, page)
        except OSError as error:
            raise InvalidInput(
                "folder-not-written",
                f"{target} could not be written: {error.strerror or type(error).__name__}. Nothing was left there.",
            ) from error
        return target

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        """The arrays of the policy; of one by described features its bytes, beside the public tables."""
        if self.formula is not None:
            return {**_tables(self.knowledge), **self.formula.arrays()}
        return arrays_of(self.tabled, self.values, self.knowledge, self.features)

    def _config(self) -> dict[str, Json]:
        """The configuration that is saved, without how long it took: that would be a measurement of work on raw data."""
        names = {"states": list(self.states), "actions": list(self.actions)}
        return {**self.config, "findings": self.findings, "names": names}

    def _write(self, draft: Path, page: str | None) -> None:
        (draft / CONFIG).write_text(config_text(SCHEMA, self._config()), encoding="utf-8")
        self.certificate.save(draft / CERTIFICATE)
        (draft / RELEASE).write_bytes(pack_file(self.releases))
        np.savez_compressed(draft / POLICY, **self._arrays())  # type: ignore[arg-type]
        if page is None:
            return
        (draft / REPORT).write_text(page, encoding="utf-8")
        (draft / CARD).write_text(card_json(self), encoding="utf-8")
        (draft / CARD_PAGE).write_text(card_page(self), encoding="utf-8")
        if self.config.get("fit_file"):
            above = "# The settings of this fit. The data and its tables are named, not where they lie.\n"
            (draft / FIT_FILE).write_text(as_toml(self.config["fit_file"], above), encoding="utf-8")
        if self.formula is not None:
            from .feature_exports import as_csv

            (draft / TABLE).write_text(as_csv(self.formula), encoding="utf-8")
        if isinstance(self.policy, Policy) and self.values is not None:
            with open(draft / TABLE, "w", encoding="utf-8", newline="") as file:
                self._write_table(csv.writer(file), self.policy, self.values)

    def _write_table(self, rows: Any, policy: Policy, values: NDArray[np.float64]) -> None:
        """The most likely action of every step and state, with labels, or to follow current practice; what is surely reached
        from there on, in units of rewards."""
        rows.writerow(HEADER)
        low, high = map(float, self.config["reward_range"])
        best, chance = policy.actions, policy.probabilities.max(axis=-1)
        for step, state in np.ndindex(best.shape):
            chosen, likely = best[step, state], chance[step, state]
            action, likely = (CURRENT_PRACTICE, 1.0) if chosen < 0 else (self.actions[chosen], likely)
            worth = low * (len(best) - step) + (high - low) * values[step, state]
            rows.writerow((step, self.states[state], action, f"{likely:.6g}", f"{worth:.6g}"))

    @classmethod
    def load(cls, folder: str | Path) -> Fit:
        """Read what `save` wrote; refuse anything else."""
        path = Path(folder)
        if not path.is_dir() and paid_place(path).is_dir():
            raise FormatError(
                "fit-waits-to-be-learned",
                f"{path} is not there yet: its release was paid for and waits in {paid_place(path)}. Learn from it: "
                f"confide refit {path} --out {path}.",
            )
        if not path.is_dir():
            raise FormatError(
                "fit-folder-missing",
                f"{path} is not a folder that holds a policy. Give one that was made with fit --out.",
            )
        certificate = Certificate.load(path / CERTIFICATE)
        with held_in(path, "a policy"):
            return cls._read(path, certificate)

    @classmethod
    def _read(cls, path: Path, certificate: Certificate) -> Fit:
        config = read_config(path, SCHEMA)
        names, findings = config.pop("names"), config.pop("findings")
        # Opened here, because numpy leaves a file that is none of its own open.
        with open(path / POLICY, "rb") as file, np.load(file, allow_pickle=False) as stored:
            policy, values, knowledge, features = read_arrays(stored, config)
        if (len(names["states"]), len(names["actions"])) != (knowledge.states, knowledge.spec.actions):
            raise ValueError("its labels do not fit its policy")
        releases = unpack_file((path / RELEASE).read_bytes())
        labels = tuple(map(str, names["states"])), tuple(map(str, names["actions"]))
        return cls(policy, values, knowledge, releases, certificate, findings, config, *labels, features)


def load(folder: str | Path) -> Fit:
    """The policy in a folder, with everything that came with it. A saved run is read by `Run.load`."""
    return Fit.load(folder)


def reserve(folder: str | Path, size: int) -> None:
    """Refuse a folder whose disk has no room for `size` bytes: better before anything is spent than after."""
    path = Path(os.path.abspath(folder))
    parent = next(above for above in path.parents if above.is_dir())
    place = parent / f".{path.name}.{secrets.token_hex(8)}.partial"
    try:
        with open(place, "wb") as file:
            if sys.platform == "linux":
                os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidInput(
            "folder-no-room",
            f"{folder} needs room for about {max(size / 1e6, 0.1):,.1f} MB: {reason}. Free some, or go elsewhere.",
        ) from error
    finally:
        place.unlink(missing_ok=True)
