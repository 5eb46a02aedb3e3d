"""Standard output, which belongs to the handshake in a process that an app has started."""

from __future__ import annotations

import io
import os
import sys

from ._wire import MAGIC_COOKIE

_kept: int | None = None  # the standard output of the process, once it is guarded


def started_by_app() -> bool:
    """Whether an app has started the process, as its plugin."""
    key, value = MAGIC_COOKIE
    return os.environ.get(key) == value


def guard() -> None:
    """Keeps standard output for the handshake: what is printed from now on goes to standard error, and so to the
    app's log. It is done when the package is imported, since libraries greet people when they are."""
    global _kept
    if _kept is None and started_by_app():
        sys.stdout.flush()
        _kept = os.dup(1)
        os.dup2(2, 1)
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # as if somebody were watching


def shake_hands(line: str) -> None:
    """Prints the line of the handshake, after which nothing is printed there."""
    assert _kept is not None
    os.write(_kept, line.encode())
    os.close(_kept)
