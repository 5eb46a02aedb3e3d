"""Tests of the plugin: python3 -m unittest, with the kit on the path."""

from __future__ import annotations

import json
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from unittest import TestCase

import main
from koan_plugin import Fault
from koan_plugin.testing import Host

OATS = {
    "code": "4006381333931",
    "product_name": "Oat flakes ",
    "brands": "Mill, Other",
    "quantity": "2 x 500 g",
    "categories_tags": ["en:cereals", "en:oats"],
    "allergens_tags": ["en:gluten"],
    "nutriments": {"energy-kcal_100g": 372, "proteins_100g": "13.5", "fat_100g": "a lot"},
}


class Server(BaseHTTPRequestHandler):
    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        status, answer = 200, json.dumps(self.answer()).encode()
        for code in (404, 429, 500):
            if f"/product/{code}" in self.path:
                status, answer = code, b"no"
        if "words" in self.path:
            answer = b"words"
        self.send_response(status)
        self.end_headers()
        self.wfile.write(answer)

    def answer(self) -> Any:
        if "search.pl" in self.path:
            return {"count": 250, "products": [OATS, OATS, "no product", {"code": 7}]}
        if "/product/4006381333931" in self.path:
            return {"status": 1, "product": OATS}
        return {"status": 0}

    def log_message(self, *_: object) -> None:
        pass


class FoodsTest(TestCase):
    def setUp(self) -> None:
        self.server = HTTPServer(("127.0.0.1", 0), Server)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.addCleanup(self.stop)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Server.asked = []
        self.host = Host()
        self.host.configure(main.plugin, {"server": self.url})
        state = tempfile.TemporaryDirectory()
        self.addCleanup(state.cleanup)
        self.state = Path(state.name)

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def run_function(self, name: str, input: Any) -> Any:
        return self.host.run(main.plugin, name, input, state_dir=self.state)

    def test_lookup(self) -> None:
        want = {
            "barcode": "4006381333931",
            "name": "Oat flakes",
            "brand": "Mill",
            "amount": 1000,
            "unit": "g",
            "categories": ["cereals", "oats"],
            "allergens": ["gluten"],
            "nutrition": {"kcal": 372, "protein": 13.5, "fat": None, "carbohydrates": None, "salt": None},
            "source": f"{self.url}/product/4006381333931",
        }
        for _ in range(2):
            self.assertEqual(self.run_function("lookup", {"barcode": "4006381333931"}), want)
        self.assertEqual(len(Server.asked), 1, "the answer is kept")
        self.assertRegex(Server.asked[0], r"^/api/v2/product/4006381333931\.json\?fields=code%2C")

    def test_search(self) -> None:
        found = self.run_function("search", {"text": "oat & more", "limit": 3})
        self.assertEqual((found["total"], len(found["foods"])), (250, 3))
        self.assertEqual(found["foods"][2]["barcode"], "")
        self.assertIn("search_terms=oat+%26+more&json=1&page_size=3", Server.asked[0])

    def test_faults(self) -> None:
        for barcode, code in (
            ("4006381333932", "invalid_payload"),
            ("abc", "invalid_payload"),
            ("96385074", "not_found"),
        ):
            with self.assertRaises(Fault) as caught:
                self.run_function("lookup", {"barcode": barcode})
            self.assertEqual((caught.exception.code, caught.exception.path), (code, "/barcode"))
        call = self.host.call()
        for path, code in (
            ("/product/404", "not_found"),
            ("/product/429", "rate_limited"),
            ("/product/500", "upstream_error"),
            ("/words", "upstream_error"),
        ):
            with self.assertRaises(Fault) as caught:
                main._get(call, path, {})
            self.assertEqual(caught.exception.code, code)
        self.host.configure(main.plugin, {"server": "http://127.0.0.1:9"})
        with self.assertRaises(Fault) as caught:
            main._get(call, "/", {})
        self.assertEqual(caught.exception.code, "service_unavailable")

    def test_settings(self) -> None:
        main.configure(main.Settings())
        with self.assertRaisesRegex(ValueError, "server: 'world' is no URL"):
            main.configure(main.Settings(server="world"))

    def test_quantities(self) -> None:
        for text, want in (
            ("6 x 33 cl", (1980.0, "ml")),
            ("1,5 kg", (1500.0, "g")),
            ("500 G", (500.0, "g")),
            ("a dozen", (None, None)),
        ):
            self.assertEqual(main._quantity(text), want)
