"""Running one script to its end."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import sys
from typing import Any, NoReturn

from koan.errors import KoanError

from . import jsontext, left, loop, output
from .program import ACTION, LAST, NOTHING, RESULT_NAMES, Program, compiled, defines
from .session import Session
from .stage import Returned, Stage


def run(stage: Stage) -> NoReturn:
    """Run the job's script, and end the process with its outcome."""
    session = stage.session
    try:
        program = compiled(session.job["code"])
    except SyntaxError as e:
        session.finish({"fault": session.syntax_fault(e)})
    except (RecursionError, MemoryError) as e:
        session.finish({"fault": session.fault("syntax_error", f"the script is nested too deeply to be compiled ({type(e).__name__})")})
    try:
        execution = _Execution(stage, program)
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
    if value is NOTHING:
        return {}
    raw = output.passed(session, value, "the result")
    return {"result": jsontext.read(raw)}


def _assigned(module: dict[str, Any]) -> Any:
    return next((module[name] for name in RESULT_NAMES if name in module), NOTHING)


class _Execution:
    """One run of a compiled script."""

    def __init__(self, stage: Stage, program: Program) -> None:
        self._session = stage.session
        self._calls = stage.calls
        self._program = program
        self._runner: asyncio.Runner | None = None  # of a script that awaits outside of coroutines of its own
        self.globals = stage.names()

    def value(self) -> Any:
        """Run the script, and return its value."""
        returned, ended = NOTHING, False
        try:
            if self._program.code.co_flags & inspect.CO_COROUTINE:
                self._run(eval(self._program.code, self.globals))
            else:
                exec(self._program.code, self.globals)
        except Returned as e:
            returned, ended = self._settle(e.value), True
        if self._session.job.get("action") and defines(self._program.tree, ACTION):
            return self._call(ACTION, always=True)
        entry = self._session.job.get("entryFunction") or ("" if ended else self._program.entry)
        if entry:
            returned, ended = self._given(self._call(entry), entry), True
        assigned = _assigned(self.globals)
        if assigned is not NOTHING:
            return self._settle(assigned)
        if ended:
            return returned
        return self._given(self._settle(self.globals.get(LAST, NOTHING)), LAST)

    def _given(self, value: Any, name: str) -> Any:
        """Return what a function, or the expression at the end, has given: its None may be no value."""
        return NOTHING if value is None and not self._program.gives(name) else value

    def leave(self) -> None:
        """Say what the script has left behind: an error that nothing saw, tasks, coroutines that nothing awaited."""
        if self._runner is not None and (pending := asyncio.all_tasks(self._runner.get_loop())):
            left.warn_of_tasks(self._session, pending)
            self._runner.run(left.cancelled(pending))
        if error := self._calls.unseen():
            raise error
        left.warn_of_coroutines(self._session, self._calls.unawaited.values())

    def _run(self, awaitable: Any) -> Any:
        """Wait for what can be awaited, and return its outcome."""
        if self._runner is None:
            self._runner = asyncio.Runner(loop_factory=lambda: loop.HostLoop(self._calls))
        return self._runner.run(self._awaited(awaitable))

    @staticmethod
    async def _awaited(awaitable: Any) -> Any:
        return await awaitable

    def _call(self, name: str, always: bool = False) -> Any:
        """Call a function of the script: with the arguments, if it takes any or always."""
        function = self.globals.get(name)
        if not callable(function):
            raise KoanError(f"{name!r} is not a function of the script", code="script_error", hint=f"Define it at the top level: def {name}(): ...")
        given: list[Any] = []
        if always or (name != LAST and _takes_one(function, self._session.job.get("args") is None)):
            given = [self.globals["SDK"].args]
        return self._settle(function(*given))

    def _settle(self, value: Any) -> Any:
        """Await what can be awaited."""
        return self._run(value) if inspect.isawaitable(value) else value


def _takes_one(function: Any, required: bool) -> bool:
    """Report whether a function takes an argument by its position, or cannot do without."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and not (required and p.default is not p.empty) for p in parameters)
