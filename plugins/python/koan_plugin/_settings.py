"""Settings: a dataclass whose fields the operator of an app fills in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from ._fault import Code, Fault
from ._types import camel


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
    """What a plugin says of a setting: Annotated[str, Setting("the key of the service", secret=True)]."""

    help: str = dataclasses.field(default="", kw_only=False)
    name: str = ""  # in the configuration; by default the field's name in camelCase
    secret: bool = False  # its value is in no log, journal or fault of the app
    folder: bool = False  # it names a file or folder that the plugin reads


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0", "yes", "no", ""):
        raise ValueError("must be true or false")
    return text.lower() in ("true", "1", "yes")


_READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    str: (str, "text"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    bool: (_truth, "true or false"),
    Path: (Path, "a path"),
}


@dataclasses.dataclass(frozen=True)
class Declared:
    """A setting as the manifest and the plugin's code have it."""

    field: str
    key: str
    setting: Setting
    default: str  # as the configuration would have it
    given: Any  # the field's default, MISSING for none
    read: Callable[[str], Any]
    what: str

    def value(self, text: str) -> Any:
        """The value of a text of the configuration."""
        if text == self.default and self.given is not dataclasses.MISSING:
            return self.given
        if text == "" and self.given is dataclasses.MISSING:
            raise Fault(Code.INVALID_PAYLOAD, f"{self.key} is missing")
        try:
            return self.read(text)
        except ValueError:
            raise Fault(Code.INVALID_PAYLOAD, f"{self.key} must be {self.what}") from None


def declare(kind: type[Any]) -> list[Declared]:
    """The settings that a dataclass declares; TypeError where it is none."""
    if not dataclasses.is_dataclass(kind):
        raise TypeError(f"the settings {kind!r} are not a dataclass")
    hints = get_type_hints(kind, include_extras=True)
    out = []
    for f in dataclasses.fields(kind):
        hint, setting = hints[f.name], Setting()
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            setting = next((each for each in more if isinstance(each, Setting)), setting)
        if hint not in _READERS:
            raise TypeError(f"the setting {f.name} is neither str, int, float, bool nor Path")
        default = ""
        if f.default is not dataclasses.MISSING:
            default = str(f.default).lower() if isinstance(f.default, bool) else str(f.default)
        out.append(Declared(f.name, setting.name or camel(f.name), setting, default, f.default, *_READERS[hint]))
    return out


def fill(kind: type[Any], declared: list[Declared], values: Mapping[str, str]) -> Any:
    """The settings of the app's configuration. Raises the Fault that ends the app's start."""
    out, problems = {}, []
    for d in declared:
        try:
            out[d.field] = d.value(values.get(d.key, d.default))
        except Fault as fault:
            problems.append(fault.message)
    if problems:
        raise Fault(Code.INVALID_PAYLOAD, "; ".join(problems))
    return kind(**out)
