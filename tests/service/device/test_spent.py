"""What a device remembers of what it spent: one report a person and operator, whatever the operator changes about itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from confide.privacy import Local
from confide.service.contract import keys, weaker
from confide.service.contract.encoding import from_base64
from confide.service.contract.uploads import Upload
from confide.service.device import Device, FileStore, MemoryStore
from tests.service.contract.example import PRIVATE, contract, design
from tests.service.intermediary.offices import contract_of, joint_design

from .services import Fake, serving

OTHER = bytes(32)


def visit(fake: Fake, folder: Path) -> bool:
    """Whether a visit, in a process of its own, is reported."""
    device = Device.join(fake.url, fake.contract.pin, store=FileStore(folder), background=False)
    assert device.contract is not None and device.contract.digest == fake.contract.digest
    episode = device.begin()
    episode.finish()
    return episode.reports


@pytest.mark.parametrize("name", ["Tea Ltd", "Coffee Ltd"])
@pytest.mark.parametrize("private", [PRIVATE, OTHER], ids=["key", "another key"])
@pytest.mark.parametrize("moved", [False, True])
def test_an_operator_stays_who_it_is_by_any_of_name_key_and_address(
    tmp_path: Path, name: str, private: bytes, moved: bool
) -> None:
    """Only one who shares nothing with it is another one, who gets a report of its own."""
    made = contract(design(Local(1.0)), version=2, operator=name, key=keys.public_key(private))
    with serving(contract()) as first, serving(made) as elsewhere:
        first.open_round(1)
        assert visit(first, tmp_path) and not visit(first, tmp_path)
        later = elsewhere if moved else first
        later.contract, later.heads = made, []
        later.pages["/v1/contract"] = made.data
        later.open_round(1, private=private)
        other = name != "Tea Ltd" and private == OTHER and moved
        assert visit(later, tmp_path) is other
        assert not visit(later, tmp_path)
        assert len(first.sent) == 1 and len(elsewhere.sent) == int(other)


def test_trusts_of_one_operator_share_one_report(tmp_path: Path) -> None:
    with serving(contract()) as local, serving(contract_of(joint_design())) as joint:
        local.open_round(1)
        joint.open_round(1, private=PRIVATE)
        joint.ticket_round = 1
        joint.pages["/v1/intermediary"] = b'{"address": "%s"}' % joint.url.encode()
        assert visit(local, tmp_path) and not visit(joint, tmp_path)


@pytest.mark.parametrize(
    ("before", "after"),
    [((1.0, 1e-6), (1.0, 1e-5)), ((1.0, 0.0), (1.0, 1e-9)), ((1.0, 1e-6), (0.5, 2e-6)), ((1.0, 1e-6), (1.001, 1e-6))],
)
def test_a_successor_that_promises_less_is_not_joined(
    tmp_path: Path, before: tuple[float, float], after: tuple[float, float]
) -> None:
    """In delta as in epsilon, however little, and though a signed head names it."""
    old, new = (
        contract(design(Local(*promise), mechanism="gaussian" if promise[1] else "laplace"), version=version)
        for version, promise in enumerate((before, after), start=1)
    )
    assert weaker(new, old) and not weaker(old, old)
    with serving(old) as fake:
        fake.open_round(1)
        Device.join(fake.url, store=FileStore(tmp_path), background=False)
        fake.open_round(2, ended=True, successor=new.digest.hex())
        Device.join(fake.url, store=FileStore(tmp_path), background=False)
        fake.pages["/v1/contract"] = new.data
        device = Device.join(fake.url, store=FileStore(tmp_path), background=False)
        assert device.contract is not None and device.contract.digest == old.digest


def reports(fake: Fake) -> list[bytes]:
    return [Upload.from_bytes(body).id for body in fake.sent]


def test_only_the_episode_that_spent_the_report_draws_it() -> None:
    """Another token draws nothing; its own draws once, and the submission's id is the token, so a second one would be a repeat."""
    with serving(contract()) as fake:
        fake.open_round(1)
        fake.answers = [503] * 3
        store = MemoryStore()
        device = Device.join(fake.url, store=store, background=False)
        episode, later = device.begin(), device.begin()
        memory = lambda: store.read()["services"][fake.url]  # noqa: E731
        assert memory()["open"]["token"] == episode.token and later.token == ""
        for token in ("", "00" * 16, episode.token[::-1]):
            device._draw(token, later.lived())
            assert memory().get("letter") is None and memory()["open"] is not None
        later.finish()
        assert fake.sent == []
        episode.finish()
        body = memory()["letter"]["body"]
        assert reports(fake) == [bytes.fromhex(episode.token)]
        for _ in range(3):
            device._draw(episode.token, episode.lived())
            episode.finish()
            assert memory()["letter"]["body"] == body
        assert set(fake.sent) == {from_base64(body)}
