#!/usr/bin/env python3
"""The plugin of the tests of kits, in Python."""

from __future__ import annotations

import asyncio
import urllib.request
from dataclasses import dataclass
from typing import Annotated, Any

from koan_plugin import AsyncCall, Call, Code, Fault, Field, FileHandle, Metric, Plugin, Setting


@dataclass
class Settings:
    city: Annotated[str, Setting("Where the weather is.")] = "Berlin"
    api_key: Annotated[str, Setting("Of the service.", secret=True)] = ""


plugin = Plugin(
    "weather",
    version="1.2.3",
    description="Says how the weather is.",
    settings=Settings,
    fault_codes=["weather_out"],
    needs=["koan::Todo.*"],
    keeps_state=True,
    metrics=[Metric("looks", "How often somebody looked."), Metric("look_seconds", histogram=True)],
)


@plugin.configure
def configure(settings: Settings) -> None:
    if settings.city == "Atlantis":
        raise ValueError(f"city: it has sunk, says {settings.api_key}")


@dataclass
class Report:
    city: str
    text: str
    number: int | None = None


@plugin.function(read_only=True, example={"text": "hi"})
def now(call: Call, text: str, number: Annotated[int | None, Field("Said again.")] = None, key: bool = False) -> Report:
    """Say how the weather is."""
    call.progress(1, 2, "looking at " + text)
    with call.span("look"):
        call.measure("looks")
        call.measure("look_seconds", 0.25)
    call.log.warning("looked", at=text)
    if key:
        call.log.info("with " + plugin.settings.api_key)
        return Report(plugin.settings.city, f"{len(plugin.settings.api_key)} characters")
    return Report(plugin.settings.city, text, number)


@plugin.function(outside=True)
def fail(how: str) -> None:
    """Fail."""
    if how == "fault":
        raise Fault(Code.CONFLICT, "taken", hint="take another", path="/how", retry="never")
    if how == "own":
        raise Fault("weather_out", "no weather", details={"since": 3})
    raise RuntimeError("inner words")


@plugin.function(read_only=True)
async def slow(call: AsyncCall, ms: int) -> dict[str, int]:
    """Wait for better weather."""
    await asyncio.sleep(ms / 1000)
    return {"ms": ms}


@plugin.function(read_only=True)
def reach(path: str = "", url: str = "") -> dict[str, str]:
    """Read what is not the plugin's."""
    if url:
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return {"text": answer.read().decode()}
        except urllib.error.HTTPError as error:
            return {"text": f"{error.code} {error.read().decode()}"}
        except urllib.error.URLError:
            return {"text": "not reached"}
    with open(path) as file:
        return {"text": file.read()}


@plugin.function(read_only=True)
def much(size: int) -> dict[str, str]:
    """Say much."""
    return {"text": "x" * size}


@plugin.function()
def ask(call: Call, operation: str, input: dict[str, Any]) -> dict[str, Any]:
    """Ask the app."""
    return {"got": call.invoke(operation, input)}


@plugin.function()
def count(call: Call) -> dict[str, int]:
    """Count these calls, for good."""
    assert call.state_dir is not None
    kept = call.state_dir / "count"
    n = int(kept.read_text()) + 1 if kept.exists() else 1
    kept.write_text(str(n))
    return {"count": n}


@dataclass
class Copied:
    file: FileHandle
    size: int


@plugin.function()
def copy(call: Call, file: FileHandle) -> Copied:
    """Copy a file."""
    with call.file(file) as source, call.create_file("copy of " + source.handle.name, source.media_type) as target:
        while piece := source.read(1 << 20):
            target.write(piece)
    return Copied(target.handle, target.handle.size)


if __name__ == "__main__":
    plugin.serve()
