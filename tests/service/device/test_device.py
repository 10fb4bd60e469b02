"""A device: one report, ever; drawn once; the signed policy or none; and nothing raised into the host."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Joint, Local
from confide.protocol.releases import Report
from confide.service.contract import Upload
from confide.service.device import Device, FileStore, MemoryStore, Notice
from confide.service.device.sending import patience
from tests.refusals import refused
from tests.service.contract.example import contract, design

from .services import Fake, serving


@pytest.fixture
def fake() -> Iterator[Fake]:
    with serving(contract()) as instance:
        instance.open_round(1)
        yield instance


class Notices(list[Notice]):
    def kinds(self) -> list[str]:
        return [notice.kind for notice in self]


def join(fake: Fake, store=None, notices=None, **given) -> Device:
    listener = None if notices is None else notices.append
    return Device.join(
        fake.url, store=MemoryStore() if store is None else store, listener=listener, background=False, **given
    )


def kill(device: Device) -> None:
    """As the end of its process would: nothing was finished, and its locks are free."""
    for release in device._held.values():
        release()


def play(device: Device) -> list[int]:
    episode = device.begin()
    taken = []
    for _ in range(4):
        taken.append(episode.act(0))
        episode.observe(1.0, 0)
    episode.finish()
    return taken


def test_the_five_calls(fake: Fake) -> None:
    notices = Notices()
    device = join(fake, notices=notices, pin=fake.contract.pin)
    assert play(device) == [1, 1, 1, 1]
    (body,) = fake.sent
    letter = Upload.from_bytes(body)
    assert letter.contract == fake.contract.digest and letter.round == 1
    assert Report.from_bytes(letter.report, fake.contract.design).cells.sum() == 1
    assert not notices


def test_labels_go_in_and_come_out(fake: Fake) -> None:
    assert join(fake).begin().act("s2") == "a1"


def test_one_report_ever_across_restarts_contracts_and_versions(fake: Fake, tmp_path: Path) -> None:
    play(join(fake, FileStore(tmp_path)))
    again = join(fake, FileStore(tmp_path))
    assert not again.begin().reports
    play(again)
    stronger = contract(design(Local(1.0)), version=2)
    with serving(stronger) as other:
        other.open_round(1)
        later = join(other, FileStore(tmp_path))
        assert later.contract is not None and later.contract.pin == stronger.pin
        play(later)
        assert other.sent == []
    assert len(fake.sent) == 1
    assert (tmp_path / "device.json").stat().st_mode & 0o777 == 0o600


def test_another_operator_gets_a_report_of_its_own(fake: Fake, tmp_path: Path) -> None:
    from confide.service.contract import keys

    play(join(fake, FileStore(tmp_path)))
    with serving(contract(operator="Coffee Ltd", key=keys.public_key(bytes(32)))) as other:
        other.open_round(1, private=bytes(32))
        play(join(other, FileStore(tmp_path)))
        assert len(other.sent) == 1


@pytest.mark.parametrize("answers", [[0, 503, 201], [429, 0, 200]])
def test_a_retry_sends_the_same_bytes(fake: Fake, tmp_path: Path, answers: list[int]) -> None:
    """Also by another process, after the first was killed: the bytes are on disk before they are sent."""
    fake.answers = list(answers)
    now = [1000.0]
    notices = Notices()
    device = join(fake, FileStore(tmp_path), notices)
    device._clock = lambda: now[0]
    play(device)
    for _ in range(6):
        now[0] += 10_000.0
        device = Device(
            device.transport, fake.contract, store=FileStore(tmp_path), background=False, clock=lambda: now[0]
        )
        device.flush()
    assert len(set(fake.sent)) == 1 and len(fake.sent) in (3, 4)  # a cut line may be tried again at once
    assert device.flush()


def test_it_waits_longer_each_time_and_never_all_at_once() -> None:
    first, tenth = [patience(1, None) for _ in range(50)], [patience(10, None) for _ in range(50)]
    assert max(first) <= 1.5 and min(tenth) >= 256 and len(set(first)) > 1
    assert patience(1, 30.0) >= 30 and patience(60, None) <= 5400


@pytest.mark.parametrize("status", [409, 410, 413, 422])
def test_what_is_refused_for_good_is_dropped(fake: Fake, status: int) -> None:
    fake.answers, notices = [status], Notices()
    device = join(fake, notices=notices)
    play(device)
    assert device.flush() and len(fake.sent) == 1 and notices.kinds() == ["dropped"]


def test_a_killed_device_reports_an_empty_episode(fake: Fake, tmp_path: Path) -> None:
    """Silence would tell that something happened."""
    device = join(fake, FileStore(tmp_path))
    episode = device.begin()
    episode.act(0)
    kill(device)
    join(fake, FileStore(tmp_path))
    assert len(fake.sent) == 1
    join(fake, FileStore(tmp_path)).flush()
    assert len(fake.sent) == 1


def test_a_window_hides_when_the_episode_ended(tmp_path: Path) -> None:
    """The time is drawn before the episode; then what happened so far is reported, finished or not."""
    with serving(contract(window=1000.0)) as fake:
        fake.open_round(1)
        device = join(fake, FileStore(tmp_path))
        now = [time.time()]
        device._clock = lambda: now[0]
        episode = device.begin()
        (memory,) = FileStore(tmp_path).read()["services"].values()
        due = memory["open"]["due"]
        assert now[0] <= due <= now[0] + 1000
        episode.act(0)
        episode.observe(1.0, 0)
        now[0] = due - 0.5
        assert device.flush() and fake.sent == []  # nothing waits yet
        now[0] = due + 0.5
        assert device.flush() and len(fake.sent) == 1
        episode.finish()
        assert device.flush() and len(fake.sent) == 1


def test_a_device_in_the_background_sends_when_it_is_due_and_until_it_is_answered(tmp_path: Path) -> None:
    """No one calls it again: not when its time comes, and not after a failure."""
    with serving(contract(window=1.0)) as fake:
        fake.open_round(1)
        fake.answers = [0, 201]
        device = Device.join(fake.url, store=FileStore(tmp_path))
        episode = device.begin()
        (memory,) = FileStore(tmp_path).read()["services"].values()
        due = memory["open"]["due"]
        episode.act(0)
        episode.observe(1.0, 0)
        until = time.monotonic() + 20
        while len(fake.sent) < 2 and time.monotonic() < until:
            if fake.sent:
                assert time.time() >= due
            time.sleep(0.01)
        assert len(fake.sent) == 2 and fake.sent[0] == fake.sent[1]
        episode.finish()
        while device._persisting.locked() and time.monotonic() < until:
            time.sleep(0.01)
        assert len(fake.sent) == 2 and not device._persisting.locked()


def test_after_a_crash_the_empty_episode_is_reported_at_the_time_that_was_drawn(tmp_path: Path) -> None:
    with serving(contract(window=1000.0)) as fake:
        fake.open_round(1)
        device = join(fake, FileStore(tmp_path))
        device.begin().act(0)
        (memory,) = FileStore(tmp_path).read()["services"].values()
        due = memory["open"]["due"]
        kill(device)
        again = join(fake, FileStore(tmp_path))
        again.flush()
        assert fake.sent == []
        again._clock = lambda: due + 0.5
        assert again.flush() and len(fake.sent) == 1


def test_a_successor_is_joined_when_a_service_has_ended(tmp_path: Path) -> None:
    """Under the old pin too: the head that names it is signed. Not before the end, not another, and not a weaker one."""
    old, new = contract(), contract(design(Local(2.0)), name="new", version=2)
    weaker = contract(design(Local(5.0)), name="new", version=2)
    with serving(old) as fake:
        fake.open_round(1, successor=new.digest.hex())
        store = FileStore(tmp_path)
        join(fake, store, pin=old.pin)
        fake.pages["/v1/contract"] = new.data
        assert join(fake, store, pin=old.pin).contract.digest == old.digest
        fake.open_round(2, ended=True, successor=new.digest.hex())
        join(fake, store, pin=old.pin)
        fake.pages["/v1/contract"] = old.data
        assert join(fake, store, pin=old.pin).contract.digest == old.digest
        fake.pages["/v1/contract"] = weaker.data
        assert join(fake, store, pin=old.pin).contract.digest == old.digest
        fake.pages["/v1/contract"] = new.data
        assert join(fake, store, pin=old.pin).contract.digest == new.digest
        assert join(fake, store).contract.digest == new.digest


def test_it_works_offline_with_the_last_policy(fake: Fake, tmp_path: Path) -> None:
    join(fake, FileStore(tmp_path))
    away = fake.url
    notices = Notices()
    with serving(contract()):
        pass
    gone = Device.join(
        away.replace(away.rsplit(":", 1)[1], "1"), store=FileStore(tmp_path), listener=notices.append, background=False
    )
    assert gone.contract is None and notices.kinds() == ["offline"]  # never joined: acts, and sends nothing
    assert gone.begin().act(0) == 0
    document = FileStore(tmp_path).read()
    document["services"]["http://127.0.0.1:1"] = document["services"].pop(fake.url)
    (tmp_path / "device.json").write_text(json.dumps(document))
    back = Device.join("http://127.0.0.1:1", store=FileStore(tmp_path), listener=notices.append, background=False)
    assert play(back) == [1, 1, 1, 1]
    (memory,) = FileStore(tmp_path).read()["services"].values()
    assert memory["letter"]["tries"] == 1


def test_an_answer_that_was_cut_off_is_no_answer(fake: Fake) -> None:
    notices = Notices()
    device = join(fake, notices=notices)
    fake.open_round(2)
    fake.cut = True
    device.refresh()
    assert notices.kinds() == ["offline"]


def not_refreshed(device: Device, notices: Notices, words: str) -> None:
    assert not device.refresh()
    assert notices.kinds()[-1] == "refused" and words in notices[-1].text


def test_it_follows_only_what_is_signed(fake: Fake) -> None:
    notices = Notices()
    device = join(fake, notices=notices)
    fake.open_round(2, action=0, private=bytes(32))
    not_refreshed(device, notices, "signature")
    fake.heads.pop()
    signed = fake.open_round(2, action=0)
    fake.pages[f"/v1/policies/{signed.head.policy}"] += b"\x00"
    not_refreshed(device, notices, "another policy")
    assert device.begin().act(0) == 1  # the last good one
    fake.pages[f"/v1/policies/{signed.head.policy}"] = fake.pages[f"/v1/policies/{signed.head.policy}"][:-1]
    assert device.refresh() and device.begin().act(0) == 0


def test_rounds_go_forward_only_and_have_one_head(fake: Fake) -> None:
    notices = Notices()
    device = join(fake, notices=notices)
    first = fake.pages["/v1/rounds/current"]
    fake.open_round(2)
    assert device.refresh()
    fake.pages["/v1/rounds/current"] = first
    not_refreshed(device, notices, "went back")
    fake.heads.pop()
    fake.open_round(2, action=0)
    not_refreshed(device, notices, "two different heads")
    fake.open_round(3, previous="f" * 64)
    not_refreshed(device, notices, "does not follow")
    fake.open_round(4, contract="f" * 64)
    not_refreshed(device, notices, "another contract")


def test_a_witness_shows_that_devices_are_treated_differently(fake: Fake) -> None:
    notices = Notices()
    with serving(fake.contract) as witness:
        witness.open_round(1)
        device = join(fake, notices=notices, witness=witness.url)
        assert device.refresh()
        witness.open_round(2, action=0)
        fake.open_round(2, action=1)
        not_refreshed(device, notices, "witness")


def test_only_the_pinned_contract_is_joined(fake: Fake) -> None:
    notices = Notices()
    device = join(fake, notices=notices, pin="sha256:" + "0" * 64)
    assert device.contract is None and notices.kinds() == ["refused"]
    play(device)
    assert fake.sent == []


def test_a_weaker_contract_is_refused(fake: Fake, tmp_path: Path) -> None:
    join(fake, FileStore(tmp_path))
    weak = contract(design(Local(8.0)))
    fake.pages["/v1/contract"] = weak.data
    notices = Notices()
    device = join(fake, FileStore(tmp_path), notices, pin=weak.pin)
    assert device.contract is not None and device.contract.pin == fake.contract.pin
    assert notices.kinds() == ["refused"] and "weaker" in notices[0].text


def test_nothing_is_raised_into_the_host(fake: Fake, tmp_path: Path) -> None:
    notices = Notices()
    store = FileStore(tmp_path)
    device = join(fake, store, notices)
    episode = device.begin()
    episode.act("nowhere")
    episode.act(object())
    episode.observe(float("nan"), -7)
    episode.observe("much")
    store.path.write_text("garbage")
    episode.finish()
    device.begin().act(1)
    device.refresh()
    device.flush()
    assert {"input", "broken"} <= set(notices.kinds())
    assert fake.sent == []  # what cannot be remembered is not spent
    assert all("nowhere" not in notice.text and "much" not in notice.text for notice in notices)


def test_a_listener_that_fails_hurts_nobody(fake: Fake) -> None:
    def fail(notice: Notice) -> None:
        raise RuntimeError

    fake.answers = [410]
    play(Device.join(fake.url, store=MemoryStore(), listener=fail, background=False))


def test_rewards_are_clipped_and_episodes_cut_at_the_horizon(fake: Fake) -> None:
    notices = Notices()
    device = join(fake, notices=notices)
    episode = device.begin()
    for _ in range(9):
        episode.act(0)
        episode.observe(7.0, 0)
    assert episode.lived().steps == 4 and set(episode.lived().rewards) == {1.0}
    episode.finish()
    assert len(fake.sent) == 1


def test_what_was_done_instead_is_what_is_reported(fake: Fake) -> None:
    notices = Notices()
    episode = join(fake, notices=notices).begin()
    for action, next_state in ((0, 1), ("a0", 2), (None, 0)):
        assert episode.act(0) == 1
        episode.observe(0.0, next_state, action)
    assert episode.lived().actions.tolist() == [0, 0, 1]
    episode.act(0)
    episode.observe(1.0, 0, "no such action")
    episode.act(0)
    episode.observe(1.0, 0)
    assert episode.lived().actions.tolist() == [0, 0, 1] and notices.kinds() == ["input"]


def test_a_last_step_that_led_nobody_knows_where_is_left_out(fake: Fake) -> None:
    device = join(fake)
    episode = device.begin()
    assert (episode.lived().steps, len(episode.lived().states)) == (0, 1)
    episode.act(0)
    episode.observe(1.0)
    assert (episode.lived().steps, len(episode.lived().states)) == (0, 1)
    episode.act(2)
    assert (episode.lived().steps, episode.lived().states.tolist()) == (1, [0, 2])
    episode.observe(1.0, 1)
    assert (episode.lived().steps, episode.lived().states.tolist()) == (2, [0, 2, 1])
    episode.finish()
    assert len(fake.sent) == 1


def test_replayable_noise_is_refused(fake: Fake) -> None:
    notices = Notices()
    device = Device(
        join(fake).transport,
        fake.contract,
        store=MemoryStore(),
        noise=ReplayableNoise(1),
        listener=notices.append,
        background=False,
    )
    device.refresh()
    play(device)
    assert fake.sent == [] and notices.kinds() == ["broken"]


def test_plain_http_is_for_this_machine_only() -> None:
    from confide.errors import InvalidInput

    with pytest.raises(InvalidInput, match="https"):
        Device.join("http://tea.example", store=MemoryStore())


def test_a_promise_is_no_address() -> None:

    with refused("service-address-form"):
        Device.join(Joint(epsilon=1, delta=1e-6), store=MemoryStore())  # type: ignore[arg-type]


def test_two_processes_of_one_person_spend_once(fake: Fake, tmp_path: Path) -> None:
    devices = [join(fake, FileStore(tmp_path)) for _ in range(2)]
    episodes = [device.begin() for device in devices]
    assert [episode.reports for episode in episodes] == [True, False]


class Redrawing(Device):
    """A mutant: after a failure the report is drawn anew instead of sent again."""

    def _send(self, waiting, now):
        done = super()._send(waiting, now)
        if not done:
            with self.store.changing() as document:
                memory = self.memory(document)
                memory["open"] = {"token": waiting["token"], "due": 0.0, "round": 1}
            self._draw(waiting["token"], Device.begin(self).lived())
        return done


def check_same_bytes(kind: type[Device], fake: Fake) -> None:
    """However often it fails, every attempt is the same submission."""
    now = [1000.0]
    fake.sent.clear()
    fake.answers = [503] * 12
    device = kind(join(fake).transport, fake.contract, store=MemoryStore(), background=False, clock=lambda: now[0])
    device.refresh()
    play(device)
    for _ in range(12):
        now[0] += 10_000.0
        with device.store.changing() as document:
            letter = device.memory(document)["letter"]
            if letter is not None:
                from confide.service.contract.encoding import from_base64

                letter["token"] = Upload.from_bytes(from_base64(letter["body"])).id.hex()
        device.flush()
    assert len(fake.sent) == 13 and len(set(fake.sent)) == 1


def test_noise_is_not_redrawn(fake: Fake) -> None:
    """The mutant goes undetected only if 13 reports of 37 categories are alike, each the honest one by 0.6 at most: 0.6^12 < 0.003,
    and so it is given three chances: together below 1e-6."""
    check_same_bytes(Device, fake)
    caught = 0
    for _ in range(3):
        try:
            check_same_bytes(Redrawing, fake)
        except AssertionError:
            caught += 1
    assert caught
