"""Tests of what needs no host: rows, JSON, names, programs. They run under the interpreter that scripts run on."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import decimal
import enum
import json
import pickle
import unittest
import uuid

from koan_runtime import hints, names, program, rows
from koan_runtime.encoding import Encoder, NotJSON


class Hints(unittest.TestCase):
    def test_messages_of_the_host_name_what_python_has(self) -> None:
        said = '"amount" takes a number: Number("0.5") is one'
        fault = hints.in_python({"message": said, "details": [{"path": "/filter/amount", "message": said}]})
        meant = '"amount" takes a number: float("0.5") is one'
        self.assertEqual(fault, {"message": meant, "details": [{"path": "/filter/amount", "message": meant}]})
        self.assertEqual(hints.in_python({"message": "no", "details": {"limit": 1}}), {"message": "no", "details": {"limit": 1}})


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        rows.teach_json()

    def test_members_are_attributes(self) -> None:
        r = rows.decode(b'{"id": "1", "nested": {"n": 12345678901234567890}}')
        self.assertEqual(r.id, "1")
        self.assertEqual(r.nested.n, 12345678901234567890)
        r.title = "x"
        self.assertEqual(r["title"], "x")
        del r.title
        self.assertNotIn("title", r)

    def test_an_absent_member_is_named(self) -> None:
        with self.assertRaisesRegex(AttributeError, "no member 'titel'; did you mean 'title'"):
            _ = rows.row({"title": 1}).titel

    def test_a_member_named_like_a_method_is_the_member(self) -> None:
        page = rows.decode(b'{"items": [{"keys": 1}], "page": 1}')
        self.assertEqual(page.items[0].keys, 1)
        self.assertEqual(dict(page)["page"], 1)
        self.assertEqual(json.loads(json.dumps(page)), {"items": [{"keys": 1}], "page": 1})
        self.assertEqual({**page}["page"], 1)

    def test_copies_are_rows(self) -> None:
        r = rows.row({"a": {"items": 1}})
        for again in (copy.copy(r), copy.deepcopy(r), pickle.loads(pickle.dumps(r))):
            self.assertEqual(again, r)
            self.assertIsInstance(again, rows.Row)


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    tags: tuple[str, ...] = ()


class JSON(unittest.TestCase):
    def encode(self, value: object, result: bool = True) -> str:
        return Encoder("the result", result).encode(value).decode()

    def test_values(self) -> None:
        zone = datetime.timezone.utc
        for value, text in (
            ([1, 2.5, True, None, "ä"], '[1,2.5,true,null,"ä"]'),
            ({1: "a", None: 2}, '{"1":"a","null":2}'),
            ((1, {2}, frozenset()), "[1,[2],[]]"),
            (decimal.Decimal("1.10"), '"1.10"'),
            (datetime.datetime(2026, 1, 2, 3, 4), '"2026-01-02T03:04:00"'),
            (datetime.datetime(2026, 1, 2, 3, 4, tzinfo=zone), '"2026-01-02T03:04:00Z"'),
            (datetime.date(2026, 1, 2), '"2026-01-02"'),
            (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
            (Colour.RED, '"red"'),
            (Point(1, ("a",)), '{"x":1,"tags":["a"]}'),
            (range(3), "[0,1,2]"),
            ({"a": 1}.items(), '[["a",1]]'),
            (2**53 + 1, '"9007199254740993"'),
            (float("nan"), "null"),
            ("\ud800", '"\ufffd"'),
        ):
            self.assertEqual(self.encode(value), text)

    def test_inputs_keep_numbers_and_have_zones(self) -> None:
        self.assertEqual(self.encode(2**70, result=False), str(2**70))
        self.assertEqual(self.encode(datetime.datetime(2026, 1, 2), result=False), '"2026-01-02T00:00:00Z"')
        with self.assertRaises(NotJSON):
            self.encode(float("inf"), result=False)

    def test_what_is_not_json_says_where(self) -> None:
        with self.assertRaises(NotJSON) as caught:
            self.encode({"a": [b"x"]})
        self.assertEqual(caught.exception.path, "/a/0")
        self.assertIn("base64", caught.exception.hint)
        loop: list[object] = []
        loop.append(loop)
        with self.assertRaisesRegex(NotJSON, "inside itself"):
            self.encode(loop)
        with self.assertRaises(NotJSON):
            self.encode(object())


class Names(unittest.TestCase):
    def test_spellings(self) -> None:
        for camel, snake in (("getById", "get_by_id"), ("pageSize", "page_size"), ("q", "q"), ("listURLs", "list_ur_ls"), ("a", "a")):
            self.assertEqual(names.snake(camel), snake)

    def test_functions_of_tools(self) -> None:
        for tool, function in (("list-issues", "list_issues"), ("todo.upsert-many", "todo_upsert_many"), ("getDocument", "getDocument"), ("import", "import_"), ("2fa", "_2fa")):
            self.assertEqual(names.tool_function(tool), function)

    def test_tools_that_would_share_a_function(self) -> None:
        tools = [
            {"name": "weather-get", "export": "weather_get"},
            {"name": "weather.get", "export": "weather_get__2"},
            {"name": "list-all", "export": "list_all__2"},
            {"name": "list_all", "export": "list_all"},
            {"name": "listAll", "export": "listAll"},
            {"name": "findOne", "export": "findOne"},
        ]
        found = [own for _, own in names.functions_of(tools)]
        self.assertEqual(found, [["weather_get"], ["weather_get__2"], ["list_all__2"], ["list_all"], ["listAll"], ["findOne", "find_one"]])

    def test_modules_of_servers(self) -> None:
        for server, module in (("google-drive", "google_drive"), ("koan", "koan"), ("class", "class_"), ("--", "server")):
            self.assertEqual(names.server_module(server), module)


class Programs(unittest.TestCase):
    def test_entries(self) -> None:
        for text, entry in (
            ("def main(): pass\nx = 1", "main"),
            ("def main(): pass\nmain()", ""),
            ("async def run(): pass\nx = 1", "run"),
            ("x = 1", ""),
        ):
            self.assertEqual(program.compiled(text).entry, entry)

    def test_a_fence_keeps_lines(self) -> None:
        with self.assertRaises(SyntaxError) as caught:
            program.compiled("```python\nx = 1\ny = (\n```")
        self.assertEqual(caught.exception.lineno, 3)

    def test_what_does_not_compile(self) -> None:
        for text in ("x = (", "\0", "return = 1", "def f(:", "(" * 500):
            with self.assertRaises(SyntaxError):
                program.compiled(text)


if __name__ == "__main__":
    unittest.main()
