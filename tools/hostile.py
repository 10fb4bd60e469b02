"""Attacks on services, each tried: `./run hostile`, `--json` for rows of `name`, `held` and `figure`; exit 1 if one succeeds.

Everything runs on this machine. Reports of honest people are drawn by their devices, in a world that is known here only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from confide import Local, Shuffle
from confide.data.privatizers import respond
from confide.data.trajectories.trajectory import Trajectory
from confide.errors import FormatError
from confide.lab.environments import make
from confide.lab.staging.admission import make_admitting
from confide.learning.planning import policy_value
from confide.mdp import Policy, Spec, policies
from confide.mechanisms.noise import device_noise
from confide.privacy import Guarantee, Schedule
from confide.privacy.guarantee import LOCAL, SHUFFLE
from confide.protocol.kinds.counts import TRANSITIONS
from confide.protocol.kinds.question import asked_by
from confide.protocol.releases import Sum
from confide.protocol.releases.plausibility import doubtful_rows
from confide.protocol.releases.report import Report, limits
from confide.service.collector.alarms import DOUBTS, FALSE_ALARMS
from confide.service.collector.app import Intake
from confide.service.collector.closing import Publisher, RoundCloser
from confide.service.collector.founding import make_service
from confide.service.collector.sources import IntermediaryClient, RoundData
from confide.service.collector.store import FORGED, Arrival, CollectorStore, Group
from confide.service.contract.blind_rsa import PrivateKey
from confide.service.contract.folder import Folder
from confide.service.contract.heads import SignedHead
from confide.service.contract.tokens import TOKEN_BYTES
from confide.service.intermediary.store import BatchStore
from confide.service.issuer.folder import IssuerFolder
from tools.hostile_running import (
    TriedAttack,
    frozen_process,
    letter,
    silent_connections,
    spent_at_two_collectors,
    token,
)

WORLD, HORIZON, EPSILON = "riverswim/3", 6, 2.0
PEOPLE, ROUNDS = 20_000, 10
SCRIPTED, GROUP, THREADS, ASKED, DRAWS = 10_000, 500, 100, 200, 20_000
SHARES, EPSILONS = (0.0, 0.02, 0.05, 0.1, 0.2), (0.5, 1.0, 2.0, 4.0)
"""Of token holders, whose lies are ones that a person could have lived; and the local guarantee under which they lie."""


DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "service" / "hostile.md"
HEADER = """# Attacks that were tried

`./run hostile --document` wrote this page: each attack against the classes that serve, on one machine. Hostile reports:
{world}, horizon {horizon}, local epsilon {epsilon:g}, {people:,} users in {rounds} rounds, from the first round on unless it
says otherwise. An extreme report names one pair and says that it is paid; honest devices draw the pair from a public law, so that
sums show it. Where whole episodes are counted (Laplace, Gaussian), it claims as much of one pair as a report can hold; to a
shuffler, in batches as large as a round, it sends all bits as ones.
A curator is handed episodes, and takes those that can be lived. A service without hostile users ever raises an alarm with
probability {false_alarms:g} at most. One of 10 % is seen when its first round closes. Fewer may need another round
to be distinguished from chance: until then what was learned waits, as it does in about {doubts:.0%} of the rounds
of a service without hostile users.
Where 5 % send extreme reports, {unnoticed:.1%} of services do not even wait, and publish for one round what these taught
(10 %: {unnoticed_more:.1%}; from {draws:,} draws of the pairs that are named); the alarm of the next round withdraws it.
The second table is about token holders who draw their pair as they should, and lie as a person could have lived: no test of sums
can see them, and what they can do depends on how many they are and on epsilon: noise hides a person, and whatever she says
weighs more, the more noise there is. One service for each share and epsilon.

"""


def unnoticed(share: float, draws: int = DRAWS) -> float:
    """The share of services in which extreme reports of this many raise neither alarm nor doubt in the first round, where each of
    the pairs is asked about as often as every other."""
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(Path(place))
        weights, many = trial.contract.design.question.law, trial.contract.tickets(1)
        trial.close()
    law, bad, rng = weights / weights.sum(), int(share * many), np.random.default_rng(0)
    named = rng.multinomial(many - bad, law, draws).astype(np.float64)
    named[:, 0] += bad
    return float(np.mean([not doubtful_rows(one, many * law, DOUBTS) for one in named]))


def header() -> str:
    """What stands above the tables."""
    return HEADER.format(
        world=WORLD,
        horizon=HORIZON,
        epsilon=EPSILON,
        people=PEOPLE,
        rounds=ROUNDS,
        false_alarms=FALSE_ALARMS,
        doubts=DOUBTS,
        unnoticed=unnoticed(0.05),
        unnoticed_more=unnoticed(0.1),
        draws=DRAWS,
    )


NOISES: dict[str, tuple[Guarantee, dict[str, Any]]] = {
    "asked": (Local(EPSILON), {}),
    "laplace": (Local(EPSILON), {"mechanism": "laplace"}),
    "gaussian": (Local(EPSILON, 1e-6), {"mechanism": "gaussian"}),
    "shuffled": (Shuffle(EPSILON, 1e-6), {"batch": PEOPLE // ROUNDS, "window": 2.0}),
}
"""What is asked of devices: by default one pair; counts of whole episodes with noise of their own; what a shuffler adds up."""


COUNTED = tuple(NOISES)[1:]


class Batches(IntermediaryClient):
    """What a shuffler closed, handed over without a network."""

    def __init__(self, store: CollectorStore) -> None:
        super().__init__(store, "http://127.0.0.1:1", b"")
        self.batch = b""

    def announce(self, head: SignedHead) -> None:
        """Nothing: only this process stores it here."""

    def round_data(self, number: int) -> RoundData | None:
        """The batch, once there is one."""
        batch, self.batch = self.batch, b""
        people = self._store.contract.ends[number - 1]
        return RoundData(*self._store.state(number), [Group(b"", batch)], people) if batch else None


class Trial:
    """A service in a folder, without a network: its store, its closer, and people. noise: what devices are asked.

    No token is shown here: each of these people would have one, and alarms see none of them.
    """

    def __init__(
        self,
        place: Path,
        people: int = PEOPLE,
        seed: int = 0,
        noise: str = "asked",
        epsilon: float = EPSILON,
    ) -> None:
        world = make(WORLD, HORIZON)
        assert world.model is not None
        self.model, self.rng = world.model, np.random.default_rng(seed)
        promise, choices = NOISES[noise]
        promise = replace(promise, epsilon=epsilon)
        if promise.trust == LOCAL:
            choices = {**choices, "schedule": Schedule.batches(people, ROUNDS)}
        self.folder = make_service(place / "tea", spec=world.spec, promise=promise, people=people, **choices)
        self.contract = self.folder.contract()
        self.store = CollectorStore(self.folder.database, self.contract)
        self.store.prepare()
        self.publisher = Publisher(self.store, self.folder)
        self.batches = Batches(self.store) if promise.trust == SHUFFLE else None
        key = self.folder.key(self.contract)
        self.closer = RoundCloser(self.store, self.publisher, key, lambda seconds: None, self.batches)
        self.closer.step()

    def policy(self) -> Policy:
        """The policy that is published."""
        head = self.store.newest()
        assert head is not None
        raw = self.store.policy(head.head.policy)
        assert raw is not None
        return policies.from_bytes(raw, self.model.spec)[0]

    def play(self, share: float, hostile: Callable[[Any], Report]) -> None:
        """Send a round of people, a share of whom are hostile, and close it."""
        head = self.store.newest()
        assert head is not None
        number = head.head.round
        digest = head.head.question
        question = asked_by(self.contract.design.question, None if digest is None else self.store.question(digest))
        many = self.contract.tickets(number)
        bad = int(share * many)
        policy = self.policy()
        design, reports = self.contract.design, []
        for person in range(many):
            lived = walked(self.model, policy, self.rng)
            sent = respond(design, None if self.batches else question, lived, device_noise(None))
            honest = sent[0].report if isinstance(sent, tuple) else sent
            reports.append(hostile(question) if person < bad else honest)
        if self.batches is not None:
            total = Sum.empty(design)
            for report in reports:
                total.add(Report.from_bytes(report.to_bytes(design), design))
            self.batches.batch = total.to_bytes()
        else:
            pile = Intake(self.contract, self.publisher.question_digests)._pile
            arrivals = [Arrival(self.rng.bytes(16), pile.check(one.to_bytes(design)), number) for one in reports]
            for start in range(0, many, GROUP):
                self.store.count(arrivals[start : start + GROUP])
        self.closer.step()

    def close(self) -> None:
        """End its processes."""
        self.closer._child.stop()
        self.store.close()


def walked(model: Any, policy: Policy, rng: np.random.Generator) -> Trajectory:
    """One person's life under a policy."""
    spec = model.spec
    states, actions, rewards = [int(rng.choice(spec.states, p=model.initial))], [], []
    for step in range(spec.horizon):
        layer = step if spec.layers > 1 else 0
        action = int(rng.choice(spec.actions, p=policy.probabilities[step, states[-1]]))
        rewards.append(float(rng.random() < model.rewards[layer, states[-1], action]))
        actions.append(action)
        states.append(int(rng.choice(spec.states, p=model.transitions[layer, states[-2 + 1], action])))
    return Trajectory(np.array(states), np.array(actions), np.array(rewards))


def extreme(design: Any, row: int) -> Callable[[Any], Report]:
    """All say the same: at this pair the reward was one, and it led to the last state. Of counts, as much of it as a report holds;
    of bits, all of them."""
    width, device = design.question.width, design.devices[0]
    most = limits(design)[1]

    def report(question: Any) -> Report:
        cells = np.zeros(width, dtype=np.int64)
        if design.trust == SHUFFLE:
            cells[:] = most
        elif hasattr(device, "ones"):
            cells[[width - 2, *range(int(device.ones or 1) - 1)]] = 1
        else:
            cells[[design.counts.slices[TRANSITIONS].start - 1, -1]] = most[-1]
            cells[:] = np.minimum(cells, most)
        return Report(design.digest, question.digest, cells, row)

    return report


def hostile_reports(share: float, within: int | None, seed: int = 0, noise: str = "asked") -> TriedAttack:
    """The extreme attack of a share of token holders, from the first round on. within: rounds in which it must be seen; None if
    it is enough that the value of the policy is no less than that of acting at random."""
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(Path(place), seed=seed, noise=noise)
        try:
            attack = extreme(trial.contract.design, 0)
            for _ in range(3):
                trial.play(share, attack)
            raised, spec = trial.store.alarm(), trial.model.spec
            value = policy_value(trial.model, trial.policy())
            chance = policy_value(trial.model, Policy.uniform(spec.horizon, spec.states, spec.actions))
        finally:
            trial.close()
    when = "no alarm" if raised is None else f"alarm in round {raised[0]}"
    seen = within is None or (raised is not None and raised[0] <= within)
    held = seen and value >= chance - 1e-9
    return TriedAttack(
        f"{share:.0%} of token holders send extreme reports" + ("" if noise == "asked" else f" ({noise})"),
        held,
        f"{when} of 3; value of the policy {value:.3f}, acting at random {chance:.3f}",
    )


def late_attack(share: float, seed: int = 2) -> TriedAttack:
    """The same attack after sound rounds: what they taught stays."""
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(Path(place), seed=seed)
        try:
            attack = extreme(trial.contract.design, 0)
            for _ in range(3):
                trial.play(0.0, attack)
            before = policy_value(trial.model, trial.policy())
            for _ in range(2):
                trial.play(share, attack)
            raised, after = trial.store.alarm(), policy_value(trial.model, trial.policy())
        finally:
            trial.close()
    when = "no alarm" if raised is None else f"alarm in round {raised[0]}"
    held = raised is not None and raised[0] == 4 and abs(after - before) < 1e-9
    figure = f"{when}; value of the policy {before:.3f} before and {after:.3f} after"
    return TriedAttack(f"{share:.0%} begin to send extreme reports in round 4", held, figure)


def lies(share: float, epsilon: float = EPSILON, seed: int = 0) -> dict[str, Any]:
    """What a share of token holders can do who draw their pair as they should, and lie as a person could have lived: that drifting
    is paid, and nothing else is. No test of sums can see it."""
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(Path(place), seed=seed, epsilon=epsilon)
        design, spec = trial.contract.design, trial.model.spec
        try:

            def lie(question: Any) -> Report:
                row = int(trial.rng.choice(question.rows, p=question.law / question.law.sum()))
                paid = row % spec.actions == 0
                cells = np.zeros(question.width, dtype=np.int64)
                cells[[1 if paid else 0, *range(2, int(design.mechanism.ones or 1) + 1)]] = 1
                return Report(design.digest, question.digest, cells, row)

            for _ in range(ROUNDS):
                trial.play(share, lie)
            raised = trial.store.alarm()
            value = policy_value(trial.model, trial.policy())
            chance = policy_value(trial.model, Policy.uniform(spec.horizon, spec.states, spec.actions))
        finally:
            trial.close()
    return {"share": share, "epsilon": epsilon, "alarm": raised is not None, "value": value, "at_random": chance}


def honest_reports(seed: int = 1, noise: str = "asked") -> TriedAttack:
    """No user is hostile: no alarm."""
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(Path(place), seed=seed, noise=noise)
        try:
            for _ in range(3):
                trial.play(0.0, extreme(trial.contract.design, 0))
            raised = trial.store.alarm()
        finally:
            trial.close()
    name = "no user is hostile" + ("" if noise == "asked" else f" ({noise})")
    seen = "no alarm" if raised is None else f"alarm in round {raised[0]}"
    return TriedAttack(name, raised is None, f"{seen} in 3 rounds (at most {FALSE_ALARMS:g} a service)")


def _service(place: Path, promise: Guarantee | None = None, **choices: Any) -> tuple[Folder, PrivateKey]:
    options = {"people": 40, "schedule": Schedule.batches(40, 2), **choices}
    folder = make_admitting(place / "tea", spec=Spec(3, 2, 4), promise=promise or Local(4.0), **options)
    return folder, IssuerFolder(folder.issuer_path).private_keys()[0]


def scripted() -> TriedAttack:
    """Thousands of submissions without tokens."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        folder, _ = _service(Path(place))
        contract = folder.contract()
        store = CollectorStore(folder.database, contract)
        store.prepare()
        intake, refused = Intake(contract, {}), 0
        for _ in range(SCRIPTED // GROUP):
            bodies = [letter(folder, rng.bytes(TOKEN_BYTES)) for _ in range(GROUP)]
            refused += store.count([intake.read(body, 1) for body in bodies]).count(FORGED)
        moved = store.tally().people + store.known_ids()
        store.close()
    figure = f"{refused:,} of {SCRIPTED:,} refused, {moved} counted"
    return TriedAttack("submissions without tokens", (refused, moved) == (SCRIPTED, 0), figure)


def spent_twice() -> TriedAttack:
    """One token in many threads at once, each with another report."""
    with tempfile.TemporaryDirectory() as place:
        folder, key = _service(Path(place))
        contract = folder.contract()
        store = CollectorStore(folder.database, contract)
        store.prepare()
        intake, spent = Intake(contract, {}), token(folder, key)
        start, outcomes = threading.Barrier(THREADS, timeout=60), list[str]()

        def come() -> None:
            arrival = intake.read(letter(folder, spent), 1)
            other = CollectorStore(folder.database, contract)
            start.wait()
            outcomes.extend(other.count([arrival]))
            other.close()

        threads = [threading.Thread(target=come) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        people = store.tally().people
        store.close()
    counted = outcomes.count("counted")
    return TriedAttack("one token spent twice", (counted, people) == (1, 1), f"{counted} of {THREADS} threads counted")


def _tickets(promise: Guarantee, name: str, **choices: Any) -> TriedAttack:
    with tempfile.TemporaryDirectory() as place:
        folder, key = _service(Path(place), promise, **choices)
        contract = folder.contract()
        checker = contract.tokens
        assert checker is not None
        store = BatchStore(f"sqlite:///{Path(place) / 'batches.db'}", contract)
        store.prepare()
        store.begin_epoch(0.0, "")
        _first_round(store)
        nonce, forged = checker.nonce(token(folder, key)), 0
        for _ in range(ASKED):
            try:
                checker.nonce(os.urandom(TOKEN_BYTES))
                forged += 1
            except FormatError:
                pass
        places = {place for _ in range(ASKED) for place in store.issue([nonce], 10, 0.0)}
        store.close_connections()
    figure = f"{len(places)} ticket for one token, requested {ASKED} times; {forged} for {ASKED} forged tokens"
    return TriedAttack(name, (len(places), forged) == (1, 0), figure)


def _first_round(store: BatchStore) -> None:
    from sqlalchemy import update

    from confide.service.intermediary.schema import desk

    with store._writer.begin() as connection:
        connection.execute(update(desk).values(round=1))


def one_client_everybody() -> TriedAttack:
    """One client takes the tickets of a joint service."""
    return _tickets(Guarantee("joint", 1.0, 1e-6), "one client takes all tickets", window=2.0)


def isolated() -> TriedAttack:
    """A stranger takes all tickets of a shuffled batch but one."""
    choices = {"people": 400, "batch": 200, "window": 2.0, "schedule": None}
    return _tickets(Shuffle(1.0, 1e-6), "a stranger fills a shuffled batch around one person", **choices)


def attacks() -> list[Callable[[], TriedAttack]]:
    """All that are tried."""
    return [
        one_client_everybody,
        isolated,
        lambda: hostile_reports(0.05, None),
        lambda: hostile_reports(0.10, 1),
        lambda: late_attack(0.10),
        honest_reports,
        *(partial(hostile_reports, 0.10, 1, noise=noise) for noise in COUNTED),
        *(partial(honest_reports, noise=noise) for noise in COUNTED),
        scripted,
        spent_twice,
        spent_at_two_collectors,
        silent_connections,
        frozen_process,
    ]


def tables(rows: list[TriedAttack], seen: list[dict[str, Any]]) -> str:
    """Both tables, in Markdown."""
    lines = ["| attack | held | seen |", "|---|---|---|"]
    lines += [f"| {row.name} | {'yes' if row.held else 'no'} | {row.figure} |" for row in rows]
    told = {(one["share"], one["epsilon"]): one for one in seen}
    chance = " and ".join(sorted({f"{one['at_random']:.3f}" for one in seen}))
    heads = "".join(f" at epsilon {epsilon:g} |" for epsilon in EPSILONS)
    lines += ["", f"Value of the last policy; acting at random has {chance}.", ""]
    lines += [f"| share that lies plausibly |{heads}", "|---" * (len(EPSILONS) + 1) + "|"]
    for share in SHARES:
        row = [told[share, epsilon] for epsilon in EPSILONS]
        cells = "".join(f" {one['value']:.3f}{' (alarm)' if one['alarm'] else ''} |" for one in row)
        lines.append(f"| {share:.0%} |{cells}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Try them all."""
    reader = argparse.ArgumentParser(prog="./run hostile", description=__doc__)
    reader.add_argument("--json", action="store_true")
    reader.add_argument("--document", action="store_true", help="write docs/service/hostile.md")
    given = reader.parse_args()
    rows = []
    for attack in attacks():
        row = attack()
        rows.append(row)
        print(f"{'held' if row.held else 'BROKEN':7} {row.name}: {row.figure}", file=sys.stderr)
    seen = [lies(share, epsilon) for share in SHARES for epsilon in EPSILONS]
    text = tables(rows, seen)
    if given.json:
        print(json.dumps({"rows": [row._asdict() for row in rows], "lies": seen}))
    else:
        print(text, end="")
    if given.document:
        DOCUMENT.write_text(header() + text, encoding="utf-8")
    return 0 if all(row.held for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
