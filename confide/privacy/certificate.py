"""The certificate that goes with a policy: what was guaranteed, by which means, under which assumptions."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from pathlib import Path
from types import UnionType

from .. import validation
from .._version import __version__
from ..errors import FormatError
from ..validation import Json
from .calibration import true_guarantee
from .guarantee import NEIGHBOURS, Guarantee, rounded_down, rounded_up, trusts
from .loss import Act, Mechanism, compose

SCHEMA = "confide.certificate/1"
NOISES = ("plain", "compiled", "opendp", "replayable", "none")
CALIBRATIONS = ("paper", "sound", "tight", "none")
GAUSSIANS = ("gaussian", "discrete-gaussian")
"""Mechanisms whose rho follows from what a certificate says of them."""
_KEYS = {
    "schema",
    "guarantees",
    "unit",
    "neighbours",
    "mechanisms",
    "calibration",
    "noise",
    "assumptions",
    "audit",
    "versions",
}
_KINDS: dict[str, type | UnionType] = {
    "guarantees": list,
    "unit": str,
    "mechanisms": list,
    "assumptions": list,
    "audit": dict | None,
    "versions": dict,
}


@dataclass(frozen=True)
class StatedGuarantee:
    """A true guarantee and, where a paper's constants were used, the guarantee that the paper states for them."""

    true: Guarantee
    nominal: Guarantee | None = None

    def as_json(self) -> dict[str, Json]:
        """Plain values: the guarantee's own keys and `nominal`, with its trust where nothing is truly guaranteed."""
        nominal: dict[str, Json] | None = None
        if self.nominal is not None:
            nominal = {"epsilon": self.nominal.epsilon, "delta": self.nominal.delta, "rho": self.nominal.rho}
            if not self.true.private:
                nominal["trust"] = self.nominal.trust
        return {**self.true.as_json(), "nominal": nominal}

    def __str__(self) -> str:
        """The true guarantee in words."""
        hidden = self.true.private or self.nominal is None
        return (
            str(self.true) if hidden else f"{self.true}: some two users can be distinguished with certainty, delta is 1"
        )


@dataclass(frozen=True)
class Certificate:
    """A certificate: the guarantees, mechanisms and assumptions. Prints as a short table, saves and loads as JSON."""

    promises: tuple[StatedGuarantee, ...]
    mechanisms: tuple[dict[str, Json], ...]
    calibration: str
    noise: str
    assumptions: tuple[str, ...]
    audit: dict[str, Json] | None = None
    versions: dict[str, str] = field(default_factory=lambda: versions())

    @classmethod
    def of(
        cls,
        acts: Sequence[Act[Mechanism]],
        requested: Guarantee,
        calibration: str,
        noise: str,
        assumptions: Sequence[str] = (),
        schedule: dict[str, Json] | None = None,
    ) -> Certificate:
        """The certificate of these acts: the guarantee it states is their composed loss, whatever was requested.

        In `paper` calibration the requested guarantee is what the paper claims, so it is kept beside as nominal.
        """
        if not requested.private:
            return cls((StatedGuarantee(requested),), (), "none", "none", tuple(assumptions))
        true = true_guarantee(compose([act.loss for act in acts]), requested)
        mechanisms = [act.describe() if schedule is None else {**act.describe(), "schedule": schedule} for act in acts]
        nominal = requested if calibration == "paper" else None
        return cls((StatedGuarantee(true, nominal),), tuple(mechanisms), calibration, noise, tuple(assumptions))

    def with_audit(self, audit: dict[str, Json] | None) -> Certificate:
        """The same certificate with an audit's findings."""
        return replace(self, audit=audit)

    def assuming(self, remarks: Sequence[str]) -> Certificate:
        """The same certificate, which also assumes what these sentences say."""
        return replace(self, assumptions=(*self.assumptions, *remarks))

    def about(self, releases: Sequence[str]) -> Certificate:
        """The same certificate, which says of each mechanism what it releases."""
        pairs = zip(self.mechanisms, releases, strict=True)
        return replace(self, mechanisms=tuple({**mechanism, "release": release} for mechanism, release in pairs))

    @property
    def guarantee(self) -> Guarantee:
        """The true guarantee of the kind that was asked for."""
        return self.promises[0].true

    def as_json(self) -> dict[str, Json]:
        """The stable machine-readable form."""
        true = self.promises[0].true
        return {
            "schema": SCHEMA,
            "guarantees": [promise.as_json() for promise in self.promises],
            "unit": true.unit,
            "neighbours": true.neighbours,
            "mechanisms": list(self.mechanisms),
            "calibration": self.calibration,
            "noise": self.noise,
            "assumptions": list(self.assumptions),
            "audit": self.audit,
            "versions": self.versions,
        }

    @classmethod
    def from_json(cls, data: Json, source: str = "certificate") -> Certificate:
        """Read the machine-readable form; refuse whatever this version cannot vouch for."""
        try:
            certificate = cls._parse(data)
            certificate.rows()  # what cannot be printed is not vouched for either
            certificate._check_mechanisms()
            return certificate
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
            raise FormatError(
                "certificate-invalid", f"{source} is not a certificate this version can vouch for: {reason}."
            ) from error

    def _check_mechanisms(self) -> None:
        """Refuse a guarantee of rho that Gaussian noise of the stated mechanisms does not keep, each taken alone.

        n uses of a Gaussian of deviation sigma on a statistic of l2 sensitivity d have rho = n d^2 / (2 sigma^2), on a grid
        too. Whose
        data two mechanisms share is not written in a certificate, so that their sum is not compared.
        """
        rho = self.guarantee.rho
        for row in self.mechanisms if rho is not None else ():
            if row.get("name") in GAUSSIANS:
                size = validation.number("l2", validation.table("sensitivity", row["sensitivity"])["l2"])
                sigma, times = (validation.number(name, row[name]) for name in ("sigma", "times"))
                if rho is not None and times * (size / sigma) ** 2 / 2 > rho * (1 + 1e-6):
                    raise ValueError("a mechanism in it gives away more than its guarantee states")

    @classmethod
    def _parse(cls, data: Json) -> Certificate:
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            schema = data.get("schema") if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"its schema is {schema!r}, not {SCHEMA!r}")
        if set(data) != _KEYS:
            raise ValueError(f"its keys differ in {sorted(set(data) ^ _KEYS)}")
        for key, kind in _KINDS.items():
            if not isinstance(data[key], kind):
                raise ValueError(f"its {key} is of the wrong type")
        if data["calibration"] not in CALIBRATIONS or data["noise"] not in NOISES:
            raise ValueError("its calibration or noise is unknown")
        if not data["guarantees"] or data["neighbours"] not in NEIGHBOURS:
            raise ValueError("it states no guarantee")
        hidden = str(data["unit"]), str(data["neighbours"])
        rows, audit = validation.listed("guarantees", data["guarantees"]), data["audit"]
        return cls(
            tuple(_promise(validation.table("guarantee", row), *hidden) for row in rows),
            tuple(
                dict(validation.table("mechanism", row)) for row in validation.listed("mechanisms", data["mechanisms"])
            ),
            str(data["calibration"]),
            str(data["noise"]),
            tuple(str(line) for line in validation.listed("assumptions", data["assumptions"])),
            None if audit is None else dict(validation.table("audit", audit)),
            {str(key): str(value) for key, value in validation.table("versions", data["versions"]).items()},
        )

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON."""
        Path(path).write_text(self._text(), encoding="utf-8")

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the file that `save` writes without an audit: what is guaranteed is the same with one."""
        return hashlib.sha256(replace(self, audit=None)._text().encode()).hexdigest()

    def _text(self) -> str:
        return json.dumps(self.as_json(), indent=2) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a saved certificate."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FormatError(
                "certificate-missing", f"There is no certificate at {path}. Give the folder of a fit or run, or a file."
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            raise FormatError("certificate-unreadable", f"{path} cannot be read as a certificate: {error}.") from error
        return cls.from_json(data, str(path))

    def rows(self) -> list[tuple[str, str]]:
        """The rows of the table that is printed: label and value."""
        rows: list[tuple[str, str]] = []
        for promise in self.promises:
            rows.append(("guarantee", str(promise)))
            if promise.nominal is not None:
                rows.append(("paper's claim", str(promise.nominal)))
        if self.guarantee.private:
            rows += [("hides", self.guarantee.unit), ("neighbours", self.guarantee.neighbours)]
        rows += [("mechanism", _in_words(row)) for row in self.mechanisms]
        rows += [("calibration", self.calibration), ("noise", self.noise)]
        rows += [("assumes", line) for line in self.assumptions]
        if self.audit is not None:
            rows.append(("audit", _audit_in_words(self.audit)))
        return rows

    def _repr_html_(self) -> str:
        """The rows as an HTML table, for a notebook."""
        return html_table("", self.rows())

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:<{width}}  {value}" for label, value in rows)


def html_table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """An HTML table of labels and values, for a notebook."""
    lines = "".join(f"<tr><th align='left'>{escape(label)}</th><td>{escape(value)}</td></tr>" for label, value in rows)
    return f"{f'<p>{escape(title)}</p>' if title else ''}<table>{lines}</table>"


def _promise(row: Mapping[str, Json], unit: str, neighbours: str) -> StatedGuarantee:
    """A guarantee that says of itself exactly what is written in the row."""
    if row["trust"] not in trusts():
        raise ValueError(f"trust {row['trust']!r} is unknown")
    trust, numbers = str(row["trust"]), _numbers(row)
    true = Guarantee(trust, *((None, 0.0, numbers[2]) if row["converted"] else numbers), unit, neighbours)
    claimed = None
    if row["nominal"] is not None:
        nominal = validation.table("nominal", row["nominal"])
        claimed = Guarantee(str(nominal.get("trust", trust)), *_numbers(nominal), unit, neighbours)
    promise = StatedGuarantee(true, claimed)
    written = promise.as_json()
    if written["converted"] and math.isclose(numbers[0] or 0.0, _numbers(written)[0] or 0.0, rel_tol=1e-6):
        written["epsilon"] = row["epsilon"]  # another version may convert in other last digits
    if written != row:
        raise ValueError("a guarantee contradicts itself")
    return promise


def _numbers(row: Mapping[str, Json]) -> tuple[float | None, float, float | None]:
    """Epsilon, delta and rho of a row."""
    epsilon, rho = (None if row[name] is None else validation.number(name, row[name]) for name in ("epsilon", "rho"))
    return epsilon, validation.number("delta", row["delta"]), rho


def _audit_in_words(audit: dict[str, Json]) -> str:
    """One line about an audit: the lower bound that an attack proves, of how much epsilon, from how many samples."""

    def number(name: str) -> float:
        return validation.number(name, audit[name])

    bound = f"epsilon at least {rounded_down(number('lower_bound'), 4)} at delta {number('delta'):g}"
    if "attacked" not in audit:
        return bound
    certified = rounded_up(number("certified_epsilon"))
    samples, confidence = int(number("samples")), number("confidence")
    ideal = f"an ideal attack would show {number('ideal_bound'):.3f}"
    return f"{bound}, of {certified} ({samples:,} samples, confidence {confidence:g}; {ideal}): {audit['attacked']}"


def _in_words(row: dict[str, Json]) -> str:
    def plain(value: Json, key: str = "") -> str:
        if key in ("epsilon", "bit_epsilon", "delta", "rho") and isinstance(value, float):
            return rounded_up(value)
        return _number(value) if isinstance(value, float) else str(value)

    skipped = ("name", "sensitivity", "times", "schedule", "release")
    details = [f"{key} {plain(value, key)}" for key, value in row.items() if key not in skipped]
    sensitivity = validation.table("sensitivity", row.get("sensitivity", {}))
    details += [f"sensitivity {key} {plain(value)}" for key, value in sensitivity.items()]
    if "schedule" in row:
        schedule = validation.table("schedule", row["schedule"])
        details.append(f"{schedule['releases']:,} releases ({schedule['kind']})")
    about = f" on {row['release']}" if "release" in row else ""
    return f"{row['name']}{about}: " + ", ".join(details)


def _number(value: float) -> str:
    """Six digits, without powers of ten: thousands are set apart, and fine grids are powers of two."""
    if abs(value) >= 1e6 and math.isfinite(value):
        return f"{value:,.0f}"
    fraction, power = math.frexp(value)
    return f"2^{power - 1}" if 0 < value < 1e-4 and fraction == 0.5 else f"{value:.6g}"


def versions() -> dict[str, str]:
    """The installed versions of Python and of the packages that a guarantee depends on."""
    return dict(_installed())


@cache
def _installed() -> dict[str, str]:
    """`versions`, looked up once a process: three packages' metadata are read from disk."""
    from importlib.metadata import PackageNotFoundError, version

    installed = {"confide": __version__, "python": platform.python_version()}
    for name in ("numpy", "opendp", "dp-accounting"):
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "not installed"
    return installed
