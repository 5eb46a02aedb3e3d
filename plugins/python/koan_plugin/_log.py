"""The log: records of the standard logging become lines that the app reads with their levels."""

from __future__ import annotations

import contextvars
import json
import logging
import sys
from collections.abc import MutableMapping
from datetime import datetime, timezone
from typing import Any

# What the call that the current code serves adds to a record.
context: contextvars.ContextVar[dict[str, str] | None] = contextvars.ContextVar("koan_plugin_call", default=None)

_LEVELS = {"WARNING": "warn", "CRITICAL": "error"}
_OWN = frozenset(vars(logging.LogRecord("", 0, "", 0, "", None, None))) | {"message", "asctime", "taskName"}
_MAX_STACK = 32 << 10  # characters; an entry has at most 64 KiB


class Formatter(logging.Formatter):
    """Writes a record as a JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        level = _LEVELS.get(record.levelname, record.levelname.lower())
        entry: dict[str, Any] = {
            "@timestamp": datetime.fromtimestamp(record.created, timezone.utc).isoformat(),
            "@level": level,
            "@message": record.getMessage(),
        }
        if record.name not in ("root", "koan_plugin"):
            entry["logger"] = record.name
        entry.update(context.get() or {})
        entry.update((key, value) for key, value in vars(record).items() if key not in _OWN)
        if record.exc_info:
            entry["stack"] = self.formatException(record.exc_info)[-_MAX_STACK:]
        elif record.stack_info:
            entry["stack"] = record.stack_info[-_MAX_STACK:]
        return json.dumps(entry, default=repr, ensure_ascii=True)


class Logger(logging.LoggerAdapter):  # type: ignore[type-arg]
    """Call.log: a standard logger, whose keywords beside those of the standard one become values.

    call.log.info("fetched", city=city, ms=12)
    """

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        known = ("exc_info", "stack_info", "stacklevel", "extra")
        extra = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        extra.update({key: kwargs.pop(key) for key in list(kwargs) if key not in known})
        # The standard logger refuses values that are called as what it has of its own.
        kwargs["extra"] = {f"{key}_" if key in _OWN else key: value for key, value in extra.items()}
        return msg, kwargs


def install(level: int) -> None:
    """Has the standard logging write to the app's log."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(True)
