"""What a script says: print, standard error, and SDK.Out."""

from __future__ import annotations

import codecs
import io
import math
import os
import sys
from typing import Any

from . import jsontext, rows
from .channel import Kind
from .encoding import Encoder, NotJSON
from .names import it_has
from .session import Session
from .tape import clock

MAX_EMITTED = 100
MAX_FILES = 32


def log(session: Session, level: str, message: str) -> None:
    """Add an entry to the run's logs, unless they are full."""
    limits = session.limits
    if session.log_entries > limits["maxLogEntries"] or session.log_bytes > limits["maxLogBytes"]:
        return
    session.log_entries += 1
    most = limits["maxLogMessageBytes"]
    if len(message) > most:
        message = message[: most + 1]
    session.log_bytes += len(message)
    with session.channel.lock:
        session.channel.write(Kind.LOG, 0, jsontext.write({"level": level, "message": message, "timeMs": clock.since_start_ms()}))


class LogStream(io.TextIOBase):
    """A text stream whose lines are entries of the logs."""

    def __init__(self, session: Session, level: str, descriptor: int) -> None:
        super().__init__()
        self._session = session
        self._descriptor = descriptor
        self.buffer = _Bytes(self)
        self._level = level
        self._line: list[str] = []
        self._size = 0

    encoding = "utf-8"
    errors = "replace"

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def reconfigure(self, **options: Any) -> None:
        """Take the options of a text file: a line is passed on when it ends, in UTF-8, whatever they say."""

    def isatty(self) -> bool:
        return False

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        *lines, rest = text.split("\n")
        for line in lines:
            self._end(line)
        if rest and self._size <= self._session.limits["maxLogMessageBytes"]:
            self._line.append(rest)
            self._size += len(rest)
        return len(text)

    def _end(self, line: str) -> None:
        message = "".join([*self._line, line])
        self._line, self._size = [], 0
        log(self._session, self._level, message)

    def flush(self) -> None:
        """Lines are passed on when they end, or when the script does."""

    def finish(self) -> None:
        """Pass on a line that has not ended."""
        if self._line:
            self._end("")


class _Bytes(io.BufferedIOBase):
    """The bytes behind a stream of the logs."""

    def __init__(self, stream: LogStream) -> None:
        super().__init__()
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, data: Any) -> int:
        raw = bytes(data)
        self._stream.write(self._decoder.decode(raw))
        return len(raw)


_streams: list[LogStream] = []


def capture(session: Session) -> None:
    """Have print, standard error, and what is written to their descriptors be logs."""
    _streams[:] = [LogStream(session, "info", 1), LogStream(session, "warn", 2)]
    write = os.write

    def written(fd: int, data: Any, /) -> int:
        for stream in _streams:
            if fd == stream.fileno():
                return stream.buffer.write(data)
        return write(fd, data)

    os.write = written
    sys.stdout = sys.__stdout__ = _streams[0]  # type: ignore[assignment]
    sys.stderr = sys.__stderr__ = _streams[1]  # type: ignore[assignment]
    sys.stdin = sys.__stdin__ = io.StringIO()


def flush() -> None:
    """Pass on what has been printed."""
    for stream in _streams:
        stream.finish()


class Out:
    """SDK.Out."""

    def __getattr__(self, name: str) -> Any:
        known = [k for k in dir(type(self)) if not k.startswith("_")]
        raise AttributeError(f"SDK.Out has no {name!r}{it_has(name, known)}")

    def __init__(self, session: Session) -> None:
        self._session = session

    def answer(self, value: Any = None) -> None:
        """Give the answer of the run; the last one counts."""
        self._session.answer = passed(self._session, value, "the answer")

    def info(self, *values: Any) -> None:
        log(self._session, "info", shown(values))

    def warn(self, *values: Any) -> None:
        log(self._session, "warn", shown(values))

    warning = warn

    def error(self, *values: Any) -> None:
        log(self._session, "error", shown(values))

    def progress(self, done: float, total: float = 0, message: str = "") -> None:
        """Report how far the script is."""
        if not math.isfinite(done):
            return
        body = {"done": done, "total": total if math.isfinite(total) else 0, "message": str(message)[:2000]}
        with self._session.channel.lock:
            self._session.channel.write(Kind.PROGRESS, 0, jsontext.write(body))

    def emit(self, value: Any) -> None:
        """Pass on a value while the script goes on."""
        s = self._session
        if s.job.get("action"):
            raise s.error("capability_unsupported", "an action cannot emit values", hint="Return all that its caller needs as the action's output, or log it.")
        raw = passed(s, value, "the emitted value")
        s.emitted += 1
        s.emitted_bytes += len(raw)
        if s.emitted > MAX_EMITTED:
            raise s.error("result_too_large", f"the script emits more than {MAX_EMITTED} values", hint="Emit a summary of several steps at a time.")
        if s.emitted_bytes > s.limits["maxResultBytes"]:
            raise s.error(
                "result_too_large", f"the emitted values are larger than {s.limits['maxResultBytes']} bytes together", hint="Emit less: ids and counts instead of whole rows."
            )
        with s.channel.lock:
            s.channel.write(Kind.EMIT, 0, raw)

    def file(self, file: Any) -> Any:
        """Put a file into the result, by its id or as SDK.Files.create returned it."""
        s = self._session
        if s.job.get("action"):
            raise s.error("capability_unsupported", "an action cannot put files into the result", hint="Return the file's id in the action's output.")
        name = file.get("id") if isinstance(file, dict) else file
        found = s.call("plugin::files.get", {"id": name})
        if name not in s.files:
            if len(s.files) >= MAX_FILES:
                raise s.error("result_too_large", f"the result has more than {MAX_FILES} files")
            s.files.append(str(name))
        return found


def passed(session: Session, value: Any, what: str) -> bytes:
    """Return the JSON of what a script passes on. If there is none, or it is too large, the run ends."""
    encoder = Encoder(what, result=True)
    try:
        raw = encoder.encode(value)
    except NotJSON as e:
        at = f", at {e.path[:200]}" if e.path else ""
        fault = session.fault("script_error", f"{what} is not JSON{at}: {e}")
        fault["hint"] = e.hint or fault["hint"]
        session.finish_with(fault, sys._getframe())
    most = session.limits["maxResultBytes"]
    if len(raw) > most:
        session.finish_with(session.fault("result_too_large", f"{what} is larger than {most} bytes"), sys._getframe())
    for warning in encoder.warnings:
        log(session, "warn", warning)
    return raw


def shown(values: tuple[Any, ...]) -> str:
    """Return values as a log shows them: texts as they are, data as JSON."""
    parts = []
    for v in values:
        if isinstance(v, (dict, list, tuple)):
            try:
                parts.append(jsontext.shown(rows.plain(v)))
                continue
            except (TypeError, ValueError):
                pass
        parts.append(str(v))
    return " ".join(parts)
