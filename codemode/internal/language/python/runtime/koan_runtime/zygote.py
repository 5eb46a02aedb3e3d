"""The process of one caller: it forks for each script, and nothing of a script reaches it."""

from __future__ import annotations

import builtins
import gc
import json
import os
import random
import sys
import threading
from os import _exit
from typing import Any, NoReturn

import _koan_preload  # noqa: F401  what scripts usually import
from . import check, confine, declare, loop, output, rows, script, tape
from .channel import FRAMES_IN, FRAMES_OUT, Channel, Frame, Kind
from .jsontext import read, write
from .session import Session

_CONFIG = "/koan/config.json"
_EXIT_ORPHAN = 3
_EXIT_BROKEN = 4
_EXIT_ENDED = 6
# The open /proc/self/statm of this process, by which it knows its own size.
_STATM = 3
_THREAD_STACK = 1 << 20


def main() -> NoReturn:
    """Confine this process, say that it is ready, and serve jobs until the host has no more."""
    with open(_CONFIG, encoding="utf-8") as f:
        config: dict[str, Any] = json.load(f)
    _prepare(config)
    channel = Channel(FRAMES_IN, FRAMES_OUT)
    data = confine.data_bytes(_STATM)
    confine.install_filter(config["filters"]["zygote"])
    channel.write(Kind.READY, 0, write({**config["ready"], "dataBytes": data, "sizeBytes": data}))
    bindings: dict[str, Any] = {}
    while True:
        frame = channel.read()
        if frame is None:
            _exit(_EXIT_ORPHAN)
        if frame.kind == Kind.BINDINGS:
            bindings = read(frame.payload)
        elif frame.kind == Kind.JOB:
            _serve(channel, frame, bindings, config)
        elif frame.kind == Kind.PROBE:
            _probe(channel, config)
        else:
            _exit(_EXIT_BROKEN)


def _prepare(config: dict[str, Any]) -> None:
    """Load what scripts use, and have it take time and chance from the tape."""
    path = list(sys.path)
    sys.path.extend(config.get("modulePath") or [])
    for name in config["vocabulary"].get("modules") or []:
        try:
            __import__(name)
        except Exception as e:
            sys.exit(f"codeMode.pythonModules: {name} cannot be imported where scripts run: {type(e).__name__}: {e}"[:400])
    sys.path[:] = path
    rows.teach_json()
    tape.install()
    threading.stack_size(_THREAD_STACK)
    sys.dont_write_bytecode = True
    sys.set_int_max_str_digits(0)  # integers are exact; the limit of time bounds them
    os.chdir(confine.WORKSPACE)
    gc.collect()
    gc.freeze()


def _serve(channel: Channel, frame: Frame, bindings: dict[str, Any], config: dict[str, Any]) -> None:
    """Run one job in a process of its own, and wait for the end of it."""
    heard, said = os.pipe()
    data = confine.data_bytes(_STATM)
    pid = os.fork()
    if pid == 0:
        os.close(heard)
        os.close(_STATM)
        _run(channel, frame, bindings, config, data, said)
    os.close(said)
    done = os.read(heard, 1)
    os.close(heard)
    _, status = os.waitpid(pid, 0)
    if not done or status != 0:
        os.write(2, f"koan: the script's process ended: {_ending(status)}".encode())
        _exit(_EXIT_ENDED)
    confine.clear_workspace()


def _ending(status: int) -> str:
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"


def _run(channel: Channel, frame: Frame, bindings: dict[str, Any], config: dict[str, Any], data: int, done: int) -> NoReturn:
    """Serve a job in this process, and end it."""
    channel.write(Kind.ACCEPTED, frame.id)
    job: dict[str, Any] = read(frame.payload)
    session = Session(channel, job, bindings, config["vocabulary"], done)
    tape.begin(job["nowMs"], job["seed"])
    script.watch_cpu(session)
    confine.limit(data, session.limits["memoryBytes"], session.limits["cpuMs"])
    confine.install_filter(config["filters"]["script"])
    sys.setrecursionlimit(max(session.limits["maxRecursion"], 200) + 100)
    output.capture(session)
    os._exit = _leave
    for name in ("exit", "quit"):
        setattr(builtins, name, _leave)
    match job["task"]:
        case "validate":
            check.run(session)
        case "declare":
            declare.run(session)
        case _:
            script.run(session)
    _exit(_EXIT_BROKEN)


def _leave(status: Any = 0) -> NoReturn:
    raise SystemExit(status)


def _probe(channel: Channel, config: dict[str, Any]) -> NoReturn:
    """Try from inside what the confinement must prevent."""
    from . import probe

    pid = os.fork()
    if pid == 0:
        confine.install_filter(config["filters"]["script"])
        channel.write(Kind.REPORT, 0, write(probe.checks()))
        _exit(0)
    os.waitpid(pid, 0)
    channel.read()
    _exit(0)


__all__ = ["main", "loop", "random"]
