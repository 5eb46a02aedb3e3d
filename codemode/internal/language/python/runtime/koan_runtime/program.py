"""A script's text, compiled: what a notebook takes (top-level await, a last expression) and a top-level return."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType

from .session import SCRIPT

LAST = "__koan_last__"
RETURN = "__koan_return__"
NOTHING = object()  # where there is no value; None is one
RESULT_NAMES = ("__codemode_result__", "result")
ENTRIES = ("main", "run")
ACTION = "run"  # the function of an action

_FENCE = re.compile(r"\A\s*```[ \t]*([\w+-]*)[ \t]*\n(.*?)\n?[ \t]*```\s*\Z", re.DOTALL)


@dataclass
class Program:
    """A script that compiles."""

    code: CodeType
    tree: ast.Module
    entry: str  # the function to call after the script, "" for none
    lone: bool  # the script is one function and nothing else
    last: ast.expr | None  # the expression at its end, whose value is that of LAST

    def gives(self, name: str = LAST) -> bool:
        """Report whether None as the value of a function, or of the expression at the end, is a value: that is null.

        JavaScript has undefined for the rest, such as the value of print(x), and of a function without `return x`.
        """
        return _gives(self.last, self.tree) if name == LAST else _returns(self.tree, name)


def unfenced(text: str) -> str:
    """Return a script without the one code fence around it; lines keep their numbers."""
    found = _FENCE.match(text)
    if found is None:
        return text
    return "\n" * text[: found.start(2)].count("\n") + found.group(2)


def parse(text: str) -> ast.Module:
    """Return the syntax tree of a script, or raise SyntaxError without a traceback."""
    try:
        if "\0" in text:
            raise SyntaxError("source code cannot contain null bytes", (SCRIPT, 1, 1, ""))
        tree: ast.Module = compile(unfenced(text), SCRIPT, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        return tree
    except SyntaxError as e:
        raise e.with_traceback(None)
    except ValueError as e:
        raise SyntaxError(str(e), (SCRIPT, 1, 1, "")) from None


def compiled(text: str) -> Program:
    """Return the program of a script, or raise SyntaxError without a traceback."""
    tree = parse(text)
    entry, lone = "", False
    expression: ast.expr | None = None
    if any(name in text for name in ENTRIES):
        entry = entry_of(tree)
    body = tree.body
    if len(body) == 1 and isinstance(body[0], (ast.FunctionDef, ast.AsyncFunctionDef)):
        lone = True
        entry = body[0].name
    elif body and isinstance(body[-1], ast.Expr):
        last = body[-1]
        expression = last.value
        lone = len(body) == 1 and isinstance(last.value, ast.Lambda)
        entry = LAST if lone else entry
        name = ast.copy_location(ast.Name(LAST, ast.Store()), last)
        body[-1] = ast.copy_location(ast.Assign(targets=[name], value=last.value), last)
    if "return" in text:
        tree = _Returns().visit(tree)
    try:
        code = compile(tree, SCRIPT, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as e:
        raise e.with_traceback(None)
    except ValueError as e:
        raise SyntaxError(str(e), (SCRIPT, 1, 1, "")) from None
    return Program(code, tree, entry, lone, expression)


def defines(tree: ast.Module, name: str) -> bool:
    """Report whether a function is defined at the top level."""
    return any(isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name == name for n in tree.body)


def entry_of(tree: ast.Module) -> str:
    """Return the name of a function `main` or `run` that no statement calls, "" if there is none."""
    defined = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    for name in ENTRIES:
        if name in defined and name not in called:
            return name
    return ""


def _gives(node: ast.expr | None, tree: ast.Module) -> bool:
    """Report whether None as the value of an expression is a value."""
    while isinstance(node, ast.Await):
        node = node.value
    if isinstance(node, ast.Lambda):
        return _gives(node.body, tree)
    if not isinstance(node, ast.Call):
        return True
    name = ast.unparse(node.func)
    if name == "asyncio.run" and node.args:
        return _gives(node.args[0], tree)
    return name != "print" and not name.startswith("SDK.Out.") and _returns(tree, name)


def _returns(tree: ast.Module, name: str) -> bool:
    """Report whether a function returns a value, so far as its text says."""
    found = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name == name]
    return not found or _has_value(found[-1].body)


def _has_value(nodes: Iterable[ast.AST]) -> bool:
    """Report whether one of the nodes is or has `return x`; that of a function in it is the function's."""
    for node in nodes:
        if isinstance(node, ast.Return):
            if node.value is not None:
                return True
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)) and _has_value(ast.iter_child_nodes(node)):
            return True
    return False


class _Returns(ast.NodeTransformer):
    """Makes a top-level return end the script."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        call = ast.Call(ast.Name(RETURN, ast.Load()), [node.value] if node.value else [], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Raise(call, None), node))
