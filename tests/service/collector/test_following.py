"""A service with a shuffler or a curator is followed by another of the same trust, which keeps that shuffler or curator."""

from __future__ import annotations

from pathlib import Path

import pytest

from confide.mdp import Spec
from confide.privacy import Guarantee
from confide.privacy.guarantee import JOINT, SHUFFLE
from confide.service.collector.ending import succeed
from confide.service.collector.founding import following, make_service
from confide.service.contract import keys, sealed, weaker
from confide.service.contract.folder import Folder
from confide.service.intermediary.folder import RoleFolder
from tests.refusals import refused

SPEC = Spec(3, 2, 4)
ROLES = {JOINT: "curator", SHUFFLE: "shuffler"}


def made(path: Path, trust: str, epsilon: float = 1.0, **choices: object) -> Folder:
    return make_service(path, SPEC, Guarantee(trust, epsilon, 1e-6), 2000, operator="Tea Ltd", **choices)


@pytest.mark.parametrize("trust", [JOINT, SHUFFLE])
def test_the_shuffler_or_curator_goes_on_under_a_successor(tmp_path: Path, trust: str) -> None:
    """With its key where that is here, and with what the contract says of it where the key is elsewhere."""
    role = ROLES[trust]
    tea = made(tmp_path / "tea", trust, between={"operator": "Mixers Ltd", "address": "https://mix.example"})
    before = tea.contract()
    here = made(tmp_path / "here", trust, **following(tea))
    key = tea.path / f"{role}.key"
    private = keys.load_key(key)
    key.unlink()
    elsewhere = made(tmp_path / "elsewhere", trust, **following(tea))
    assert not (elsewhere.path / f"{role}.key").exists()
    for folder in (here, elsewhere):
        contract = folder.contract()
        about = contract.intermediary
        assert about is not None and weaker(contract, before) == "" and contract.document["version"] == 2
        assert (about.key, about.operator) == (keys.public_key(private), "Mixers Ltd")
        assert (about.address, about.sealing) == ("https://mix.example", sealed.public_key(private))
    about = here.contract().intermediary
    assert about is not None and RoleFolder(here.path, role).keys(about).private == private
    assert succeed(tea, here)["successor"] == here.contract().pin


@pytest.mark.parametrize("trust", [JOINT, SHUFFLE])
def test_a_successor_with_another_curator_or_a_weaker_guarantee_is_refused(tmp_path: Path, trust: str) -> None:
    tea, other = made(tmp_path / "tea", trust), made(tmp_path / "other", trust)
    with refused("successor-weaker", match="is another"):
        succeed(tea, other)
    with refused("successor-weaker", match="epsilon is 2"):
        made(tmp_path / "weak", trust, 2.0, **following(tea))
    with refused("successor-weaker", match="is another"):
        made(tmp_path / "third", trust, **{**following(tea), "between": {"key": bytes(32)}})
    assert not (tmp_path / "weak").exists()


def test_a_successor_of_another_trust_has_keys_of_its_own(tmp_path: Path) -> None:
    """Devices refuse it, whatever it keeps."""
    tea = made(tmp_path / "tea", SHUFFLE)
    with refused("successor-weaker", match="trusts joint"):
        made(tmp_path / "joint", JOINT, **following(tea))
