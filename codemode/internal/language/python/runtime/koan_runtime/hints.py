"""What to do about errors and values that come of a usual mistake."""

from __future__ import annotations

import collections.abc
import datetime
import errno
import fractions
import re
import socket
import types
from typing import Any

_DATA = "Give dicts, lists, strings, numbers, booleans and None."
_AWAIT = "Write await before the call: the functions of servers return coroutines."
_CONFINED = "Scripts have no network, no other process and no file outside /workspace. Reach others by the tools of servers."
_REFUSED = (errno.EPERM, errno.EACCES, errno.EROFS)

# Hints for errors of the language itself, by what their messages say.
_MESSAGES: tuple[tuple[type[BaseException], re.Pattern[str], str], ...] = (
    (TypeError, re.compile(r"can't be used in 'await' expression|'async (?:for|with)' requires"), "The methods of SDK are synchronous: call them without await and async."),
    (Exception, re.compile(r"'coroutine' object|type 'coroutine'|not coroutine"), _AWAIT),
    (RuntimeError, re.compile(r"^no running event loop"), "Write `await` at the top level, or do this in a coroutine: asyncio.run(main())."),
    (NameError, re.compile(r"^name '(?:null|undefined)' is not"), "Write None."),
    (NameError, re.compile(r"^name 'true' is not"), "Write True."),
    (NameError, re.compile(r"^name 'false' is not"), "Write False."),
    (NameError, re.compile(r"^name 'console' is not"), "Write print(...)."),
    (NameError, re.compile(r"^name 'JSON' is not"), "Write json.dumps and json.loads, after import json. What a call returns is a value already."),
    (AttributeError, re.compile(r"'NoneType' object has no attribute"), "The value before the attribute is None: check it first, for example a result of find_by_id, or a relationship that is not set."),
    (TypeError, re.compile(r"'NoneType' object is not (?:subscriptable|iterable)"), "The value is None: check it first, for example a result of find_by_id, or a relationship that is not set."),
    (AttributeError, re.compile(r"'(?:list|dict|str|Row|ShadowingRow)' object has no attribute '(?:length|size)'"), "Write len(x)."),
    (AttributeError, re.compile(r"'list' object has no attribute '(?:map|filter|forEach)'"), "Write a comprehension: [f(x) for x in xs if ...]."),
    (RuntimeError, re.compile(r"asyncio\.run\(\) cannot be called"), "The script has an await at its top level: write `await main()` instead of asyncio.run(main())."),
)


def of_error(error: BaseException) -> str:
    """Return the hint for an error that a script did not catch, "" if there is none of its own."""
    if isinstance(error, socket.gaierror) or (isinstance(error, OSError) and (error.errno in _REFUSED or _elsewhere(error))):
        return _CONFINED
    if isinstance(error, OSError) and isinstance(getattr(error, "reason", None), OSError):  # urllib.error.URLError
        return of_error(error.__dict__["reason"])
    try:
        text = str(error)
    except (Exception, RecursionError):
        return ""
    for kind, pattern, hint in _MESSAGES:
        if isinstance(error, kind) and pattern.search(text[:1000]):
            return hint
    return ""


def _elsewhere(error: OSError) -> bool:
    """Report whether a file was not found because scripts do not see the folder that it is in."""
    name = error.filename
    return error.errno == errno.ENOENT and isinstance(name, str) and name.startswith("/") and not name.startswith("/workspace")


# What the host says in JavaScript's words, and what that is here. Its other messages have names and data alone.
_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r'(?<=: )Number\((".*")\) is one$'), r"float(\1) is one"),
    (re.compile(r"must be an id, not null: (.*) findById can be null; check"), r"must be an id, not None: \1 findById can be None; check"),
    (re.compile(r"confirm with all: true(?=, or set maxAffected)"), "confirm with all=True"),
    (re.compile(r"with all: true matches every"), "with all=True matches every"),
    (re.compile(r"make sure that every `new Promise` is resolved or rejected"), "make sure that something ends each future"),
)


def in_python(fault: dict[str, Any]) -> dict[str, Any]:
    """Return a fault of the host whose messages and hints name what Python has."""
    details = fault.get("details")
    for part in [fault, *(details if isinstance(details, list) else [])]:
        for name in ("message", "hint") if isinstance(part, dict) else ():
            if isinstance(text := part.get(name), str):
                part[name] = translated(text)
    return fault


def translated(text: str) -> str:
    """Return a text of the host with what Python has in place of JavaScript's words."""
    for pattern, here in _PHRASES:
        text = pattern.sub(here, text)
    return text


def of_value(v: Any) -> str:
    """Return the hint for a value that is not JSON."""
    if isinstance(v, (types.CoroutineType, collections.abc.Awaitable)):
        return _AWAIT
    if isinstance(v, collections.abc.AsyncIterable):
        return "Collect it: [x async for x in it]."
    if isinstance(v, BaseException):
        return "Give its message: str(error)."
    if isinstance(v, datetime.timedelta):
        return "Give its length: delta.total_seconds()."
    if isinstance(v, (fractions.Fraction, complex)):
        return "Give a number or a text: float(x), str(x)."
    if callable(v):
        return f"Call it, or give its value. {_DATA}"
    return _DATA
