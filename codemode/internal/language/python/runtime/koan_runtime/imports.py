"""What scripts can import, and what they are told of everything else."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from typing import Any

import koan.errors
from koan.errors import ModuleMemberError, ModuleUnavailableError

from .names import did_you_mean
from .session import SCRIPT, Session

_ERRORS = "koan.errors"


class Unavailable(importlib.abc.MetaPathFinder):
    """Says of modules that nobody finds what there is."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        module, _, name = fullname.rpartition(".")
        if module == _ERRORS:
            message, hint = no_error_class(name)
            raise ModuleMemberError(message, code="capability_unsupported", retry="fix", hint=hint, details={"import": module})
        if module or name.startswith("_") or not self._asked():
            return
        message, hint = no_module(self._session, name)
        raise ModuleUnavailableError(message, code="capability_unsupported", retry="fix", hint=hint, details={"import": name})

    @staticmethod
    def _asked() -> bool:
        """Report whether the script itself imports, and not a module that does without."""
        frame = sys._getframe(2)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back  # type: ignore[assignment]
        return frame is not None and frame.f_code.co_filename == SCRIPT


def exists(name: str) -> bool:
    """Report whether there is a module of this name, which has no dots."""
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def no_module(session: Session, name: str) -> tuple[str, str]:
    """Return message and hint about a module that scripts cannot import."""
    extra = session.vocabulary.get("modules") or []
    there = "the standard library, servers, koan.errors" + "".join(", " + m for m in extra)
    return (
        f"No module named {name!r}{did_you_mean(name, sys.stdlib_module_names, 0.8)}; scripts can import {there}",
        "Use what there is, or ask the operator to add the module to codeMode.pythonModules.",
    )


def no_error_class(name: str) -> tuple[str, str]:
    """Return message and hint about a name that koan.errors does not have."""
    known = koan.errors.__all__
    return f"cannot import name {name!r} from {_ERRORS!r}{did_you_mean(name, known)}", f"It has {', '.join(known)}."


def in_errors(name: str) -> bool:
    """Report whether koan.errors has a name."""
    return name == "*" or hasattr(koan.errors, name)
