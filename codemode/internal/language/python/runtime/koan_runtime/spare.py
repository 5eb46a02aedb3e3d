"""The process of the next script: forked before anybody asks for it, so that nobody waits for that."""

from __future__ import annotations

import os
from os import _exit
from typing import NoReturn

from . import check, confine, declare, jsontext, script
from .channel import Channel, Frame, Kind
from .encoding import Encoder
from .program import compiled
from .stage import Stage


class Spare:
    """A process that waits for its job. It has what its caller may call, and nothing of another script."""

    def __init__(self, stage: Stage, filter: str, statm: int, others: tuple[int, ...] = ()) -> None:
        """Fork it. others are descriptors of this process that it must not have."""
        heard, done = os.pipe()
        told, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            for fd in (heard, tell, *others):
                os.close(fd)
            _run(stage, filter, statm, Channel(told, -1), done)
        os.close(done)
        os.close(told)
        self.descriptors = heard, tell
        self._frames = Channel(-1, tell)

    def tell(self, frame: Frame) -> None:
        """Pass on a frame of the host: what the caller may call, or the job."""
        self._frames.write(Kind(frame.kind), frame.id, frame.payload)

    def wait(self) -> str:
        """Wait until its job has ended, and return what ended it otherwise, "" for nothing."""
        heard, tell = self.descriptors
        os.close(tell)
        done = os.read(heard, 1)
        os.close(heard)
        _, status = os.waitpid(self.pid, 0)
        if done and status == 0:
            return ""
        return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"


def _run(stage: Stage, filter: str, statm: int, frames: Channel, done: int) -> NoReturn:
    """Wait for a job, serve it, and end this process."""
    _warm()
    while True:
        frame = frames.read()
        if frame is None:  # the zygote has ended
            _exit(0)
        if frame.kind == Kind.JOB:
            break
        stage.bind(jsontext.read(frame.payload))
    data = confine.data_bytes(statm)
    os.close(statm)
    frames.close()
    stage.session.channel.write(Kind.ACCEPTED, frame.id)
    stage.begin(jsontext.read(frame.payload), filter, data, done)
    match stage.session.job["task"]:
        case "validate":
            check.run(stage)
        case "declare":
            declare.run(stage.session)
        case _:
            script.run(stage)


def _warm() -> None:
    """Touch what each script touches, while nobody waits: the kernel copies a page at the first write to it."""
    compiled("def f(x):\n    return x\nf(1)")
    Encoder("the result", result=True).encode({"a": [1, "b"]})
    jsontext.read(jsontext.write({"a": [1, "b"]}))
