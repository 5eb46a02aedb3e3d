from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import uuid
from typing import Annotated, Any, Literal, NotRequired, TypedDict
from unittest import TestCase

from koan_plugin import Fault, Field, FileHandle, Plugin
from koan_plugin._types import Shapes, Unfit, dump, load


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Item:
    """What is bought.

    More that nobody reads."""

    item_name: str
    count: Annotated[int, Field("how many", minimum=1)] = 1


@dataclasses.dataclass
class Tree:
    value: int
    children: list[Tree] = dataclasses.field(default_factory=list)


class Options(TypedDict):
    deep_search: bool
    limit: NotRequired[int]


def schema_of(hint: Any, *, written: bool = False) -> Any:
    shapes = Shapes(written=written)
    return shapes.whole(shapes.of(hint))


class SchemaTest(TestCase):
    maxDiff = None

    def test_dataclass(self) -> None:
        self.assertEqual(
            schema_of(Item),
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "description": "What is bought.",
                "properties": {
                    "itemName": {"type": "string"},
                    "count": {"type": "integer", "description": "how many", "minimum": 1, "default": 1},
                },
                "required": ["itemName"],
                "additionalProperties": False,
            },
        )

    def test_what_is_returned_has_all_fields(self) -> None:
        schema = schema_of(Item, written=True)
        self.assertEqual(schema["required"], ["itemName", "count"])
        self.assertNotIn("default", schema["properties"]["count"])

    def test_recursive_types_are_definitions(self) -> None:
        schema = schema_of(Tree)
        self.assertEqual(schema["properties"]["children"]["items"], {"$ref": "#/$defs/Tree"})
        self.assertEqual(schema["$defs"]["Tree"]["required"], ["value"])

    def test_typed_dict_keeps_its_keys(self) -> None:
        schema = schema_of(Options)
        self.assertEqual(list(schema["properties"]), ["deep_search", "limit"])
        self.assertEqual(schema["required"], ["deep_search"])

    def test_types_of_the_standard_library(self) -> None:
        for hint, want in (
            (int | None, {"type": ["integer", "null"]}),
            (list[str], {"type": "array", "items": {"type": "string"}}),
            (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
            (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
            (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
            (Literal["a", 1], {"enum": ["a", 1]}),
            (Color, {"enum": ["red", "blue"]}),
            (bytes, {"type": "string", "contentEncoding": "base64"}),
            (datetime.datetime, {"type": "string", "format": "date-time"}),
            (Any, {}),
            (list[int] | str, {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]}),
            (Annotated[str, Field(pattern="^a")], {"type": "string", "pattern": "^a"}),
        ):
            self.assertEqual(Shapes().of(hint).schema, want, hint)

    def test_types_without_json_are_refused(self) -> None:
        for hint in (object(), complex, dict[int, str], Plugin):
            with self.assertRaises(TypeError):
                Shapes().of(hint)
        with self.assertRaisesRegex(TypeError, "it is not an object"):
            schema_of(list[int])


class ReadTest(TestCase):
    def read(self, hint: Any, text: str) -> Any:
        return Shapes().of(hint).read(load(text.encode()), "")

    def test_values(self) -> None:
        big = "123456789012345678901234567890"
        for hint, text, want in (
            (int, big, int(big)),
            (int, "2.0", 2),
            (float, "1", 1.0),
            (float, big, int(big)),
            (int | None, "null", None),
            (Item, '{"itemName": "milk"}', Item("milk")),
            (Tree, '{"value": 1, "children": [{"value": 2}]}', Tree(1, [Tree(2)])),
            (Options, '{"deep_search": true}', {"deep_search": True}),
            (Color, '"red"', Color.RED),
            (bytes, '"AAE="', b"\x00\x01"),
            (datetime.date, '"2026-01-02"', datetime.date(2026, 1, 2)),
            (
                datetime.datetime,
                '"2026-01-02T03:04:05Z"',
                datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
            ),
            (decimal.Decimal, '"1.10"', decimal.Decimal("1.10")),
            (uuid.UUID, '"12345678-1234-5678-1234-567812345678"', uuid.UUID("12345678-1234-5678-1234-567812345678")),
            (tuple[int, str], '[1, "a"]', (1, "a")),
            (set[int], "[1, 1]", {1}),
            (Literal[1, True], "true", True),
            (
                FileHandle,
                '{"$file": "f1", "name": "a.png", "type": "image/png", "size": 3}',
                FileHandle("f1", "a.png", "image/png", 3),
            ),
            (dict[str, Item], '{"a": {"itemName": "milk", "count": 2}}', {"a": Item("milk", 2)}),
        ):
            got = self.read(hint, text)
            self.assertEqual(got, want, hint)
            self.assertIs(type(got), type(want), hint)

    def test_what_does_not_fit_is_named_by_its_path(self) -> None:
        for hint, text, problems in (
            (int, "true", [("", "must be a whole number")]),
            (bool, "1", [("", "must be true or false")]),
            (str, "null", [("", "must be a string")]),
            (int | None, '"a"', [("", "must be a whole number")]),
            (
                Item,
                '{"itemname": "milk", "count": 0}',
                [
                    ("/itemname", "is not known; did you mean itemName?"),
                    ("/itemName", "is missing"),
                    ("/count", "must be at least 1"),
                ],
            ),
            (list[int], '[1, "a", null]', [("/1", "must be a whole number"), ("/2", "must be a whole number")]),
            (dict[str, int], '{"a/b~": "x"}', [("/a~1b~0", "must be a whole number")]),
            (bytes, '"%"', [("", "must be base64")]),
            (datetime.date, '"soon"', [("", "must be a date")]),
            (Color, '"green"', [("", 'must be one of "red", "blue"')]),
            (tuple[int, int], "[1]", [("", "must have 2 items")]),
            (Annotated[str, Field(max_length=2)], '"abc"', [("", "must have at most 2 characters")]),
            (FileHandle, '"f1"', [("", 'must be a file, {"$file": id}')]),
        ):
            with self.assertRaises(Unfit, msg=str(hint)) as caught:
                self.read(hint, text)
            self.assertEqual(caught.exception.problems, problems)

    def test_fault(self) -> None:
        fault = Unfit([("/a", "is missing"), ("/b", "is not known")]).fault()
        self.assertEqual(
            fault.as_json(),
            {
                "code": "invalid_payload",
                "message": "/a: is missing",
                "path": "/a",
                "details": [{"path": "/a", "message": "is missing"}, {"path": "/b", "message": "is not known"}],
            },
        )

    def test_no_number(self) -> None:
        with self.assertRaises(ValueError):
            load(b"[NaN]")


class DumpTest(TestCase):
    def test_values(self) -> None:
        for value, want in (
            (Item("milk", 2**70), b'{"itemName":"milk","count":1180591620717411303424}'),
            ({"a": [1, 2.5, None, True]}, b'{"a":[1,2.5,null,true]}'),
            (Color.RED, b'"red"'),
            (datetime.date(2026, 1, 2), b'"2026-01-02"'),
            (decimal.Decimal("1.10"), b'"1.10"'),
            (b"\x00\x01", b'"AAE="'),
            (FileHandle("f1"), b'{"$file":"f1"}'),
            (FileHandle("f1", "a", "x/y", 3), b'{"$file":"f1","name":"a","type":"x/y","size":3}'),
            ({1}, b"[1]"),
            ("\ud800é", '"?é"'.encode()),
        ):
            self.assertEqual(dump(value), want)

    def test_what_has_no_json(self) -> None:
        for value in (float("nan"), {1: 2}, object(), Fault("not_found", "x")):
            with self.assertRaises((TypeError, ValueError)):
                dump(value)
