"""Losses that depend on the order of two worlds: how far the first can be distinguished from the second, and the second from the
first.

A guarantee takes the worse of the two orders. An attack bets on events of both, so an ideal one is judged by each for itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

from ...privacy import Loss, compose

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution


@dataclass(frozen=True)
class Directed:
    """The loss of two laws, in either order: `there` of events that are likelier in the first, `back` in the second."""

    there: Loss
    back: Loss

    def epsilon(self, delta: float) -> float:
        """The least epsilon at `delta`, in the worse order."""
        return max(self.there.epsilon(delta), self.back.epsilon(delta))

    def delta(self, epsilon: float) -> float:
        """The least delta at `epsilon`, in the worse order."""
        return max(self.there.delta(epsilon), self.back.delta(epsilon))

    def distribution(self) -> PrivacyLossDistribution:
        """None exists for both orders: `composed` takes each for itself."""
        raise TypeError("a loss in either order composes in that order: use directed.composed")


@singledispatch
def orders(loss: Loss) -> tuple[Loss, Loss]:
    """The loss in both orders: the same one twice, if they do not differ."""
    return loss, loss


@orders.register
def _(loss: Directed) -> tuple[Loss, Loss]:
    return loss.there, loss.back


def composed(losses: Iterable[Loss]) -> Loss:
    """The loss of releasing everything together, in both orders if any of them has two."""
    both = [orders(loss) for loss in losses]
    there = compose([pair[0] for pair in both])
    if all(one is other for one, other in both):
        return there
    return Directed(there, compose([pair[1] for pair in both]))
