"""A small client of PiLM's JSON lines over a serial port: send, stream, abort.

An example in about 100 lines; it needs pyserial and nothing else. Its lines carry checksums, and an answer of which a
part was lost ends in `Damaged`; asking again is up to the caller (`pilm` and `cargo xtask` do that by themselves).

    with Pilm("/dev/ttyUSB0") as pilm:
        for event in pilm.stream("complete", prompt="One day", max_tokens=20):
            print(event.get("text", ""), end="", flush=True)
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import serial

Event = dict[str, Any]


class Refused(Exception):
    """The firmware has answered with an error; `code` is its kind."""

    def __init__(self, event: Event) -> None:
        super().__init__(event["message"])
        self.code: str = event["code"]


class Damaged(Exception):
    """A part of the answer was lost, or the request did not arrive whole."""


def _table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_TABLE = [_table_entry(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    """The CRC-32C of RFC 3720; of b"123456789" it is 0xE3069283."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def with_crc(text: bytes) -> bytes:
    """The line with its checksum behind it."""
    return b"%s #%08x" % (text, crc32c(text))


def without_crc(line: bytes) -> bytes | None:
    """The line without its checksum; None if that is wrong or missing."""
    text, mark, digits = line.rpartition(b" #")
    return text if mark and digits == b"%08x" % crc32c(text) else None


class Pilm:
    """A firmware at the other end of a serial port."""

    def __init__(self, port: str, baud: int = 115_200, timeout_s: float = 60.0) -> None:
        """Opens the port and waits up to `timeout_s` for the firmware; later as long for each event."""
        self._port = serial.Serial(port, baud, timeout=1.0)
        self._timeout_s = timeout_s
        self._last_id = 0
        deadline = time.monotonic() + timeout_s
        while True:
            # Ctrl-C stops what runs and drops half a line
            self._port.write(b"\x03")
            first = self._last_id + 1
            self.send("tokenize", text="")
            line = self._line(time.monotonic() + 2.0)
            while line is not None:
                if isinstance(line["id"], int) and line["id"] >= first:
                    return
                line = self._line(time.monotonic() + 2.0)
            if time.monotonic() > deadline:
                raise TimeoutError("the firmware does not answer")

    def send(self, op: str, **fields: Any) -> int:
        """Sends a request; its name, which all of its events carry."""
        self._last_id += 1
        request = {"id": self._last_id, "op": op, **fields}
        self._port.write(with_crc(json.dumps(request).encode()) + b"\r")
        return self._last_id

    def stream(self, op: str, **fields: Any) -> Iterator[Event]:
        """Asks, and gives the events of the answer one by one, `done` last. Raises Refused, Damaged, TimeoutError."""
        request, next_n = self.send(op, **fields), 0
        while True:
            event = self._line(time.monotonic() + self._timeout_s)
            if event is None:
                raise TimeoutError(f"no answer to {op}")
            if event.get("code") == "bad_crc":
                raise Damaged(f"{op} did not arrive whole")
            if event["id"] != request:
                continue
            if event["n"] != next_n:
                raise Damaged(f"event {next_n} of the answer to {op} was lost")
            next_n += 1
            if event["event"] == "error":
                raise Refused(event)
            yield event
            if event["event"] == "done":
                return

    def abort(self) -> None:
        """Stops the request that was sent last; its `done` still comes."""
        abort = {"id": self._last_id, "op": "abort"}
        self._port.write(with_crc(json.dumps(abort).encode()) + b"\r")

    def _line(self, deadline: float) -> Event | None:
        """The next event with a right checksum, up to `deadline`."""
        while time.monotonic() < deadline:
            line = self._port.readline()
            start = line.find(b'{"id":')
            text = without_crc(line[start:].strip()) if start >= 0 else None
            if text is not None:
                event: Event = json.loads(text)
                return event
        return None

    def __enter__(self) -> Pilm:
        return self

    def __exit__(self, *_: object) -> None:
        self._port.close()
