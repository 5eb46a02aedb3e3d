from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from typing import Any
from unittest import TestCase

import grpc

from koan_plugin import _wire

from .host import SAMPLE, App, Files, events_of


class ProcessTest(TestCase):
    """One process for all tests that leave it as it was."""

    app: App

    @classmethod
    def setUpClass(cls) -> None:
        cls.app = App()
        assert cls.app.configure({"city": "Rome", "maxDays": "7", "apiKey": "secret", "verbose": "true"}) is None

    @classmethod
    def tearDownClass(cls) -> None:
        cls.app.process.send_signal(signal.SIGTERM)
        assert cls.app.close() == 0

    def test_handshake(self) -> None:
        socket = self.app.line.split("|")[3]
        self.assertEqual(self.app.line, f"1|1|unix|{socket}|grpc\n")
        self.assertEqual(os.path.dirname(socket), self.app.folder)

    def test_manifest(self) -> None:
        m = self.app.unary(f"/{_wire.SERVICE}/Describe", _wire.DescribeRequest(app="test"), _wire.Manifest)
        self.assertEqual((m.contract_version, m.domain, m.version), (1, "sample", "1.2.3"))
        self.assertEqual((list(m.fault_codes), list(m.needs)), (["too_loud"], ["koan::Todo.patch"]))
        self.assertTrue(m.converses and m.keeps_state)
        settings = [(s.key, s.default_value, s.help, s.secret) for s in m.settings]
        self.assertEqual(settings[0], ("city", "Berlin", "Where the weather is.", False))
        self.assertEqual(settings[1:3], [("apiKey", "", "Of the service.", True), ("maxDays", "3", "", False)])
        self.assertEqual(settings[3], ("verbose", "false", "", False))
        f = m.functions[0]
        self.assertEqual((f.name, f.summary, f.timeout_ms, list(f.scopes)), ("say", "Say it again.", 2500, ["say"]))
        self.assertEqual(json.loads(f.example), {"text": "hi"})
        self.assertTrue(f.effects.read_only)
        self.assertFalse(f.effects.outside)
        self.assertEqual(json.loads(f.input_schema)["required"], ["text"])
        self.assertEqual(json.loads(f.output_schema)["required"], ["text", "count", "about"])
        self.assertIn("wait-async", [f.name for f in m.functions])

    def test_health(self) -> None:
        check = self.app.channel.unary_unary("/grpc.health.v1.Health/Check")
        self.assertEqual(check(b"\n\x06plugin", timeout=10), b"\x08\x01")

    def test_call(self) -> None:
        deadline = int(time.time() * 1000) + 5000
        got = self.app.call(
            "say",
            {"text": "hi", "count": 2**70},
            key="k",
            set="s",
            dry_run=True,
            local=True,
            trace="t",
            subject="ann",
            scopes=["a"],
            sets=["b*"],
            deadline_unix_ms=deadline,
        )
        self.assertEqual((got["text"], got["count"]), ("hi", 2**70))
        self.assertEqual(
            got["about"],
            {
                "id": "c1",
                "key": "k",
                "set": "s",
                "dryRun": True,
                "local": True,
                "trace": "t",
                "subject": "ann",
                "scopes": ["a"],
                "sets": ["b*"],
                "city": "Rome",
                "maxDays": 7,
                "state": "/state",
                "deadline": True,
            },
        )

    def test_long_outputs_come_in_parts(self) -> None:
        parts = events_of(self.app.stream("say", {"text": "", "size": 100_000}, parts=True), "part")
        self.assertEqual(len(parts), 3)
        self.assertEqual({p.size for p in parts}, {parts[0].size})
        got = self.app.call("say", {"text": "", "size": 100_000}, parts=True)
        self.assertEqual(got["text"], "x" * 100_000)
        self.assertEqual(events_of(self.app.stream("say", {"text": "", "size": 100_000}), "part"), [])

    def test_outputs_are_bounded(self) -> None:
        fault = self.app.call("say", {"text": "", "size": 5_000_000})["fault"]
        self.assertEqual((fault["code"], fault["details"]["limit"]), ("call_too_large", 4 << 20))

    def test_inputs_of_any_size_that_an_app_sends(self) -> None:
        fault = self.app.call("say", {"text": "x" * (5 << 20)})["fault"]
        self.assertEqual(fault["code"], "call_too_large", "it came in whole")

    def test_faults(self) -> None:
        def fault(how: str) -> Any:
            return self.app.call("fail", {"how": how})["fault"]

        self.assertEqual(
            fault("fault"),
            {
                "code": "conflict",
                "message": "taken",
                "hint": "take another",
                "path": "/how",
                "details": {"by": "bob"},
                "retry": "never",
            },
        )
        self.assertEqual(fault("own"), {"code": "too_loud", "message": "not so loud"})
        for how in ("undeclared", "unsendable", "exit", "error"):
            self.assertEqual(fault(how), {"code": "internal", "message": "see the log"}, how)
        self.assertEqual(fault("timeout"), {"code": "timeout", "message": "it did not answer in time"})
        self.assertEqual(self.app.call("nothing")["fault"]["code"], "tool_not_found")
        unfit = self.app.call("say", {"txt": 1})["fault"]
        self.assertEqual((unfit["code"], unfit["path"]), ("invalid_payload", "/txt"))
        self.assertEqual(self.app.call("say", b"{")["fault"]["code"], "invalid_payload")

    def test_progress(self) -> None:
        events = list(self.app.stream("report", {"times": 2}))
        seen = [(p.done, p.total, p.message, p.partial) for p in (e.progress for e in events[:-1])]
        self.assertEqual(
            seen, [(0, 2, "step 0", b""), (0, 0, "", b'{"times":0}'), (1, 2, "step 1", b""), (0, 0, "", b'{"times":1}')]
        )
        self.assertEqual(json.loads(events[-1].output), {"times": 2})

    def test_too_much_progress_is_dropped(self) -> None:
        events = list(self.app.stream("report", {"times": 20_000}))
        self.assertEqual(json.loads(events[-1].output), {"times": 20_000})

    def test_calls_run_at_the_same_time(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            began = time.monotonic()
            for function in ("wait", "wait-async"):
                list(pool.map(partial(self.app.call, function), [{"seconds": 0.5}] * 40))
            self.assertLess(time.monotonic() - began, 5, "one after the other they take 40 s")

    def test_invoke(self) -> None:
        asked = []

        def answer(question: object) -> dict[str, object]:
            asked.append(question.invoke)  # type: ignore[attr-defined]
            return {"output": b'{"count":1180591620717411303424}'}

        self.assertEqual(self.app.converse("patch", {"id": "t1"}, answer), {"got": {"count": 2**70}})
        self.assertEqual(asked[0].operation, "koan::Todo.patch")
        self.assertEqual(json.loads(asked[0].input), {"id": "t1", "count": 2**70})

        def refuse(_: object) -> dict[str, object]:
            return {"fault": b'{"code":"approval_required","message":"ask ann","details":{"planId":"p"}}'}

        fault = self.app.converse("patch", {"id": "t1"}, refuse)["fault"]
        self.assertEqual((fault["code"], fault["details"]), ("approval_required", {"planId": "p"}))
        fault = self.app.call("patch", {"id": "t1"})["fault"]
        self.assertEqual(fault["code"], "capability_unsupported", "in a call without questions")

    def test_many_questions_are_asked_at_once(self) -> None:
        ids = [str(i) for i in range(100)]
        got = self.app.converse("patch-all", {"ids": ids}, lambda q: {"output": q.invoke.input})
        self.assertEqual(got, {"got": [{"id": id} for id in ids]})

    def test_files(self) -> None:
        data = os.urandom(5 << 20)
        for function in ("copy", "copy-async"):
            files = Files(f1=data)
            got = self.app.converse(function, {"file": {"$file": "f1"}}, files)
            file = {"$file": "new", "name": "a.bin", "type": "x/y", "size": len(data)}
            self.assertEqual(got, {"file": file, "size": len(data)}, function)
            self.assertEqual(bytes(files.files["new"]), data)
            self.assertLess(files.pieces, 20, "a piece has up to 1 MiB")

    def test_a_file_that_an_error_interrupts_is_dropped(self) -> None:
        files = Files(f1=b"abc")
        fault = self.app.converse("copy", {"file": {"$file": "f1"}, "drop": True}, files)["fault"]
        self.assertEqual(fault["message"], "dropped")
        self.assertEqual(files.closed, [])

    def test_calls_are_cancelled(self) -> None:
        for function in ("wait", "wait-async"):
            stream = self.app.stream(function, {"seconds": 100})
            threading.Timer(0.1, stream.cancel).start()
            with self.assertRaises(grpc.RpcError):
                next(stream)
            with self.assertRaises(grpc.RpcError) as caught:
                next(self.app.stream(function, {"seconds": 100}, timeout=0.1))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            over = [e for e in self.app.log if isinstance(e, dict) and e["@message"] == "over" and e["cancelled"]]
            if len(over) >= 4:
                return
            time.sleep(0.02)
        self.fail(f"the functions have not heard of it: {self.app.log}")


class EndTest(TestCase):
    def test_log(self) -> None:
        app = App()
        app.configure({"apiKey": "k"})
        app.call("report", {"times": 1})
        app.call("fail", {"how": "error"})
        app.process.terminate()
        self.assertEqual(app.close(), 0)
        whispered = app.entry("whispered")
        whispered.pop("@timestamp")
        self.assertEqual(
            whispered, {"@level": "debug", "@message": "whispered", "function": "report", "call": "c1", "times": 1}
        )
        self.assertEqual(app.entry("spoken")["@level"], "warn")
        library = app.entry("from a library")
        self.assertEqual((library["logger"], library["call"]), ("library", "c1"))
        failed = app.entry("the function failed")
        self.assertEqual((failed["@level"], failed["function"]), ("error", "fail"))
        self.assertIn('raise RuntimeError("inner words")', failed["stack"])
        self.assertEqual(app.entry("closed")["@level"], "info")
        self.assertEqual([line for line in app.log if isinstance(line, str)], ["a library greets", "printed"])

    def test_shutdown_ends_it(self) -> None:
        app = App()
        app.channel.unary_unary("/plugin.GRPCController/Shutdown")(b"", timeout=10)
        self.assertEqual(app.close(), 0)

    def test_a_function_that_does_not_end_holds_nobody_up(self) -> None:
        app = App()
        app.configure({})
        stream = app.stream("stubborn", {"seconds": 100})
        time.sleep(0.2)
        began = time.monotonic()
        app.process.terminate()
        with self.assertRaises(grpc.RpcError):
            next(stream)
        self.assertEqual(app.close(), 0)
        self.assertLess(time.monotonic() - began, 3, "the app kills it then")

    def test_an_interrupt_is_the_apps(self) -> None:
        app = App()
        app.process.send_signal(signal.SIGINT)
        self.assertIsNone(app.configure({}))
        app.process.terminate()
        self.assertEqual(app.close(), 0)

    def test_settings_that_are_wrong(self) -> None:
        app = App()
        for settings, message in (
            ({"city": "Atlantis"}, "city: it has sunk"),
            (
                {"maxDays": "many", "verbose": "perhaps"},
                "maxDays must be a whole number; verbose must be true or false",
            ),
        ):
            self.assertEqual(app.configure(settings), {"code": "invalid_payload", "message": message})
        app.process.terminate()
        self.assertEqual(app.close(), 0)

    def test_without_an_app(self) -> None:
        done = subprocess.run([sys.executable, str(SAMPLE)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("This is the plugin sample, which an app starts", done.stderr)

    def test_an_error_before_it_serves_is_its_last_word(self) -> None:
        app = App(SAMPLE_DIES="1")
        self.assertEqual(app.line, "")
        self.assertEqual(app.close(), 1)
        self.assertEqual(app.log[-1], "RuntimeError: it cannot be")
