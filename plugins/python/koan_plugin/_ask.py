"""Questions to the app during a call."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

from . import _wire
from ._fault import Cancelled, Code, Fault
from ._types import load


class Asking:
    """Sends the questions of one call, and hands each answer to the one who waits for it.

    send sends an event of the call; answers are the app's messages, None where the app takes no questions.
    """

    def __init__(self, send: Callable[[Any], None], answers: Iterator[Any] | None) -> None:
        self._send, self._answers = send, answers
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(_wire.MAX_QUESTIONS)
        self._room_async = asyncio.Semaphore(_wire.MAX_QUESTIONS)  # in which nobody blocks the loop
        self._open: dict[int, Future[Any]] = {}
        self._reading = False
        self._ended = False

    def invoke(self, operation: str, raw: bytes) -> Future[Any]:
        return self._ask("invoke", operation=operation, input=raw)

    def open_file(self, file: str) -> Future[Any]:
        return self._ask("open_file", file=file)

    def read_file(self, file: str, offset: int, length: int) -> Future[Any]:
        return self._ask("read_file", file=file, offset=offset, length=length)

    def create_file(self, name: str, media_type: str) -> Future[Any]:
        return self._ask("create_file", name=name, media_type=media_type)

    def write_file(self, file: str, data: bytes) -> Future[Any]:
        return self._ask("write_file", file=file, data=data)

    def close_file(self, file: str) -> Future[Any]:
        return self._ask("close_file", file=file)

    async def wait(self, ask: Callable[..., Future[Any]], *args: Any) -> Any:
        """Asks in a function that is async."""
        async with self._room_async:
            return await asyncio.wrap_future(ask(*args))

    def end(self) -> None:
        """Cancels the questions that are open: the call has ended."""
        with self._lock:
            self._ended = True
            left = list(self._open.items())
        for id, _ in left:
            self._settle(id, None, Cancelled("the call has ended"))

    def _ask(self, kind: str, **fields: Any) -> Future[Any]:
        if self._answers is None:
            raise Fault(Code.CAPABILITY_UNSUPPORTED, "this app takes no questions from plugins")
        self._room.acquire()
        answer: Future[Any] = Future()
        with self._lock:
            id = next(self._ids)
            ended = self._ended
            self._open[id] = answer
            begin = not self._reading and not ended
            self._reading = self._reading or begin
        if ended:
            self._settle(id, None, Cancelled("the call has ended"))
            return answer
        if begin:  # most calls ask nothing
            threading.Thread(target=self._read, name="koan-answers", daemon=True).start()
        question = _wire.Question(id=id)
        getattr(question, kind).SetInParent()
        for name, value in fields.items():
            setattr(getattr(question, kind), name, value)
        self._send(_wire.CallEvent(question=question))
        return answer

    def _read(self) -> None:
        assert self._answers is not None
        try:
            for message in self._answers:
                a = message.answer
                if a.WhichOneof("result") == "fault":
                    self._settle(a.id, None, Fault.from_json(load(a.fault)))
                else:
                    self._settle(a.id, a, None)
        except Exception:  # gRPC's own, when the call has ended
            pass
        self.end()

    def _settle(self, id: int, answer: Any, error: Exception | None) -> None:
        with self._lock:
            waiting = self._open.pop(id, None)
        if waiting is None:
            return
        self._room.release()
        if not waiting.set_running_or_notify_cancel():
            return
        if error is None:
            waiting.set_result(answer)
        else:
            waiting.set_exception(error)
