"""A plugin and its functions, as their author declares them."""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints, is_typeddict, overload

from . import _wire
from ._call import AsyncCall, Call
from ._fault import CODES, Fault
from ._metric import Metric, by_name
from ._settings import declare
from ._types import Member, Shape, Shapes, Unfit, dump, load

S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NEED = re.compile(r"(koan|plugin|upstream|action)::\S{1,500}")
_FAULT_CODE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Function:
    """A function of a plugin, with what the app is told of it."""

    name: str
    title: str
    summary: str
    read_only: bool
    destructive: bool
    idempotent: bool
    outside: bool
    example: bytes
    timeout: float  # seconds, 0 for the app's
    scopes: tuple[str, ...]
    input_schema: bytes
    output_schema: bytes
    run: Callable[..., Any]
    is_async: bool
    arguments: Callable[[Any, Any], dict[str, Any]]  # of a call and its input

    def read(self, call: Any, raw: bytes) -> dict[str, Any]:
        """The arguments that the function is called with. Raises the Fault of an input that does not fit."""
        try:
            value = load(raw or b"{}")
        except ValueError as error:
            raise Fault("invalid_payload", f"the input is not JSON: {error}") from None
        try:
            return self.arguments(call, value)
        except Unfit as unfit:
            raise unfit.fault() from None


class Plugin(Generic[S]):
    """A plugin: make one, declare its functions, and serve it.

    plugin = Plugin("dice", version="1.0.0", description="Rolls dice.")

    @plugin.function(read_only=True, example={"sides": 6})
    def roll(sides: int = 6) -> Rolled:
        "Roll one die."
    """

    @overload
    def __init__(
        self: Plugin[None],
        domain: str,
        *,
        version: str,
        description: str = ...,
        fault_codes: Iterable[str] = ...,
        needs: Iterable[str] = ...,
        keeps_state: bool = ...,
        metrics: Iterable[Metric] = ...,
    ) -> None:
        """Without settings."""

    @overload
    def __init__(
        self,
        domain: str,
        *,
        version: str,
        description: str = ...,
        settings: type[S],
        fault_codes: Iterable[str] = ...,
        needs: Iterable[str] = ...,
        keeps_state: bool = ...,
        metrics: Iterable[Metric] = ...,
    ) -> None:
        """With those of a dataclass."""

    def __init__(
        self,
        domain: str,
        *,
        version: str,
        description: str = "",
        settings: type[Any] | None = None,
        fault_codes: Iterable[str] = (),
        needs: Iterable[str] = (),
        keeps_state: bool = False,
        metrics: Iterable[Metric] = (),
    ) -> None:
        """domain is the name of the executable's file, version the plugin's own, description a sentence. settings is
        a dataclass, fault_codes are codes of the plugin's own, needs the operations that it asks to call, metrics
        what its functions count or measure."""
        if not _is_name(domain):
            raise ValueError(f"the domain {domain!r} is not lower-case kebab")
        self.domain, self.version, self.description = domain, version, description
        self.fault_codes, self.needs, self.keeps_state = tuple(fault_codes), tuple(needs), keeps_state
        for code in self.fault_codes:
            if not _FAULT_CODE.fullmatch(code) or len(code) > 64 or code in CODES:
                raise ValueError(f"the fault code {code!r} is not in snake_case, or is one of the app's own")
        for need in self.needs:
            if not _NEED.fullmatch(need):
                raise ValueError(f"the need {need!r} is not the id of an operation, or a pattern of ids")
        if len(self.needs) > _wire.MAX_NEEDS:
            raise ValueError(f"it has {len(self.needs)} needs; {_wire.MAX_NEEDS} are allowed")
        self.metrics = by_name(tuple(metrics))
        self.functions: dict[str, Function] = {}
        self.state_dir: Path | None = None  #: a folder that stays, once the plugin is configured
        self._settings_type = settings
        self._declared = declare(settings) if settings else []
        self._settings: S | None = None
        self._configure: Callable[..., Any] | None = None
        self._closing: list[Callable[[], Any]] = []

    @property
    def settings(self) -> S:
        """What the operator has configured. It is there once the plugin runs."""
        if self._settings is None:
            raise RuntimeError("the plugin is not configured yet")
        return self._settings

    def configure(self, fn: F) -> F:
        """Decorates what is called once before the first call, with the settings where it takes a parameter. An
        exception ends the app's start; that of a ValueError or Fault is what people read: name the setting."""
        self._configure = fn
        return fn

    def closing(self, fn: F) -> F:
        """Decorates what is called at the plugin's end, when no call is served any more. It has about half a second."""
        self._closing.append(fn)
        return fn

    def function(
        self,
        *,
        name: str = "",
        title: str = "",
        summary: str = "",
        read_only: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        outside: bool = False,
        example: Any = None,
        timeout: float = 0,
        scopes: Iterable[str] = (),
    ) -> Callable[[F], F]:
        """Decorates a function of the plugin, def or async def. Its parameters are the input's members, or its one
        parameter, a dataclass or TypedDict, is the input; a parameter of the type Call (AsyncCall where it is async)
        is the call. It returns an object: a dataclass, a TypedDict or a dict.

        name is kebab-case, by default the function's own; summary is a sentence, by default the first paragraph of
        its documentation; example an input that works; timeout in seconds. read_only: it changes nothing, anywhere.
        destructive: it may delete or overwrite. idempotent: to repeat a call has no further effect. outside: it has
        effects beyond the system, which nothing rolls back."""

        def decorate(fn: F) -> F:
            called = name or fn.__name__.strip("_").replace("_", "-").lower()
            try:
                f = _declare(
                    fn,
                    name=called,
                    title=title,
                    summary=summary or _summary(fn),
                    read_only=read_only,
                    destructive=destructive,
                    idempotent=idempotent,
                    outside=outside,
                    timeout=timeout,
                    scopes=tuple(scopes),
                    example=example,
                )
            except (TypeError, ValueError) as error:
                raise type(error)(f"the function {called}: {error}") from None
            if called in self.functions:
                raise ValueError(f"the function {called} is declared twice")
            self.functions[called] = f
            return fn

        return decorate

    def serve(self, *, log_level: int = logging.DEBUG) -> None:
        """Serves the plugin until the app stops it. It is the last statement of the program."""
        from . import _server

        _server.serve(self, log_level)

    def manifest(self) -> Any:
        """What the app is told of the plugin, as the message Manifest."""
        m = _wire.Manifest(
            contract_version=_wire.CONTRACT_VERSION,
            domain=self.domain,
            version=self.version,
            description=self.description,
            fault_codes=self.fault_codes,
            needs=self.needs,
            converses=True,
            keeps_state=self.keeps_state,
        )
        for metric in self.metrics.values():
            m.metrics.add(name=metric.name, help=metric.help, histogram=metric.histogram)
        for d in self._declared:
            s = d.setting
            m.settings.add(key=d.key, default_value=d.default, help=s.help, secret=s.secret, folder=s.folder)
        for f in self.functions.values():
            effects = {key: getattr(f, key) for key in ("read_only", "destructive", "idempotent", "outside")}
            m.functions.add(
                name=f.name,
                title=f.title,
                summary=f.summary,
                input_schema=f.input_schema,
                output_schema=f.output_schema,
                example=f.example,
                timeout_ms=round(f.timeout * 1000),
                scopes=f.scopes,
                effects=effects,
            )
        return m

    def check(self) -> None:
        """Raises ValueError with what is wrong with the whole of it."""
        if not self.functions:
            raise ValueError(f"the plugin {self.domain} has no functions")
        if len(self.functions) > _wire.MAX_FUNCTIONS:
            raise ValueError(
                f"the plugin {self.domain} has {len(self.functions)} functions; {_wire.MAX_FUNCTIONS} are allowed"
            )
        if (size := self.manifest().ByteSize()) > _wire.MAX_MANIFEST:
            raise ValueError(
                f"the plugin {self.domain} describes itself in {size} bytes; {_wire.MAX_MANIFEST} are allowed"
            )


def _is_name(text: str) -> bool:
    return len(text) <= 48 and _NAME.fullmatch(text) is not None


def _summary(fn: Callable[..., Any]) -> str:
    return " ".join((inspect.getdoc(fn) or "").split("\n\n")[0].split())


def _declare(fn: Callable[..., Any], *, name: str, example: Any, **about: Any) -> Function:
    if not _is_name(name):
        raise ValueError("the name is not lower-case kebab")
    is_async = inspect.iscoroutinefunction(fn)
    if inspect.isasyncgenfunction(fn) or inspect.isgeneratorfunction(fn):
        raise TypeError("it is a generator: report parts of a result with call.partial")
    inputs = Shapes()
    shape, arguments = _input(fn, inputs, AsyncCall if is_async else Call)
    outputs = Shapes(written=True)
    hints = get_type_hints(fn, include_extras=True)
    if "return" not in hints:
        raise TypeError("what it returns has no type")
    returned = hints["return"]
    try:
        output = outputs.object([], dict) if returned in (None, type(None)) else outputs.of(returned)
        output_schema = outputs.whole(output)
    except TypeError as error:
        raise TypeError(f"what it returns: {error}") from None
    raw_example = b""
    if example is not None:
        raw_example = dump(example)
        try:
            shape.read(load(raw_example), "")
        except Unfit as unfit:
            raise ValueError(f"the example: {unfit}") from None
    return Function(
        name=name,
        example=raw_example,
        input_schema=_schema(inputs.whole(shape)),
        output_schema=_schema(output_schema),
        run=fn,
        is_async=is_async,
        arguments=arguments,
        **about,
    )


def _schema(schema: Any) -> bytes:
    raw = json.dumps(schema, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if len(raw) > _wire.MAX_SCHEMA:
        raise ValueError(f"a schema has {len(raw)} bytes; {_wire.MAX_SCHEMA} are allowed")
    return raw


def _input(
    fn: Callable[..., Any], shapes: Shapes, call_type: type[Any]
) -> tuple[Shape, Callable[[Any, Any], dict[str, Any]]]:
    """The shape of a function's input, and how its arguments are made."""
    hints = get_type_hints(fn, include_extras=True)
    takes_call = ""
    for parameter in inspect.signature(fn).parameters:
        if hints.get(parameter) in (Call, AsyncCall):
            if hints[parameter] is not call_type:
                kind = "async def" if call_type is AsyncCall else "def"
                raise TypeError(f"the call is of type {call_type.__name__} here, since it is {kind}")
            takes_call = parameter

    def with_call(call: Any, given: dict[str, Any]) -> dict[str, Any]:
        return {takes_call: call, **given} if takes_call else given

    members = shapes.members(_without(fn, takes_call))
    if len(members) == 1 and _is_whole(hints[members[0].name]) and members[0].required:
        only: Member = members[0]
        return only.shape, lambda call, value: with_call(call, {only.name: only.shape.read(value, "")})
    shape = shapes.object(members, dict)
    return shape, lambda call, value: with_call(call, shape.read(value, ""))


def _is_whole(hint: Any) -> bool:
    return dataclasses.is_dataclass(hint) and hint.__name__ != "FileHandle" or is_typeddict(hint)


def _without(fn: Callable[..., Any], parameter: str) -> Callable[..., Any]:
    """The function as if it did not have a parameter, for what reads its signature."""

    def stand_in() -> None:
        pass

    signature = inspect.signature(fn)
    left = [p for name, p in signature.parameters.items() if name != parameter]
    hints = get_type_hints(fn, include_extras=True)
    stand_in.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    stand_in.__annotations__ = {name: hint for name, hint in hints.items() if name not in (parameter, "return")}
    return stand_in
