"""Running one script to its end."""

from __future__ import annotations

import asyncio
import atexit
import builtins
import importlib.abc
import inspect
import linecache
import signal
import sys
import types
from typing import Any, NoReturn

import koan
from koan.errors import KoanError, ModuleUnavailableError

from . import jsontext, left, loop, output, sdk, servers, tape
from .names import did_you_mean
from .program import LAST, RESULT_NAMES, RETURN, Program, compiled
from .session import SCRIPT, Session


class Returned(BaseException):
    """A top-level return."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Unavailable(importlib.abc.MetaPathFinder):
    """Says of modules that nobody finds what there is."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if "." in fullname or fullname.startswith("_") or not self._asked():
            return
        extra = self._session.vocabulary.get("modules") or []
        there = "the standard library, servers, koan.errors" + "".join(", " + m for m in extra)
        entry = self._session.vocabulary["faults"]["capability_unsupported"]
        raise ModuleUnavailableError(
            f"No module named {fullname!r}{did_you_mean(fullname, sys.stdlib_module_names, 0.8)}; scripts can import {there}",
            code="capability_unsupported",
            hint="Use what there is, or ask the operator to add the module to codeMode.pythonModules.",
            retry=entry["retry"],
        )

    @staticmethod
    def _asked() -> bool:
        """Report whether the script itself imports, and not a module that does without."""
        frame = sys._getframe(2)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back  # type: ignore[assignment]
        return frame is not None and frame.f_code.co_filename == SCRIPT


def run(session: Session) -> None:
    """Run a job's script, and end the process with its outcome."""
    try:
        program = compiled(session.job["code"])
    except SyntaxError as e:
        session.finish({"fault": session.syntax_fault(e)})
    except (RecursionError, MemoryError) as e:
        session.finish({"fault": session.fault("syntax_error", f"the script is nested too deeply to be compiled ({type(e).__name__})")})
    calls = loop.Calls(session)
    try:
        execution = _Execution(session, calls, program)
        value = execution.value()
        execution.leave()
        end(session, outcome(session, value))
    except SystemExit as e:
        if e.code is not None and e.code != 0:
            end(session, {"fault": session.fault_of_exit(e)})
        end(session, outcome(session, _assigned(sys.modules["__main__"].__dict__)))
    except BaseException as e:
        end(session, {"fault": session.fault_of(e)})


def end(session: Session, result: dict[str, Any]) -> NoReturn:
    """Run the functions that atexit knows, as part of the script, and end the process. An error in one is logged."""
    atexit._run_exitfuncs()
    output.flush()
    session.finish(result)


def outcome(session: Session, value: Any) -> dict[str, Any]:
    """Return the result frame's content for the value of a script."""
    if value is None:
        return {}
    raw = output.passed(session, value, "the result")
    return {"result": jsontext.read(raw)}


_ABSENT = object()


def _assigned(module: dict[str, Any]) -> Any:
    for name in RESULT_NAMES:
        if module.get(name) is not None:
            return module[name]
    return None


class _Execution:
    """One run of a compiled script."""

    def __init__(self, session: Session, calls: loop.Calls, program: Program) -> None:
        self._session = session
        self._calls = calls
        self._program = program
        self._runner = asyncio.Runner(loop_factory=lambda: loop.HostLoop(calls))
        asyncio.set_event_loop_policy(loop.Policy(calls))
        tape.set_sleep(loop.sleeper(calls))
        left.watch(session)
        servers.install(calls)
        sys.meta_path.append(Unavailable(session))
        self.globals = self._module(calls)

    def _module(self, calls: loop.Calls) -> dict[str, Any]:
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        text = self._session.job["code"]
        linecache.cache[SCRIPT] = (len(text), None, text.splitlines(True), SCRIPT)
        g = main.__dict__
        g.update(__file__=SCRIPT, __builtins__=builtins, SDK=sdk.build(self._session), KoanError=KoanError, asyncio=asyncio)
        g[RETURN] = Returned
        setattr(koan, "SDK", g["SDK"])
        if "servers" in text:
            import importlib

            g["servers"] = importlib.import_module("servers")
        if self._session.job.get("callTool"):
            g["callTool"] = g["call_tool"] = servers.call_tool(calls)
        return g

    def value(self) -> Any:
        """Run the script, and return its value."""
        returned: Any = _ABSENT
        try:
            if self._program.code.co_flags & inspect.CO_COROUTINE:
                self._runner.run(self._awaited(eval(self._program.code, self.globals)))
            else:
                exec(self._program.code, self.globals)
        except Returned as e:
            returned = self._settle(e.value)
        entry = self._session.job.get("entryFunction") or (self._program.entry if returned is _ABSENT else "")
        if self._session.job.get("action"):
            entry = "run"
        if entry:
            returned = self._call(entry)
        if self._session.job.get("action"):
            return None if returned is _ABSENT else returned
        assigned = _assigned(self.globals)
        if assigned is not None:
            return self._settle(assigned)
        if returned is not _ABSENT:
            return returned
        return self._settle(self.globals.get(LAST))

    def leave(self) -> None:
        """Say what the script has left behind: an error that nothing saw, tasks, coroutines that nothing awaited."""
        event_loop = self._runner.get_loop()
        if pending := asyncio.all_tasks(event_loop):
            left.warn_of_tasks(self._session, pending)
            self._runner.run(left.cancelled(pending))
        if error := self._calls.unseen():
            raise error
        left.warn_of_coroutines(self._session, self._calls.unawaited.values())

    @staticmethod
    async def _awaited(coroutine: Any) -> Any:
        return await coroutine

    def _call(self, name: str) -> Any:
        function = self.globals.get(name)
        if not callable(function):
            raise KoanError(f"{name!r} is not a function of the script", code="script_error", hint=f"Define it at the top level: def {name}(): ...")
        given: list[Any] = []
        if self._session.job.get("action") or (name != LAST and _takes_one(function, self._session.job.get("args") is None)):
            given = [self.globals["SDK"].args]
        return self._settle(function(*given))

    def _settle(self, value: Any) -> Any:
        """Await what can be awaited."""
        if inspect.isawaitable(value):
            return self._runner.run(self._awaited(value))
        return value


def _takes_one(function: Any, required: bool) -> bool:
    """Report whether a function takes an argument by its position, or cannot do without."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and not (required and p.default is not p.empty) for p in parameters)


def watch_cpu(session: Session) -> None:
    """End the script when it has used its time, wherever it is; it cannot catch that."""

    def overdue(signum: int, frame: types.FrameType | None) -> None:
        if session.channel.writing:
            signal.setitimer(signal.ITIMER_PROF, 0.002)
            return
        most = session.limits["cpuMs"]
        fault = session.fault("timeout", f"the script used more than {most} ms of CPU time, calls not counted (sandbox.cpuMs)")
        fault["details"] = {"limit": "cpu", "limitMs": most}
        session.finish_with(fault, frame)

    signal.signal(signal.SIGPROF, overdue)
    signal.setitimer(signal.ITIMER_PROF, max(session.limits["cpuMs"], 1) / 1000)
