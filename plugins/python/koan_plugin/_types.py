"""Python's types as JSON: the schema of a type, a value of JSON as one of it, and the reverse.

A type becomes a Shape once, when a function is declared, and what is wrong with it is told then.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import difflib
import enum
import functools
import inspect
import json
import math
import re
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NoReturn, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from ._fault import Code, Fault
from ._file import FileHandle

JSON = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Field:
    """What a schema says of a parameter or a field: Annotated[int, Field("how many", minimum=1)]."""

    description: str = dataclasses.field(default="", kw_only=False)
    name: str = ""  # in JSON; by default the name in camelCase
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    pattern: str | None = None
    format: str | None = None
    schema: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # anything else

    def keywords(self) -> JSON:
        """The keywords of JSON Schema."""
        pairs = {
            "description": self.description or None,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "minLength": self.min_length,
            "maxLength": self.max_length,
            "minItems": self.min_items,
            "maxItems": self.max_items,
            "pattern": self.pattern,
            "format": self.format,
        }
        return {**{key: value for key, value in pairs.items() if value is not None}, **self.schema}

    def check(self, value: Any) -> str:
        """Why a value is out of bounds, "" where it is not."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if number and self.minimum is not None and value < self.minimum:
            return f"must be at least {self.minimum}"
        if number and self.maximum is not None and value > self.maximum:
            return f"must be at most {self.maximum}"
        for kind, least, most, unit in (
            (str, self.min_length, self.max_length, "characters"),
            (list, self.min_items, self.max_items, "items"),
        ):
            if isinstance(value, kind):
                if least is not None and len(value) < least:
                    return f"must have at least {least} {unit}"
                if most is not None and len(value) > most:
                    return f"must have at most {most} {unit}"
        if isinstance(value, str) and self.pattern and not re.search(self.pattern, value):
            return f"must match {self.pattern}"
        return ""


class Unfit(Exception):
    """A value that is not of its type: why, and where by path, a JSON Pointer."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path or '/'}: {why}" for path, why in problems))
        self.problems = problems

    def fault(self) -> Fault:
        """The fault that the caller gets."""
        path, why = self.problems[0]
        details = [{"path": path, "message": why} for path, why in self.problems]
        return Fault(Code.INVALID_PAYLOAD, f"{path or 'the input'}: {why}", path=path, details=details)


def camel(name: str) -> str:
    """A name in camelCase, by which JSON has it: image_id is imageId."""
    first, *rest = name.strip("_").split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def _unfit(path: str, why: str) -> NoReturn:
    raise Unfit([(path, why)])


def _at(path: str, key: Any) -> str:
    return path + "/" + str(key).replace("~", "~0").replace("/", "~1")


_NAMES = {str: "a string", bool: "true or false", int: "a whole number", float: "a number", type(None): "null"}


@dataclasses.dataclass
class Shape:
    """A type: its schema, and how a value of JSON becomes one of it."""

    schema: JSON
    read: Callable[[Any, str], Any]


@dataclasses.dataclass
class Member:
    """A parameter, or a field of an object."""

    name: str  # in Python
    key: str  # in JSON
    shape: Shape
    required: bool
    default: Any  # MISSING for none


class Shapes:
    """Makes the shapes of one schema, whose named types are in its $defs.

    written says that the schema is of what a function returns, in which fields with a default are there.
    """

    def __init__(self, *, written: bool = False) -> None:
        self.written = written
        self.definitions: dict[str, JSON] = {}
        self._named: dict[Any, tuple[str, Shape]] = {}

    def of(self, hint: Any) -> Shape:
        """The shape of a type; TypeError where JSON has none."""
        if isinstance(hint, typing.NewType):
            return self.of(hint.__supertype__)
        origin, args = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return self._annotated(args[0], [a for a in args[1:] if isinstance(a, Field)])
        if origin in (Union, types.UnionType):
            return self._union(args)
        if origin is Literal:
            return _choice(args)
        if origin in (list, set, frozenset, Sequence, Iterable):
            return self._list(args[0], {set: set, frozenset: frozenset}.get(origin, list), origin in (set, frozenset))
        if origin is tuple:
            return self._tuple(args)
        if origin in (dict, Mapping):
            return self._mapping(args)
        if hint in _SIMPLE:
            return _SIMPLE[hint]
        if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
            return self._named_shape(hint)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return _enumeration(hint)
        raise TypeError(f"{_spell(hint)} has no JSON: use a dataclass, a TypedDict, or a type of the standard library")

    def members(self, owner: Any) -> list[Member]:
        """The fields of a dataclass, or the parameters of a function."""
        out: list[Member] = []
        if dataclasses.is_dataclass(owner):
            hints = get_type_hints(owner, include_extras=True)
            for f in dataclasses.fields(owner):
                if not f.init:
                    continue
                default = f.default
                if f.default_factory is not dataclasses.MISSING:
                    default = f.default_factory()
                out.append(self._member(f.name, hints[f.name], default))
        else:
            hints = get_type_hints(owner, include_extras=True)
            for p in inspect.signature(owner).parameters.values():
                if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
                    raise TypeError(f"the parameter {p.name} cannot be in JSON: it has no name for its callers")
                if p.name not in hints:
                    raise TypeError(f"the parameter {p.name} has no type")
                default = dataclasses.MISSING if p.default is p.empty else p.default
                out.append(self._member(p.name, hints[p.name], default))
        return out

    def _member(self, name: str, hint: Any, default: Any) -> Member:
        try:
            shape = self.of(hint)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        return Member(name, _key(name, hint), shape, default is dataclasses.MISSING, default)

    def object(self, members: list[Member], make: Callable[..., Any]) -> Shape:
        """The shape of an object that has these members and no others."""
        properties: JSON = {}
        for m in members:
            schema = dict(m.shape.schema)
            if not m.required and not self.written:
                with_default = _default(m.default)
                if with_default is not dataclasses.MISSING and "$ref" not in schema:
                    schema["default"] = with_default
            properties[m.key] = schema
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        if required := [m.key for m in members if m.required or self.written]:
            schema["required"] = required
        by_key = {m.key: m for m in members}

        def read(value: Any, path: str) -> Any:
            if not isinstance(value, dict):
                _unfit(path, "must be an object")
            problems = [(_at(path, key), _unknown(key, by_key)) for key in value if key not in by_key]
            given: JSON = {}
            for m in members:
                if m.key not in value:
                    if m.required:
                        problems.append((_at(path, m.key), "is missing"))
                    continue
                try:
                    given[m.name] = m.shape.read(value[m.key], _at(path, m.key))
                except Unfit as unfit:
                    problems.extend(unfit.problems)
            if problems:
                raise Unfit(problems)
            return make(**given)

        return Shape(schema, read)

    def whole(self, shape: Shape) -> JSON:
        """The schema of a whole input or output: an object, with the definitions that it refers to."""
        schema = dict(shape.schema)
        reference = schema.pop("$ref", "")
        if name := reference.removeprefix("#/$defs/"):
            schema = {**self.definitions[name], **schema}
        if schema.get("type") != "object":
            raise TypeError("it is not an object: use a dataclass, a TypedDict or a dict with strings as keys")
        used = _used(schema, self.definitions)
        if used:
            schema["$defs"] = {name: self.definitions[name] for name in sorted(used)}
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}

    def _annotated(self, hint: Any, fields: list[Field]) -> Shape:
        inner = self.of(hint)
        schema = dict(inner.schema)
        for f in fields:
            schema.update(f.keywords())

        def read(value: Any, path: str) -> Any:
            for f in fields:
                if why := f.check(value):
                    _unfit(path, why)
            return inner.read(value, path)

        return Shape(schema, read)

    def _union(self, args: Sequence[Any]) -> Shape:
        shapes = [self.of(a) for a in args]
        either = [s.schema for s in shapes]
        plain = [s.get("type") for s in either if set(s) == {"type"} and isinstance(s["type"], str)]
        schema: JSON = {"type": plain} if len(plain) == len(either) else {"anyOf": either}

        def read(value: Any, path: str) -> Any:
            problems: list[tuple[str, str]] = []
            for shape in shapes:
                try:
                    return shape.read(value, path)
                except Unfit as unfit:
                    if value is not None and shape.schema.get("type") != "null":
                        problems = problems or unfit.problems
            raise Unfit(problems or [(path, "must not be null")])

        return Shape(schema, read)

    def _list(self, hint: Any, make: Callable[[list[Any]], Any], unique: bool = False) -> Shape:
        item = self.of(hint)
        schema: JSON = {"type": "array", "items": item.schema}
        if unique:
            schema["uniqueItems"] = True
        return Shape(schema, lambda value, path: make(_items(value, path, lambda _: item)))

    def _tuple(self, args: Sequence[Any]) -> Shape:
        if len(args) == 2 and args[1] is Ellipsis:
            return self._list(args[0], lambda items: tuple(items))
        shapes = [self.of(a) for a in args]
        n = len(shapes)

        def read(value: Any, path: str) -> Any:
            if isinstance(value, list) and len(value) != n:
                _unfit(path, f"must have {n} items")
            return tuple(_items(value, path, lambda i: shapes[i]))

        return Shape({"type": "array", "prefixItems": [s.schema for s in shapes], "items": False, "minItems": n}, read)

    def _mapping(self, args: Sequence[Any]) -> Shape:
        if args[0] is not str:
            raise TypeError("the keys of a dict are strings in JSON: dict[str, ...]")
        item = self.of(args[1])

        def read(value: Any, path: str) -> Any:
            if not isinstance(value, dict):
                _unfit(path, "must be an object")
            return {key: item.read(each, _at(path, key)) for key, each in value.items()}

        return Shape({"type": "object", "additionalProperties": item.schema}, read)

    def _named_shape(self, hint: Any) -> Shape:
        if hint in self._named:
            return self._named[hint][1]
        name, n = hint.__name__, 2
        while name in self.definitions:
            name, n = f"{hint.__name__}{n}", n + 1
        self.definitions[name] = {}
        found: list[Shape] = []
        shape = Shape({"$ref": "#/$defs/" + name}, lambda value, path: found[0].read(value, path))
        self._named[hint] = (name, shape)
        inner = self._typed_dict(hint) if typing.is_typeddict(hint) else self.object(self.members(hint), hint)
        found.append(inner)
        if text := _documentation(hint):
            inner.schema["description"] = text
        self.definitions[name].update(inner.schema)
        return shape

    def _typed_dict(self, hint: Any) -> Shape:
        members = []
        for name, each in get_type_hints(hint, include_extras=True).items():
            required = name in hint.__required_keys__
            if get_origin(each) in (Required, NotRequired):  # which annotations that are strings hide from the class
                required, each = get_origin(each) is Required, get_args(each)[0]
            members.append(Member(name, name, self.of(each), required, dataclasses.MISSING))
        shapes = Shapes()  # a key that is not required may be missing in what is returned, too
        return shapes.object(members, dict)


def _items(value: Any, path: str, shape: Callable[[int], Shape]) -> list[Any]:
    if not isinstance(value, list):
        _unfit(path, "must be a list")
    out, problems = [], []
    for i, each in enumerate(value):
        try:
            out.append(shape(i).read(each, _at(path, i)))
        except Unfit as unfit:
            problems.extend(unfit.problems)
    if problems:
        raise Unfit(problems)
    return out


def _used(schema: Any, definitions: dict[str, JSON]) -> set[str]:
    """The names of the definitions that a schema refers to, also by others."""
    found: set[str] = set()
    look: list[Any] = [schema]
    while look:
        each = look.pop()
        if isinstance(each, dict):
            name = str(each.get("$ref", "")).removeprefix("#/$defs/")
            if name in definitions and name not in found:
                found.add(name)
                look.append(definitions[name])
            look.extend(each.values())
        elif isinstance(each, list):
            look.extend(each)
    return found


def _unknown(key: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(key, known, 1)
    return "is not known" + (f"; did you mean {close[0]}?" if close else "")


def _documentation(hint: Any) -> str:
    """The first paragraph of a class's own documentation: a dataclass without one gets its signature."""
    text = hint.__dict__.get("__doc__") or ""
    if text.startswith(hint.__name__ + "("):
        return ""
    return " ".join(inspect.cleandoc(text).split("\n\n")[0].split())


def _default(value: Any) -> Any:
    """A default as JSON, MISSING for one that JSON has no value for."""
    try:
        return json.loads(dump(value))
    except (TypeError, ValueError):
        return dataclasses.MISSING


def _spell(hint: Any) -> str:
    return getattr(hint, "__name__", None) or repr(hint)


def _choice(values: Sequence[Any]) -> Shape:
    def read(value: Any, path: str) -> Any:
        for each in values:
            if value == each and isinstance(value, bool) == isinstance(each, bool):
                return each
        _unfit(path, "must be one of " + ", ".join(json.dumps(each) for each in values))

    return Shape({"enum": list(values)}, read)


def _enumeration(hint: type[enum.Enum]) -> Shape:
    choice = _choice([each.value for each in hint])
    return Shape(choice.schema, lambda value, path: hint(choice.read(value, path)))


def _instance(kind: type, schema: JSON) -> Shape:
    def read(value: Any, path: str) -> Any:
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return value if abs(value) > 2**53 else float(value)  # a whole number of any size stays one
        if kind is int and isinstance(value, float) and value.is_integer():
            return int(value)
        if not isinstance(value, kind) or kind is not bool and isinstance(value, bool):
            _unfit(path, f"must be {_NAMES[kind]}")
        return value

    return Shape(schema, read)


def _text(what: str, make: Callable[[str], Any], schema: JSON) -> Shape:
    def read(value: Any, path: str) -> Any:
        try:
            if isinstance(value, str):
                return make(value)
        except (ValueError, ArithmeticError):
            pass
        _unfit(path, "must be " + what)

    return Shape({"type": "string", **schema}, read)


def _file(value: Any, path: str) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get("$file"), str):
        _unfit(path, 'must be a file, {"$file": id}')
    name, media_type, size = value.get("name"), value.get("type"), value.get("size")
    return FileHandle(
        value["$file"],
        name=name if isinstance(name, str) else "",
        media_type=media_type if isinstance(media_type, str) else "",
        size=size if isinstance(size, int) else 0,
    )


_SIMPLE: dict[Any, Shape] = {
    str: _instance(str, {"type": "string"}),
    bool: _instance(bool, {"type": "boolean"}),
    int: _instance(int, {"type": "integer"}),
    float: _instance(float, {"type": "number"}),
    type(None): _instance(type(None), {"type": "null"}),
    None: _instance(type(None), {"type": "null"}),
    Any: Shape({}, lambda value, _: value),
    object: Shape({}, lambda value, _: value),
    dict: _instance(dict, {"type": "object"}),
    list: _instance(list, {"type": "array"}),
    bytes: _text("base64", lambda s: base64.b64decode(s, validate=True), {"contentEncoding": "base64"}),
    datetime.datetime: _text("a date and time", datetime.datetime.fromisoformat, {"format": "date-time"}),
    datetime.date: _text("a date", datetime.date.fromisoformat, {"format": "date"}),
    decimal.Decimal: _text("a decimal number", decimal.Decimal, {}),
    uuid.UUID: _text("a UUID", uuid.UUID, {"format": "uuid"}),
    FileHandle: Shape(
        {
            "type": "object",
            "properties": {
                "$file": {"type": "string", "description": "The id of a file."},
                "name": {"type": "string"},
                "type": {"type": "string", "description": "A media type."},
                "size": {"type": "integer", "description": "In bytes."},
            },
            "required": ["$file"],
            "additionalProperties": False,
        },
        _file,
    ),
}
_NAMES.update({dict: "an object", list: "a list"})


def plain(value: Any) -> Any:
    """A value as JSON has it: what json.dumps takes."""
    if value is None or isinstance(value, (str, bool)) and not isinstance(value, enum.Enum):
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is no number of JSON")
        return value
    if isinstance(value, FileHandle):
        about = {"name": value.name, "type": value.media_type, "size": value.size}
        return {"$file": value.id, **{key: each for key, each in about.items() if each}}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain_dataclass(value)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a string")
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in value]
    if isinstance(value, datetime.datetime):
        return (value if value.tzinfo else value.astimezone()).isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    raise TypeError(f"a value of {type(value).__name__} has no JSON")


def _key(name: str, hint: Any) -> str:
    """The name in JSON of a parameter or a field."""
    if get_origin(hint) is Annotated:
        for each in get_args(hint)[1:]:
            if isinstance(each, Field) and each.name:
                return each.name
    return camel(name)


@functools.cache
def _keys(kind: type) -> tuple[tuple[str, str], ...]:
    """The fields of a dataclass by their names in Python and in JSON."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple((f.name, _key(f.name, hints[f.name])) for f in dataclasses.fields(kind) if f.init)


def _plain_dataclass(value: Any) -> JSON:
    return {key: plain(getattr(value, name)) for name, key in _keys(type(value))}  # type: ignore[arg-type]


def dump(value: Any) -> bytes:
    """A value as the bytes of its JSON."""
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(
        "utf-8", "replace"
    )


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def load(raw: bytes) -> Any:
    """The value of bytes of JSON. Whole numbers keep all of their digits."""
    return json.loads(raw, parse_constant=_no_number)
