"""Hashes of many names at once, compiled. Apart from `keys`, which devices import, so that they need no compiler."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled

PRIME = np.uint64(0x100000001B3)
FIRST, SECOND = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
HALF, WORD = np.uint64(33), np.uint64(64)
MOST_DIGITS = 18
"""Whole numbers of this many digits fit into 64 bits."""

SPACE, PLUS, MINUS, POINT, ZERO, NINE, SMALL_E, LARGE_E = (ord(sign) for sign in " +-.09eE")
SMALL_A, SMALL_F, LETTER = ord("a"), ord("f"), np.uint8(32)
"""`sign | LETTER` is the lower-case character of an upper-case one."""

DASHED, PLAIN = 36, 32
"""Signs of a UUID, with dashes and without."""


@compiled
def hash_texts(starts: NDArray[np.int64], text: NDArray[np.uint8], key: np.uint64, out: NDArray[np.uint64]) -> None:
    """out[i] is the key of the name text[starts[i]:starts[i+1]]: of a decimal number, that of its value.

    A whole number of up to 18 digits is its own key; `0007`, `7.0`, `+7`, ` 7` and `7e+0` are all 7. Other numbers are
    hashed as their digits without outer zeros and their power of ten, UUIDs as their digits in lower case without dashes,
    everything else as it stands between spaces, tabs and ends of lines. An exponent counts only with a sign or after a point, as
    programs print it: `12e4567` is a name, not a number.
    """
    digits_of_uuid = np.empty(PLAIN, dtype=np.uint8)
    for i in range(out.size):
        begin, end = starts[i], starts[i + 1]
        if i > 0 and _same(text, starts[i - 1], begin, end):
            out[i] = out[i - 1]  # rows of one person stand together
            continue
        while begin < end and text[begin] <= SPACE:
            begin += 1
        while begin < end and text[end - 1] <= SPACE:
            end -= 1
        letters = _uuid(text, begin, end, digits_of_uuid)
        if letters > 0:
            out[i] = _hashed(digits_of_uuid, 0, PLAIN, key)
            continue
        if letters == 0:
            out[i] = _number(digits_of_uuid, False, 0, PLAIN, _inner(digits_of_uuid), key)
            continue
        at, negative = begin, False
        if at < end and (text[at] == PLUS or text[at] == MINUS):
            negative = text[at] == MINUS
            at += 1
        digits, power, point, first, last = 0, 0, False, -1, -1
        while at < end and (ZERO <= text[at] <= NINE or (text[at] == POINT and not point)):
            if text[at] == POINT:
                point = True
            else:
                digits += 1
                power -= point
                if text[at] != ZERO:
                    first = at if first < 0 else first
                    last = at
            at += 1
        stop = at
        if digits and at < end and (text[at] == SMALL_E or text[at] == LARGE_E):
            at += 1
            signed = at < end and (text[at] == PLUS or text[at] == MINUS)
            down = signed and text[at] == MINUS
            at += signed
            shift, count = 0, 0
            while at < end and ZERO <= text[at] <= NINE and count < 6:
                shift = 10 * shift + (text[at] - ZERO)
                count += 1
                at += 1
            power += -shift if down else shift
            if not count or not (signed or point):
                at = -1
        if digits and at == end:
            out[i] = _number(text, negative, power, stop, (first, last), key)
        else:
            out[i] = _hashed(text, begin, end, key)


@compiled
def _hashed(text: NDArray[np.uint8], begin: int, end: int, key: np.uint64) -> np.uint64:
    h = key
    for j in range(begin, end):
        h = (h ^ np.uint64(text[j])) * PRIME
    return _finished(h)


@compiled
def _uuid(text: NDArray[np.uint8], begin: int, end: int, digits: NDArray[np.uint8]) -> int:
    """How many characters are in text[begin:end] if that is a UUID, 32 hexadecimal digits with or without dashes, else -1; the
    digits are written down.
    """
    dashed = end - begin == DASHED
    if not dashed and end - begin != PLAIN:
        return -1
    count, letters = 0, 0
    for j in range(begin, end):
        place = j - begin
        if dashed and (place == 8 or place == 13 or place == 18 or place == 23):
            if text[j] != MINUS:
                return -1
            continue
        sign = text[j] if ZERO <= text[j] <= NINE else text[j] | LETTER
        letter = SMALL_A <= sign <= SMALL_F
        if not (letter or ZERO <= sign <= NINE):
            return -1
        digits[count] = sign
        count += 1
        letters += letter
    return letters


@compiled
def _inner(digits: NDArray[np.uint8]) -> tuple[int, int]:
    """The first and the last digit that is no outer zero; -1 if there is none."""
    first, last = -1, -1
    for j in range(digits.size):
        if digits[j] != ZERO:
            first = j if first < 0 else first
            last = j
    return first, last


@compiled
def _same(text: NDArray[np.uint8], before: int, begin: int, end: int) -> bool:
    """Whether text[begin:end] is what stands right before it, from `before` on."""
    if begin - before != end - begin:
        return False
    for j in range(end - begin):  # noqa: SIM110 (compiled code has no generators)
        if text[before + j] != text[begin + j]:
            return False
    return True


@compiled
def _number(
    text: NDArray[np.uint8], negative: bool, power: int, end: int, inner: tuple[int, int], key: np.uint64
) -> np.uint64:
    """The key of the number whose digits stand before text[end]; inner: the first and the last that is no outer zero."""
    first, last = inner
    if first < 0:
        return np.uint64(0)
    digits, value = 0, np.int64(0)
    for j in range(first, end):
        if text[j] == POINT:
            continue
        if j <= last:
            digits += 1
            if digits <= MOST_DIGITS:
                value = 10 * value + np.int64(text[j] - ZERO)
        else:
            power += 1  # an outer zero
    if power >= 0 and digits + power <= MOST_DIGITS:
        for _ in range(power):
            value *= 10
        return np.uint64(-value if negative else value)
    h = key
    for j in range(first, last + 1):
        if text[j] != POINT:
            h = (h ^ np.uint64(text[j])) * PRIME
    h = (h ^ np.uint64(power)) * PRIME
    h = (h ^ np.uint64(2 if negative else 1)) * PRIME
    return _finished(h)


@compiled
def _finished(h: np.uint64) -> np.uint64:
    """MurmurHash3's finaliser, after FNV-1a from a secret start."""
    h ^= h >> HALF
    h *= FIRST
    h ^= h >> HALF
    h *= SECOND
    return h ^ (h >> HALF)


@compiled
def _turned(x: np.uint64, by: int) -> np.uint64:
    return (x << np.uint64(by)) | (x >> (WORD - np.uint64(by)))


@compiled
def _round(a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    a, c = a + b, c + d
    b, d = _turned(b, 13) ^ a, _turned(d, 16) ^ c
    a = _turned(a, 32)
    c, a = c + b, a + d
    b, d = _turned(b, 17) ^ c, _turned(d, 21) ^ a
    return a, b, _turned(c, 32), d


@compiled
def secret_words(messages: NDArray[np.uint64], first: np.uint64, second: np.uint64, out: NDArray[np.uint64]) -> None:
    """out[i] is SipHash-2-4 (Aumasson and Bernstein 2012) of the words messages[i] under the key (first, second).

    To an attacker who does not know the key, the words of different messages are independent and uniform.
    """
    count = messages.shape[1]
    for i in range(out.size):
        a, b = first ^ np.uint64(0x736F6D6570736575), second ^ np.uint64(0x646F72616E646F6D)
        c, d = first ^ np.uint64(0x6C7967656E657261), second ^ np.uint64(0x7465646279746573)
        for j in range(count + 1):
            word = messages[i, j] if j < count else np.uint64(8 * count) << np.uint64(56)
            d ^= word
            for _ in range(2):
                a, b, c, d = _round(a, b, c, d)
            a ^= word
        c ^= np.uint64(255)
        for _ in range(4):
            a, b, c, d = _round(a, b, c, d)
        out[i] = a ^ b ^ c ^ d
