"""koan.code.validate for Python: syntax, and the names, options and literal inputs of SDK."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

from koan.errors import ArgumentError

from . import imports, literals
from .encoding import Encoder, NotJSON
from .jsontext import read
from .names import did_you_mean, functions_of, server_module, snake
from .program import compiled, parse
from .sdk import Function, Method, Namespace, joined
from .stage import Stage

_MOST = 100
_MOST_DETAILS = 10
_NO_TOOLS = ("raw", "resources", "prompts")  # members of a server's module


def run(stage: Stage) -> NoReturn:
    """Check a job's script, and end the process with what was found."""
    session = stage.session
    checker = Checker(stage)
    try:
        tree = parse(session.job["code"])
        compiled(session.job["code"])
    except SyntaxError as e:
        fault = session.syntax_fault(e)
        checker.found.append({"severity": "error", "code": "parse", "message": fault["message"], "hint": fault["hint"], "line": fault["line"], "column": fault["column"]})
    except (RecursionError, MemoryError):
        checker.found.append({"severity": "error", "code": "parse", "message": "the script is nested too deeply to be compiled", "line": 1, "column": 1})
    else:
        checker.check(tree)
    session.finish({"diagnostics": checker.found[:_MOST]})


class Checker(ast.NodeVisitor):
    """Finds uses of SDK and of servers that cannot work."""

    def __init__(self, stage: Stage) -> None:
        self.found: list[dict[str, Any]] = []
        self._session = stage.session
        self._sdk = stage.sdk
        self._servers = {server_module(s["id"]): s for s in self._session.bindings.get("servers") or []}
        self._aliases: dict[str, str] = {}
        self._reported: set[int] = set()
        self._functions: dict[str, list[str]] = {}  # of servers, imported by their names: module and function
        self._tries = 0  # the bodies of try that are being visited
        self._last: ast.stmt | None = None  # whose value the run awaits

    def check(self, tree: ast.Module) -> None:
        """Check a whole script."""
        self._last = tree.body[-1] if tree.body else None
        self.visit(tree)

    def _add(self, node: ast.AST, code: str, message: str, hint: str = "", path: str = "") -> None:
        at: dict[str, Any] = {}
        self._session.place_at(at, getattr(node, "lineno", 1), getattr(node, "col_offset", 0))
        at.pop("source", None)
        self.found.append({"severity": "error", "code": code, "message": message, "hint": hint, "path": path, **at})

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            head, _, module = name.name.partition(".")
            if head == "servers" and module:
                self._server(node, module)
                if name.asname:
                    self._aliases[name.asname] = module
            else:
                self._module(node, head)

    def visit_Try(self, node: ast.Try) -> None:
        self._tries += 1  # a script can do without what it imports there
        for statement in node.body:
            self.visit(statement)
        self._tries -= 1
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    def _module(self, node: ast.AST, name: str) -> None:
        if self._tries == 0 and not imports.exists(name):
            self._add(node, "unknown_module", *imports.no_module(self._session, name))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        head, _, module = (node.module or "").partition(".")
        if head != "servers":
            self._names_from(node, head)
            return
        for name in node.names:
            if not module and name.name == "*":
                continue
            if not module:
                self._server(node, name.name)
                self._aliases[name.asname or name.name] = name.name
            elif self._server(node, module) and name.name != "*":
                self._function(node, module, name.name)
                if name.name not in _NO_TOOLS and not name.name.startswith("__"):
                    self._functions[name.asname or name.name] = [module, name.name]

    def _names_from(self, node: ast.ImportFrom, head: str) -> None:
        """Check an import of names of a module that is no server's."""
        if node.level > 0 or not head:
            return
        self._module(node, head)
        for name in node.names:
            if node.module == "koan.errors" and not imports.in_errors(name.name):
                self._add(node, "unknown_export", *imports.no_error_class(name.name))

    def _server(self, node: ast.AST, module: str) -> bool:
        if module in self._servers:
            return True
        self._add(
            node, "unknown_module", f"there is no module servers.{module}{did_you_mean(module, self._servers)}", "There are: " + (", ".join(sorted(self._servers)) or "none") + "."
        )
        return False

    def _function(self, node: ast.AST, module: str, name: str) -> None:
        server = self._servers[module]
        if server.get("any") or name.startswith("__") or name in _NO_TOOLS or not server.get("tools"):
            return
        known = {n for _, names in functions_of(server["tools"]) for n in names}
        if name not in known:
            self._add(node, "unknown_export", f"servers.{module} has no function {name!r}{did_you_mean(name, known)}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = _path(node)
        if path and path[0] == "SDK" and id(node) not in self._reported:
            self._member(node, path)
        elif path and path[0] == "servers" and len(path) >= 3 and path[1] in self._servers and id(node) not in self._reported:
            self._function(node, path[1], path[2])
        elif path and len(path) == 2 and path[0] in self._aliases and self._aliases[path[0]] in self._servers:
            self._function(node, self._aliases[path[0]], path[1])
        if path:
            self._mark(node)
        else:
            self.generic_visit(node)

    def _mark(self, node: ast.expr) -> None:
        while isinstance(node, ast.Attribute):
            self._reported.add(id(node))
            node = node.value

    def _member(self, node: ast.Attribute, path: list[str]) -> None:
        at: Any = self._sdk
        for i, name in enumerate(path[1:]):
            if not isinstance(at, Namespace):
                return
            try:
                at = getattr(at, name)
            except AttributeError as e:
                self._add(node, self._code(path[: i + 1], at, name), str(e))
                return

    def _code(self, before: list[str], at: Namespace, name: str) -> str:
        if before == ["SDK", "Entities"]:
            return "unknown_entity"
        if before == ["SDK"]:
            return "unknown_domain"
        if before == ["SDK", "Servers"]:
            return "unknown_server"
        if before[:2] == ["SDK", "Entities"]:
            entity: dict[str, Any] = next((e for e in self._session.bindings["entities"] if e["name"] == before[2]), {})
            writes = ("create", "upsert", "upsertMany", "patch", "delete", "deleteMany", "updateByQuery", "deleteByQuery")
            if entity.get("readOnly") and (name in writes or name in map(snake, writes)):
                return "read_only_entity"
        return "unknown_method"

    def visit_Await(self, node: ast.Await) -> None:
        if isinstance(node.value, ast.Call) and isinstance(self._resolve(_path(node.value.func)), (Method, Function)):
            name = ".".join(_path(node.value.func))
            self._add(
                node, "invalid_argument", f"{name} is synchronous: it returns its value, which cannot be awaited", "Leave out await; the functions of servers.* are coroutines."
            )
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and node is not self._last and (name := self._wrapper(_path(node.value.func))):
            self._add(node, "unawaited_promise", f"nothing awaits the coroutine of {name}(...), so the call is not made", "Write await before it.")
        self.generic_visit(node)

    def _wrapper(self, path: list[str]) -> str:
        """Return the name of the function of a server that a path leads to, "" if it leads to none."""
        if len(path) == 3 and path[0] == "servers" and path[1] in self._servers:
            return path[2]
        if len(path) == 2 and self._aliases.get(path[0]) in self._servers:
            return path[1]
        return path[0] if len(path) == 1 and path[0] in self._functions else ""

    def visit_Call(self, node: ast.Call) -> None:
        path = _path(node.func)
        called = self._resolve(path)
        if isinstance(called, Method):
            self._method(node, called)
        elif isinstance(called, Function):
            self._function_input(node, called)
        elif tool := self._tool(path):
            self._tool_input(node, tool)
        self.generic_visit(node)

    def _tool(self, path: list[str]) -> dict[str, Any] | None:
        """Return the tool that the function of a server calls, None if it is not known."""
        if len(path) == 1:
            path = ["servers", *self._functions.get(path[0], [])]
        elif path and path[0] in self._aliases:
            path = ["servers", self._aliases[path[0]], *path[1:]]
        if path[2:3] == ["raw"]:
            path = path[:2] + path[3:]
        if len(path) != 3 or path[0] != "servers" or path[1] not in self._servers:
            return None
        tools: list[dict[str, Any]] = self._servers[path[1]].get("tools") or []
        return next((t for t, names in functions_of(tools) if path[2] in names), None)

    def _resolve(self, path: list[str]) -> Any:
        if path[:1] != ["SDK"]:
            return None
        at: Any = self._sdk
        for name in path[1:]:
            if not isinstance(at, Namespace):
                return None
            try:
                at = getattr(at, name)
            except AttributeError:
                return None
        return at

    def _method(self, node: ast.Call, method: Method) -> None:
        """Check the input of an entity's method."""
        args = [literals.value(a) for a in node.args]
        if any(a is literals.UNKNOWN for a in args) and (method.takes_options_early or len(args) > method.positional):
            return  # it may be the options
        self._input(node, args, method.operation, lambda args, options: method.input(args, options)[0], method.option)

    def _function_input(self, node: ast.Call, function: Function) -> None:
        """Check the input of a function of a plugin, of an action, or of a server's tool."""
        if function.operation:
            self._input(node, [literals.value(a) for a in node.args], function.operation, function.input, str)

    def _tool_input(self, node: ast.Call, tool: dict[str, Any]) -> None:
        """Check the input of a function of a server's module."""
        options: dict[str, str] = self._session.vocabulary["options"] if tool["id"].startswith("koan::") else {}

        def given(args: tuple[Any, ...], members: dict[str, Any]) -> dict[str, Any]:
            return {options.get(k, k): v for k, v in joined(tool["name"], tool.get("leading") or [], args, members).items()}

        self._input(node, [literals.value(a) for a in node.args], tool["id"], given, lambda name: options.get(name, name))

    def _input(
        self,
        node: ast.Call,
        args: list[Any],
        operation: str,
        make: Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]],
        member: Callable[[str], str],
    ) -> None:
        """Have an operation check what is known of the input that a call makes of its arguments."""
        if any(isinstance(a, ast.Starred) for a in node.args):
            return
        options = {k.arg: literals.value(k.value) for k in node.keywords if k.arg is not None}
        whole = len(options) == len(node.keywords) and all(map(literals.is_known, [*args, *options.values()]))
        try:
            given = make(tuple(args), options)
            body = Encoder("the input", result=False).encode(literals.known_part(given))
        except TypeError as e:
            if literals.UNKNOWN not in args:
                told = e if isinstance(e, (ArgumentError, NotJSON)) else None
                self._add(node, "invalid_argument", str(e), told.hint if told else "", (told.path or "") if told else "")
            return
        for code, detail, hint in self._problems(operation, body):
            path = literals.steps(detail.get("path", ""))
            if (whole and code != "unknown_set") or _certain(operation, given, path):
                self._add(literals.place(node, path, member), _diagnostic(operation, code, detail), detail["message"], hint, detail.get("path", ""))
        if names := [k for k, v in given.items() if v is literals.UNKNOWN]:
            self._names(node, operation, names, member)

    def _names(self, node: ast.Call, operation: str, names: list[str], member: Callable[[str], str]) -> None:
        """Have an operation check the names of members whose values are not known."""
        body = Encoder("the input", result=False).encode(dict.fromkeys(names))
        for code, detail, hint in self._problems(operation, body):
            path = literals.steps(detail.get("path", ""))
            if len(path) == 1 and path[0] in names and detail["message"].startswith(("unknown ", "there is no ")):
                self._add(literals.place(node, path, member), _diagnostic(operation, code, detail), detail["message"], hint, detail["path"])

    def _problems(self, operation: str, body: bytes) -> list[tuple[str, dict[str, Any], str]]:
        """Return what an operation finds wrong with an input: the fault's code, a problem, the hint."""
        reply = self._session.channel.call(operation, body)
        fault = read(reply.body) if reply.status != 0 else {"code": ""}
        if fault["code"] not in ("invalid_payload", "unknown_set"):
            return []
        details = fault.get("details")
        if not isinstance(details, list) or not details:
            details = [{"path": fault.get("path", ""), "message": fault["message"]}]
        return [(fault["code"], d, fault["hint"]) for d in details[:_MOST_DETAILS]]


def _certain(operation: str, given: dict[str, Any], path: list[str]) -> bool:
    """Report whether a problem at a path of an input is there whatever the unknown parts of the input are."""
    found = literals.at(given, path)
    if not path or not literals.is_known(found):
        return False
    if path[0] == "having" or (path[0] == "sort" and operation.endswith(".aggregate")):
        return False  # they name columns that other members make
    return len(path) > 1 or not isinstance(found, (dict, list))


def _diagnostic(operation: str, code: str, detail: dict[str, Any]) -> str:
    """Return the code of a diagnostic for what an operation rejects."""
    message = detail["message"]
    if operation.startswith("koan::") and len(literals.steps(detail.get("path", ""))) == 1 and message.startswith(("unknown ", "there is no ")):
        return "unknown_option"
    for text, name in (
        ("operator", "unknown_operator"),
        ("relationship", "unknown_relationship"),
        ("field", "unknown_field"),
        ("unknown member", "unknown_option"),
    ):
        if ("unknown" in message or "no " in message) and text in message:
            return name
    return "unknown_set" if code == "unknown_set" else "invalid_argument"


def _path(node: ast.AST) -> list[str]:
    """Return the names of `a.b.c`; none for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return []
    return [node.id, *reversed(names)]
