"""JSON as this side reads and writes it, whatever a script does to the module json."""

from __future__ import annotations

import json
from typing import Any


class _Writer(json.JSONEncoder):
    encode = json.JSONEncoder.encode
    iterencode = json.JSONEncoder.iterencode
    default = json.JSONEncoder.default


class Reader(json.JSONDecoder):
    """A decoder of what the host sends, which is JSON."""

    def decode(self, s: str, _w: Any = None) -> Any:
        return self.scan_once(s.strip(), 0)[0]  # type: ignore[attr-defined]


_writer = _Writer(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_lenient = _Writer(ensure_ascii=False, separators=(",", ":"))
_shown = _Writer(ensure_ascii=False, default=str)
_reader = Reader()


def text(value: Any) -> str:
    """Return the JSON of plain data; ValueError where a number has none."""
    return _writer.encode(value)


def write(value: Any) -> bytes:
    """Return the JSON of data of our own."""
    return _lenient.encode(value).encode("utf-8", "replace")


def shown(value: Any) -> str:
    """Return data as a log shows it."""
    return _shown.encode(value)


def read(raw: str | bytes) -> Any:
    """Return the value of JSON."""
    return _reader.decode(raw if isinstance(raw, str) else raw.decode("utf-8", "replace"))
