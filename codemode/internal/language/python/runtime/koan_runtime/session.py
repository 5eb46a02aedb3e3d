"""One script's way to its host, and its end."""

from __future__ import annotations

import re
import sys
from os import _exit, write
from types import FrameType, TracebackType
from typing import Any, NoReturn

from koan.errors import CLASSES, KoanError

from . import hints, jsontext
from .channel import Channel, Kind, Reply, Status
from .encoding import Encoder, NotJSON
from .rows import decode
from .tape import clock

SCRIPT = "<script>"
_MAX_MESSAGE = 2000
_PREFIX = re.compile("^(?:whole:|files:)")


class Session:
    """A script that runs: its job, its calls, and what it has answered so far."""

    def __init__(self, channel: Channel, vocabulary: dict[str, Any]) -> None:
        self.channel = channel
        self.vocabulary = vocabulary
        for entry in vocabulary["faults"].values():
            entry["hint"] = hints.translated(entry["hint"])
        self.bindings: dict[str, Any] = {}
        self.job: dict[str, Any] = {}
        self.limits: dict[str, int] = {}
        self.columns: list[str] = []
        self.answer: bytes | None = None
        self.files: list[str] = []
        self.emitted = 0
        self.emitted_bytes = 0
        self.log_entries = 0
        self.log_bytes = 0
        self.started = 0
        self._done = -1

    def begin(self, job: dict[str, Any], done: int) -> None:
        """Set the job of this process. It writes one byte to the descriptor done when the job has ended."""
        self.job, self.limits, self._done = job, job["limits"], done
        self.columns = job.get("code", "").splitlines()

    # Calls.

    def call(self, operation: str, members: dict[str, Any]) -> Any:
        """Make a call and return its output; raise its fault."""
        reply = self.channel.call(operation, self.input(members))
        return self.output(reply, operation)

    def input(self, members: Any) -> bytes:
        """Return the JSON of a call's input."""
        try:
            raw = Encoder("the input", result=False).encode(members)
        except NotJSON as e:
            raise self.error("invalid_payload", str(e), hint=e.hint, path=e.path, details=[{"path": e.path, "message": str(e)}]) from None
        most = self.limits["maxCallBytes"]
        if len(raw) > most:
            raise self.error("call_too_large", f"the input of this call is larger than {most} bytes")
        return raw

    def output(self, reply: Reply, operation: str, tool: Any = None) -> Any:
        """Return what a call returned, or raise its fault; a fault that ends the run ends it here."""
        clock.advance(reply.now_ms * 1000)
        if reply.status == Status.OK:
            return decode(reply.body)
        fault = hints.in_python(jsontext.read(reply.body))
        if reply.status == Status.ENDS:
            self.finish_with(fault, sys._getframe())
        raise self.error_of(fault, operation, tool)

    def error(self, code: str, message: str, **members: Any) -> KoanError:
        """Return the error of a fault that is found here. One that ends the run ends it."""
        entry = self.vocabulary["faults"][code]
        fault = {"code": code, "message": message, "hint": entry["hint"], "retry": entry["retry"], **{k: v for k, v in members.items() if v}}
        if entry.get("endsRun"):
            self.finish_with(fault, sys._getframe())
        return self.error_of(fault)

    def error_of(self, fault: dict[str, Any], operation: str = "", tool: Any = None) -> KoanError:
        """Return the error that a fault is raised as."""
        name = "KoanError"
        if tool is not None or _PREFIX.sub("", operation).startswith("upstream::"):
            name = self.vocabulary["faults"].get(fault.get("code", ""), {}).get("class", "CodemodeError")
            if name == "CodemodeError":
                name = "ToolCallError"
        members = {k: fault.get(k) for k in ("code", "hint", "path", "details", "retry")}
        if tool is not None:
            members["server_id"], members["tool_name"] = tool
        return CLASSES.get(name, KoanError)(fault.get("message", ""), **members)

    # The end.

    def finish(self, result: dict[str, Any]) -> NoReturn:
        """Send the outcome and end the process: nothing of the script runs after it."""
        if self.answer is not None:
            result["answer"] = jsontext.read(self.answer)
        if self.files:
            result["files"] = self.files
        with self.channel.lock:
            self.channel.write(Kind.RESULT, 0, jsontext.write(result))
            write(self._done, b"1")
            _exit(0)

    def finish_with(self, fault: dict[str, Any], frame: FrameType | None = None) -> NoReturn:
        """End the script with a fault; the frame's line of the script is the place of it."""
        from .output import flush

        flush()
        while frame is not None and "line" not in fault:
            if frame.f_code.co_filename == SCRIPT:
                self.place(fault, frame.f_lineno, frame.f_lasti, frame.f_code)
            frame = frame.f_back
        self.finish({"fault": clipped(fault)})

    def place(self, fault: dict[str, Any], line: int, lasti: int, code: Any) -> None:
        """Set line, column and source of a fault."""
        column = 0
        positions = list(code.co_positions())
        if 0 <= lasti // 2 < len(positions):
            at_line, _, start, _ = positions[lasti // 2]
            if at_line is not None and start is not None:
                line, column = at_line, start
        self.place_at(fault, line, column)

    def place_at(self, fault: dict[str, Any], line: int, utf8_column: int | None) -> None:
        """Set line, column and source of a fault by a position as the compiler has it."""
        if not 1 <= line <= max(len(self.columns), 1):
            return
        text = self.columns[line - 1] if self.columns else ""
        fault["line"] = line
        if utf8_column is not None:
            fault["column"] = len(text.encode("utf-8", "replace")[:utf8_column].decode("utf-8", "ignore")) + 1
        fault["source"] = text.strip()[:200]

    def fault_of_exit(self, end: SystemExit) -> dict[str, Any]:
        """Return the fault of a script that ended itself with a status other than 0."""
        status = int(end.code) if isinstance(end.code, int) else 1
        text = "" if isinstance(end.code, int) else f": {str(end.code)[:_MAX_MESSAGE]}"
        fault = self.fault("script_error", f"the script ended with the status {status}{text}")
        self._locate(fault, end.__traceback__)
        return clipped(fault)

    def fault_of(self, error: BaseException) -> dict[str, Any]:
        """Return the fault of an error that the script did not catch. A group of faults of calls is the first of them."""
        error = _first_of(error)
        if isinstance(error, KoanError):
            fault = {k: getattr(error, k, None) for k in ("code", "message", "hint", "path", "details", "retry")}
            fault = {k: v for k, v in fault.items() if v is not None}
            entry = self.vocabulary["faults"].get(fault.get("code", ""))
            if entry is None:
                fault["code"], entry = "script_error", self.vocabulary["faults"]["script_error"]
            fault["hint"] = fault.get("hint") or entry["hint"]
            if fault.get("retry") not in ("safe", "fix", "never"):
                fault["retry"] = entry["retry"]
            fault["message"] = str(fault.get("message", ""))
        elif isinstance(error, MemoryError):
            most = self.limits["memoryBytes"] >> 20
            fault = self.fault("memory_exceeded", f"the script used more than {most} MB of memory (sandbox.memoryMb, limits.maxMemoryBytes)")
            fault["details"] = {"limitBytes": self.limits["memoryBytes"]}
        elif isinstance(error, SyntaxError) and error.filename == SCRIPT and error.__traceback__ is None:
            fault = self.syntax_fault(error)
        else:
            fault = self.fault("script_error", describe(error))
            fault["hint"] = hints.of_error(error) or fault["hint"]
            fault["details"] = self._details(error)
        if "line" not in fault:
            self._locate(fault, error.__traceback__)
        if "line" not in fault and isinstance(error, KoanError) and error.called_at:
            self.place_at(fault, error.called_at, None)
        return clipped(fault)

    def fault(self, code: str, message: str) -> dict[str, Any]:
        """Return a fault with the registry's hint."""
        entry = self.vocabulary["faults"][code]
        return {"code": code, "message": message, "hint": entry["hint"], "retry": entry["retry"]}

    def syntax_fault(self, error: SyntaxError) -> dict[str, Any]:
        """Return the fault of a script that does not compile."""
        fault = self.fault("syntax_error", f"{type(error).__name__}: {error.msg}")
        fault["line"], fault["column"] = max(error.lineno or 1, 1), max(error.offset or 1, 1)
        if fault["line"] <= len(self.columns):
            fault["source"] = self.columns[fault["line"] - 1].strip()[:200]
        return fault

    def _locate(self, fault: dict[str, Any], trace: TracebackType | None) -> None:
        last = None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == SCRIPT:
                last = trace
            trace = trace.tb_next
        if last is not None:
            self.place(fault, last.tb_lineno, last.tb_lasti, last.tb_frame.f_code)

    def _details(self, error: BaseException) -> dict[str, Any]:
        details: dict[str, Any] = {"class": type(error).__name__[:100]}
        stack: list[str] = []
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename == SCRIPT:
                name = "script" if code.co_name == "<module>" else code.co_name
                stack.append(f"{name[:100]} ({trace.tb_lineno})")
            trace = trace.tb_next
        if stack:
            most = self.limits["maxStackFrames"]
            left = len(stack) - most
            details["stack"] = stack[::-1][:most] + ([f"… {left} more"] if left > 0 else [])
        causes: list[dict[str, str]] = []
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        while cause is not None and len(causes) < 5:
            causes.append({"message": describe(cause)[:500]})
            cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
        if causes:
            details["causes"] = causes
        if isinstance(error, BaseExceptionGroup):
            details["errors"] = [{"message": describe(e)[:500]} for e in error.exceptions[:10]]
        return details


def _first_of(error: BaseException) -> BaseException:
    """Return the first fault of a call in a group that has no other errors, and any other error as it is."""
    first = error
    while isinstance(first, BaseExceptionGroup):
        if not all(isinstance(e, (KoanError, BaseExceptionGroup)) for e in first.exceptions):
            return error
        first = first.exceptions[0]
    return first


def describe(error: BaseException) -> str:
    """Return class and message of an error, whatever its own __str__ does."""
    name = type(error).__name__
    try:
        text = str(error)
    except (Exception, RecursionError):
        text = "a message that cannot be shown"
    notes = [n for n in getattr(error, "__notes__", None) or [] if isinstance(n, str)]
    text = "\n".join([text, *notes])
    return f"{name}: {text}"[:_MAX_MESSAGE] if text else name[:_MAX_MESSAGE]


def clipped(fault: dict[str, Any]) -> dict[str, Any]:
    """Return a fault that fits into a frame of a result."""
    for name, most in (("message", 2 * _MAX_MESSAGE), ("hint", _MAX_MESSAGE), ("path", _MAX_MESSAGE)):
        if name in fault:
            fault[name] = str(fault[name])[:most]
    try:
        if "details" in fault:
            fault["details"] = jsontext.read(Encoder("details", result=True).encode(fault["details"]))
            if len(jsontext.write(fault["details"])) > 16 << 10:
                del fault["details"]
    except (TypeError, ValueError, RecursionError):
        del fault["details"]
    return fault
