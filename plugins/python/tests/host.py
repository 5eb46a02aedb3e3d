"""An app as the sample sees it: a process, the handshake and gRPC."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc

from koan_plugin import _wire

SAMPLE = Path(__file__).with_name("sample.py")


class App:
    """Starts a plugin as an app does, and calls it."""

    def __init__(self, program: Path = SAMPLE, **env: str) -> None:
        self.folder = tempfile.mkdtemp()
        self.log: list[dict[str, Any] | str] = []
        env = {
            "KOAN_PLUGIN": "koan.plugin.v1",
            "PLUGIN_PROTOCOL_VERSIONS": "1",
            "PLUGIN_UNIX_SOCKET_DIR": self.folder,
            "PATH": os.environ["PATH"],
            **env,
        }
        self.process = subprocess.Popen(
            [sys.executable, str(program)],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._reader = threading.Thread(target=self._read_log)
        self._reader.start()
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline().decode()
        self.channel: Any = None
        if self.line:
            self.channel = grpc.insecure_channel("unix:" + self.line.split("|")[3])

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            text = line.decode().rstrip("\n")
            try:
                self.log.append(json.loads(text))
            except ValueError:
                self.log.append(text)

    def close(self) -> int:
        """Waits for the end of the process, and returns its status."""
        try:
            status = self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self._reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        if self.channel is not None:
            self.channel.close()
        shutil.rmtree(self.folder)
        return status

    def entry(self, message: str) -> dict[str, Any]:
        """The entry of the log with a message, once the process has ended."""
        for each in self.log:
            if isinstance(each, dict) and each["@message"] == message:
                return each
        raise AssertionError(f"{message!r} is not in {self.log}")

    def unary(self, method: str, request: Any, response: Any) -> Any:
        call = self.channel.unary_unary(
            method, request_serializer=type(request).SerializeToString, response_deserializer=response.FromString
        )
        return call(request, timeout=10)

    def configure(self, settings: dict[str, str], state: str = "/state") -> dict[str, Any] | None:
        request = _wire.ConfigureRequest(settings=settings, state_dir=state)
        answer = self.unary(f"/{_wire.SERVICE}/Configure", request, _wire.ConfigureResponse)
        return json.loads(answer.fault) if answer.fault else None

    def stream(self, function: str, input: Any, *, timeout: float = 10, **about: Any) -> Any:
        """The events of a Call."""
        raw = input if isinstance(input, bytes) else json.dumps(input).encode()
        request = _wire.CallRequest(function=function, input=raw, call_id="c1", **about)
        call = self.channel.unary_stream(
            f"/{_wire.SERVICE}/Call",
            request_serializer=_wire.CallRequest.SerializeToString,
            response_deserializer=_wire.CallEvent.FromString,
        )
        return call(request, timeout=timeout)

    def call(self, function: str, input: Any = None, **about: Any) -> Any:
        """The output or the fault of a Call."""
        events = list(self.stream(function, {} if input is None else input, **about))
        return result(events)

    def converse(self, function: str, input: Any, answer: Callable[[Any], dict[str, Any]]) -> Any:
        """The output or the fault of a Converse, in which answer answers questions."""
        messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        request = _wire.CallRequest(function=function, input=json.dumps(input).encode(), call_id="c1")
        messages.put(_wire.HostMessage(call=request))
        call = self.channel.stream_stream(
            f"/{_wire.SERVICE}/Converse",
            request_serializer=_wire.HostMessage.SerializeToString,
            response_deserializer=_wire.CallEvent.FromString,
        )
        events = []
        for event in call(iter(messages.get, None), timeout=20):
            if event.WhichOneof("event") == "question":
                messages.put(_wire.HostMessage(answer={"id": event.question.id, **answer(event.question)}))
            else:
                events.append(event)
        messages.put(None)
        return result(events)


def result(events: list[Any]) -> Any:
    """What a call ended in: its output, or its fault by the key "fault"."""
    last = events[-1]
    if last.WhichOneof("event") == "fault":
        return {"fault": json.loads(last.fault)}
    data = b"".join(e.part.data for e in events if e.WhichOneof("event") == "part")
    return json.loads(data + last.output)


class Files:
    """Answers questions about files."""

    def __init__(self, **files: bytes) -> None:
        self.files = {id: bytearray(data) for id, data in files.items()}
        self.closed: list[str] = []
        self.pieces = 0

    def __call__(self, question: Any) -> dict[str, Any]:
        kind = question.WhichOneof("kind")
        q = getattr(question, kind)
        self.pieces += 1
        if kind == "create_file":
            self.files["new"] = bytearray()
            return {"file": {"file": "new", "name": q.name, "media_type": q.media_type}}
        if kind == "write_file":
            self.files[q.file] += q.data
            return {}
        if kind == "read_file":
            return {"data": bytes(self.files[q.file][q.offset : q.offset + q.length])}
        if kind == "close_file":
            self.closed.append(q.file)
        return {"file": {"file": q.file, "name": "a.bin", "media_type": "x/y", "size": len(self.files[q.file])}}


def events_of(stream: Iterator[Any], kind: str) -> list[Any]:
    """The events of a kind."""
    return [getattr(e, kind) for e in stream if e.WhichOneof("event") == kind]
