"""Lower bounds: what an attacker can prove about a mechanism from its output."""

from .auditing import CONFIDENCE, SAMPLES, Finding, Target, audit
from .bound import event_bound, ideal_bound
from .catalogue import AuditEntry, entries, find, targets_of
from .counters import counter_target
from .curators import central_target, joint_target
from .devices import local_target
from .end_to_end import WholeRun, whole_target
from .mechanisms import category_target, randomizer_target, several_target, symmetric_target
from .people import all_episodes, pairs
from .replicas import audit_fit, audit_plan
from .settings import register_problem
from .shufflers import shuffle_target

__all__ = [
    "CONFIDENCE",
    "SAMPLES",
    "AuditEntry",
    "Finding",
    "Target",
    "WholeRun",
    "all_episodes",
    "audit",
    "audit_fit",
    "audit_plan",
    "category_target",
    "central_target",
    "counter_target",
    "entries",
    "event_bound",
    "find",
    "ideal_bound",
    "joint_target",
    "local_target",
    "pairs",
    "randomizer_target",
    "register_problem",
    "several_target",
    "shuffle_target",
    "symmetric_target",
    "targets_of",
    "whole_target",
]
