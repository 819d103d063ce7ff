"""Tests against a firmware at the port that PILM_PORT names; `cargo xtask python` boots one in QEMU."""

import os
import unittest

from pilm import Pilm, Refused, crc32c, with_crc, without_crc


class Checksums(unittest.TestCase):
    def test_the_check_value(self) -> None:
        self.assertEqual(crc32c(b"123456789"), 0xE3069283)

    def test_only_a_right_checksum_is_taken_off(self) -> None:
        line = with_crc(b'{"op":"info"}')
        self.assertEqual(without_crc(line), b'{"op":"info"}')
        self.assertIsNone(without_crc(line.replace(b"info", b"inFo")))
        self.assertIsNone(without_crc(b'{"op":"info"}'))


class Firmware(unittest.TestCase):
    def setUp(self) -> None:
        self.pilm = Pilm(os.environ["PILM_PORT"])
        self.addCleanup(self.pilm._port.close)

    def test_an_answer_comes_event_by_event(self) -> None:
        fields = {"prompt": "One day", "max_tokens": 12, "seed": 3, "ignore_eos": True}
        events = list(self.pilm.stream("complete", **fields))
        self.assertEqual([event["event"] for event in events], ["token"] * 12 + ["done"])
        self.assertEqual(events[-1]["finish_reason"], "length")
        again = list(self.pilm.stream("complete", **fields))
        self.assertEqual([event.get("text") for event in again], [event.get("text") for event in events])

    def test_an_answer_can_be_aborted(self) -> None:
        events = self.pilm.stream("complete", prompt="One day", max_tokens=100_000, ignore_eos=True)
        for _ in range(5):
            next(events)
        self.pilm.abort()
        *_, done = events
        self.assertEqual(done["finish_reason"], "abort")

    def test_an_error_has_a_code(self) -> None:
        with self.assertRaises(Refused) as refused:
            list(self.pilm.stream("dance"))
        self.assertEqual(refused.exception.code, "unknown_op")


if __name__ == "__main__":
    unittest.main()
