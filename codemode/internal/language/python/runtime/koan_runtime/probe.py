"""What the confinement must prevent, tried from inside it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any


def checks() -> list[dict[str, Any]]:
    """Return a check for each attempt: it is passed where the attempt fails."""
    found = []
    for name, attempt in _attempts().items():
        try:
            attempt()
            found.append({"name": name, "ok": False})
        except OSError as e:
            found.append({"name": name, "ok": True, "detail": str(e)[:200]})
    names = sorted(os.environ)
    found.append({"name": "process: the environment is the interpreter's own", "ok": not any("KOAN" in n or "TOKEN" in n for n in names)})
    return found


def _attempts() -> dict[str, Callable[[], Any]]:
    return {
        "namespaces: read the users of the system": lambda: open("/etc/passwd").close(),
        "namespaces: list the logs of the system": lambda: os.listdir("/var/log"),
        "namespaces: see processes": lambda: os.listdir("/proc/1"),
        "namespaces: write beside the workspace": lambda: open("/koan/x", "w").close(),
        "seccomp: open a socket: tcp": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
        "seccomp: open a socket: udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "seccomp: open a socket: unix": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
        "seccomp: fork": os.fork,
        "seccomp: start a program": lambda: os.execv("/bin/sh", ["sh"]),
        "seccomp: signal another process": lambda: os.kill(1, 9),
        "seccomp: make a memory file": lambda: os.memfd_create("x"),
        "seccomp: change user": lambda: os.setuid(0),
        "seccomp: trace": lambda: os.chroot("/workspace"),
    }
