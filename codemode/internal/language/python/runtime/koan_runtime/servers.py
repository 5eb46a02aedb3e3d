"""The package `servers`: wrappers of the tools of all servers, as coroutines."""

from __future__ import annotations

import asyncio
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Awaitable, Callable
from typing import Any

from koan.errors import KoanError, ModuleMemberError, ModuleUnavailableError

from .channel import Reply
from .left import caller_line
from .loop import Calls
from .names import did_you_mean, functions_of, it_has, server_module
from .sdk import joined

NAME = "servers"
CLIENT = "client"
_MODULES = (CLIENT, CLIENT + ".mcp_client")
_WHOLE = "whole:"
_FILES = "files:"
_ENTITIES = "koan::"


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `servers` and its modules."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.modules: dict[str, dict[str, Any]] = {}

    def bind(self, bindings: dict[str, Any]) -> None:
        """Set the servers that there are."""
        self.modules.clear()
        for server in bindings.get("servers") or []:
            self.modules.setdefault(server_module(server["id"]), server)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname in _MODULES:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname == CLIENT)
        head, _, rest = fullname.partition(".")
        if head != NAME:
            return None
        server, _, function = rest.partition(".")
        if server and server not in self.modules:
            known = ", ".join(sorted(self.modules)) or "none"
            message = f"No module named {fullname!r}{it_has(server, sorted(self.modules), has='there are')}"
            raise ModuleUnavailableError(message, code="server_not_found", retry="fix", hint=f"Import one of these: {known}.", details={"import": fullname})
        if function:  # an import of a name looks for a module where the server's has no such member
            module = f"{head}.{server}"
            message, hint = _absent(module, function, sys.modules[module].__dict__), "Import what there is."
            if callable(sys.modules[module].__dict__.get(function)):
                message, hint = f"{module}.{function} is a function, not a module", f"Write `from {module} import {function}`."
            raise ModuleMemberError(message, code="tool_not_found", retry="fix", hint=hint, details={"import": f"{head}.{server}"})
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        if spec.name in _MODULES:
            return types.ModuleType(spec.name)
        return ServerModule(spec.name) if "." in spec.name else ServersPackage(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        _, _, rest = module.__name__.partition(".")
        if module.__name__ in _MODULES:
            module.__dict__["call_tool"] = self._call_tool
            return
        if not rest:
            module.__dict__["__all__"] = list(self.modules)
            return
        fill(module, self._calls, self.modules[rest])

    def _call_tool(self, server_id: str, name: str, arguments: dict[str, Any] | None = None) -> Awaitable[Any]:
        """Call a tool of a server by the names that the protocol has for them."""
        for server in self._calls.session.bindings.get("servers") or []:
            if server_id not in (server["id"], server.get("name"), server_module(server["id"])):
                continue
            tool = next((t for t in server.get("tools") or [] if name in (t["name"], t["export"])), None)
            if tool is None and not server.get("any"):
                raise self._calls.session.error(
                    "tool_not_found", f"the server {server_id} has no tool {name!r}{did_you_mean(name, [t['name'] for t in server.get('tools') or []])}"
                )
            return wrapper(self._calls, server, tool or {"name": name, "id": server["any"], "any": name}, name, whole=False)(arguments or {})
        raise self._calls.session.error("server_not_found", f"there is no server {server_id!r}{did_you_mean(server_id, self.modules)}")


class ServersPackage(types.ModuleType):
    """`servers`: its members are imported at first use."""

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.__dict__.get("__all__", [])]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        try:
            return importlib.import_module(f"{NAME}.{name}")
        except ModuleNotFoundError as e:
            raise AttributeError(str(e)) from None


class ServerModule(types.ModuleType):
    """`servers.<server_module>`, and what is like it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        dynamic = self.__dict__.get("_dynamic")
        if dynamic is not None:
            return dynamic(name)
        raise AttributeError(_absent(self.__name__, name, self.__dict__))


class Raw(ServerModule):
    """`servers.<server_module>.raw`. It is also the function of a tool of that name."""

    def __call__(self, *args: Any, **members: Any) -> Any:
        if (tool := self.__dict__["_tool"]) is None:
            raise TypeError(f"{self.__name__} holds the functions that return whole results: write {self.__name__}.<function>(...)")
        return tool(*args, **members)


def _absent(module: str, name: str, members: dict[str, Any]) -> str:
    known = [k for k in members if not k.startswith("_")]
    return f"module {module!r} has no function {name!r}{it_has(name, known)}"


def fill(module: types.ModuleType, calls: Calls, server: dict[str, Any]) -> None:
    """Define the functions of a server's module."""
    raw = Raw(module.__name__ + ".raw")
    names: list[str] = []
    for tool, own in functions_of(server.get("tools") or []):
        for name in own:
            if name in module.__dict__:
                continue
            names.append(name)
            module.__dict__[name] = wrapper(calls, server, tool, name, whole=False)
            raw.__dict__[name] = wrapper(calls, server, tool, name, whole=True)
    for group in server.get("groups") or []:
        members = {f["name"]: wrapper(calls, server, {"name": f["name"], "id": f["id"], "leading": f.get("leading")}, f["name"], whole=False) for f in group["functions"]}
        module.__dict__[group["name"].lstrip("$")] = types.SimpleNamespace(**members)
    raw.__dict__["_tool"] = module.__dict__.get("raw")
    module.__dict__["raw"] = raw
    module.__dict__["__all__"] = names
    module.__dict__["__meta__"] = _meta(server)
    if any_id := server.get("any"):
        for of, whole in ((module, False), (raw, True)):
            of.__dict__["_dynamic"] = dynamic(calls, server, any_id, whole)


def _meta(server: dict[str, Any]) -> dict[str, Any]:
    """Return what a server's module says of it. An absent version or description is left out."""
    tools = [{"toolName": t["name"], "exportName": next(iter(names), None), "description": t.get("description")} for t, names in functions_of(server.get("tools") or [])]
    meta = {"serverId": server["id"], "serverName": server.get("name", ""), "serverVersion": server.get("version")}
    return {**_present(meta), "tools": [_present(t) for t in tools]}


def _present(members: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in members.items() if v is not None}


def dynamic(calls: Calls, server: dict[str, Any], any_id: str, whole: bool) -> Callable[[str], Any]:
    """Return what makes the wrapper of a tool of which only the name is known."""
    return lambda name: wrapper(calls, server, {"name": name, "id": any_id, "any": name}, name, whole)


def wrapper(calls: Calls, server: dict[str, Any], tool: dict[str, Any], name: str, whole: bool) -> Callable[..., Awaitable[Any]]:
    """Return the coroutine function that calls a tool."""

    options: dict[str, str] = calls.session.vocabulary["options"] if tool["id"].startswith(_ENTITIES) else {}

    async def begun(call: int, args: tuple[Any, ...], members: dict[str, Any]) -> Any:
        _, line = calls.unawaited.pop(call)
        operation = (_WHOLE if whole else "") + tool["id"]
        try:
            given: Any = joined(name, tool.get("leading") or [], args, members)
            if options:
                given = {options.get(k, k): v for k, v in given.items()}
            if tool.get("any"):
                given = {"tool": tool["any"], "input": given}
            return await started(calls, operation, given, (server["id"], tool["name"]), whole)
        except KoanError as e:
            e.called_at, e.server_id, e.tool_name = line, server["id"], tool["name"]
            raise

    def call(*args: Any, **members: Any) -> Awaitable[Any]:
        calls.made += 1
        calls.unawaited[calls.made] = (name, caller_line())
        return begun(calls.made, args, members)

    for function in (call, begun):
        function.__name__ = function.__qualname__ = name
    call.__doc__ = tool.get("description")
    return call


async def started(calls: Calls, operation: str, members: Any, tool: Any, whole: bool = False) -> Any:
    """Start a call and wait for its output."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(reply: Reply) -> None:
        if future.done():
            return
        try:
            future.set_result(calls.session.output(reply, operation, tool))
        except Exception as e:
            future.set_exception(e)

    calls.start(operation, calls.session.input(members), settle)
    out = await future
    return out["result"] if whole and isinstance(out, dict) and "result" in out else out


def call_tool(calls: Calls) -> Callable[..., Awaitable[Any]]:
    """Return callTool, which calls any operation by its id."""

    async def callTool(id: str, params: Any = None) -> Any:  # noqa: N802
        return await started(calls, _FILES + id, {} if params is None else params, None)

    return callTool
