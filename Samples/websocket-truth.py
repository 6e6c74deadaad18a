#!/usr/bin/env python3
"""Writes CAPTURE.truth.json of MQTT in WebSocket frames: python3 Samples/websocket-truth.py CAPTURE PORT

tshark takes TCP apart; frames, masks, fragments and compression are read here, by Python and its zlib, because tshark 4.0 does not
inflate messages in fragments. Each message: time_us (of the packet that completed it), stream, dir (c2s is towards PORT), type,
name, length (the remaining length), and id where it has one. `frames` counts WebSocket frames by opcode, and has to be what
tshark counts.
"""
import collections
import json
import subprocess
import sys
import zlib

NAMES = ("connect connack publish puback pubrec pubrel pubcomp subscribe suback unsubscribe unsuback pingreq pingresp "
         "disconnect").split()


def tshark(capture, port, *arguments):
    command = ["tshark", "-n", "-r", capture, "-o", "tcp.reassemble_out_of_order:TRUE", "-d", "tcp.port==%d,http" % port]
    return subprocess.run([*command, *arguments], check=True, capture_output=True, text=True).stdout


class Direction:
    """One side's bytes: HTTP, then frames."""

    def __init__(self, opcodes):
        self.rest, self.isHTTP, self.opcodes, self.window, self.isPacked = b"", True, opcodes, None, False

    def take(self, data):
        """What the messages say that these bytes have or go on with."""
        self.rest += data
        if self.isHTTP and b"\r\n\r\n" in self.rest:
            head, self.rest = self.rest.split(b"\r\n\r\n", 1)
            self.keeps, self.isHTTP = b"no_context_takeover" not in head, False
        while not self.isHTTP and len(self.rest) >= 2:
            first, count, at = self.rest[0], self.rest[1] & 127, 2
            if count > 125:
                at = 4 if count == 126 else 10
                if len(self.rest) < at:
                    return
                count = int.from_bytes(self.rest[2:at], "big")
            key = self.rest[at:at + 4] if self.rest[1] >> 7 else bytes(4)
            at += 4 * (self.rest[1] >> 7)
            if len(self.rest) < at + count:
                return
            payload = bytes(byte ^ key[i & 3] for i, byte in enumerate(self.rest[at:at + count]))
            self.rest = self.rest[at + count:]
            self.opcodes[str(first & 15)] += 1
            if first & 15 < 8:
                yield self.message(first, payload)

    def message(self, first, payload):
        if first & 15:
            self.isPacked = bool(first & 0x40)
        if not self.isPacked:
            return payload
        self.window = self.window or zlib.decompressobj(-15)
        text = self.window.decompress(payload + (b"\0\0\xff\xff" if first & 0x80 else b""))
        if first & 0x80 and not self.keeps:
            self.window = None
        return text


def pieces(capture, port, opcodes):
    """What frames carry: time, stream, direction, bytes."""
    fields = ["frame.time_epoch", "tcp.stream", "tcp.dstport", "tcp.seq", "tcp.payload"]
    table = tshark(capture, port, "-Y", "tcp.len > 0", "-T", "fields", *(word for name in fields for word in ("-e", name)))
    sides, nexts = {}, {}
    for line in table.splitlines():
        time, stream, target, sequence, payload = line.split("\t")
        name = int(stream), "c2s" if int(target) == port else "s2c"
        payload, sequence = bytes.fromhex(payload), int(sequence)
        known = nexts.get(name, sequence)
        assert sequence <= known, "a segment is missing"
        nexts[name] = max(known, sequence + len(payload))
        seconds, fraction = time.split(".")
        for text in sides.setdefault(name, Direction(opcodes)).take(payload[known - sequence:]):
            yield int(seconds) * 10**6 + int(fraction[:6]), *name, text


def messages(capture, port, opcodes):
    rests = collections.defaultdict(bytes)
    for time, stream, way, data in pieces(capture, port, opcodes):
        rest = rests[stream, way] + data
        while len(rest) >= 2:
            length, shift, at = 0, 0, 1
            while at < len(rest) and shift < 28:
                length |= (rest[at] & 127) << shift
                shift, at = shift + 7, at + 1
                if rest[at - 1] < 128:
                    break
            if rest[at - 1] >= 128 or len(rest) < at + length:
                break
            kind, quality, body = rest[0] >> 4, rest[0] >> 1 & 3, rest[at:at + length]
            rest = rest[at + length:]
            message = {"time_us": time, "stream": stream, "dir": way, "type": kind, "name": NAMES[kind - 1], "length": length}
            if kind == 3 and quality:
                place = 2 + int.from_bytes(body[:2], "big")
                message["id"] = int.from_bytes(body[place:place + 2], "big")
            elif kind in (4, 5, 6, 7, 8, 9, 10, 11):
                message["id"] = int.from_bytes(body[:2], "big")
            yield message
        rests[stream, way] = rest


def main(capture, port):
    version = subprocess.run(["tshark", "--version"], check=True, capture_output=True, text=True).stdout.split(" (Git")[0]
    opcodes = collections.Counter()
    found = list(messages(capture, port, opcodes))
    seen = collections.Counter()
    for line in tshark(capture, port, "-Y", "websocket", "-T", "fields", "-e", "websocket.opcode").splitlines():
        seen.update(line.split(","))
    assert seen == opcodes, "tshark counts %s, not %s" % (seen, opcodes)
    counters = collections.Counter(message["name"] for message in found)
    head = json.dumps({"generator": "Samples/websocket-truth.py with " + version, "frames": dict(sorted(opcodes.items())),
                       "counters": dict(sorted(counters.items()))})
    lines = ",\n".join("  " + json.dumps(message) for message in found)
    with open(capture + ".truth.json", "w", encoding="utf-8") as file:
        file.write(head[:-1] + ',\n "messages": [\n' + lines + "\n ]}\n")
    print("%s: %d MQTT packets: %s" % (capture, len(found), dict(sorted(counters.items()))))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]))
