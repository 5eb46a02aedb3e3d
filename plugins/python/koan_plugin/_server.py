"""The plugin's side of the protocol: the handshake, the services and the end."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
import queue
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc

from . import _log, _output, _wire
from ._ask import Asking
from ._call import AsyncCall, Call
from ._fault import CANCELLED, CODES, INTERNAL, TIMEOUT, TOOL_NOT_FOUND, Cancelled, Code, Fault
from ._settings import fill
from ._types import dump

if TYPE_CHECKING:
    from ._plugin import Function, Plugin

log = logging.getLogger("koan_plugin")

# More than an app has in flight at a time, with its questions about health: threads are made when they are needed.
_MAX_THREADS = 1200
_MAX_WAITING = 256  # events, beyond which progress is dropped: the app has had what came before
_GRACE = 1.0  # seconds that calls have at the end
_ANSWERING = 0.2  # and where there are none, the answer to Shutdown
_LAST = 0.5  # what is left after them


def serve(plugin: Plugin[Any], log_level: int) -> None:
    if not _output.started_by_app():
        print(
            f"This is the plugin {plugin.domain}, which an app starts: put it into the app's folder of plugins."
            " `koan plugin check PATH` tries it.",
            file=sys.stderr,
        )
        sys.exit(1)
    plugin.check()
    _log.install(log_level)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes of the app
    if sys.platform != "linux":
        threading.Thread(target=_leave_with_parent, daemon=True).start()
    asyncio.run(_Server(plugin).run())


def _leave_with_parent() -> None:
    """Ends the process when the app has died without stopping it. On Linux the kernel does that."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


class _Server:
    def __init__(self, plugin: Plugin[Any]) -> None:
        self.plugin = plugin
        self.manifest = plugin.manifest()
        self.calls: set[_Serving] = set()  # in flight
        self.loop: asyncio.AbstractEventLoop
        self.stopping: asyncio.Event

    async def run(self) -> None:
        self.loop, self.stopping = asyncio.get_running_loop(), asyncio.Event()
        self.loop.add_signal_handler(signal.SIGTERM, self.stopping.set)
        server = grpc.server(
            ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="koan-rpc"),
            options=[
                ("grpc.max_receive_message_length", _wire.MAX_MESSAGE),
                ("grpc.max_send_message_length", -1),
            ],
        )
        server.add_generic_rpc_handlers(self._services())
        folder = os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or tempfile.mkdtemp(prefix="koan-")
        address = os.path.join(folder, f"s{os.getpid()}")
        server.add_insecure_port("unix:" + address)
        server.start()
        self._shake_hands(address)
        await self.stopping.wait()
        await self._end(server)

    def _shake_hands(self, address: str) -> None:
        line = f"1|{_wire.CONTRACT_VERSION}|unix|{address}|grpc\n"
        _output.shake_hands(line)

    def _services(self) -> tuple[Any, ...]:
        def unary(fn: Callable[[Any, Any], Any], request: Any, response: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(fn, request.FromString, response.SerializeToString)

        def plain(fn: Callable[[bytes, Any], bytes]) -> Any:
            return grpc.unary_unary_rpc_method_handler(fn)

        event = _wire.CallEvent.SerializeToString
        calls = {
            "Describe": unary(lambda *_: self.manifest, _wire.DescribeRequest, _wire.Manifest),
            "Configure": unary(self._configure, _wire.ConfigureRequest, _wire.ConfigureResponse),
            "Call": grpc.unary_stream_rpc_method_handler(self._call, _wire.CallRequest.FromString, event),
            "Converse": grpc.stream_stream_rpc_method_handler(self._converse, _wire.HostMessage.FromString, event),
        }
        services: dict[str, dict[str, Any]] = {
            _wire.SERVICE: calls,
            "grpc.health.v1.Health": {"Check": plain(_wire.serving)},
            "plugin.GRPCController": {"Shutdown": plain(self._shutdown)},
        }
        return tuple(grpc.method_handlers_generic_handler(name, methods) for name, methods in services.items())

    def _shutdown(self, _: bytes, __: Any) -> bytes:
        self.loop.call_soon_threadsafe(self.stopping.set)
        return b""

    async def _end(self, server: Any) -> None:
        """Ends the calls that are left, and then the process, at the latest before the app kills it."""
        stopped = server.stop(_GRACE if self.calls else _ANSWERING)
        await self.loop.run_in_executor(None, stopped.wait)
        last = threading.Timer(_LAST, os._exit, (0,))  # a thread of a function that does not end holds nobody up
        last.daemon = True
        last.start()
        for close in self.plugin._closing:
            try:
                outcome = close()
                if inspect.isawaitable(outcome):
                    await outcome
            except Exception:
                log.exception("the plugin did not close well")

    # -- Configure ---------------------------------------------------------------------------------------------

    def _configure(self, request: Any, _: Any) -> Any:
        try:
            self._take_settings(request)
        except Fault as fault:
            return _wire.ConfigureResponse(fault=dump(fault.as_json()))
        except Exception as error:  # its words are for the person who wrote the configuration
            log.exception("the settings were refused")
            told = Fault(Code.INVALID_PAYLOAD, str(error) or type(error).__name__)
            return _wire.ConfigureResponse(fault=dump(told.as_json()))
        return _wire.ConfigureResponse()

    def _take_settings(self, request: Any) -> None:
        p = self.plugin
        if request.state_dir:
            p.state_dir = Path(request.state_dir)
        if p._settings_type is not None:
            p._settings = fill(p._settings_type, p._declared, request.settings)
        if p._configure is None:
            return
        args = [p._settings] if inspect.signature(p._configure).parameters else []
        if inspect.iscoroutinefunction(p._configure):
            asyncio.run_coroutine_threadsafe(p._configure(*args), self.loop).result()
        else:
            p._configure(*args)

    # -- Calls -------------------------------------------------------------------------------------------------

    def _call(self, request: Any, context: Any) -> Iterator[Any]:
        return _Serving(self, request, None, context).events()

    def _converse(self, messages: Iterator[Any], context: Any) -> Iterator[Any]:
        first = next(messages, None)
        if first is None or first.WhichOneof("message") != "call":
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the first message has to be the call")
            return iter(())  # abort has raised
        return _Serving(self, first.call, messages, context).events()


class _Serving:
    """One call: the function runs in a thread of its own or on the loop, and its events pass through a queue."""

    def __init__(self, server: _Server, request: Any, answers: Iterator[Any] | None, context: Any) -> None:
        self.server, self.request, self.context = server, request, context
        self.queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.ended = False
        self.ask = Asking(self.send, answers)
        self.call: Any = None
        self.task: Future[Any] | None = None

    def send(self, event: Any, *, last: bool = False) -> None:
        """Sends an event, unless the last one has been sent."""
        with self.lock:
            if self.ended or self.queue.qsize() > _MAX_WAITING and event.WhichOneof("event") == "progress":
                return
            self.ended = last
            self.queue.put(event)
            if last:
                self.queue.put(None)

    def events(self) -> Iterator[Any]:
        self.server.calls.add(self)
        try:
            try:
                self._begin()
            except Fault as fault:
                self._fail(fault)
            while (event := self.queue.get()) is not None:
                yield event
        finally:
            self.ask.end()
            self.server.calls.discard(self)

    def _begin(self) -> None:
        function = self.server.plugin.functions.get(self.request.function)
        if function is None:
            why = f"the plugin {self.server.plugin.domain} has no function {self.request.function!r}"
            raise Fault(TOOL_NOT_FOUND, why)
        kind = AsyncCall if function.is_async else Call
        self.call = kind(self.request, self.send, self.ask, self.server.plugin.state_dir, self.server.plugin.metrics)
        arguments = function.read(self.call, self.request.input)
        if function.is_async:
            self.task = asyncio.run_coroutine_threadsafe(self._run_async(function, arguments), self.server.loop)
        else:
            threading.Thread(target=self._run, args=(function, arguments), name="koan-call", daemon=True).start()
        if not self.context.add_callback(self._over):
            self._over()

    def _over(self) -> None:
        """Is called when gRPC has ended the call, well or not."""
        with self.lock:
            over = self.ended
            self.ended = True
        self.call._end()
        if not over:
            if self.task is not None:
                self.task.cancel()
            self.queue.put(None)

    def _run(self, function: Function, arguments: dict[str, Any]) -> None:
        _log.context.set(self._about())
        with self._answering():
            self._succeed(function.run(**arguments))

    async def _run_async(self, function: Function, arguments: dict[str, Any]) -> None:
        _log.context.set(self._about())
        with self._answering():
            self._succeed(await function.run(**arguments))

    def _about(self) -> dict[str, str]:
        return {"function": self.request.function, "call": self.request.call_id}

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """Makes a fault of what the function raises."""
        try:
            yield
        except Fault as fault:
            if fault.is_the_apps or fault.code in CODES or fault.code in self.server.plugin.fault_codes:
                self._fail(fault)
            else:
                log.exception("the code %r is not among Plugin(fault_codes=...)", fault.code)
                self._fail(Fault(INTERNAL, "see the log"))
        except (Cancelled, asyncio.CancelledError):
            if not self.call.cancelled:
                log.exception("what the function waited for was cancelled")
            self._fail(Fault(CANCELLED, "it was cancelled"))
        except TimeoutError:
            log.exception("what the function waited for did not answer in time")
            self._fail(Fault(TIMEOUT, "it did not answer in time"))
        except BaseException:  # SystemExit, too: other calls are served by this process
            log.exception("the function failed")
            self._fail(Fault(INTERNAL, "see the log"))

    def _succeed(self, value: Any) -> None:
        out = dump({} if value is None else value)
        most = max(self.request.max_output_bytes, _wire.MAX_OUTPUT)
        if len(out) > most:
            plugin, function = self.server.plugin.domain, self.request.function
            raise Fault(
                Code.CALL_TOO_LARGE,
                f"{plugin}.{function} returned {len(out)} bytes; {most} are allowed",
                details={"limit": most, "received": len(out)},
            )
        at, size = 0, len(out)
        while self.request.parts and size - at > _wire.PART:
            self.send(_wire.CallEvent(part={"size": size, "data": out[at : at + _wire.PART]}))
            at += _wire.PART
        self.send(_wire.CallEvent(output=out[at:]), last=True)

    def _fail(self, fault: Fault) -> None:
        try:
            raw = dump(fault.as_json())
        except (TypeError, ValueError):
            log.exception("the fault cannot be sent")
            raw = dump(Fault(INTERNAL, "see the log").as_json())
        self.send(_wire.CallEvent(fault=raw), last=True)
