"""What a mutant is: one edit of the sources that breaks a guarantee, the tests that must notice, and what of the audit must."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LAWS = "tests/lab/audit/test_laws.py"
PRICES = "tests/protocol/kinds/test_sensitivity.py"


@dataclass(frozen=True)
class Mutant:
    """One planted mistake. file: in `confide/`, or in `js/` if it begins with that. audits: entries by name. unseen: why no attack
    can see it, where none can. samples: of the audit.
    """

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    audits: tuple[str, ...] = ()
    unseen: str = ""
    samples: int = 20_000

    @property
    def path(self) -> Path:
        """The file, in the repository."""
        return Path(self.file) if self.file.startswith("js/") else Path("confide") / self.file


def laws(name: str) -> tuple[str, ...]:
    """The test of the law of one design."""
    return (f"{LAWS}::test_cells_releases_and_people_have_noise_of_their_own_and_of_the_right_size[{name}]",)


FIT = (f"{LAWS}::test_all_releases_of_a_fit_have_noise_of_their_own_and_of_the_right_size",)
