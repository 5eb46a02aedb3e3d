"""What a script finds when it begins: prepared once for all scripts of a caller, before any of them is there.

What is done here costs a caller once. What is done after the fork costs each script, and copies the pages that it touches.
"""

from __future__ import annotations

import asyncio
import builtins
import importlib
import linecache
import os
import signal
import sys
import types
from typing import Any, NoReturn

import koan.errors
from koan.errors import KoanError

from . import confine, imports, left, loop, output, sdk, servers, tape
from .channel import Channel
from .program import NOTHING, RETURN
from .session import SCRIPT, Session


class Returned(BaseException):
    """A top-level return."""

    def __init__(self, value: Any = NOTHING) -> None:
        super().__init__()
        self.value = value


class Stage:
    """SDK, the modules of servers, the streams and the loop of scripts."""

    def __init__(self, channel: Channel, vocabulary: dict[str, Any]) -> None:
        self.session = Session(channel, vocabulary)
        self.calls = loop.Calls(self.session)
        self.sdk: sdk.Namespace
        self._servers = servers.Finder(self.calls)
        self._main = types.ModuleType("__main__")
        sys.modules["__main__"] = self._main
        asyncio.set_event_loop_policy(loop.Policy(self.calls))
        tape.set_sleep(loop.sleeper(self.calls))
        left.watch(self.session)
        output.capture(self.session)
        sys.meta_path.insert(0, self._servers)
        sys.meta_path.append(imports.Unavailable(self.session))
        setattr(koan.errors, "__path__", [])  # so that a name that it does not have is looked for by Unavailable
        signal.signal(signal.SIGPROF, self._overdue)
        os._exit = _leave
        for name in ("exit", "quit"):
            setattr(builtins, name, _leave)
        self.bind({})

    def bind(self, bindings: dict[str, Any]) -> None:
        """Set what the caller may call."""
        self.session.bindings = bindings
        self._servers.bind(bindings)
        self.sdk = sdk.build(self.session)
        setattr(koan, "SDK", self.sdk)
        self._main.__dict__.update(__file__=SCRIPT, __builtins__=builtins, SDK=self.sdk, KoanError=KoanError, asyncio=asyncio)
        self._main.__dict__[RETURN] = Returned

    def begin(self, job: dict[str, Any], filter: str, data: int, done: int) -> None:
        """Set the job of this process, and its limits. data is the private memory that it begins with, in bytes."""
        self.session.begin(job, done)
        limits = self.session.limits
        tape.begin(job["nowMs"], job["seed"])
        signal.setitimer(signal.ITIMER_PROF, max(limits["cpuMs"], 1) / 1000)
        confine.limit(data, limits["memoryBytes"], limits["cpuMs"])
        confine.install_filter(filter)
        sys.setrecursionlimit(max(limits["maxRecursion"], 200) + 100)

    def names(self) -> dict[str, Any]:
        """Return the global names of the job's script."""
        text, g = self.session.job["code"], self._main.__dict__
        linecache.cache[SCRIPT] = (len(text), None, text.splitlines(True), SCRIPT)
        sdk.begin(self.sdk, self.session.job)
        if "servers" in text:
            g["servers"] = importlib.import_module("servers")
        if self.session.job.get("callTool"):
            g["callTool"] = g["call_tool"] = servers.call_tool(self.calls)
        return g

    def _overdue(self, signum: int, frame: types.FrameType | None) -> None:
        """End the script that has used its time, wherever it is; it cannot catch that."""
        session = self.session
        if session.channel.writing:
            signal.setitimer(signal.ITIMER_PROF, 0.002)
            return
        most = session.limits["cpuMs"]
        fault = session.fault("timeout", f"the script used more than {most} ms of CPU time, calls not counted (sandbox.cpuMs)")
        fault["details"] = {"limit": "cpu", "limitMs": most}
        session.finish_with(fault, frame)


def _leave(status: Any = 0) -> NoReturn:
    raise SystemExit(status)
