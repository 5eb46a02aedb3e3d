"""An app in the test's own process, for the tests of a plugin's functions.

    host = Host(operations={"koan::Todo.get": lambda input: {"id": input["id"], "title": "milk"}})
    self.assertEqual(host.run(plugin, "roll", {"sides": 6}), {"value": 4})
"""

from __future__ import annotations

import asyncio
import dataclasses
import queue
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import _wire
from ._ask import Asking
from ._call import AsyncCall, Call
from ._fault import Code, Fault
from ._file import FileHandle
from ._metric import Metric
from ._plugin import Plugin
from ._settings import fill
from ._types import dump, load


@dataclasses.dataclass
class StoredFile:
    """A file of the host's."""

    name: str
    media_type: str
    data: bytearray
    closed: bool = True


class Host:
    """Answers what functions ask, from memory. operations are functions of an input, by the operations' ids; one that
    raises a Fault refuses. files are those that there are, by id; progress is what functions have reported, measured
    their metrics with values, and spans the names of spans and whether they failed."""

    def __init__(self, operations: Mapping[str, Callable[[Any], Any]] | None = None) -> None:
        self.operations = dict(operations or {})
        self.files: dict[str, StoredFile] = {}
        self.progress: list[tuple[float, float, str]] = []
        self.partials: list[Any] = []
        self.measured: list[tuple[str, float]] = []
        self.spans: list[tuple[str, bool]] = []

    def add_file(self, name: str, data: bytes, media_type: str = "application/octet-stream") -> FileHandle:
        """Stores a file, and returns the handle that a caller would pass."""
        id = f"file-{len(self.files) + 1}"
        self.files[id] = StoredFile(name, media_type, bytearray(data))
        return FileHandle(id, name, media_type, len(data))

    def configure(self, plugin: Plugin[Any], settings: Mapping[str, str] | None = None) -> None:
        """Configures a plugin as an app does; raises the Fault that would end the app's start."""
        if plugin._settings_type is not None:
            plugin._settings = fill(plugin._settings_type, plugin._declared, settings or {})

    def run(self, plugin: Plugin[Any], function: str, input: Any = None, **request: Any) -> Any:
        """Calls a function as an app does: with an input of JSON, and returns its output as JSON. Raises its
        exception as it is. request are fields of CallRequest: subject, dry_run, set."""
        f = plugin.functions[function]
        request["metrics"] = plugin.metrics
        call = self.async_call(**request) if f.is_async else self.call(**request)
        arguments = f.read(call, dump({} if input is None else input))
        try:
            value = asyncio.run(f.run(**arguments)) if f.is_async else f.run(**arguments)
        finally:
            call._end()
        return load(dump({} if value is None else value))

    def call(
        self, *, state_dir: Path | None = None, metrics: Mapping[str, Metric] | None = None, **request: Any
    ) -> Call:
        """A call to hand to a function that is def."""
        return Call(*self._parts(request), state_dir, metrics or {})

    def async_call(
        self, *, state_dir: Path | None = None, metrics: Mapping[str, Metric] | None = None, **request: Any
    ) -> AsyncCall:
        """A call to hand to a function that is async def."""
        return AsyncCall(*self._parts(request), state_dir, metrics or {})

    def _parts(self, request: Mapping[str, Any]) -> tuple[Any, Callable[[Any], None], Asking]:
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def send(event: Any) -> None:
            self._take(event, answers)

        about = {"call_id": "call-1", "key": "key-1", "subject": "test", "local": True, "set": "default"}
        about = {**about, "observed": True, **request}
        return _wire.CallRequest(**about), send, Asking(send, iter(answers.get, None))

    def _take(self, event: Any, answers: queue.SimpleQueue[Any]) -> None:
        kind = event.WhichOneof("event")
        if kind == "measurement":
            self.measured.append((event.measurement.metric, event.measurement.value))
            return
        if kind == "span":
            self.spans.append((event.span.name, event.span.failed))
            return
        if kind == "progress":
            p = event.progress
            self.progress.append((p.done, p.total, p.message))
            if p.partial:
                self.partials.append(load(p.partial))
            return
        q = event.question
        answer = _wire.Answer(id=q.id)
        try:
            self._answer(q, answer)
        except Fault as fault:
            answer.fault = dump(fault.as_json())
        answers.put(_wire.HostMessage(answer=answer))

    def _answer(self, q: Any, answer: Any) -> None:
        kind = q.WhichOneof("kind")
        if kind == "invoke":
            operation = self.operations.get(q.invoke.operation)
            if operation is None:
                raise Fault(Code.FORBIDDEN, f"{q.invoke.operation} is not granted")
            answer.output = dump(operation(load(q.invoke.input)))
        elif kind == "open_file":
            self._describe(answer, q.open_file.file, self._file(q.open_file.file))
        elif kind == "read_file":
            r = q.read_file
            answer.data = bytes(self._file(r.file).data[r.offset : r.offset + r.length])
        elif kind == "create_file":
            handle = self.add_file(q.create_file.name, b"", q.create_file.media_type)
            self.files[handle.id].closed = False
            self._describe(answer, handle.id, self.files[handle.id])
        elif kind == "write_file":
            self._file(q.write_file.file, closed=False).data.extend(q.write_file.data)
        elif kind == "close_file":
            file = self._file(q.close_file.file, closed=False)
            file.closed = True
            self._describe(answer, q.close_file.file, file)

    def _file(self, id: str, *, closed: bool = True) -> StoredFile:
        file = self.files.get(id)
        if file is None or file.closed != closed:
            raise Fault(Code.NOT_FOUND, f"there is no file {id}")
        return file

    def _describe(self, answer: Any, id: str, file: StoredFile) -> None:
        answer.file.file, answer.file.name, answer.file.media_type = id, file.name, file.media_type
        answer.file.size = len(file.data)
