"""Plugins for apps made with Koan for Go, written in Python.

    from koan_plugin import Plugin

    plugin = Plugin("dice", version="1.0.0", description="Rolls dice.")

    @plugin.function(read_only=True, example={"sides": 6})
    def roll(sides: int = 6) -> dict[str, int]:
        "Roll one die."
        return {"value": random.randint(1, sides)}

    if __name__ == "__main__":
        plugin.serve()

What belongs here: the author's types and the process's side of the plugin protocol.
"""

from . import _output
from ._call import AsyncCall, Call, Caller
from ._fault import Cancelled, Code, Fault
from ._file import AsyncFile, AsyncNewFile, File, FileHandle, NewFile
from ._metric import Metric
from ._plugin import Plugin
from ._settings import Setting
from ._types import Field

_output.guard()

__all__ = [
    "AsyncCall",
    "AsyncFile",
    "AsyncNewFile",
    "Call",
    "Caller",
    "Cancelled",
    "Code",
    "Fault",
    "Field",
    "File",
    "FileHandle",
    "Metric",
    "NewFile",
    "Plugin",
    "Setting",
]
