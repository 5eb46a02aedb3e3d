"""What the file of an action declares: a literal dict `action`. Its work is a function `run`, or the file is a script."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from .program import ACTION, RESULT_NAMES, defines, parse
from .session import Session


def run(session: Session) -> NoReturn:
    """Read a declaration without running the file, and end the process with it."""
    try:
        tree = parse(session.job["code"])
    except SyntaxError as e:
        session.finish({"fault": session.syntax_fault(e)})
    found: ast.expr | None = None
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="action")], value=value):
                found = value
            case ast.AnnAssign(target=ast.Name(id="action"), value=ast.expr() as value):
                found = value
    if found is None:
        _fail(session, "the file declares no action", 'Write the declaration as a literal: action = {"description": "...", "input": {...}}.')
    if not defines(tree, ACTION) and not _is_script(tree.body, found):
        _fail(session, "the file has no function run", "Write the work as a function: def run(input): ...")
    try:
        value = ast.literal_eval(found)
    except (ValueError, TypeError):
        _fail(session, "the declaration is not a literal", "Write action as a dict of literals, without calls and names.", found)
    if not isinstance(value, dict):
        _fail(session, "the declaration is not a dict", 'Write it as action = {"description": "...", "input": {...}}.', found)
    places: dict[str, Any] = {}
    _places(session, found, "", places)
    session.finish({"result": {"action": value, "places": places}})


def _is_script(body: list[ast.stmt], declaration: ast.expr) -> bool:
    """Report whether a file does its work at its top level, as a script does: what that gives is the action's output."""
    for i, node in enumerate(body):
        match node:
            case ast.FunctionDef(name="main") | ast.AsyncFunctionDef(name="main"):
                return True
            case ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Pass():
                continue
            case ast.Expr(value=ast.Constant(value=str())) if i == 0:  # what the file is for
                continue
            case ast.Assign(targets=[ast.Name(id=name)]) if name not in RESULT_NAMES:
                continue
            case ast.AnnAssign(value=value) if value is declaration or value is None:
                continue
            case _:
                return True
    return False


def _fail(session: Session, message: str, hint: str, node: ast.expr | None = None) -> NoReturn:
    fault = session.fault("syntax_error", message)
    fault["hint"] = hint
    if node is not None:
        session.place_at(fault, node.lineno, node.col_offset)
    else:
        fault["line"], fault["column"] = 1, 1
    session.finish({"fault": fault})


def _places(session: Session, node: ast.expr, path: str, places: dict[str, Any]) -> None:
    at: dict[str, Any] = {}
    session.place_at(at, node.lineno, node.col_offset)
    places[path] = {"line": at.get("line", 1), "column": at.get("column", 1)}
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values):
            if isinstance(key, ast.Constant):
                _places(session, value, path + "/" + str(key.value).replace("~", "~0").replace("/", "~1"), places)
    elif isinstance(node, (ast.List, ast.Tuple)):
        for i, value in enumerate(node.elts):
            _places(session, value, f"{path}/{i}", places)
