"""The event loop: waiting for calls that were started, and for time, is asking the host."""

from __future__ import annotations

import asyncio
import math
import select
import selectors
import threading
import time
from collections.abc import Callable
from typing import Any

from .channel import Reply
from .session import Session
from .tape import clock

# How long the loop waits for the host at a time while a thread of the script may wake it, in seconds.
_SLICE = 0.005
_real_time = time.monotonic


class Calls:
    """The calls that a script has started and whose outcome it has not received."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.open: dict[int, Callable[[Reply], None]] = {}
        self.unawaited: dict[int, tuple[str, int]] = {}  # coroutines of wrappers that have not begun: their functions and lines
        self.made = 0
        self.failed: list[asyncio.Task[Any]] = []

    def start(self, operation: str, body: bytes, settle: Callable[[Reply], None]) -> None:
        """Start a call; settle gets its outcome."""
        self.session.started += 1
        ref = self.session.started
        self.open[ref] = settle
        self.session.channel.start(ref, operation, body)

    def ended(self, task: asyncio.Task[Any]) -> None:
        """Note a task that failed; whoever awaits it has its error."""
        if not task.cancelled() and _unseen(task):
            self.failed.append(task)

    def unseen(self) -> BaseException | None:
        """Return the error of a task that failed and that nothing has awaited."""
        return next((task.exception() for task in self.failed if _unseen(task)), None)

    def wait(self, seconds: float | None) -> bool:
        """Wait for one outcome, and settle it. It reports whether there was one.

        Where no call is open nothing can happen meanwhile: the script's clock moves on at once.
        """
        began = clock.now
        if not self.open:
            clock.advance(began + math.ceil((seconds or 0) * 1e6))
            return False
        reply = self.session.channel.wait(seconds)
        if reply.ref == 0:
            if reply.status != 0:
                self.session.output(reply, "")
            clock.advance(began + math.ceil((seconds or 0) * 1e6))
            return False
        settle = self.open.pop(reply.ref, None)
        if settle is not None:
            settle(reply)
        return True


def _unseen(task: asyncio.Task[Any]) -> bool:
    return bool(getattr(task, "_log_traceback", False))


class HostSelector(selectors.SelectSelector):
    """A selector whose wait is the host's."""

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._calls = calls

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0 and not self._calls.open):
            return ready
        if timeout is not None and timeout <= 0:
            return ready
        threads = threading.active_count() > 1
        if not self._calls.open and timeout is None and not threads:
            session = self._calls.session
            session.finish_with(session.fault("never_settled", "the script waits for something that never happens"), _innermost())
        while True:
            most = timeout if not threads else _SLICE if timeout is None else min(timeout, _SLICE)
            if threads and not self._calls.open:
                select.select(list(self.get_map()), [], [], most)
                clock.advance(clock.now + math.ceil((most or 0) * 1e6))
            elif self._calls.wait(most):
                return super().select(0)
            ready = super().select(0)
            if timeout is not None:
                timeout -= most or 0
            if ready or (timeout is not None and timeout <= 0):
                return ready
            threads = threading.active_count() > 1


def _innermost() -> Any:
    """Return a frame of the script that waits, if there is one."""
    from .session import SCRIPT

    for task in asyncio.all_tasks():
        waiting: Any = task.get_coro()
        found = None
        while waiting is not None:
            frame = getattr(waiting, "cr_frame", None)
            if frame is not None and frame.f_code.co_filename == SCRIPT:
                found = frame
            waiting = getattr(waiting, "cr_await", None)
        if found is not None:
            return found
    return None


class HostLoop(asyncio.SelectorEventLoop):
    """An event loop in the script's time."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(HostSelector(calls))
        self._clock_resolution = 1e-6

        def made(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
            task = asyncio.Task(coroutine, loop=loop, **options)
            task.add_done_callback(calls.ended)
            return task

        self.set_task_factory(made)

    def time(self) -> float:
        return (clock.now - clock.start) / 1e6


class Policy(asyncio.DefaultEventLoopPolicy):
    """Makes loops that wait at the host."""

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._calls = calls

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return HostLoop(self._calls)


def sleeper(calls: Calls) -> Callable[[float], None]:
    """Return time.sleep: the wait is the host's, and is not the script's time of computing."""

    def sleep(seconds: float, /) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        if threading.current_thread() is not threading.main_thread():
            select.select([], [], [], seconds)
            return
        end = clock.now + int(seconds * 1e6)
        while clock.now < end and calls.wait((end - clock.now) / 1e6):
            pass
        clock.advance(end)

    return sleep
