"""The process of one caller: it forks for each script, and nothing of a script reaches it."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import traceback
from os import _exit, write
from typing import Any, NoReturn

import _koan_preload  # noqa: F401  what scripts usually import
from . import confine, jsontext, rows, tape
from .channel import FRAMES_IN, FRAMES_OUT, Channel, Frame, Kind
from .spare import Spare
from .stage import Stage

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
    stage = Stage(channel, config["vocabulary"])
    gc.collect()
    gc.freeze()
    data = confine.data_bytes(_STATM)
    confine.install_filter(config["filters"]["zygote"])
    try:
        spare = Spare(stage, config["filters"]["script"], _STATM)
        channel.write(Kind.READY, 0, jsontext.write({**config["ready"], "dataBytes": data, "sizeBytes": data}))
        _serve(stage, spare, config)
    except Exception:
        write(2, traceback.format_exc().encode())
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
    if (numpy := sys.modules.get("numpy")) is not None:
        # OpenBLAS reserves tens of megabytes at the first product, and tries again for ever where a limit refuses them.
        # On some processors it has a way without them for small matrices.
        numpy.dot(numpy.eye(300), numpy.eye(300))
    rows.teach_json()
    tape.install()
    threading.stack_size(_THREAD_STACK)
    sys.dont_write_bytecode = True
    sys.set_int_max_str_digits(0)  # integers are exact; the limit of time bounds them
    confine.clear_workspace()  # modules keep their caches there


def _serve(stage: Stage, spare: Spare, config: dict[str, Any]) -> None:
    """Serve what the host asks for until it closes the pipe. There is always one process that waits for the next job."""
    channel = stage.session.channel
    while True:
        frame = channel.read()
        if frame is None:
            _exit(_EXIT_ORPHAN)
        match frame.kind:
            case Kind.BINDINGS:
                spare.tell(frame)
                stage.bind(jsontext.read(frame.payload))
                gc.freeze()
            case Kind.JOB:
                spare.tell(frame)
                script, spare = spare, Spare(stage, config["filters"]["script"], _STATM, spare.descriptors)
                if ending := script.wait():
                    write(2, f"koan: the script's process ended: {ending}".encode())
                    _exit(_EXIT_ENDED)
                confine.clear_workspace()
            case Kind.PROBE:
                _probe(channel, config)
            case _:
                _exit(_EXIT_BROKEN)


def _probe(channel: Channel, config: dict[str, Any]) -> NoReturn:
    """Try from inside what the confinement must prevent."""
    from . import probe

    pid = os.fork()
    if pid == 0:
        confine.install_filter(config["filters"]["script"])
        channel.write(Kind.REPORT, 0, jsontext.write(probe.checks()))
        _exit(0)
    os.waitpid(pid, 0)
    channel.read()
    _exit(0)
