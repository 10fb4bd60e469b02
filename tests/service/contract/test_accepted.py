"""Contracts whose guarantee is not true are refused by devices, collectors and `service check`, also as successors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from confide.cli import run
from confide.errors import FormatError
from confide.lab.staging import check_folder, check_url
from confide.privacy import Local
from confide.service.contract import Contract, keys, weaker
from confide.service.contract.files import write_whole
from confide.service.contract.folder import Folder
from confide.service.device import Device, FileStore
from tests.protocol.combinations import combinations
from tests.service.device.services import serving
from tests.service.intermediary.offices import contract_of, shuffle_design

from .example import PRIVATE, contract, design
from .hostile import by_the_number_of_bits, trusting, unsound, written

REFUSED = "what is accepted"


@pytest.mark.parametrize("name", unsound())
def test_a_contract_that_was_accepted_once_is_refused(name: str) -> None:
    with pytest.raises(FormatError, match=REFUSED):
        Contract.from_bytes(written(unsound()[name]))


def test_no_combination_that_is_not_in_the_table_makes_a_contract() -> None:
    from confide.protocol.accepted import row_of, rows

    for each in combinations():
        if row_of(each) not in rows():
            with pytest.raises(FormatError, match=f"{REFUSED}|its table would"):
                Contract.from_bytes(written(each))


@pytest.mark.parametrize("name", unsound())
def test_a_device_takes_no_part_in_it(name: str, tmp_path: Path) -> None:
    told: list[str] = []
    with serving(trusting(unsound()[name])) as fake:
        fake.open_round(1)
        device = Device.join(fake.url, store=FileStore(tmp_path), listener=lambda notice: told.append(notice.text))
        assert device.contract is None and REFUSED in told[0]
        episode = device.begin()
        episode.act(0)
        episode.observe(1.0, 0)
        episode.finish()
        assert fake.sent == []


def test_a_device_does_not_follow_a_true_contract_with_one_that_is_not(tmp_path: Path) -> None:
    """The successor guarantees the same, and its words are no weaker."""
    told: list[str] = []
    sound = contract(design(Local(1.0, 1e-6), mechanism="gaussian"))
    store = FileStore(tmp_path)
    with serving(sound) as fake:
        fake.open_round(1)
        assert Device.join(fake.url, store=store, background=False).contract is not None
        successor = trusting(by_the_number_of_bits("local"))
        fake.open_round(2, ended=True, successor=successor.digest.hex())
        Device.join(fake.url, store=store, background=False).refresh()
        fake.pages["/v1/contract"] = successor.data
        device = Device.join(fake.url, store=store, background=False, listener=lambda notice: told.append(notice.text))
        assert device.contract is not None and device.contract.pin == sound.pin
        assert any(REFUSED in text for text in told)


def test_a_successor_that_assumes_more_honest_people_is_weaker() -> None:
    """The same epsilon and delta, with less noise, as more people are taken to follow the protocol."""
    before, after = (contract_of(shuffle_design(honest=share)) for share in (0.5, 1.0))
    assert "honest" in weaker(after, before) and weaker(before, after) == ""


@pytest.mark.parametrize("name", unsound())
def test_a_collector_does_not_serve_it(name: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    write_whole(folder.contract_file, written(unsound()[name]))
    keys.save_key(folder.key_file, PRIVATE)
    with pytest.raises(FormatError, match=REFUSED):
        folder.contract()
    command = [sys.executable, "-m", "confide", "serve", str(tmp_path), "--port", "0"]
    served = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert served.returncode == 2 and REFUSED in served.stderr and not folder.counts_here


@pytest.mark.parametrize("name", unsound())
def test_it_does_not_pass_a_check(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Folder(tmp_path)
    write_whole(folder.contract_file, written(unsound()[name]))
    with pytest.raises(FormatError, match=REFUSED):
        check_folder(tmp_path)
    assert run(["service", "check", str(tmp_path)]) == 2 and REFUSED in capsys.readouterr().err
    with serving(trusting(unsound()[name])) as fake, pytest.raises(FormatError, match=REFUSED):
        check_url(fake.url)


def test_a_successor_whose_devices_hide_less_by_themselves_is_weaker() -> None:
    """Larger batches keep the guarantee of the sums with less noise on each device: what a shuffler sees says more of a person."""
    before, after = (contract_of(shuffle_design(batch)) for batch in (400, 40_000))
    assert after.design.local_guarantee.epsilon > 1.5 * before.design.local_guarantee.epsilon
    assert "devices by themselves" in weaker(after, before) and weaker(before, after) == ""


def test_a_successor_without_the_window_is_weaker() -> None:
    """Without one a report is sent when its episode ends, and so says when that was."""
    before, after = (contract(window=seconds) for seconds in (3600.0, 0.0))
    assert "within 0 seconds" in weaker(after, before) and weaker(before, after) == ""
