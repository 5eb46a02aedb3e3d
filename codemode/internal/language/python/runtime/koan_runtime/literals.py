"""Values that expressions of a script have, as far as that is known without running it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any


class Unknown:
    """A value that only a run knows."""


UNKNOWN = Unknown()
_MAX_DEPTH = 100


class Partial(dict[Any, Any]):
    """A dict that may have other members, too."""


def value(node: ast.expr, depth: int = 0) -> Any:
    """Return the value of an expression, with UNKNOWN in place of what is not known."""
    if depth > _MAX_DEPTH:
        return UNKNOWN
    if isinstance(node, ast.Dict):
        return _dict(node, depth)
    if isinstance(node, (ast.List, ast.Tuple)):
        items = [value(e, depth + 1) for e in node.elts]
        return UNKNOWN if any(i is UNKNOWN for i in items) else items
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN


def _dict(node: ast.Dict, depth: int) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    whole = True
    for k, v in zip(node.keys, node.values):
        if isinstance(k, ast.Constant):
            out[k.value] = value(v, depth + 1)
        else:
            whole = False
    return out if whole else Partial(out)


def is_known(v: Any) -> bool:
    """Report whether all of a value is known."""
    if isinstance(v, dict):
        return not isinstance(v, Partial) and all(is_known(m) for m in v.values())
    return all(is_known(m) for m in v) if isinstance(v, list) else v is not UNKNOWN


def known_part(v: Any) -> Any:
    """Return a value without members that are not known; UNKNOWN for a list with an item that is not known."""
    if isinstance(v, dict):
        return {k: part for k, m in v.items() if (part := known_part(m)) is not UNKNOWN}
    if isinstance(v, list):
        items = [known_part(m) for m in v]
        return UNKNOWN if any(i is UNKNOWN for i in items) else items
    return v


def steps(path: str) -> list[str]:
    """Return the steps of a JSON pointer."""
    return [s.replace("~1", "/").replace("~0", "~") for s in path.split("/")[1:]]


def at(v: Any, path: list[str]) -> Any:
    """Return the member of a value at a path, UNKNOWN if there is none."""
    for step in path:
        if isinstance(v, dict) and step in v:
            v = v[step]
        elif isinstance(v, list) and step.isdecimal() and int(step) < len(v):
            v = v[int(step)]
        else:
            return UNKNOWN
    return v


def place(call: ast.Call, path: list[str], name: Callable[[str], str]) -> ast.expr:
    """Return the expression in a call that gives the member of its input at a path, or the nearest around it.

    name returns the member that a keyword means.
    """
    if not path:
        return call
    given = [k.value for k in call.keywords if k.arg is not None and name(k.arg) == path[0]]
    for node in call.args:
        if isinstance(node, ast.Dict):
            given += [v for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant) and name(str(k.value)) == path[0]]
    return _inside(given[0], path[1:]) if given else call


def _inside(node: ast.expr, path: list[str]) -> ast.expr:
    for step in path:
        if isinstance(node, ast.Dict):
            found = [v for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant) and k.value == step]
        elif isinstance(node, (ast.List, ast.Tuple)) and step.isdecimal():
            found = node.elts[int(step) : int(step) + 1]
        else:
            found = []
        if not found:
            return node
        node = found[0]
    return node
