"""Who may take part, in plain sentences: what certificate, dashboard, `service new` and `service check` say first."""

from __future__ import annotations

import math

from ...privacy.guarantee import SHUFFLE, Guarantee
from .contract import Contract

OPEN = (
    "OPEN: this service takes what comes without tokens, so that one client may be any number of users; nothing bounds the share "
    "of hostile reports"
)


def admission_lines(contract: Contract) -> list[str]:
    """What is to be said before anything else of who may take part, and of who is the same operator; empty if there is nothing."""
    between, issuer, operator = contract.intermediary, contract.issuer, contract.operator
    lines = [OPEN] if issuer is None else []
    if contract.design.trust != SHUFFLE or between is None:
        return lines
    local = local_words(contract)
    if issuer is None:
        lines.append(
            f"a client that takes most tickets of a batch learns the others' sum: the guarantee is that of what is sent, {local}"
        )
    if between.operator == operator:
        lines.append(
            f"shuffler and collector have one operator, {operator}: against this operator the guarantee is {local}"
        )
    if issuer is not None and issuer.name == operator:
        lines.append(
            f"issuer and collector have one operator, {operator}, which may issue tokens to itself: against this operator the "
            f"guarantee is {local}"
        )
    return lines


def local_words(contract: Contract) -> str:
    """The guarantee of what a device sends, by itself; `none` where there is none."""
    guarantee = contract.design.local_guarantee
    return str(guarantee) if guarantee.epsilon is not None and math.isfinite(guarantee.epsilon) else "none"


def held_guarantee(contract: Contract) -> Guarantee:
    """The guarantee that may be printed: without tokens, of a shuffle that of a report, since one client may be most of a batch."""
    alone = contract.issuer is None and contract.design.trust == SHUFFLE
    return contract.design.local_guarantee if alone else contract.design.guarantee


def held_words(contract: Contract) -> str:
    """The guarantee that may be printed, in words; `none` where there is none."""
    alone = contract.issuer is None and contract.design.trust == SHUFFLE
    return local_words(contract) if alone else str(contract.design.guarantee)


def once(contract: Contract) -> str:
    """How often one person counts, in a sentence."""
    if contract.issuer is None:
        return "people are not authenticated, so one with many devices counts as many"
    return (
        f"{contract.issuer.name} issues {_tokens(contract)}, blindly, each spent once: neither it nor the collector can tell "
        "whose token was whose but by time; who has its key, or deceives it, counts as many"
    )


def _tokens(contract: Contract) -> str:
    """How many tokens a person gets, and for which batches."""
    slots = contract.slots
    if slots is None:
        return "one token a person"
    each = "" if contract.period is None else f" and period of {contract.period.words}, by its own clock"
    many = "one token" if slots.times == 1 else f"up to {slots.times:,} tokens"
    if not slots.width:
        return f"{many} a person{each}"
    size = "one batch" if slots.width == 1 else f"{slots.width:,} batches"
    apart = f"at least {slots.gap:,} slots apart" if slots.gap > 1 else "no two of one slot"
    return f"{many} a person{each}, each for a slot of {size}, {apart}"
