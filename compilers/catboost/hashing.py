"""The number that CatBoost knows a category by: the low half of CityHash64 of its text.

In:  a category, as a row holds it: a text or a whole number.
Out: `hash_of`: a whole number of 32 bits with a sign, as JSON model files write it.
Promise: a text of more than 64 bytes is a ModelError.
Source: Pike and Alakuijala, CityHash 1.0.2 (2011), for texts of up to 64 bytes.
"""

from __future__ import annotations

from typing import Any

from mace.errors import ModelError

LONGEST = 64  # bytes of a text
_WORD = 2**64 - 1
_K0, _K1, _K2, _K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
_MURMUR = 0x9DDFEA08EB382D69


def hash_of(category: Any, column: str) -> int:
    """The number of a category of this column; raises ModelError for what CatBoost takes for none, and long texts."""
    if not isinstance(category, str):
        if isinstance(category, float) or category is None:
            raise ModelError(
                f"column `{column}`: CatBoost takes texts and whole numbers for categories, not {category!r}",
                hint="Write these levels as texts, in the frame that the model is fitted on and in the space.",
            )
        category = str(int(category))  # True is "1"
    data = category.encode("utf-8")
    if len(data) > LONGEST:
        raise ModelError(
            f"column `{column}`: a category of {len(data)} bytes is too long; read are up to {LONGEST}",
            hint="Give its levels shorter names, and fit the model again.",
        )
    low = _city(data) & 0xFFFFFFFF
    return low - 2**32 if low >= 2**31 else low


def _city(data: bytes) -> int:
    if len(data) <= 16:
        return _to_16(data)
    return _to_32(data) if len(data) <= 32 else _to_64(data)


def _to_16(data: bytes) -> int:
    size = len(data)
    if size > 8:
        last = _at(data, size - 8)
        return _mixed(_at(data, 0), _turned(last + size, size)) ^ last
    if size >= 4:
        return _mixed(size + (_at(data, 0, 4) << 3), _at(data, size - 4, 4))
    if not size:
        return _K2
    first, rest = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
    return _folded(first * _K2 ^ rest * _K3) * _K2 & _WORD


def _to_32(data: bytes) -> int:
    size = len(data)
    a, b = _at(data, 0) * _K1, _at(data, 8)
    c, d = _at(data, size - 8) * _K2, _at(data, size - 16) * _K0
    return _mixed(_turned(a - b, 43) + _turned(c, 30) + d, a + _turned(b ^ _K3, 20) - c + size)


def _to_64(data: bytes) -> int:
    size = len(data)
    start = _at(data, 0) + (size + _at(data, size - 16)) * _K0
    one = _half(start, _at(data, 24), _at(data, 8), _at(data, 16))
    start = _at(data, 16) + _at(data, size - 32)
    two = _half(start, _at(data, size - 8), _at(data, size - 24), _at(data, size - 16))
    both = _folded((one[0] + two[1]) * _K2 + (two[0] + one[1]) * _K0)
    return _folded(both * _K0 + one[1]) * _K2 & _WORD


def _half(a: int, z: int, second: int, third: int) -> tuple[int, int]:
    b, c = _turned(a + z, 52), _turned(a, 37)
    a += second
    c += _turned(a, 7)
    a += third
    return a + z, b + _turned(a, 31) + c


def _mixed(low: int, high: int) -> int:
    a = _folded(((low ^ high) & _WORD) * _MURMUR)
    b = _folded(((high ^ a) & _WORD) * _MURMUR)
    return b * _MURMUR & _WORD


def _folded(value: int) -> int:
    value &= _WORD
    return value ^ value >> 47


def _turned(value: int, by: int) -> int:
    value &= _WORD
    return (value >> by | value << 64 - by) & _WORD


def _at(data: bytes, place: int, size: int = 8) -> int:
    return int.from_bytes(data[place : place + size], "little")
