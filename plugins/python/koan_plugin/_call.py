"""The call that a function serves."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _wire
from ._ask import Asking
from ._fault import Cancelled
from ._file import AsyncFile, AsyncNewFile, File, FileHandle, NewFile, handle_of
from ._log import Logger
from ._metric import Metric
from ._types import dump, load


@dataclass(frozen=True)
class Caller:
    """Who makes a call. Its rights have been checked against those that the function needs."""

    subject: str
    scopes: tuple[str, ...]
    sets: tuple[str, ...]  # names and patterns


class _Call:
    """What a call has for functions of both kinds."""

    id: str  #: unique to this call
    key: str  #: the same in every attempt of the run: an idempotency key for services outside
    set: str  #: the run's default set
    trace: str  #: the caller's trace id
    dry_run: bool  #: the run will be rolled back: change nothing outside
    local: bool  #: the person at the app's machine made the run, and not somebody whom a token names
    caller: Caller
    log: Logger
    state_dir: Path | None  #: a folder that stays, where Plugin(keeps_state=True) asks for it

    def __init__(
        self,
        request: Any,
        send: Callable[[Any], None],
        ask: Asking,
        state_dir: Path | None,
        metrics: Mapping[str, Metric],
    ) -> None:
        self.id, self.key, self.set, self.trace = request.call_id, request.key, request.set, request.trace
        self.dry_run, self.local = request.dry_run, request.local
        self.caller = Caller(request.subject, tuple(request.scopes), tuple(request.sets))
        self.log = Logger(logging.getLogger("koan_plugin"), {"function": request.function, "call": request.call_id})
        self.state_dir = state_dir
        self._send, self._ask, self._metrics, self._observed = send, ask, metrics, request.observed
        self._deadline = request.deadline_unix_ms / 1000
        self._cancelled = threading.Event()

    @property
    def deadline(self) -> float | None:
        """When the call's time is over, as time.time() counts; None without a limit."""
        return self._deadline or None

    @property
    def remaining(self) -> float | None:
        """How many seconds are left, None without a limit."""
        return max(self._deadline - time.time(), 0) if self._deadline else None

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the call any more."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Raises Cancelled where nobody waits for the call any more: what long work does now and then."""
        if self._cancelled.is_set():
            raise Cancelled("the call was cancelled, or its time is over")

    def progress(self, done: float, total: float = 0, message: str = "") -> None:
        """Tells the caller how far the call is. A total of 0 is unknown."""
        self._send(_wire.CallEvent(progress={"done": done, "total": total, "message": _clean(message)}))

    def partial(self, value: Any, done: float = 0, total: float = 0, message: str = "") -> None:
        """Tells the caller what there is so far of what the function will return."""
        progress = {"done": done, "total": total, "message": _clean(message), "partial": dump(value)}
        self._send(_wire.CallEvent(progress=progress))

    def measure(self, metric: str, value: float = 1) -> None:
        """Adds a value to a metric of Plugin(metrics=...), or gives a histogram its next one. A metric that is not
        declared, and what is no value of it, are logged and not sent."""
        declared = self._metrics.get(metric)
        if declared is None:
            self.log.error("a metric is not among those of Plugin(metrics=...)", metric=metric)
        elif not declared.takes(value):
            self.log.error("a metric has no such value", metric=metric, value=str(value))
        elif self._observed:
            self._send(_wire.CallEvent(measurement={"metric": metric, "value": value}))

    @contextlib.contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Times a part of the call's work, which is a span below that of the call where the app traces. Its name has
        at most 64 bytes, and no data of callers. Of one call the app takes 100.

        with call.span("fetch"):
            rows = fetch()
        """
        start, began, failed = time.time_ns(), time.monotonic_ns(), True
        try:
            yield
            failed = False
        finally:
            end = start + time.monotonic_ns() - began
            if self._observed and name:
                span = {"name": _clean(name), "start_unix_nano": start, "end_unix_nano": end, "failed": failed}
                self._send(_wire.CallEvent(span=span))

    def _end(self) -> None:
        self._cancelled.set()
        self._ask.end()


class Call(_Call):
    """The call that a function serves, which is `def`. Its thread waits where the app has to answer."""

    def wait(self, seconds: float) -> None:
        """Sleeps, and raises Cancelled as soon as nobody waits for the call any more."""
        self._cancelled.wait(seconds)
        self.check()

    def invoke(self, operation: str, input: Any = None) -> Any:
        """Calls an operation of the app ("koan::Todo.patch") with the caller's rights, in the same run: it takes
        Plugin(needs=...) and the operator's grant. Raises the operation's Fault."""
        return load(self._ask.invoke(operation, dump({} if input is None else input)).result().output)

    def file(self, file: FileHandle | str) -> File:
        """Opens a file that the caller has passed."""
        return File(self._ask, handle_of(self._ask.open_file(_id(file)).result()))

    def create_file(self, name: str, media_type: str = "") -> NewFile:
        """Begins a file for the caller:

        with call.create_file("all.csv") as file:
            file.write(...)
        return Export(file.handle)
        """
        return NewFile(self._ask, handle_of(self._ask.create_file(name, media_type).result()))


class AsyncCall(_Call):
    """The call that a function serves, which is `async def`. It is cancelled as tasks of asyncio are."""

    async def invoke(self, operation: str, input: Any = None) -> Any:
        """Call.invoke."""
        answer = await self._ask.wait(self._ask.invoke, operation, dump({} if input is None else input))
        return load(answer.output)

    async def file(self, file: FileHandle | str) -> AsyncFile:
        """Call.file."""
        return AsyncFile(self._ask, handle_of(await self._ask.wait(self._ask.open_file, _id(file))))

    async def create_file(self, name: str, media_type: str = "") -> AsyncNewFile:
        """Call.create_file: `async with await call.create_file("all.csv") as file`."""
        return AsyncNewFile(self._ask, handle_of(await self._ask.wait(self._ask.create_file, name, media_type)))


def _id(file: FileHandle | str) -> str:
    return file if isinstance(file, str) else file.id


def _clean(text: str) -> str:
    """A text without halves of characters, which protobuf refuses."""
    return text.encode("utf-8", "replace").decode()
