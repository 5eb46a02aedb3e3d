"""Values of a script as JSON: inputs of calls, answers and results."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import math
import uuid
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 200
_SAFE = 2**53


class NotJSON(TypeError):
    """A value that is not JSON, and where in the whole it is."""

    def __init__(self, message: str, path: str, hint: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.hint = hint


class Encoder:
    """Converts values to JSON.

    In a result integers beyond 2^53 are strings, and times without a zone stay without; in an input integers
    stay numbers, and times without a zone are in UTC.
    """

    def __init__(self, what: str, result: bool) -> None:
        self._what = what
        self._result = result
        self._open: set[int] = set()

    def encode(self, value: Any) -> bytes:
        """Return the JSON of a value; NotJSON if it has none."""
        text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(self._plain(value, ""))
        try:
            return text.encode()
        except UnicodeEncodeError:  # lone surrogates
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
            raise NotJSON(f"{v!r} is not a number of JSON", path)
        if isinstance(v, str):
            return str.__str__(v)
        return self._container(v, path)

    def _container(self, v: Any, path: str) -> Any:
        if id(v) in self._open:
            raise NotJSON("a value contains itself", path, "Give plain data without cycles.")
        if path.count("/") > MAX_DEPTH:
            raise NotJSON(f"a value is nested deeper than {MAX_DEPTH} levels", path[:100])
        self._open.add(id(v))
        try:
            if isinstance(v, dict):
                return {self._key(k, path): self._plain(x, f"{path}/{k}") for k, x in dict.items(v)}
            if isinstance(v, (list, tuple, set, frozenset)):
                if hasattr(v, "_asdict") and hasattr(v, "_fields"):
                    return {k: self._plain(x, f"{path}/{k}") for k, x in zip(v._fields, v)}
                return [self._plain(x, f"{path}/{i}") for i, x in enumerate(v)]
            return self._other(v, path)
        finally:
            self._open.discard(id(v))

    def _key(self, key: Any, path: str) -> str:
        if isinstance(key, str):
            return str.__str__(key)
        if key is None or isinstance(key, bool):
            return json.dumps(key)
        if isinstance(key, (int, float, decimal.Decimal)):
            return str(key)
        if isinstance(key, enum.Enum):
            return self._key(key.value, path)
        if isinstance(key, (datetime.date, datetime.datetime, uuid.UUID)):
            return str(self._other(key, path))
        raise NotJSON(f"a key of a dict is of type {type(key).__name__}", path, "Use strings as keys.")

    def _other(self, v: Any, path: str) -> Any:
        if isinstance(v, decimal.Decimal):
            return str(v)
        if isinstance(v, datetime.datetime):
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
            return {f.name: self._plain(getattr(v, f.name), f"{path}/{f.name}") for f in dataclasses.fields(v)}
        if isinstance(v, (bytes, bytearray, memoryview)):
            raise NotJSON("bytes are not JSON", path, "Decode text with .decode(), write base64.b64encode(data).decode(), or keep the bytes with SDK.Files.create({...}).")
        if isinstance(v, Mapping):
            return {self._key(k, path): self._plain(v[k], f"{path}/{k}") for k in v}
        if callable(getattr(v, "to_dict", None)) and hasattr(v, "columns"):  # a DataFrame
            return self._plain(v.to_dict(orient="records"), path)
        for method in ("tolist", "isoformat", "model_dump"):  # of numpy, pandas, pydantic
            if not isinstance(v, type) and callable(convert := getattr(v, method, None)):
                return self._plain(convert(), path)
        if hasattr(v, "__next__") or isinstance(v, (range, type({}.keys()), type({}.values()), type({}.items()))):
            return [self._plain(x, f"{path}/{i}") for i, x in enumerate(v)]
        raise NotJSON(f"{self._what} has a value of type {type(v).__name__}, which is not JSON", path, "Give dicts, lists, strings, numbers, booleans and None.")
