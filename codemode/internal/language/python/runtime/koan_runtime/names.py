"""Names: of Python, and of the SDK."""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Iterable
from typing import Any

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake(name: str) -> str:
    """Return the snake_case spelling of a camelCase name."""
    return "_".join(_WORD.sub("_", name).lower().split("_")) if name else name


def tool_function(name: str) -> str:
    """Return the guide's name of a tool's function: split on `.`, `_` and `-`, joined with `_`."""
    if name.isidentifier():
        out = name
    else:
        out = "_".join(p for p in re.split(r"[._-]", name) if p)
        out = re.sub(r"\W", "_", out).lower()
    if not out or out[0].isdigit():
        out = "_" + out
    return out + "_" if keyword.iskeyword(out) else out


def functions_of(tools: Iterable[dict[str, Any]]) -> list[tuple[dict[str, Any], list[str]]]:
    """Return tools with the names of their functions, the first of which is the tool's in its module.

    A name belongs to the tool that is called so. Of others that would share one, the later have the names that
    JavaScript has for them.
    """
    out: list[tuple[dict[str, Any], list[str]]] = [(t, []) for t in tools]
    taken: set[str] = set()

    def take(names: list[str], name: str) -> None:
        if name.isidentifier() and name not in taken:
            taken.add(name)
            names.append(name)

    for exact in (True, False):
        for tool, names in out:
            if tool["name"].isidentifier() == exact:
                take(names, tool_function(tool["name"]))
    for tool, names in out:
        take(names, snake(names[0]) if names else tool["export"])
    return out


def plain(name: str) -> str:
    """Return the name that a keyword argument stands for: `from_` is `from`, which cannot be written."""
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def server_module(server_id: str) -> str:
    """Return the name of a server's module."""
    out = re.sub(r"\W", "_", snake(server_id.replace("-", "_").replace(".", "_")))
    out = re.sub(r"_+", "_", out).strip("_") or "server"
    if out[0].isdigit():
        out = "_" + out
    return out + "_" if keyword.iskeyword(out) else out


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the end of a message that names what is near, "" if nothing is."""
    names = [str(k) for k in known]
    near = difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    if not near:
        near = [k for k in names if snake(k) == snake(name) or k.lower() == name.lower()][:1]
    return f"; did you mean {near[0]!r}?" if near else ""


def it_has(name: str, known: Iterable[str], most: int = 40, has: str = "it has") -> str:
    """Return the end of a message that names what is near, and what there is."""
    names = [str(k) for k in known]
    listed = ", ".join(names[:most]) or "nothing"
    near = did_you_mean(name, names)
    return f"{near} {has.capitalize()} {listed}" if near else f"; {has} {listed}"
