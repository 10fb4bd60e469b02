"""Counters that an operator may watch. Under trust local all of them are computed from reports, which are public."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..http.problems import STATUSES

PUBLIC_METRICS = ("confide_round", "confide_alarm")
"""What is shown where a shuffler or curator holds the open batch: nothing that depends on whose episode came, or when. An alarm is
computed from the sum of a closed batch, which is public; of a curator's there is none."""


class Metrics:
    """The counters of one collector."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.counted = Counter("confide_reports_counted", "Reports counted by this collector.", registry=registry)
        self.repeated = Counter("confide_reports_repeated", "Reports that had been counted before.", registry=registry)
        self.refused = Counter("confide_refused", "Requests refused, by reason.", ["reason"], registry=registry)
        for reason in STATUSES:
            self.refused.labels(reason)
        self.round = Gauge("confide_round", "The round that is published.", registry=registry)
        self.alarm = Gauge(
            "confide_alarm", "The round that honest devices cannot have sent; 0 if there is none.", registry=registry
        )
        self.waiting = Gauge("confide_reports_waiting", "Reports that wait to be committed.", registry=registry)
        self.group = Histogram(
            "confide_commit_reports", "Reports in a commit.", buckets=(1, 4, 16, 64, 256, 512), registry=registry
        )
        self.commit = Histogram("confide_commit_seconds", "How long a commit took.", registry=registry)
        self.learning = Histogram(
            "confide_learning_seconds", "How long a lesson took.", buckets=(0.1, 1, 10, 60, 600), registry=registry
        )

    def committed(self, reports: int, seconds: float) -> None:
        """Note that a group was committed."""
        self.group.observe(reports)
        self.commit.observe(seconds)

    def refusals(self) -> dict[str, int]:
        """How many requests were refused, by reason."""
        (family,) = self.refused.collect()
        return {row.labels["reason"]: int(row.value) for row in family.samples if row.name.endswith("_total")}

    def page(self, everything: bool = True) -> bytes:
        """The counters as Prometheus reads them. everything: all of them, which are made of reports; else `PUBLIC_METRICS` only."""
        if everything:
            return generate_latest(self._registry)
        # One after the other: a registry restricted to several shows them in any order.
        return b"".join(generate_latest(self._registry.restricted_registry([name])) for name in PUBLIC_METRICS)
