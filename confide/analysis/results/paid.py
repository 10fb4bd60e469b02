"""How a release that was paid for is kept, whatever fails after it was drawn: learning, judging, reporting, saving, power.

As soon as a release is complete it is written and synced to the hidden folder `.NAME.paid` beside the folder NAME that the
fit was asked to make, with a policy that knows nothing; once NAME is there, whole, it is removed. Where it cannot be
written there, it goes to a new folder among the system's temporary ones. `refit` learns from it at no further cost, and
removes it when it has. Until then no other fit may be made for the same folder: it would pay a second time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import ConfideError, InvalidInput, Unfinished
from .fit import Fit
from .folder import discard, paid_place


def check_unpaid(out: Path) -> None:
    """Refuse a folder beside which a release waits."""
    waiting = paid_place(out)
    if waiting.exists():
        raise InvalidInput(
            "release-waits",
            f"A release that was paid for waits in {waiting}. Learn from it at no cost: confide refit {waiting} --out "
            "FOLDER, or remove it.",
        )


@contextmanager
def paid(untaught: Fit, out: Path | None) -> Iterator[None]:
    """Keep the release on disk while the block runs, and for good if it fails. Without `out` the error itself holds it."""
    waiting = None if out is None else _kept_at(untaught, out)
    try:
        yield
    except Exception as error:
        reason = str(error).rstrip(".") if isinstance(error, ConfideError) else type(error).__name__
        name = untaught.config["learner"]
        begun = f"The fit with {name!r} failed after its release was paid for, with {reason}"
        if waiting is not None:
            where = f"The release is kept in {waiting}: learn from it with confide refit {waiting} --out FOLDER."
        else:
            where = "The release is the `fit` of this error: learn from it with refit(error.fit, ...)."
        raise Unfinished("fit-unfinished", f"{begun}. {where}", untaught) from error
    if waiting is not None:
        discard(waiting)


def to_learn_from(source: str | Path) -> Path:
    """The folder of that name; where there is none, the release that waits for it."""
    path = Path(source)
    return path if path.is_dir() or not paid_place(path).is_dir() else paid_place(path)


def settle(source: Path) -> None:
    """Remove a release that waited, once it was learned from and saved elsewhere; leave every other folder alone."""
    if source.name.startswith(".") and source.suffix == ".paid":
        discard(source)


def _kept_at(untaught: Fit, out: Path) -> Path | None:
    """Save the release and return where: beside its folder, else among the temporary ones, else nowhere."""
    try:
        return untaught.keep(paid_place(out))
    except (ConfideError, OSError):
        try:
            return untaught.keep(Path(tempfile.mkdtemp(prefix="confide-")) / paid_place(out).name)
        except (ConfideError, OSError):
            return None
