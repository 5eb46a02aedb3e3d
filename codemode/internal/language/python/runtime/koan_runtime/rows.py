"""What calls return: dicts whose members are attributes too."""

from __future__ import annotations

import json
from typing import Any

from .jsontext import Reader


class Row(dict[str, Any]):
    """A JSON object. `row.name` is `row["name"]`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            pass
        raise AttributeError(_absent(self, name))

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self:
            raise AttributeError(_absent(self, name))
        del self[name]

    def __copy__(self) -> Row:
        return row(dict(self))

    def copy(self) -> Row:
        return row(dict(self))

    def __or__(self, other: Any) -> Any:
        return row({**dict(self), **dict(other)}) if isinstance(other, dict) else NotImplemented

    def __deepcopy__(self, memo: dict[int, Any]) -> Row:
        import copy

        return row({k: copy.deepcopy(v, memo) for k, v in dict.items(self)})

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (row, (dict(self),))

    def __dir__(self) -> list[str]:
        return [*dict.keys(self), *super().__dir__()]


class ShadowingRow(Row):
    """A Row with a member that is named like a method of dict: the attribute is the member."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name in DICT_NAMES and dict.__contains__(self, name):  # type: ignore[operator]
            return dict.__getitem__(self, name)
        return super().__getattribute__(name)


DICT_NAMES = frozenset(n for n in dir(dict) if not n.startswith("_"))


def row(members: dict[str, Any]) -> Row:
    """Return a Row with these members."""
    return Row(members) if DICT_NAMES.isdisjoint(members) else ShadowingRow(members)


_decoder = Reader(object_hook=row)


def decode(body: bytes) -> Any:
    """Return the value of the JSON that a call returned."""
    return _decoder.decode(body.decode("utf-8", "replace")) if body else None


def plain(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """Return a value in which rows that json cannot encode are dicts. What contains itself does so afterwards."""
    if id(value) in inside:
        return value
    if isinstance(value, dict):
        if any(isinstance(v, (dict, list, tuple)) for v in dict.values(value)):
            inside = (*inside, id(value))
            return {k: plain(v, inside) for k, v in dict.items(value)}
        return dict(value) if isinstance(value, Row) else value
    if isinstance(value, (list, tuple)) and any(isinstance(v, (dict, list, tuple)) for v in value):
        inside = (*inside, id(value))
        return [plain(v, inside) for v in value]
    return value


def teach_json() -> None:
    """Have the encoder of json take rows with a member `items`, which it would call."""
    encode, iterencode = json.JSONEncoder.encode, json.JSONEncoder.iterencode
    encoder: Any = json.JSONEncoder
    encoder.encode = lambda self, o: encode(self, plain(o))
    encoder.iterencode = lambda self, o, _one_shot=False: iterencode(self, plain(o), _one_shot)


def _absent(members: dict[str, Any], name: str) -> str:
    from .names import it_has

    return f"the row has no member {name!r}{it_has(name, dict.keys(members), 20)}"
