#!/usr/bin/env python3
"""The plugin that the tests start."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from koan_plugin import AsyncCall, Call, Code, Fault, Field, FileHandle, Plugin, Setting  # noqa: E402

print("a library greets")


@dataclass
class Settings:
    city: Annotated[str, Setting("Where the weather is.")] = "Berlin"
    api_key: Annotated[str, Setting("Of the service.", secret=True)] = ""
    max_days: int = 3
    verbose: bool = False


plugin = Plugin(
    "sample",
    version="1.2.3",
    description="For tests.",
    settings=Settings,
    fault_codes=["too_loud"],
    needs=["koan::Todo.patch"],
    keeps_state=True,
)


@plugin.configure
def configure(settings: Settings) -> None:
    if settings.city == "Atlantis":
        raise ValueError("city: it has sunk")


@dataclass
class Said:
    text: str
    count: int
    about: dict[str, Any]


@plugin.function(read_only=True, example={"text": "hi"}, timeout=2.5, scopes=["say"])
def say(call: Call, text: str, count: int = 1, size: Annotated[int, Field("x's", minimum=0)] = 0) -> Said:
    """Say it again.

    Not told."""
    about = {
        "id": call.id,
        "key": call.key,
        "set": call.set,
        "dryRun": call.dry_run,
        "local": call.local,
        "trace": call.trace,
        "subject": call.caller.subject,
        "scopes": call.caller.scopes,
        "sets": call.caller.sets,
        "city": plugin.settings.city,
        "maxDays": plugin.settings.max_days,
        "state": str(call.state_dir),
        "deadline": call.remaining is not None,
    }
    return Said(text + "x" * size, count, about)


@plugin.function(outside=True)
def fail(how: str) -> None:
    """Fail."""
    if how == "fault":
        raise Fault(Code.CONFLICT, "taken", hint="take another", path="/how", details={"by": "bob"}, retry="never")
    if how == "own":
        raise Fault("too_loud", "not so loud")
    if how == "undeclared":
        raise Fault("made_up", "inner words")
    if how == "unsendable":
        raise Fault(Code.CONFLICT, "taken", details=object())
    if how == "timeout":
        raise TimeoutError("inner words")
    if how == "exit":
        sys.exit(3)
    raise RuntimeError("inner words")


@plugin.function(read_only=True)
async def report(call: AsyncCall, times: int) -> dict[str, int]:
    """Report how far it is."""
    for i in range(times):
        call.progress(i, times, f"step {i}")
        call.partial({"times": i})
        await asyncio.sleep(0)
    call.log.debug("whispered", times=times)
    call.log.warning("spoken")
    logging.getLogger("library").info("from a library")
    print("printed")
    return {"times": times}


@plugin.function(read_only=True)
def wait(call: Call, seconds: float) -> dict[str, bool]:
    """Wait as a thread does."""
    try:
        call.wait(seconds)
    finally:
        call.log.info("over", cancelled=call.cancelled)
    return {"waited": True}


@plugin.function(read_only=True)
async def wait_async(call: AsyncCall, seconds: float) -> dict[str, bool]:
    """Wait as a task does."""
    try:
        await asyncio.sleep(seconds)
    finally:
        call.log.info("over", cancelled=call.cancelled)
    return {"waited": True}


@plugin.function(read_only=True)
def stubborn(seconds: float) -> None:
    """Do not listen to anybody."""
    time.sleep(seconds)


@plugin.function()
def patch(call: Call, id: str) -> dict[str, Any]:
    """Change something of the app's."""
    return {"got": call.invoke("koan::Todo.patch", {"id": id, "count": 2**70})}


@plugin.function()
async def patch_all(call: AsyncCall, ids: list[str]) -> dict[str, list[Any]]:
    """Change many at once."""
    got = await asyncio.gather(*(call.invoke("koan::Todo.patch", {"id": id}) for id in ids))
    return {"got": got}


@dataclass
class Copied:
    file: FileHandle
    size: int


@plugin.function()
def copy(call: Call, file: FileHandle, drop: bool = False) -> Copied:
    """Copy a file."""
    with call.file(file) as source, call.create_file("copy of " + source.handle.name, source.media_type) as target:
        while piece := source.read(100_000):
            target.write(piece)
        if drop:
            raise Fault(Code.CONFLICT, "dropped")
    return Copied(target.handle, target.handle.size)


@plugin.function()
async def copy_async(call: AsyncCall, file: FileHandle) -> Copied:
    """Copy a file."""
    source = await call.file(file)
    async with await call.create_file("copy") as target:
        async for piece in source:
            await target.write(piece)
    return Copied(target.handle, target.handle.size)


@plugin.closing
def close() -> None:
    logging.info("closed")


if __name__ == "__main__":
    if os.environ.get("SAMPLE_DIES"):
        raise RuntimeError("it cannot be")
    plugin.serve()
