"""Failures that a caller is told."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

Retry = Literal["safe", "fix", "never"]


class Code(StrEnum):
    """The codes of the app's that a plugin may end a call in."""

    INVALID_PAYLOAD = "invalid_payload"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    READ_ONLY = "read_only"
    UNKNOWN_SET = "unknown_set"
    FORBIDDEN = "forbidden"
    UNAUTHORIZED = "unauthorized"
    RATE_LIMITED = "rate_limited"
    SERVICE_UNAVAILABLE = "service_unavailable"
    UPSTREAM_ERROR = "upstream_error"
    EXECUTION_ERROR = "execution_error"
    CALL_TOO_LARGE = "call_too_large"
    RESULT_TOO_LARGE = "result_too_large"
    CAPABILITY_UNSUPPORTED = "capability_unsupported"
    SET_BUSY = "set_busy"
    IN_PROGRESS = "in_progress"
    OUTCOME_UNKNOWN = "outcome_unknown"
    DRY_RUN_BLOCKED = "dry_run_blocked"


# Codes with which the kit tells the app something that it does not tell the caller as it is.
INTERNAL = "internal"
TIMEOUT = "timeout"
CANCELLED = "cancelled"
TOOL_NOT_FOUND = "tool_not_found"

CODES = frozenset(str(code) for code in Code)


class Fault(Exception):
    """A failure that the caller is told: raise it from a function.

    code is one of Code, or one of the plugin's own, which Plugin(fault_codes=...) declares; callers get
    those as execution_error, with the code in details.code. Also what Call.invoke and files raise where
    the app refuses.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        path: str = "",
        details: Any = None,
        retry: Retry | None = None,
    ) -> None:
        super().__init__(message)
        self.code = str(code)
        self.message = message
        self.hint = hint
        self.path = path
        self.details = details
        self.retry = retry
        self.is_the_apps = False  # it came from the app, with whichever code

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def as_json(self) -> dict[str, Any]:
        """The fault as the protocol has it."""
        out: dict[str, Any] = {"code": self.code, "message": self.message}
        for key in ("hint", "path", "retry"):
            if value := getattr(self, key):
                out[key] = value
        if self.details is not None:
            out["details"] = self.details
        return out

    @staticmethod
    def from_json(value: Any) -> Fault:
        """The fault that the app has sent."""
        if not isinstance(value, dict):
            return Fault(INTERNAL, "the app sent a fault that cannot be read")
        text = {key: str(value.get(key) or "") for key in ("code", "message", "hint", "path")}
        retry = value.get("retry")
        fault = Fault(
            text["code"] or INTERNAL,
            text["message"],
            hint=text["hint"],
            path=text["path"],
            details=value.get("details"),
            retry=retry if retry in ("safe", "fix", "never") else None,
        )
        fault.is_the_apps = True
        return fault


class Cancelled(Exception):
    """The caller has cancelled the call, or its time is over: nobody waits for what comes of it."""
