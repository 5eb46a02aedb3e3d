from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict
from unittest import TestCase

from koan_plugin import AsyncCall, Call, Fault, FileHandle, Metric, Plugin
from koan_plugin.testing import Host


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Size(TypedDict):
    width: int


def make(**options: Any) -> Plugin[None]:
    return Plugin("maps", version="1.0.0", **options)


class DeclarationTest(TestCase):
    def test_names_and_summaries(self) -> None:
        plugin = make()

        @plugin.function()
        def get_by_id() -> None:
            """Get
            one.

            Not told."""

        @plugin.function(name="other", summary="Another.", title="Other")
        def something() -> None:
            pass

        functions = plugin.manifest().functions
        self.assertEqual(
            [(f.name, f.summary, f.title) for f in functions],
            [("get-by-id", "Get one.", ""), ("other", "Another.", "Other")],
        )
        self.assertEqual(get_by_id.__name__, "get_by_id", "it stays a function")

    def test_a_single_object_is_the_input(self) -> None:
        plugin = make()

        @plugin.function()
        def draw(point: Point) -> Size:
            return {"width": point.x + point.y}

        @plugin.function()
        def zoom(call: Call, size: Size) -> Point:
            return Point(size["width"])

        @plugin.function()
        def both(point: Point, size: Size) -> None:
            pass

        schemas = [json.loads(f.input_schema)["properties"] for f in plugin.functions.values()]
        self.assertEqual([list(s) for s in schemas], [["x", "y"], ["width"], ["point", "size"]])
        host = Host()
        self.assertEqual(host.run(plugin, "draw", {"x": 2**60}), {"width": 2**60})
        self.assertEqual(host.run(plugin, "zoom", {"width": 3}), {"x": 3, "y": 0})

    def test_mistakes_are_told_at_once(self) -> None:
        plugin = make()

        def no_types(a) -> None:  # type: ignore[no-untyped-def]
            pass

        def no_result(a: int):  # type: ignore[no-untyped-def]
            pass

        def many(*a: int) -> None:
            pass

        def number() -> int:
            return 1

        def odd(a: complex) -> None:
            pass

        def wrong_call(call: AsyncCall) -> None:
            pass

        async def wrong_async(call: Call) -> None:
            pass

        def generator() -> Any:
            yield 1

        wrong: list[tuple[Callable[..., Any], str]] = [
            (no_types, "the function no-types: the parameter a has no type"),
            (no_result, "the function no-result: what it returns has no type"),
            (many, "the parameter a cannot be in JSON"),
            (number, "what it returns: it is not an object"),
            (odd, "the function odd: a: complex has no JSON"),
            (wrong_call, "the call is of type Call here, since it is def"),
            (wrong_async, "the call is of type AsyncCall here, since it is async def"),
            (generator, "it is a generator"),
        ]
        for fn, message in wrong:
            with self.assertRaisesRegex(TypeError, message):
                plugin.function()(fn)
        with self.assertRaisesRegex(
            ValueError, "the function draw: the example: /x: is missing; /y: must be a whole number"
        ):

            @plugin.function(example={"y": "a"})
            def draw(point: Point) -> None:
                pass

        with self.assertRaisesRegex(ValueError, "is not lower-case kebab"):
            plugin.function(name="getAll")(number)
        for domain in ("Maps", "my_maps", "", "-a", "a" * 49):
            with self.assertRaises(ValueError):
                Plugin(domain, version="1")
        for code in ("not_found", "TooLoud", "", "a__b"):
            with self.assertRaisesRegex(ValueError, "is not in snake_case, or is one of the app's own"):
                make(fault_codes=[code])

        for metrics, message in (
            ([Metric("Lines")], "is not in snake_case"),
            ([Metric("lines_total")], "ends as Prometheus"),
            ([Metric("lines"), Metric("lines")], "is declared twice"),
            ([Metric(f"m{i}") for i in range(51)], "51 metrics"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                make(metrics=metrics)

        for needs, message in ((["Todo.patch"], "is not the id of an operation"), (["koan::*"] * 101, "101 needs")):
            with self.assertRaisesRegex(ValueError, message):
                make(needs=needs)

    def test_a_function_is_declared_once(self) -> None:
        plugin = make()

        def draw() -> None:
            pass

        plugin.function()(draw)
        with self.assertRaisesRegex(ValueError, "the function draw is declared twice"):
            plugin.function()(draw)

    def test_a_plugin_is_bounded(self) -> None:
        with self.assertRaisesRegex(ValueError, "has no functions"):
            make().check()
        plugin = make()

        def draw() -> None:
            """Draw."""

        for i in range(1001):
            plugin.function(name=f"draw-{i}", summary="x" * 1500)(draw)
        with self.assertRaisesRegex(ValueError, "has 1001 functions; 1000 are allowed"):
            plugin.check()
        del plugin.functions["draw-0"]
        with self.assertRaisesRegex(ValueError, r"describes itself in \d+ bytes"):
            plugin.check()

    def test_settings_are_a_dataclass_of_simple_types(self) -> None:
        @dataclasses.dataclass
        class Wrong:
            cities: list[str]

        for kind, message in ((Wrong, "the setting cities is neither"), (Size, "are not a dataclass")):
            with self.assertRaisesRegex(TypeError, message):
                Plugin("maps", version="1", settings=kind)


class HostTest(TestCase):
    """What authors test their functions with."""

    def test_settings(self) -> None:
        @dataclasses.dataclass
        class Settings:
            root: Path
            depth: int = 3

        plugin = Plugin("maps", version="1.0.0", settings=Settings)
        with self.assertRaises(RuntimeError):
            plugin.settings
        host = Host()
        with self.assertRaisesRegex(Fault, "root is missing"):
            host.configure(plugin)
        host.configure(plugin, {"root": "/maps"})
        self.assertEqual(plugin.settings, Settings(Path("/maps"), 3))

    def test_calls(self) -> None:
        plugin = make(metrics=[Metric("lines")])

        @plugin.function()
        def draw(call: Call, file: FileHandle, name: str) -> dict[str, Any]:
            call.progress(1, 2, "half")
            call.partial({"so": "far"})
            call.measure("lines", 2)
            call.measure("lines", -1)
            call.measure("unknown")
            with self.assertRaises(KeyError), call.span("ink"):
                raise KeyError
            with call.file(file) as f, call.create_file(name) as out:
                f.seek(2)
                out.write(f.read().upper())
            return {"file": out.handle, "todo": call.invoke("koan::Todo.get", {"id": name})}

        @plugin.function()
        async def read(call: AsyncCall, file: FileHandle) -> dict[str, Any]:
            f = await call.file(file)
            first = await f.read(2)
            return {"first": first.decode(), "rest": (await f.read()).decode(), "who": call.caller.subject}

        host = Host(operations={"koan::Todo.get": lambda input: {"title": input["id"] + "!"}})
        handle = host.add_file("a.txt", b"abcd")
        out = host.run(plugin, "draw", {"file": {"$file": handle.id}, "name": "b"})
        self.assertEqual(out["todo"], {"title": "b!"})
        self.assertEqual(bytes(host.files[out["file"]["$file"]].data), b"CD")
        self.assertEqual((host.progress, host.partials), ([(1, 2, "half"), (0, 0, "")], [{"so": "far"}]))
        self.assertEqual((host.measured, host.spans), ([("lines", 2)], [("ink", True)]))
        got = host.run(plugin, "read", {"file": {"$file": handle.id}}, subject="ann")
        self.assertEqual(got, {"first": "ab", "rest": "cd", "who": "ann"})
        with self.assertRaisesRegex(Fault, "there is no file"):
            host.run(plugin, "read", {"file": {"$file": "x"}})
        with self.assertRaisesRegex(Fault, "is not granted"):
            Host().call().invoke("koan::Todo.get")
