"""The errors that calls raise.

Each is a KoanError with the members of a fault. The classes are those of `@codemode/errors`.
"""

from __future__ import annotations

from typing import Any


class KoanError(Exception):
    """A fault: what went wrong, where, and what to do about it."""

    code: str
    message: str
    hint: str
    path: str | None
    details: Any
    retry: str

    def __init__(self, message: str = "", **members: Any) -> None:
        super().__init__(message)
        self.message = message
        self.code = members.get("code", "script_error")
        self.hint = members.get("hint", "")
        self.path = members.get("path")
        self.details = members.get("details")
        self.retry = members.get("retry", "")  # "" is that of the code
        self.server_id: str | None = members.get("server_id")
        self.tool_name: str | None = members.get("tool_name")
        self.called_at = 0  # the line of the call, 0 if it is not known

    def __reduce__(self) -> Any:
        return (type(self), (self.message,), self.__dict__)


class CodemodeError(KoanError):
    """The base of the classes below."""


class SchemaValidationError(CodemodeError):
    """An input does not fit its schema."""


class ToolNotFoundError(CodemodeError):
    """There is no such tool."""


class ServerNotFoundError(CodemodeError):
    """There is no such server."""


class ToolCallError(CodemodeError):
    """A call of a tool failed."""


class AuthenticationError(CodemodeError):
    """A call lacks a right, or a sign-in."""


class SandboxLimitError(CodemodeError):
    """A limit was passed."""


class ModuleUnavailableError(KoanError, ModuleNotFoundError):
    """A module that scripts cannot import."""


class ModuleMemberError(KoanError, ImportError):
    """A name that a module for scripts does not have."""


class ArgumentError(SchemaValidationError, TypeError):
    """Arguments of a function of SDK that mean no input."""


CLASSES: dict[str, type[KoanError]] = {
    c.__name__: c
    for c in (
        CodemodeError,
        SchemaValidationError,
        ToolNotFoundError,
        ServerNotFoundError,
        ToolCallError,
        AuthenticationError,
        SandboxLimitError,
    )
}

__all__ = ["KoanError", "ArgumentError", "ModuleMemberError", "ModuleUnavailableError", *CLASSES]
