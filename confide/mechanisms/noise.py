"""Sources of noise: `SecureNoise` wherever real data is touched, `ReplayableNoise` for simulation only.

Both draw whole numbers from the same laws behind one small interface, so that a mechanism cannot tell them apart;
`require_secure` is how anything that touches real data refuses the second.
"""

from __future__ import annotations

import math
import os
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput, UnsafeNoise, install
from ..validation import between, integer, positive, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .plain import LawName, Words

Shape = int | tuple[int, ...]

PLAIN_CELLS = 10_000
"""The most cells that `SecureNoise` draws in numpy, at about 5 us each; beyond, what is compiled pays."""
OPENDP_CELLS = 10_000
"""The most cells that OpenDP is asked for at once."""
OPENDP = "opendp"
CHOICE = "CONFIDE_NOISE"
"""The environment variable that lets OpenDP draw the noise of releases."""

LARGEST_SCALE = 2.0**53
"""Beyond it neither floats nor, in OpenDP, saturating 64-bit integers would follow the law."""

SMALLEST_ROUNDED_SIGMA = 10.0
"""From this sigma on `ReplayableNoise` rounds a continuous normal: total variation to the exact law is below 1e-3."""


@runtime_checkable
class NoiseSource(Protocol):
    """Independent draws. Each method returns an array of the given shape."""

    @property
    def secure(self) -> bool:
        """Whether it is safe where real data is touched."""
        ...

    @property
    def drawn_by(self) -> str:
        """Who has drawn so far: "plain" or "compiled" (confide's own exact samplers), "opendp", or "replayable"."""
        ...

    def discrete_laplace(self, scale: float, shape: Shape) -> NDArray[np.int64]:
        """P(x) proportional to exp(-|x| / scale) over the integers; variance about 2 scale^2."""
        ...

    def discrete_gaussian(self, sigma: float, shape: Shape) -> NDArray[np.int64]:
        """P(x) proportional to exp(-x^2 / (2 sigma^2)) over the integers; variance at most sigma^2."""
        ...

    def bernoulli(self, probability: float, shape: Shape) -> NDArray[np.bool_]:
        """True with the given probability."""
        ...

    def lies(self, epsilon: float, others: int, shape: Shape, within: int = 1) -> NDArray[np.bool_]:
        """True with probability others/(within e^epsilon + others), where a randomised response reports an untruth."""
        ...

    def integers(self, high: int, shape: Shape) -> NDArray[np.int64]:
        """Uniform on 0 .. high-1."""
        ...


class SecureNoise:
    """Exact draws from the operating system's randomness. It takes no seed, by design: noise that can be replayed can
    be subtracted.

    All samplers are confide's own, of the same laws, whose scale is rounded up by at most one part in a million: plain numpy up
    to `PLAIN_CELLS` cells, compiled beyond, and whole numbers of any length for the few scales that neither can reach.
    """

    def __init__(self) -> None:
        self._drawn_by = "plain"

    @property
    def secure(self) -> bool:
        """True: its draws cannot be replayed."""
        return True

    @property
    def drawn_by(self) -> str:
        """Plain until the compiled sampler has drawn anything."""
        return self._drawn_by

    def discrete_laplace(self, scale: float, shape: Shape) -> NDArray[np.int64]:
        """Exactly P(x) proportional to exp(-|x| / scale)."""
        return self._draw("laplace", _usable("scale", scale), shape)

    def discrete_gaussian(self, sigma: float, shape: Shape) -> NDArray[np.int64]:
        """Exactly P(x) proportional to exp(-x^2 / (2 sigma^2))."""
        return self._draw("gaussian", _usable("sigma", sigma), shape)

    def bernoulli(self, probability: float, shape: Shape) -> NDArray[np.bool_]:
        """True with exactly the probability that the float stands for."""
        return _bernoulli(self._words, probability, shape)

    def lies(self, epsilon: float, others: int, shape: Shape, within: int = 1) -> NDArray[np.bool_]:
        """True with exactly the probability others/(within e^epsilon + others), which no float is."""
        from .plain import lies

        odds = Fraction(integer("others", others, 1), integer("within", within, 1))
        epsilon, dimensions = positive("epsilon", epsilon), _dimensions(shape)
        return lies(self._words, epsilon, odds, math.prod(dimensions)).reshape(dimensions)

    def integers(self, high: int, shape: Shape) -> NDArray[np.int64]:
        """Exactly uniform on 0 .. high-1."""
        return _integers(self._words, high, shape)

    def _draw(self, law: LawName, scale: float, shape: Shape) -> NDArray[np.int64]:
        dimensions = _dimensions(shape)
        cells = math.prod(dimensions)
        from .plain import rational

        if rational(law, scale) is None:
            from . import plain

            return plain.drawn_at_any_scale(self._words, cells, law, scale).reshape(dimensions)
        if cells <= PLAIN_CELLS:
            from . import plain

            return plain.draw(self._words, cells, law, scale).reshape(dimensions)
        from . import sampler

        self._drawn_by = "compiled"
        return sampler.draw(self._words, cells, law, scale).reshape(dimensions)

    def _words(self, count: int) -> NDArray[np.uint64]:
        """Random 64-bit words of the operating system."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).copy()


class OpenDPNoise(SecureNoise):
    """`SecureNoise` whose Laplace and Gaussian draws are OpenDP's (`pip install confide[opendp]`): for those who must rely on it.

    Events and uniform numbers, which OpenDP does not offer, are drawn by confide, and `drawn_by` says so from then on.
    """

    def __init__(self) -> None:
        try:
            import opendp  # noqa: F401
        except ModuleNotFoundError:
            raise InvalidInput(
                "opendp-missing", f"OpenDP is not installed, which was to draw the noise. {install('opendp')}."
            ) from None
        self._drawn_by = OPENDP

    def _draw(self, law: LawName, scale: float, shape: Shape) -> NDArray[np.int64]:
        dimensions = _dimensions(shape)
        return _opendp(law, scale, math.prod(dimensions)).reshape(dimensions)

    def _words(self, count: int) -> NDArray[np.uint64]:
        self._drawn_by = "plain"
        return super()._words(count)


class LightNoise(SecureNoise):
    """`SecureNoise` drawn by plain exact samplers at any size, with the same laws: for devices, which load no compiler."""

    def _draw(self, law: LawName, scale: float, shape: Shape) -> NDArray[np.int64]:
        from . import plain

        dimensions = _dimensions(shape)
        return plain.draw(self._words, math.prod(dimensions), law, scale).reshape(dimensions)


class ReplayableNoise:
    """Noise that the same seed draws again: for simulation only, where speed matters and no data is real.

    Streams from `spawn` are independent of each other and of their parent by construction. `seed` and `spawn_key`
    record a stream: `ReplayableNoise(np.random.SeedSequence(seed, spawn_key=spawn_key))` draws it again.
    """

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        if not isinstance(seed, np.random.SeedSequence):
            seed = np.random.SeedSequence(integer("seed", seed, 0))
        self._sequence = seed
        self._generator = np.random.default_rng(seed)

    @property
    def secure(self) -> bool:
        """False: an attacker who knows the seed can subtract the noise."""
        return False

    @property
    def drawn_by(self) -> str:
        """Always "replayable", also where it shares code with the secure source."""
        return "replayable"

    @property
    def seed(self) -> int | Sequence[int] | None:
        """The entropy from which this stream and its siblings were spawned."""
        return self._sequence.entropy

    @property
    def spawn_key(self) -> tuple[int, ...]:
        """Which of the streams of `seed` this is; empty for the first."""
        return tuple(self._sequence.spawn_key)

    def spawn(self, count: int) -> list[ReplayableNoise]:
        """New independent streams, different at every call."""
        return [ReplayableNoise(child) for child in self._sequence.spawn(integer("count", count, 0))]

    def discrete_laplace(self, scale: float, shape: Shape) -> NDArray[np.int64]:
        """The difference of two geometric variables, each an exponential rounded down: the law to double precision."""
        scale, dimensions = _usable("scale", scale), _dimensions(shape)
        up, down = (self._generator.standard_exponential(dimensions) for _ in range(2))
        up *= scale
        down *= scale
        return up.astype(np.int64) - down.astype(np.int64)

    def discrete_gaussian(self, sigma: float, shape: Shape) -> NDArray[np.int64]:
        """A rounded normal from `SMALLEST_ROUNDED_SIGMA` on; below, the law to double precision.

        Below, how often each integer occurs is one multinomial draw, and then their order is shuffled.
        """
        sigma, dimensions = _usable("sigma", sigma), _dimensions(shape)
        if sigma >= SMALLEST_ROUNDED_SIGMA:
            normal = self._generator.standard_normal(dimensions)
            normal *= sigma
            return np.rint(normal, out=normal).astype(np.int64)
        reach = math.ceil(12 * sigma)
        support = np.arange(-reach, reach + 1, dtype=np.int64)
        weights = np.exp(-((support / sigma) ** 2) / 2)
        counts = self._generator.multinomial(math.prod(dimensions), weights / weights.sum())
        values = np.repeat(support, counts)
        self._generator.shuffle(values)
        return values.reshape(dimensions)

    def bernoulli(self, probability: float, shape: Shape) -> NDArray[np.bool_]:
        """True with the given probability."""
        return _bernoulli(self._words, probability, shape)

    def lies(self, epsilon: float, others: int, shape: Shape, within: int = 1) -> NDArray[np.bool_]:
        """True with probability others/(within e^epsilon + others) to double precision; for simulation only."""
        odds = integer("others", others, 1) / integer("within", within, 1) * math.exp(-positive("epsilon", epsilon))
        return self.bernoulli(odds / (1 + odds), shape)

    def integers(self, high: int, shape: Shape) -> NDArray[np.int64]:
        """Uniform on 0 .. high-1."""
        return _integers(self._words, high, shape)

    def _words(self, count: int) -> NDArray[np.uint64]:
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)


def require_secure(noise: NoiseSource, what: str) -> NoiseSource:
    """The noise itself if it is secure; `what`, the subject of the refusal, names who touches real data."""
    if not noise.secure:
        raise UnsafeNoise(
            "noise-not-secure", f"{what} must draw secure noise. Got {noise.drawn_by} noise. Use SecureNoise()."
        )
    return noise


def device_noise(noise: NoiseSource | None = None) -> NoiseSource:
    """The noise of a device's report, unless another is given: drawn by plain samplers."""
    return noise or LightNoise()


def release_noise() -> SecureNoise:
    """The secure noise of releases: confide's own samplers, or OpenDP's where `$CONFIDE_NOISE` is "opendp"."""
    choice = os.environ.get(CHOICE, "")
    if choice not in ("", OPENDP):
        raise refusal("noise-unknown", CHOICE, f"{OPENDP!r} or empty", choice)
    return OpenDPNoise() if choice else SecureNoise()


def curator_noise(noise: NoiseSource | None = None, simulated: bool = False) -> NoiseSource:
    """The noise of a curator's release: secure, unless people are simulated."""
    chosen = noise or release_noise()
    return chosen if simulated else require_secure(chosen, "a release about real people")


def _usable(name: str, scale: float) -> float:
    scale = positive(name, scale)
    if scale > LARGEST_SCALE:
        raise refusal("noise-scale-large", name, f"at most {LARGEST_SCALE:g}", scale, "Use a coarser grid.")
    return scale


def _dimensions(shape: Shape) -> tuple[int, ...]:
    return tuple(integer("shape", n, 0) for n in (shape if isinstance(shape, tuple) else (shape,)))


def _opendp(law: LawName, scale: float, cells: int) -> NDArray[np.int64]:
    """OpenDP's noise on a vector of zeros: on integers its laws are the discrete ones and its scale is sigma."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    domain = vector_domain(atom_domain(T="i64"))
    if law == "laplace":
        noise = make_laplace(domain, l1_distance(T="i64"), scale)
    else:
        noise = make_gaussian(domain, l2_distance(T="f64"), scale)
    out = np.empty(cells, dtype=np.int64)
    for start in range(0, cells, OPENDP_CELLS):
        piece = out[start : start + OPENDP_CELLS]
        piece[:] = noise([0] * piece.size)
    return out


def _bernoulli(words: Words, probability: float, shape: Shape) -> NDArray[np.bool_]:
    """Is a uniform number below the probability? 64 binary digits at a time until they differ: nothing is rounded."""
    remainder = Fraction(between("probability", probability, 0, 1))
    dimensions = _dimensions(shape)
    out = np.zeros(math.prod(dimensions), dtype=np.bool_)
    undecided: NDArray[np.intp] | slice = slice(None)
    while remainder and out[undecided].size:
        digits, remainder = divmod(remainder * 2**64, 1)
        drawn = words(out[undecided].size)
        out[undecided] = drawn < digits
        undecided = np.arange(out.size)[undecided][drawn == digits]
    return out.reshape(dimensions)


def _integers(words: Words, high: int, shape: Shape) -> NDArray[np.int64]:
    """Uniform on 0 .. high-1: as many bits as high-1 has, drawn again where the number is too large: no bias."""
    high, dimensions = integer("high", high, 1, 2**63), _dimensions(shape)
    mask = np.uint64((1 << (high - 1).bit_length()) - 1)
    out = words(math.prod(dimensions)) & mask
    while (wrong := np.flatnonzero(out >= high)).size:
        out[wrong] = words(wrong.size) & mask
    return out.astype(np.int64).reshape(dimensions)
