"""Tests of what a check knows of expressions."""

from __future__ import annotations

import ast
import unittest
from typing import Any

from koan_runtime import literals


def value(source: str) -> Any:
    return literals.value(ast.parse(source, mode="eval").body)


class Literals(unittest.TestCase):
    def test_a_literal_is_known(self) -> None:
        for source in ("1", "-1.5", "'a'", "None", "[1, 'a', (2, 3)]", "{'a': {'b': [True]}}"):
            self.assertTrue(literals.is_known(value(source)), source)

    def test_what_a_run_knows_is_not(self) -> None:
        for source in ("x", "f()", "'a' + b", "[1, x]", "{'a': x}", "{**x}", "{x: 1}", "f'{x}'", "[*x]"):
            self.assertFalse(literals.is_known(value(source)), source)

    def test_the_known_part_leaves_out_the_rest(self) -> None:
        self.assertEqual(literals.known_part(value("{'a': 1, 'b': x, 'c': {'d': 2, **e}, 'f': [1, x]}")), {"a": 1, "c": {"d": 2}})
        self.assertIs(literals.known_part(value("[{'a': 1}, x]")), literals.UNKNOWN)

    def test_depth_is_bounded(self) -> None:
        self.assertFalse(literals.is_known(value("[" * 90 + "{'a': " * 30 + "1" + "}" * 30 + "]" * 90)))

    def test_paths(self) -> None:
        self.assertEqual(literals.steps("/a~1b/0/c~0d"), ["a/b", "0", "c~d"])
        self.assertEqual(literals.steps(""), [])
        self.assertEqual(literals.at({"a": [{"b": 1}]}, ["a", "0", "b"]), 1)
        for path in (["b"], ["a", "1"], ["a", "x"], ["a", "0", "b", "c"]):
            self.assertIs(literals.at({"a": [{"b": 1}]}, path), literals.UNKNOWN)

    def test_a_member_has_its_place(self) -> None:
        call = ast.parse("f({'a': {'b': [1, 2]}}, page_size=3)", mode="eval").body
        assert isinstance(call, ast.Call)
        for path, source in ((["a", "b", "1"], "2"), (["a", "c"], "{'b': [1, 2]}"), (["pageSize"], "3"), (["c"], ast.unparse(call)), ([], ast.unparse(call))):
            at = literals.place(call, path, lambda name: {"page_size": "pageSize"}.get(name, name))
            self.assertEqual(ast.unparse(at), source)


if __name__ == "__main__":
    unittest.main()
