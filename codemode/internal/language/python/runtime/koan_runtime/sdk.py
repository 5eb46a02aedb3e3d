"""SDK: entities, plugins, upstream servers. What methods do is data, which the host gives (package bind in Go)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from koan.errors import ArgumentError, KoanError

from .names import did_you_mean, it_has, plain, server_module, snake
from .output import Out
from .rows import Row, row
from .session import Session


class Namespace:
    """A member of SDK with members of its own, in both spellings."""

    def __init__(self, path: str, members: dict[str, Any], absent: Callable[[str], Any] | None = None) -> None:
        self.__dict__.update(_path=path, _members=members, _absent=absent, _aliases={s: k for k in members for s in (snake(k), server_module(k))})

    def __getattr__(self, name: str) -> Any:
        if name in self._members:
            return self._members[name]
        if name in self._aliases:
            return self._members[self._aliases[name]]
        if "$" + name in self._members:
            return self._members["$" + name]
        if self._absent is not None and not name.startswith("__"):
            return self._absent(name)
        names = [snake(k) if isinstance(m, Method) else k for k, m in self._members.items()]
        raise AttributeError(f"{self._path} has no {name!r}{it_has(name, names)}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self._path} cannot be changed")

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __contains__(self, name: str) -> bool:
        return name in self._members or name in self._aliases

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __dir__(self) -> list[str]:
        return list(self._members)

    def __repr__(self) -> str:
        return f"<{self._path}: {', '.join(self._members)}>"


def build(session: Session) -> Namespace:
    """Return SDK for a caller. What it has of a job comes with that (begin)."""
    b = session.bindings
    entities = {e["name"]: entity(session, e) for e in b.get("entities") or []}
    members: dict[str, Any] = {
        "Entities": Namespace("SDK.Entities", entities),
        "Out": Out(session),
        "Servers": Namespace("SDK.Servers", {d["name"]: domain(session, "SDK.Servers." + d["name"], d, server=True) for d in b.get("upstreams") or []}),
        "args": row({}),
        "run": Namespace("SDK.run", {"id": "", "set": "", "dryRun": False}),
    }
    for d in b.get("domains") or []:
        members[d["name"]] = domain(session, "SDK." + d["name"], d)
    members.setdefault("Actions", Namespace("SDK.Actions", {}))
    return Namespace("SDK", members)


def begin(sdk: Namespace, job: dict[str, Any]) -> None:
    """Set what SDK has of a job: its arguments, and its run."""
    sdk._members["run"]._members.update(id=job.get("runId", ""), set=job.get("set", ""), dryRun=bool(job.get("dryRun")))
    if job.get("args") is not None:
        sdk._members["args"] = _rows(job["args"])


def _rows(value: Any) -> Any:
    if isinstance(value, dict):
        return row({k: _rows(v) for k, v in value.items()})
    return [_rows(v) for v in value] if isinstance(value, list) else value


def entity(session: Session, e: dict[str, Any]) -> Namespace:
    """Return SDK.Entities.<Name>."""
    members: dict[str, Any] = {}
    for op in e.get("ops") or []:
        for m in session.vocabulary["methods"].get(op, []):
            members[m["name"]] = Method(session, e["name"], op, m)
    path = "SDK.Entities." + e["name"]
    if not e.get("readOnly"):
        return Namespace(path, members)
    writes = {snake(m["name"]) for methods in session.vocabulary["methods"].values() for m in methods if m["name"] not in members}

    def absent(name: str) -> Any:
        if snake(name) in writes:
            raise AttributeError(f"{e['name']} is read-only: it has no {name}")
        return getattr(Namespace(path, members), name)

    return Namespace(path, members, absent)


class Method:
    """A method that calls one operation of an entity."""

    def __init__(self, session: Session, entity_name: str, op: str, spec: dict[str, Any]) -> None:
        self._session = session
        self._spec = spec
        self.operation = f"koan::{entity_name}.{op}"
        self.__name__ = spec["name"]
        self.__qualname__ = f"SDK.Entities.{entity_name}.{spec['name']}"
        self.positional = len(spec["arguments"] or [])
        self.takes_options_early = bool(spec.get("loose") or spec.get("loneSet"))

    def __repr__(self) -> str:
        return f"<method {self.__qualname__}>"

    def __call__(self, *args: Any, **options: Any) -> Any:
        given, bare_set = self.input(args, options)
        if self._spec.get("walks"):
            walk = self._walk(given, counts=self._spec["returns"] == "list")
            return walk if self._spec["returns"] == "iterator" else self._all(walk)
        try:
            out = self._session.call(self.operation, given)
        except KoanError as e:
            if e.code == "not_found" and self._spec["returns"] == "entityOrNull":
                return None
            raise self._explained(e, bare_set) from None
        return out[self._spec["output"]] if self._spec.get("output") and isinstance(out, dict) else out

    def _explained(self, e: KoanError, bare_set: bool) -> KoanError:
        if e.code == "unknown_set" and bare_set:
            e.hint += " A bare string names the set; options are keywords, or a dict: {'filter': {...}}."
        elif e.code == "not_found" and self._spec.get("orNull"):
            e.hint += f" {self._spec['orNull']} returns None instead of raising."
        return e

    def input(self, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """Return the input of the call that these arguments mean, and whether a bare string was the set."""
        spec = self._spec
        names: list[str] = spec["arguments"] or []
        given: dict[str, Any] = dict(spec.get("fixed") or [])
        if len(args) > len(names) + 1:
            raise refusal(
                f"{self.__qualname__}() takes at most {len(names) + 1} positional arguments ({', '.join([*names, 'options'])}) but {len(args)} were given",
                "Give options as keywords.",
            )
        rest: Any = None
        positional = list(args)
        if spec.get("loneSet") and len(positional) == 1 and isinstance(positional[0], str):
            rest, positional = positional[0], []
        elif len(positional) > len(names):
            rest = positional.pop()
        elif spec.get("loose") and len(positional) == len(names) and names and isinstance(positional[-1], dict):
            rest = positional.pop()
        for name, value in zip(names, positional):
            self._add(given, name, value)
        for name, value in [*self._options(rest), *options.items()]:
            self._add(given, self.option(name), value)
        if spec.get("walks") and given.get("cursor") is None and "page" in given:
            raise self._twice("page")
        return given, isinstance(rest, str)

    def _options(self, rest: Any) -> list[tuple[str, Any]]:
        """Return the members of an input that an argument behind the others means: a dict, or the name of a set."""
        if rest is None:
            return []
        if isinstance(rest, str):
            return [("set", rest)]
        if not isinstance(rest, dict):
            raise refusal(f"{self.__qualname__}(): the options are a dict or keywords, not {type(rest).__name__}", "Write name=value, or {'name': value}.")
        return list(dict.items(rest))

    def option(self, name: Any) -> str:
        """Return an option's own name for the spellings that it is taken in."""
        known: dict[str, str] = self._session.vocabulary["options"]
        return known.get(name, str(name))

    def _add(self, given: dict[str, Any], name: str, value: Any) -> None:
        if name in given:
            raise self._twice(name)
        given[name] = value

    def _twice(self, name: str) -> ArgumentError:
        return refusal(f"{self.__qualname__}() got multiple values for argument {name!r}", "Leave it out of the options.", "/" + name)

    def _walk(self, given: dict[str, Any], counts: bool) -> Iterator[Any]:
        size = given.get("pageSize", self._session.vocabulary["walkPageSize"])
        cursor, page, total = given.get("cursor"), 0, 0
        most = self._session.vocabulary["maxAll"]
        while True:
            page += 1
            members = {**given, "pageSize": size}
            if cursor is not None:
                members["cursor"] = cursor
            else:
                members["page"] = page
            members.setdefault("count", counts and page == 1)
            out = self._session.call(self.operation, members)
            items = out["items"]
            total = max(total, out.get("totalCount") or 0)
            if counts and total > most:
                raise self._too_many(most)
            yield from items
            numbered, cursor = cursor is None, out.get("nextCursor")
            last = "nextCursor" in out and cursor is None
            if cursor is None and (not numbered or last or len(items) < size or not items):
                return

    def _all(self, walk: Iterator[Any]) -> list[Any]:
        most = self._session.vocabulary["maxAll"]
        out: list[Any] = []
        for one in walk:
            if len(out) == most:
                raise self._too_many(most)
            out.append(one)
        return out

    def _too_many(self, most: int) -> KoanError:
        return self._session.error(
            "result_too_large", f"all() returns at most {most} items, and there are more", hint="Narrow it with `filter`, or go through the items with each()."
        )


def domain(session: Session, path: str, d: dict[str, Any], server: bool = False) -> Namespace:
    """Return SDK.<Domain> or SDK.Servers.<id>."""
    members: dict[str, Any] = {f["name"]: Function(session, path, f) for f in d.get("functions") or []}
    for g in d.get("groups") or []:
        members[g["name"]] = Namespace(f"{path}.{g['name']}", {f["name"]: Function(session, path, f) for f in g["functions"]})
    if server:
        members["$call"] = whole_call(session, d)
    absent = None
    if any_id := d.get("any"):

        def absent(name: str) -> Any:
            return Function(session, path, {"name": name, "id": any_id}, tool=name)

    return Namespace(path, members, absent)


def whole_call(session: Session, d: dict[str, Any]) -> Callable[..., Any]:
    """Return SDK.Servers.<id>.call(tool, input), which returns the whole MCP result. It takes both names of a tool."""
    ids: dict[str, str] = {f["name"]: f["id"] for f in d.get("functions") or []}
    ids |= {id.rpartition("::")[2]: id for id in ids.values()}

    def call(tool: str, *args: Any, **members: Any) -> Any:
        given = joined("call", [], args, members)
        if d.get("any"):
            return session.call("whole:" + d["any"], {"tool": tool, "input": given})["result"]
        if tool not in ids:
            known = [f["id"].rpartition("::")[2] for f in d.get("functions") or []]
            raise session.error("tool_not_found", f"the server {d['name']} has no tool {tool!r}{did_you_mean(tool, known)}")
        return session.call("whole:" + ids[tool], given)["result"]

    return call


class Function:
    """A function of a plugin, an action or an upstream server."""

    def __init__(self, session: Session, path: str, spec: dict[str, Any], tool: str = "") -> None:
        self._session = session
        self._spec = spec
        self._tool = tool
        self.__name__ = spec["name"]
        self.__qualname__ = f"{path}.{spec['name']}"
        self.operation = "" if tool else str(spec["id"])  # "" for a tool that is not known yet

    def __repr__(self) -> str:
        return f"<function {self.__qualname__}>"

    def __call__(self, *args: Any, **members: Any) -> Any:
        given = self.input(args, members)
        return self._session.call(self._spec["id"], given)

    def input(self, args: tuple[Any, ...], members: dict[str, Any]) -> Any:
        """Return the input of the call."""
        given = joined(self.__qualname__, self._spec.get("leading") or [], args, members)
        return {"tool": self._tool, "input": given} if self._tool else given


def joined(name: str, leading: list[str], args: tuple[Any, ...], members: dict[str, Any]) -> dict[str, Any]:
    """Return the input that positional arguments and keywords mean: a dict, leading members, keywords."""
    given: dict[str, Any] = {}
    if leading and args and isinstance(args[0], str):
        for key, value in zip(leading, args):
            given[key] = value
        args = args[len(leading) :]
    if len(args) > 1:
        raise refusal(f"{name}() takes one dict or keywords, but {len(args)} positional arguments were given", _ONE)
    if args and not isinstance(args[0], dict):
        raise refusal(f"{name}() takes a dict or keywords, not {type(args[0]).__name__}", _ONE)
    given.update(dict.items(args[0]) if args else {})
    given.update((plain(k), v) for k, v in members.items())
    return given


_ONE = "Write name=value, or one dict: {'name': value}."


def refusal(message: str, hint: str, path: str = "") -> ArgumentError:
    """Return the error of arguments that mean no input."""
    return ArgumentError(message, code="invalid_payload", retry="fix", hint=hint, path=path or None, details=[{"path": path, "message": message}])


__all__ = ["Function", "Method", "Namespace", "Row", "build", "joined"]
