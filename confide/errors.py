"""The errors confide raises on purpose: one sentence each, naming the thing, the rule, the value and the way out."""

from __future__ import annotations


class ConfideError(Exception):
    """Every error raised on purpose. The command prints it as one sentence and exits with `exit_code`."""

    exit_code = 2


class InvalidInput(ConfideError, ValueError):
    """Something given from outside breaks a rule."""


class UnknownName(InvalidInput, LookupError):
    """A name that no registry holds."""


class FormatError(ConfideError, ValueError):
    """Bytes or a file that confide cannot vouch for: wrong version, damaged, or outside its limits."""


class PrivacyError(ConfideError):
    """What was asked for would break a promise, so it was not done."""


class UnsafeNoise(PrivacyError):
    """Replayable noise where real data is touched."""


class BudgetExceeded(PrivacyError):
    """A release that the ledger has no budget for."""


class MissingExtra(ConfideError, ImportError):
    """An optional dependency that is not installed."""


class Unfinished(ConfideError):
    """A fit whose release was paid for, and that failed afterwards. `fit` holds the release: learn from it by `refit`."""

    def __init__(self, sentence: str, fit: object = None) -> None:
        super().__init__(sentence)
        self.fit = fit
