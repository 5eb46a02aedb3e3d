"""What is not deterministic, made so: the clock, and random numbers.

The clock starts at the job's time, advances with calls and waits, and by a microsecond per reading; random numbers
come from the job's seed. Another attempt and a replay see the same.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
import os
import random
import sys
import time
import uuid
from typing import Any

_real_random = random.Random


class Clock:
    """The script's time, in microseconds."""

    def __init__(self, now_ms: int) -> None:
        self.start = self.now = now_ms * 1000

    def read(self) -> int:
        """Return the time in microseconds since 1970."""
        self.now += 1
        return self.now

    def advance(self, us: int) -> None:
        """Move the clock on to a time; it never goes back."""
        self.now = max(self.now, us)

    def since_start_ms(self) -> int:
        """Return how long the script has run, in milliseconds."""
        return (self.now - self.start) // 1000


clock = Clock(0)
_source = _real_random(0)


def begin(now_ms: int, seed: int) -> None:
    """Set the clock and the seed of a script."""
    clock.start = clock.now = now_ms * 1000
    _source.seed(seed)
    random.seed(_source.getrandbits(128))
    if (numpy := sys.modules.get("numpy")) is not None:  # whose own source was seeded when it was loaded
        numpy.random.seed(_real_random(seed).getrandbits(32))


def _urandom(n: int) -> bytes:
    return _source.randbytes(n)


def install() -> None:
    """Have the standard library take time and random numbers from here."""
    _install_random()
    _install_time()
    _install_datetime()


def _install_random() -> None:
    seed = random.Random.seed

    def seeded(self: random.Random, a: Any = None, version: int = 2) -> None:
        seed(self, _source.getrandbits(128) if a is None else a, version)

    setattr(random.Random, "seed", seeded)
    random._urandom = _urandom  # type: ignore[attr-defined]
    os.urandom = _urandom
    sys.modules["posix"].urandom = _urandom  # type: ignore[attr-defined]
    if hasattr(os, "getrandom"):
        os.getrandom = lambda size, flags=0: _urandom(size)
    uuid._generate_time_safe = None  # type: ignore[attr-defined]
    uuid.getnode = lambda: 0x02004B4F414E  # a node of nobody


def set_sleep(sleep: Any) -> None:
    """Set what time.sleep does."""
    time.sleep = sleep


def _install_time() -> None:
    real = {name: getattr(time, name) for name in ("gmtime", "localtime", "strftime", "asctime", "ctime")}

    def seconds() -> float:
        return clock.read() / 1e6

    time.time = seconds
    time.time_ns = lambda: clock.read() * 1000
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, lambda: (clock.read() - clock.start) / 1e6)
        setattr(time, name + "_ns", lambda: (clock.read() - clock.start) * 1000)
    time.clock_gettime = lambda clk_id: seconds()
    time.clock_gettime_ns = lambda clk_id: clock.read() * 1000
    for name in ("gmtime", "localtime", "ctime"):
        setattr(time, name, _defaulting(real[name], seconds))
    setattr(time, "asctime", lambda t=None: real["asctime"](time.gmtime() if t is None else t))
    setattr(time, "strftime", lambda format, t=None: real["strftime"](format, time.gmtime() if t is None else t))


def _defaulting(convert: Any, seconds: Any) -> Any:
    return lambda secs=None: convert(seconds() if secs is None else secs)


def _install_datetime() -> None:
    utc = datetime.timezone.utc

    def now(cls: Any, tz: datetime.tzinfo | None = None) -> Any:
        at = cls.fromtimestamp(0, utc) + datetime.timedelta(microseconds=clock.read())
        return at.replace(tzinfo=None) if tz is None else at.astimezone(tz)

    def utcnow(cls: Any) -> Any:
        return now(cls)

    def today(cls: Any) -> Any:
        at = now(datetime.datetime)
        return cls(at.year, at.month, at.day) if not issubclass(cls, datetime.datetime) else now(cls)

    _replace(datetime.datetime, now=now, utcnow=utcnow, today=today)
    _replace(datetime.date, today=today)


def _replace(cls: type, **methods: Any) -> None:
    """Replace class methods of a type that is written in C."""
    members = gc.get_referents(cls.__dict__)[0]
    for name, method in methods.items():
        members[name] = classmethod(method)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
