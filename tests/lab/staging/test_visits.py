"""Simulated people against a collector: all of them are counted, bad manners change nothing, and the law is that of `simulate`."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide import Local
from confide.cli import run
from confide.errors import InvalidInput
from confide.lab.environments import make
from confide.lab.staging import Manners, check_url, visit
from confide.mdp import Policy
from confide.privacy import Schedule
from confide.service.collector.founding import make_service
from tests.service.collector.services import Service, running

pytestmark = pytest.mark.service
WORLD, HORIZON = "riverswim/3", 6


def service_of(path: Path, people: int, rounds: int, epsilon: float = 4.0):
    spec = make(WORLD, HORIZON).spec
    folder = make_service(path, spec, Local(epsilon), people, schedule=Schedule.batches(people, rounds))
    return running(folder)


def test_bad_manners_change_nothing(tmp_path: Path) -> None:
    with service_of(tmp_path / "tea", 90, 3) as service:
        rude = Manners(drop=0.3, slow=0.2, repeat=0.3, hostile=0.3)
        result = visit(service.url, WORLD, 60, manners=rude, workers=6).as_json()
        assert (result["sent"], result["counted"], result["refused"], result["unsent"], result["doubled"]) == (
            60,
            60,
            0,
            0,
            0,
        )
        assert result["garbage"] > 0 and result["repeated"] > 0
        assert service.collector.store.tally().people == 60
        assert visit(service.url, WORLD, 30).as_json()["counted"] == 30
        service.until_round(4)
        assert check_url(service.url)["ended"]
        later = visit(service.url, WORLD, 3).as_json()
        assert (later["sent"], later["spent"]) == (0, 3)


def test_a_world_of_other_sizes_is_refused(tmp_path: Path) -> None:
    with service_of(tmp_path / "tea", 60, 3) as service, pytest.raises(InvalidInput, match="world"):
        visit(service.url, "riverswim/4", 1)


def test_people_wait_for_the_first_round(tmp_path: Path) -> None:
    """A user who came before would have nothing to report, and seem to have reported already."""
    from confide.lab.staging.visits import Visitors
    from confide.service.device.transport import Unreachable

    with service_of(tmp_path / "tea", 60, 3) as service:
        publisher, crowd = service.collector.publisher, Visitors(service.url, WORLD)
        opened, publisher.current = publisher.current, None
        with pytest.raises(Unreachable, match="no round"):
            crowd.wait(0.3)
        publisher.current = opened
        crowd.wait(5.0)
        crowd.transport.close()


FALSE_ALARM = 1e-6
PEOPLE = 500


def frequencies(service: Service, epsilon: float) -> np.ndarray:
    """How likely each report is under the first policy: `simulate` draws what happened, k-ary response hides it."""
    from confide.lab.simulation.batched import drawing
    from confide.lab.simulation.draws import World
    from confide.service.contract import SignedHead

    world, many = make(WORLD, HORIZON), 10**8
    model = world.model
    head = SignedHead.from_json(service.get("/v1/rounds/1")[1], service.contract.key).head
    policy = Policy.from_bytes(service.get(f"/v1/policies/{head.policy}")[1], world.spec)
    draw = drawing(service.contract.design, World(model.transitions, model.rewards, model.initial))
    totals, _ = draw(service.contract.design.question, policy.probabilities, many, np.random.default_rng(0))
    rest = 1 / (np.exp(epsilon) + totals.shape[1] - 1)
    asked = totals.sum(axis=1, keepdims=True)
    return rest * (asked + (np.exp(epsilon) - 1) * totals).ravel() / many


def fits(heard: np.ndarray, chances: np.ndarray) -> bool:
    """Whether these reports are likely: two binomial tails a category and for the rarer half together, and chi-square.

    The tails have half the false-alarm rate together, and chi-square a thousandth of the other half, as some categories are rare.
    """
    from scipy.stats import binom, chi2

    likely = heard.sum() * chances
    if chi2.sf(((heard - likely) ** 2 / likely).sum(), len(heard) - 1) < FALSE_ALARM / 2000:
        return False
    rarer = chances < np.median(chances)
    heard, chances = np.append(heard, heard[rarer].sum()), np.append(chances, chances[rarer].sum())
    many, share = heard[:-1].sum(), FALSE_ALARM / (4 * len(heard))
    low, high = binom.cdf(heard, many, chances), binom.sf(heard - 1, many, chances)
    return bool((low >= share).all() and (high >= share).all())


def test_the_law_of_what_is_heard_is_that_of_simulate(tmp_path: Path) -> None:
    """And two thirds or three halves of epsilon would be noticed. From sums on, both learn by the same functions."""
    with service_of(tmp_path / "tea", 2 * PEOPLE, 2) as service:
        assert visit(service.url, WORLD, PEOPLE - 1, seed=1, workers=6).as_json()["counted"] == PEOPLE - 1
        store = service.collector.store
        with store.writing() as connection:
            totals = store._totals(connection, store.tally())
        total = totals[1]
        assert total.users == PEOPLE - 1
        heard = total.cells.ravel()
        assert heard.sum() == PEOPLE - 1
        assert fits(heard, frequencies(service, 4.0))
        assert not fits(heard, frequencies(service, 4.0 * 2 / 3))
        assert not fits(heard, frequencies(service, 4.0 * 3 / 2))


def test_a_service_learns_what_simulate_would_learn_from_the_same_sums(tmp_path: Path) -> None:
    """The policy of the second round is that of a learner who stood where it did, and is shown the release of the first."""
    from confide.learning.learners import make as learner_of
    from confide.learning.learners import state_bytes
    from confide.protocol.releases import release_bytes
    from confide.service.contract import SignedHead

    with service_of(tmp_path / "tea", 60, 2) as service:
        began, _ = service.collector.store.state(1)
        visit(service.url, WORLD, 30, seed=2)
        service.until_round(2)
        release = release_bytes.from_bytes(service.get("/v1/releases/1")[1])
        learner = learner_of("ucbvi")
        state = learner.learn(state_bytes.from_bytes(began, learner), release)
        head = SignedHead.from_json(service.get("/v1/rounds/2")[1], service.contract.key).head
        assert head.policy == state.recommendation.digest


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "tea")
    new = ["service", "new", folder, "--states", "3", "--actions", "2", "--horizon", "6", "--people", "100", "--open"]
    assert run([*new, "--epsilon", "4", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["open"] and made["issuer"] is None
    assert made["pin"].startswith("sha256:") and made["rounds"] == 100
    assert run([*new, "--epsilon", "4"]) == 2
    assert "not empty" in capsys.readouterr().err
    assert run(["service", "check", folder]) == 0
    printed = capsys.readouterr().out
    assert "4-DP, local" in printed and "OPEN" in printed.splitlines()[1], "who may take part is said first"
    from confide.service.contract.folder import Folder

    with running(Folder(Path(folder))) as service:
        assert run(["visit", service.url, "--environment", WORLD, "--people", "7", "--json", "--pin", made["pin"]]) == 0
        assert json.loads(capsys.readouterr().out)["counted"] == 7
        service.until_round(2)
        assert run(["service", "check", service.url, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["heads"] >= 2
        assert run(["visit", service.url, "--environment", WORLD, "--pin", "sha256:0"]) == 2


def test_options_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = tmp_path / "tea.toml"
    given.write_text('states = 3\nactions = 2\nhorizon = 6\npeople = 100\nepsilon = 4.0\nschedule = "growth:2"\n')
    assert run(["service", "new", str(tmp_path / "a"), "--from", str(given), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 8
    given.write_text("stats = 3\n")
    assert run(["service", "new", str(tmp_path / "b"), "--from", str(given)]) == 2
    assert "stats" in capsys.readouterr().err


def test_it_says_what_comes_next_where_batches_close_by_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = [
        "--states",
        "3",
        "--actions",
        "2",
        "--horizon",
        "4",
        "--people",
        "400",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
    ]
    for trust, following in (("shuffle", "confide shuffle"), ("joint", "confide serve")):
        folder = str(tmp_path / trust)
        assert run(["service", "new", folder, *sizes, "--trust", trust, "--window", "2", "--publication", "1"]) == 0
        printed = capsys.readouterr().err
        assert "a batch closes 4 s after its last ticket, and is shown 1 s later" in printed
        assert f"Next: {following} {folder}" in printed


def test_trust_in_others_is_refused_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = [
        "service",
        "new",
        str(tmp_path / "a"),
        "--states",
        "3",
        "--actions",
        "2",
        "--horizon",
        "6",
        "--people",
        "100",
    ]
    assert run([*new, "--trust", "central", "--epsilon", "1", "--delta", "1e-6"]) == 2
    assert "trust local" in capsys.readouterr().err


@pytest.mark.service
@pytest.mark.parametrize("trust", ["local", "joint", "shuffle"])
def test_one_command_serves_with_tokens_and_nothing_links_issue_and_use(tmp_path: Path, trust: str) -> None:
    """`serve` starts the issuer beside the folder; then every file and log line of both sides is read."""
    from confide.lab.staging.admission import Applicant, make_admitting
    from confide.lab.staging.processes import Process
    from confide.mdp import Spec
    from confide.privacy import Guarantee, Schedule
    from confide.service.device import token_client

    promise = Guarantee(trust, 4.0) if trust == "local" else Guarantee(trust, 2.0, 1e-6)
    times = {} if trust == "local" else {"window": 2.0, "between": {"publication": 0.5, "deadline": 2.0}}
    batches = (
        {"batch": 20, "people": 200} if trust == "shuffle" else {"schedule": Schedule.batches(40, 2), "people": 40}
    )
    folder = make_admitting(tmp_path / "tea", spec=Spec(3, 2, 6), promise=promise, **batches, **times)
    issuer = folder.issuer_path
    asked: list[tuple[bytes, bytes]] = []
    plain = token_client.TokenClient.token

    def heard(self: Any, request: Any) -> bytes:
        token = plain(self, request)
        asked.append((request.blinded(self._contract.tokens), token))
        return token

    with contextlib.ExitStack() as held:
        processes, options = [], ()
        if trust == "shuffle":
            processes.append(Process(folder.path, command="shuffle").start(240.0))
            held.callback(processes[0].stop)
            options = ("--shuffler", processes[0].url)
        processes.append(Process(folder.path, options=options).start(240.0))
        held.callback(processes[-1].stop)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(token_client.TokenClient, "token", heard)
            visits = visit(processes[-1].url, WORLD, 6, credential=Applicant(issuer))
        assert visits.as_json()["counted"] == 6
        log = b"".join(process.log_text().encode() for process in processes)
    assert len(asked) == 6
    used = b"".join(file.read_bytes() for file in folder.path.rglob("*") if file.is_file())
    issued = b"".join(file.read_bytes() for file in issuer.rglob("*") if file.is_file())
    for blinded, token in asked:
        spent, seen = (token[:16], token[:32], token[32:]), (blinded, hashlib.sha256(blinded).digest())
        assert token[:16] in used and seen[1] in issued, "what each side must keep"
        for secret in spent:
            assert not any(form in issued + log for form in (secret, secret.hex().encode(), base64.b64encode(secret)))
        for shown in seen:
            assert not any(form in used + log for form in (shown, shown.hex().encode(), base64.b64encode(shown)))
    assert b"visitor-" not in used + issued + log
