"""The frames between a worker and its host (package wire in Go)."""

from __future__ import annotations

import struct
import threading
from dataclasses import dataclass
from enum import IntEnum
from os import _exit, close, read, write


class Kind(IntEnum):
    """What a frame carries."""

    READY = 1
    JOB = 2
    CALL = 3
    RETURN = 4
    LOG = 5
    PROGRESS = 6
    RESULT = 7
    PROBE = 8
    REPORT = 9
    ACCEPTED = 10
    START = 11
    AWAIT = 12
    BINDINGS = 13
    EMIT = 14


class Status(IntEnum):
    """What a RETURN carries."""

    OK = 0
    FAULT = 1
    ENDS = 2


@dataclass
class Frame:
    """One message between host and worker."""

    kind: int
    id: int
    payload: bytes


@dataclass
class Reply:
    """The outcome of a call."""

    ref: int
    status: int
    now_ms: int
    body: bytes


_HEADER = struct.Struct(">IBI")
_TIME = struct.Struct(">q")
_REPLY = struct.Struct(">QB")

# The descriptors of the pipe to the host.
FRAMES_IN, FRAMES_OUT = 4, 5


class Channel:
    """Both directions of the pipe to the host."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._calls = 0
        self.lock = threading.RLock()
        self.writing = False

    def read(self) -> Frame | None:
        """Return the next frame; None if the host has closed the pipe."""
        header = self._read_exactly(_HEADER.size)
        if header is None:
            return None
        length, kind, ref = _HEADER.unpack(header)
        payload = self._read_exactly(length - 5)
        return None if payload is None else Frame(kind, ref, payload)

    def _read_exactly(self, n: int) -> bytes | None:
        parts: list[bytes] = []
        while n > 0:
            part = read(self._source, min(n, 1 << 20))
            if not part:
                return None
            parts.append(part)
            n -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, kind: Kind, ref: int = 0, payload: bytes = b"") -> None:
        """Send one frame."""
        data = memoryview(_HEADER.pack(len(payload) + 5, kind, ref) + payload)
        self.writing = True
        try:
            while data:
                data = data[write(self._sink, data) :]
        finally:
            self.writing = False

    def close(self) -> None:
        """Close what it reads from."""
        close(self._source)

    def call(self, operation: str, body: bytes) -> Reply:
        """Make one call and wait for its end."""
        with self.lock:
            self._calls += 1
            self.write(Kind.CALL, self._calls, _operation(operation) + body)
            return self._reply()

    def start(self, ref: int, operation: str, body: bytes) -> None:
        """Start a call without waiting for its end."""
        with self.lock:
            self.write(Kind.START, ref, _operation(operation) + body)

    def wait(self, seconds: float | None) -> Reply:
        """Wait for the end of one of the started calls; ref is 0 if none ended in that time."""
        most = -1 if seconds is None else min(int(seconds * 1e9), 1 << 62)
        with self.lock:
            self.write(Kind.AWAIT, 0, _TIME.pack(most))
            return self._reply()

    def _reply(self) -> Reply:
        frame = self.read()
        if frame is None or frame.kind != Kind.RETURN or len(frame.payload) < 9:
            _exit(4)
        now_ms, status = _REPLY.unpack_from(frame.payload)
        return Reply(frame.id, status, now_ms, frame.payload[9:])


def _operation(name: str) -> bytes:
    raw = name.encode("utf-8", "replace")
    out = bytearray()
    n = len(raw)
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out) + raw
