"""The last walls, which the process puts up itself: filters of system calls, and limits of the kernel."""

from __future__ import annotations

import base64
import ctypes
import os
import resource
import shutil

_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_INSTRUCTION_BYTES = 8

WORKSPACE = "/workspace"
_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def install_filter(text: str) -> None:
    """Put a filter of system calls on this process and what it starts, for good. It is in base64."""
    raw = base64.b64decode(text)
    program = _Program(len(raw) // _INSTRUCTION_BYTES, raw)
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls was refused")


def data_bytes(statm: int) -> int:
    """Return the private memory of this process in bytes, by its open /proc/self/statm; 0 if that is not known."""
    try:
        return int(os.pread(statm, 256, 0).split()[5]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return 0


# How much more than its limit of memory a script may map, in bytes: stacks of its threads, and what the interpreter
# itself maps ahead.
_DATA_SLACK = 8 << 20
_FILE_BYTES = 64 << 20


def limit(data: int, memory: int, cpu_ms: int) -> None:
    """Set the kernel's limits for a script. data is what the process had before."""
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: _FILE_BYTES,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CPU: cpu_ms // 1000 * 4 + 5,  # a backstop: the host's own limit comes earlier
    }
    if data > 0:
        limits[resource.RLIMIT_DATA] = data + memory + _DATA_SLACK
    for which, most in limits.items():
        resource.setrlimit(which, (most, most))


def clear_workspace() -> None:
    """Remove everything that a script has left in its folder."""
    os.chdir("/")
    os.chmod(WORKSPACE, 0o700)
    for entry in os.scandir(WORKSPACE):
        if entry.is_dir(follow_symlinks=False):
            _open_folders(entry.path)
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
    os.chdir(WORKSPACE)


def _open_folders(path: str) -> None:
    """Give back the rights to remove what is in a folder, which a script may have taken."""
    os.chmod(path, 0o700)
    for at, folders, _ in os.walk(path):
        for name in folders:
            inner = os.path.join(at, name)
            if not os.path.islink(inner):
                os.chmod(inner, 0o700)
