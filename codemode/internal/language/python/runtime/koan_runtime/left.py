"""What a script leaves behind without a word: errors in threads, tasks that run, coroutines that nothing awaited."""

from __future__ import annotations

import asyncio
import sys
import threading
import types
import warnings
from collections.abc import Iterable
from typing import Any

from .output import log
from .session import SCRIPT, Session, describe

_MOST = 20


def watch(session: Session) -> None:
    """Have the logs say of errors that end no script, one entry for each, with the script's own lines alone."""

    def in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            name = args.thread.name if args.thread is not None else "a thread"
            log(session, "warn", f"Exception in {name}{_line(args.exc_traceback)}: {describe(args.exc_value)}")

    def ignored(args: sys.UnraisableHookArgs) -> None:
        if args.exc_value is not None:
            log(session, "warn", f"An exception was ignored{_line(args.exc_traceback)}: {describe(args.exc_value)}")

    def unawaited(coroutine: Any) -> None:
        code = getattr(coroutine, "cr_code", None)
        if code is not None and code.co_filename == SCRIPT:
            warn_of_coroutines(session, [(coroutine.__qualname__, _begun(coroutine))])

    threading.excepthook = in_thread
    sys.unraisablehook = ignored
    sys.set_coroutine_origin_tracking_depth(1)
    setattr(warnings, "_warn_unawaited_coroutine", unawaited)


def _line(trace: types.TracebackType | None) -> str:
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == SCRIPT:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" in line {line}" if line else ""


def _begun(coroutine: Any) -> int:
    """Return the line of the script in which a coroutine was made, 0 if it is not known."""
    return next((line for file, line, _ in coroutine.cr_origin or () if file == SCRIPT), 0)


def caller_line() -> int:
    """Return the line of the script that has called, 0 if none has."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != SCRIPT:
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_lineno if frame is not None else 0


def warn_of_coroutines(session: Session, calls: Iterable[tuple[str, int]]) -> None:
    """Name calls whose coroutines nothing has awaited: unlike promises they have not even begun."""
    for name, line in list(dict.fromkeys(calls))[:_MOST]:
        where = f" in line {line}" if line else ""
        log(session, "warn", f"Nothing has awaited the coroutine of {name}(...){where}, so the call was not made. Write await before it.")


def warn_of_tasks(session: Session, tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Name tasks that had not ended when the script did."""
    for name in sorted(getattr(t.get_coro(), "__qualname__", t.get_name()) for t in tasks)[:_MOST]:
        log(session, "warn", f"The task {name} had not ended when the script did, and is cancelled. Await it before the end.")


async def cancelled(tasks: set[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
            raise result
