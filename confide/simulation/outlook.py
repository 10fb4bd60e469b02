"""Whether anything can be learned at all: when the counts will stand out from the noise."""

from __future__ import annotations

from ..privatizers import LocalPrivatizer, ShufflePrivatizer
from . import linear
from .setting import Setting

# Counts stand out once the average one is larger than the error that half of all runs exceed.
HALF = 0.5


def episodes_needed(setting: Setting) -> float:
    """After about how many episodes the average pair's count exceeds its typical error; 0 without privacy.

    On average n episodes visit a pair n H/(S A) times in a stationary model, n/(S A) times a step otherwise. Under local
    privacy, and through one shuffler, the error grows like sqrt(n), so n >= (error(1) S A/H)^2; under joint privacy, and through
    a tree of shufflers, it does not grow, or hardly.
    """
    if isinstance(setting, linear.MixtureSetting):
        return linear.episodes_needed(setting, HALF)
    privatizer, spec = setting.privatizer, setting.context.spec
    if privatizer is None:
        return 0.0
    visits = (spec.horizon if spec.layers == 1 else 1) / (spec.states * spec.actions)
    if isinstance(privatizer, LocalPrivatizer):
        many = 10**6
        error = float(privatizer.radii(many, HALF)[3]) / many**0.5
        return float((error / visits) ** 2)
    if isinstance(privatizer, ShufflePrivatizer):
        batches = setting.schedule.users // privatizer.mixing.batch
        error = float(privatizer.radii(setting.schedule.users, HALF)[3])
        return error / visits if privatizer.mixing.tree else (error / visits) ** 2 / (batches * privatizer.mixing.batch)
    return float(privatizer.radii(setting.schedule.releases, HALF)[3]) / visits
