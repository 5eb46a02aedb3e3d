"""Values of a script as JSON: inputs of calls, answers and results."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import math
import os
import sys
import types
import uuid
from collections.abc import Iterable
from typing import Any

from . import jsontext, tables
from .hints import of_value

MAX_DEPTH = 200
_SAFE = 2**53
# What values of numpy and pandas, polars, pyarrow and pydantic are turned into plain data with.
_CONVERSIONS = ("tolist", "to_dicts", "to_list", "to_pylist", "isoformat", "model_dump")
# How much deeper than its caller an encoder may go: a script that is near its limit of recursion has results too.
_FRAMES = 4 * MAX_DEPTH + 200
_NOT_TEXT = "the text is not valid Unicode: it has half of a surrogate pair, or bytes that are not UTF-8"


class NotJSON(TypeError):
    """A value that is not JSON, and where in the whole it is."""

    def __init__(self, message: str, path: str, hint: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.hint = hint


class Encoder:
    """Converts values to JSON.

    In a result integers beyond 2^53 are strings, times without a zone stay without, and what is not text is replaced
    with a warning; in an input integers stay numbers, times without a zone are in UTC, and nothing is replaced.
    """

    def __init__(self, what: str, result: bool) -> None:
        self._what = what
        self._result = result
        self._open: set[int] = set()
        self.warnings: list[str] = []

    def encode(self, value: Any) -> bytes:
        """Return the JSON of a value; NotJSON if it has none."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(min(limit + _FRAMES, 1 << 30))
        try:
            plain = self._plain(value, "")
            text = jsontext.text(plain)
        finally:
            sys.setrecursionlimit(limit)
        try:
            return text.encode()
        except UnicodeEncodeError:
            path = _not_text(plain, "") or ""
            if not self._result:
                hint = 'Replace what is not text: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").'
                raise NotJSON(_NOT_TEXT, path, hint) from None
            self.warnings.append(f'in {self._what}, at "{path}": {_NOT_TEXT}. U+FFFD takes its place.')
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()

    def _plain(self, v: Any, path: str) -> Any:
        if v is None or v is True or v is False or type(v) is str:
            return v
        if isinstance(v, int) and not isinstance(v, enum.Enum):
            n = int(v)
            return str(n) if self._result and abs(n) > _SAFE else n
        if isinstance(v, float):
            if math.isfinite(v):
                return float(v)
            if self._result:
                return None
            name = "NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity"
            raise NotJSON(f"{name} is not a JSON number", path, "Check what it was computed from; None says that there is no value.")
        if isinstance(v, str):
            return str.__str__(v)
        return self._container(v, path)

    def _container(self, v: Any, path: str) -> Any:
        if id(v) in self._open:
            raise NotJSON("an object inside itself cannot be written as JSON", path, "Leave it out; refer to an entity by its id.")
        if len(self._open) > MAX_DEPTH:
            raise NotJSON(f"{self._what} is nested deeper than {MAX_DEPTH} levels", path[:100], "Give flatter data.")
        self._open.add(id(v))
        try:
            if isinstance(v, dict):
                return self._object(dict.items(v), path)
            if isinstance(v, (list, tuple, set, frozenset)):
                if hasattr(v, "_asdict") and hasattr(v, "_fields"):
                    return {k: self._plain(x, _step(path, k)) for k, x in zip(v._fields, v)}
                return self._list(v, path)
            return self._other(v, path)
        finally:
            self._open.discard(id(v))

    def _object(self, members: Iterable[tuple[Any, Any]], path: str) -> dict[str, Any]:
        of: dict[str, Any] = {}  # the keys that the members have here
        out: dict[str, Any] = {}
        for key, value in members:
            name = self._key(key, path)
            out[name] = self._plain(value, _step(path, key))
            if len(out) == len(of):
                raise NotJSON(f"the keys {of[name]!r:.50} and {key!r:.50} of a dict are the same in JSON", path, "Make them differ, or give pairs: list(d.items()).")
            of[name] = key
        return out

    def _list(self, values: Any, path: str) -> list[Any]:
        return [self._plain(x, f"{path}/{i}") for i, x in enumerate(values)]

    def _key(self, key: Any, path: str) -> str:
        if isinstance(key, str):
            return str.__str__(key)
        if key is None or isinstance(key, bool):
            return jsontext.text(key)
        if isinstance(key, (int, float, decimal.Decimal)):
            return str(key)
        if isinstance(key, enum.Enum):
            return self._key(key.value, path)
        if isinstance(key, (datetime.date, datetime.datetime, uuid.UUID)):
            return str(self._other(key, path))
        if tables.is_scalar(key):
            return str(key)
        if callable(convert := getattr(key, "tolist", None)):  # a number of numpy
            return self._key(convert(), path)
        hint = "Use strings as keys."
        if isinstance(key, tuple):
            hint += ' Columns of a DataFrame in several levels: df.columns = ["_".join(map(str, c)) for c in df.columns].'
        raise NotJSON(f"a key of a dict is of type {type(key).__name__}", path, hint)

    def _other(self, v: Any, path: str) -> Any:
        if isinstance(v, decimal.Decimal):
            return str(v)
        if isinstance(v, datetime.datetime):
            if v != v:  # pandas' NaT
                return None
            if v.tzinfo is None:
                return v.isoformat() + ("" if self._result else "Z")
            return v.isoformat().removesuffix("+00:00") + ("Z" if v.utcoffset() == datetime.timedelta(0) else "")
        if isinstance(v, (datetime.date, datetime.time)):
            return v.isoformat()
        if isinstance(v, uuid.UUID):
            return str(v)
        if isinstance(v, enum.Enum):
            return self._plain(v.value, path)
        if dataclasses.is_dataclass(v) and not isinstance(v, type):
            return {f.name: self._plain(getattr(v, f.name), _step(path, f.name)) for f in dataclasses.fields(v)}
        if isinstance(v, (bytes, bytearray, memoryview)):
            raise NotJSON("bytes are not JSON", path, "Decode text with .decode(), write base64.b64encode(data).decode(), or keep the bytes with SDK.Files.create({...}).")
        if isinstance(v, types.SimpleNamespace):
            return {k: self._plain(x, _step(path, k)) for k, x in vars(v).items()}
        if isinstance(v, os.PathLike):
            return self._plain(os.fspath(v), path)
        if isinstance(v, collections.abc.Mapping):
            return self._object(((k, v[k]) for k in v), path)
        return self._foreign(v, path)

    def _foreign(self, v: Any, path: str) -> Any:
        if isinstance(v, type):
            pass
        elif tables.is_scalar(v):
            return tables.scalar(v)
        elif tables.is_table(v):
            if (twice := tables.name_twice(v)) is not None:
                raise NotJSON(f"a table has several columns {twice!r:.50}", path, "Rename them: df.columns = [...].")
            return self._plain(tables.rows_of(v, self._result), path)
        elif tables.is_column(v):
            return self._plain(tables.values_of(v, self._result), path)
        else:
            for method in _CONVERSIONS:
                if callable(convert := getattr(v, method, None)):
                    return self._plain(convert(), path)
        if hasattr(v, "__next__") or isinstance(v, (collections.abc.Sequence, collections.abc.Set, collections.abc.ValuesView)):
            return self._list(v, path)
        raise NotJSON(f"{self._what} has a value of type {type(v).__name__}, which is not JSON", path, of_value(v))


def _step(path: str, name: Any) -> str:
    """Return the JSON Pointer of a member."""
    text = str(name)[:100]
    if "~" in text or "/" in text:
        text = text.replace("~", "~0").replace("/", "~1")
    return f"{path}/{text}"


def _not_text(v: Any, path: str) -> str | None:
    """Return where in plain data there is a text that is none."""
    if isinstance(v, str):
        try:
            v.encode()
            return None
        except UnicodeEncodeError:
            return path
    members = v.items() if isinstance(v, dict) else enumerate(v) if isinstance(v, list) else ()
    for name, value in members:
        if isinstance(name, str) and _not_text(name, path) is not None:
            return path
        if (found := _not_text(value, _step(path, name))) is not None:
            return found
    return None
