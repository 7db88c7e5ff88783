"""Values as bytes and back: what travels between processes is plain data, never code.

The form is a JSON text followed by the arrays that it refers to. Equal values give equal bytes, so
the hash of the bytes names the value. Numbers, texts, lists, tuples, dicts, sets, arrays, sparse
rows, frozen dataclasses and named tuples can be packed; a class travels by its name.

>>> unpack(pack((1, {"storm": 0.5}, [None, "é"])))
(1, {'storm': 0.5}, [None, 'é'])
"""

from __future__ import annotations

import hashlib
import importlib
import json
import struct
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np

__all__ = ["Frozen", "PackingError", "pack", "unpack"]

_PLAIN = frozenset({str, int, float, bool, type(None)})
_KIND, _VALUE = "_", "v"
_HEAD = struct.Struct("<QQ")


class PackingError(TypeError):
    """A value that cannot be packed."""


class Frozen:
    """A value that many items share: it travels once to each worker, under its hash."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.derived: dict[str, Any] = {}
        """What tasks made from the value, by name; it does not travel."""

    @cached_property
    def data(self) -> bytes:
        """The packed value."""
        return pack(self.value)

    @cached_property
    def digest(self) -> str:
        """The hash of the packed value."""
        return hashlib.sha256(self.data).hexdigest()


def pack(value: Any) -> bytes:
    """Return a value as bytes; equal values give equal bytes."""
    buffers: list[bytes] = []
    layout: list[tuple[str, tuple[int, ...]]] = []
    tree = _Packer(buffers, layout).plain(value)
    text = json.dumps([tree, layout], separators=(",", ":")).encode("ascii")
    sizes = sum(len(buffer) for buffer in buffers)
    return b"".join([_HEAD.pack(len(text), sizes), text, *buffers])


def unpack(data: bytes | memoryview) -> Any:
    """Return the value that was packed; arrays can be written to."""
    view = memoryview(data)
    n_text, n_arrays = _HEAD.unpack(view[: _HEAD.size])
    start = _HEAD.size + n_text
    if len(view) != start + n_arrays:
        raise PackingError(f"{len(view)} bytes were received, {start + n_arrays} were sent")
    tree, layout = json.loads(bytes(view[_HEAD.size : start]))
    arrays = []
    for kind, shape in layout:
        dtype = np.dtype(kind)
        n_bytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        part = np.frombuffer(view[start : start + n_bytes], dtype)
        arrays.append(part.reshape(shape).copy())
        start += n_bytes
    return _value(tree, arrays)


class _Packer:
    """Turns values into JSON values and collects the arrays."""

    def __init__(self, buffers: list[bytes], layout: list[tuple[str, tuple[int, ...]]]) -> None:
        self._buffers, self._layout = buffers, layout

    def plain(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is list:
            return self._items(value)
        if kind is tuple:
            return {_KIND: "tuple", _VALUE: self._items(value)}
        if kind is np.ndarray:
            return {_KIND: "array", _VALUE: self._array(value)}
        if kind.__module__.startswith("scipy.sparse") and kind.__name__ == "csr_array":
            parts = [self._array(part) for part in (value.data, value.indices, value.indptr)]
            return {_KIND: "rows", _VALUE: parts, "shape": list(map(int, value.shape))}
        if kind in (set, frozenset):
            inner = sorted((self.plain(one) for one in value), key=json.dumps)
            return {_KIND: kind.__name__, _VALUE: inner}
        if kind is bytes:
            return {_KIND: "bytes", _VALUE: self._array(np.frombuffer(value, np.uint8))}
        if isinstance(value, np.generic):
            return {_KIND: "scalar", _VALUE: self._array(np.asarray(value))}
        names = _field_names(cast(Hashable, kind))
        if names is not None:
            held = [getattr(value, name) for name in names]
            return {_KIND: f"{kind.__module__}:{kind.__qualname__}", _VALUE: self._items(held)}
        if isinstance(value, Mapping):
            keys, values = list(value), list(value.values())
            return {_KIND: "dict", _VALUE: [self._items(keys), self._items(values)]}
        raise PackingError(f"{kind.__module__}.{kind.__qualname__} cannot be sent to a worker")

    def _items(self, values: Any) -> list[Any]:
        if _PLAIN.issuperset(map(type, values)):
            return list(values)
        return [self.plain(value) for value in values]

    def _array(self, array: np.ndarray[Any, np.dtype[Any]]) -> int:
        if array.dtype.hasobject or array.dtype.names:
            raise PackingError(f"an array of {array.dtype} cannot be sent to a worker")
        self._buffers.append(array.tobytes())
        self._layout.append((array.dtype.str, array.shape))
        return len(self._layout) - 1


def _value(tree: Any, arrays: list[np.ndarray[Any, np.dtype[Any]]]) -> Any:
    if type(tree) is list:
        if _PLAIN.issuperset(map(type, tree)):
            return tree
        return [_value(one, arrays) for one in tree]
    if type(tree) is not dict:
        return tree
    kind, inner = tree[_KIND], tree[_VALUE]
    make = _SIMPLE.get(kind)
    if make is not None:
        return make(inner, arrays)
    if kind == "rows":
        from scipy.sparse import csr_array  # commands that only read start without SciPy

        return csr_array(tuple(arrays[i] for i in inner), shape=tuple(tree["shape"]))
    record = _record(kind)
    names = _field_names(record)
    assert names is not None
    return record(**dict(zip(names, _value(inner, arrays), strict=True)))


_SIMPLE: dict[str, Callable[[Any, list[Any]], Any]] = {
    "tuple": lambda inner, arrays: tuple(_value(inner, arrays)),
    "array": lambda inner, arrays: arrays[inner],
    "scalar": lambda inner, arrays: arrays[inner][()],
    "bytes": lambda inner, arrays: arrays[inner].tobytes(),
    "set": lambda inner, arrays: set(_value(inner, arrays)),
    "frozenset": lambda inner, arrays: frozenset(_value(inner, arrays)),
    "dict": lambda inner, arrays: dict(
        zip(_value(inner[0], arrays), _value(inner[1], arrays), strict=True)
    ),
}


@lru_cache(maxsize=256)
def _field_names(kind: Hashable) -> tuple[str, ...] | None:
    """Return the fields of a dataclass or named tuple; None for any other class."""
    if not isinstance(kind, type):
        return None
    if is_dataclass(kind):
        return tuple(f.name for f in fields(kind) if f.init)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(kind._fields)
    return None


@lru_cache(maxsize=256)
def _record(name: str) -> type:
    """Return the class of a dataclass or named tuple; no other class is accepted."""
    module, _, inner = name.partition(":")
    kind: Any = importlib.import_module(module)
    for part in inner.split("."):
        kind = getattr(kind, part)
    if not isinstance(kind, type) or _field_names(kind) is None:
        raise PackingError(f"{name} is neither a dataclass nor a named tuple")
    return kind
