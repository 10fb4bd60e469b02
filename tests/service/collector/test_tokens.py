"""Where a contract names an issuer: what is counted has a token, and each counts once."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from confide.errors import FormatError
from confide.service.collector.store import COUNTED, FORGED, REPEATED
from confide.service.contract import Contract, Upload, weaker
from confide.service.contract.blind_rsa import PrivateKey
from confide.service.contract.tokens import TokenIssuer
from confide.service.device import Device, MemoryStore
from confide.service.http.problems import Refused
from confide.service.issuer.logins import assertion
from tests.service.collector.services import folder_of, running
from tests.service.contract.example import changed, contract, letter
from tests.service.issuer.issuers import ISSUER, SECRETS, issuing, named, token_for


def with_token(made: Contract, token: bytes, bucket: int = 0) -> bytes:
    """A submission about a bucket with this token, as a device sends it."""
    plain = Upload.from_bytes(letter(made, 0, bucket))
    return Upload(token[:16], plain.contract, plain.round, plain.report).to_bytes() + token


def test_without_a_token_nothing_is_counted(tmp_path: Path) -> None:
    made = named()
    other = token_for(contract(issuer=ISSUER, name="coffee"))
    with running(folder_of(tmp_path / "tea", made)) as service:
        token = token_for(made)
        whole = with_token(made, token)
        bare, length = letter(made, 1), len(whole)
        wrong = [bare, bare + bytes(288), bare + token, with_token(made, other), with_token(made, bytes(288))]
        assert [service.send(body) for body in wrong if len(body) == length] == [403] * 4
        assert service.send(bare) in (403, 422)
        assert service.collector.store.tally().people == 0
        assert (service.send(whole), service.send(whole)) == (201, 200)
        assert service.send(with_token(made, token, bucket=1)) == 200, "another report with the same token"
        assert service.collector.store.tally().people == 1
        assert service.collector.refusals()["admission"] == 4
        assert service.get("/v1/issuer")[0] == 404


def test_ten_thousand_submissions_without_tokens_move_nothing(tmp_path: Path) -> None:
    made = named()
    rng = np.random.default_rng(0)
    with running(folder_of(tmp_path / "tea", made)) as service:
        intake, store = service.collector.intake, service.collector.store
        assert intake is not None
        before, refused = store.tally(), 0
        for start in range(0, 10_000, 500):
            bodies = [with_token(made, rng.bytes(288), bucket % 2) for bucket in range(start, start + 500)]
            refused += store.count([intake.read(body, 1) for body in bodies]).count(FORGED)
        assert refused == 10_000 and store.tally() == before and store.known_ids() == 0
        for number in range(1000):
            with pytest.raises(Refused) as refusal:
                intake.read(letter(made, number, number % 2) + rng.bytes(288), 1)
            assert refusal.value.reason == "admission", "the id is not the token's"


def test_of_a_group_those_with_tokens_are_counted_and_each_is_answered_in_its_place(tmp_path: Path) -> None:
    made, rng = named(), np.random.default_rng(0)
    with running(folder_of(tmp_path / "tea", made)) as service:
        intake, store = service.collector.intake, service.collector.store
        assert intake is not None
        good = [token_for(made) for _ in range(2)]
        other = token_for(contract(issuer=ISSUER, name="coffee"))
        shown = [rng.bytes(288), good[0], other, good[1], good[0], bytes(288)]
        arrivals = [intake.read(with_token(made, token), 1) for token in shown]
        assert store.count(arrivals) == [FORGED, COUNTED, FORGED, COUNTED, REPEATED, FORGED]
        stranger = arrivals[1]._replace(id=bytes(16))
        assert store.count([stranger, arrivals[1]._replace(token=b"")]) == [FORGED, FORGED], (
            "of another id, or left out"
        )
        assert (store.tally().people, store.known_ids()) == (2, 2)


def test_a_hundred_threads_spend_one_token_once(tmp_path: Path) -> None:
    made = named()
    with running(folder_of(tmp_path / "tea", made)) as service:
        token, outcomes = token_for(made), []
        start = threading.Barrier(100, timeout=60)

        def come(number: int) -> None:
            body = with_token(made, token, bucket=number % 2)
            start.wait()
            outcomes.append(service.send(body))

        threads = [threading.Thread(target=come, args=(number,)) for number in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == [200] * 99 + [201]
        assert service.collector.store.tally().people == 1


def test_a_device_takes_its_token_and_reports_with_it(tmp_path: Path) -> None:
    made = named()
    with issuing(tmp_path / "issuer", made) as url, running(folder_of(tmp_path / "tea", made)) as service:
        for credential, counted in (
            (assertion(SECRETS.login, "ann"), 1),
            (assertion(SECRETS.login, "ann"), 1),
            (None, 1),
        ):
            notices: list[str] = []
            device = Device.join(
                service.url,
                made.pin,
                store=MemoryStore(),
                credential=credential,
                issuer=url,
                background=False,
                listener=lambda notice, heard=notices: heard.append(notice.kind),  # type: ignore[misc]
            )
            episode = device.begin()
            assert episode.reports == (not notices)
            episode.act(0)
            episode.observe(1.0, 1)
            episode.finish()
            assert service.collector.store.tally().people == counted
            assert notices == ([] if episode.reports else notices) and set(notices) <= {"refused"}


def test_an_answer_that_was_lost_is_asked_for_again_with_the_same_bytes(tmp_path: Path) -> None:
    made, store = named(), MemoryStore()
    with running(folder_of(tmp_path / "tea", made)) as service:
        credential = assertion(SECRETS.login, "ann")
        options = {"store": store, "credential": credential, "background": False}
        with issuing(tmp_path / "issuer", made) as url:
            device = Device.join(service.url, made.pin, issuer="http://127.0.0.1:9", **options)  # type: ignore[arg-type]
            assert not device.begin().reports
            kept = store.read()["services"][service.url]["admission"]["request"]
            again = Device.join(service.url, made.pin, issuer=url, **options)  # type: ignore[arg-type]
            told = store.read()["services"][service.url]["admission"]
            assert kept and told["token"] and told["request"] == ""
            assert again.begin().reports and "admission" not in store.read()["services"][service.url]


def test_a_contract_without_its_issuer_is_weaker() -> None:
    made = named()
    another = contract(issuer=TokenIssuer("Doors Ltd", PrivateKey.new().public))
    own = contract(issuer=TokenIssuer("Tea Ltd", ISSUER.key))
    assert "without a token" in weaker(contract(), made)
    assert "issuer is another" in weaker(another, made)
    assert "run by the collector's operator" in weaker(own, made)
    assert weaker(made, contract()) == weaker(made, made) == weaker(made, own) == ""


def test_what_a_contract_says_of_its_issuer_is_checked() -> None:
    made = named()
    entry = made.document["issuer"]
    assert made.issuer == ISSUER
    for changes in ({"key": "AAAA"}, {"name": ""}, {"address": "tea.example"}, {"more": 1}, {"name": 7}):
        with pytest.raises(FormatError):
            Contract.from_bytes(changed(made, issuer={**entry, **changes}))
    for wrong in (7, {}, "", [], {"name": "a"}):
        with pytest.raises(FormatError):
            Contract.from_bytes(changed(made, issuer=wrong))
