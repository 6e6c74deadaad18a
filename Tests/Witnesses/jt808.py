#!/usr/bin/env python3
"""A second decoder of JT/T 808, for want of one in tshark: python3 Tests/Witnesses/jt808.py CAPTURE > CAPTURE.truth.json

A page of Python that shares nothing with imdump or with what made the capture. It reads a little-endian pcap of Ethernet and
IPv4 without options, puts each direction's bytes together by their sequence numbers, the first copy counting, and cuts them at
7E. Behind 7D stand 02 and 01, for 7E and 7D. Then a frame is, big endian:

     0      2            4                  10 or 15  12 or 17
    +------+------------+------------------+--------+----------+------+-----+
    | type | properties | terminal's phone | serial | (pieces) | body | xor |
    +------+------------+------------------+--------+----------+------+-----+

The properties' lowest ten bits are the body's length; 2000 says that two numbers of pieces follow the serial, 4000 that a byte of
version stands in front of a phone of ten bytes instead of six. The last byte is such that all of them give 0 together.

A frame's time is that of the packet by which all bytes up to its last one were there; `length` is the body's, `offset` and `wire` are its
place in its direction's bytes. 0001 and 8001 name serial and type of what they answer; 8100, 0104, 0201 name its serial.
`pairs` are [answer, request, microseconds].
"""
import json
import struct
import sys

ANSWERED = {0x8100: [0x0100], 0x0104: [0x8104, 0x8106], 0x0201: [0x8201]}


def packets(data):
    at = 24
    while at + 16 <= len(data):
        seconds, micros, count, _ = struct.unpack_from("<IIII", data, at)
        yield seconds * 10**6 + micros, data[at + 16:at + 16 + count]
        at += 16 + count


def frame(raw):
    plain = raw.replace(b"\x7d\x02", b"\x7e").replace(b"\x7d\x01", b"\x7d")
    kind, properties = struct.unpack_from(">HH", plain)
    at = 15 if properties & 0x4000 else 10
    serial, = struct.unpack_from(">H", plain, at)
    at += 6 if properties & 0x2000 else 2
    body, total = plain[at:-1], 0
    for byte in plain:
        total ^= byte
    assert len(body) == properties & 0x3FF, "another length"
    found = {"type": kind, "id": serial, "length": len(body), "sum": "bad" if total else "be"}
    if total:
        return found
    if kind in (0x0001, 0x8001):
        found["answers"], found["of"], found["status"] = struct.unpack(">HHB", body)
    elif kind in ANSWERED and not properties & 0x2000:
        found["answers"], = struct.unpack_from(">H", body)
        if kind == 0x8100:
            found["status"] = body[2]
    if kind == 0x0200:
        count, at = 0, 28
        while at < len(body):
            at, count = at + 2 + body[at + 1], count + 1
        found["items"] = count
    return found


def decode(path):
    streams, order, found = {}, [], []
    for time, packet in packets(open(path, "rb").read()):
        size, = struct.unpack_from(">H", packet, 16)
        source, target = packet[26:30], packet[30:34]
        ports = struct.unpack_from(">HH", packet, 34)
        sequence, = struct.unpack_from(">I", packet, 38)
        payload = packet[34 + (packet[46] >> 4) * 4:14 + size]
        ends = tuple(sorted([(source, ports[0]), (target, ports[1])]))
        if ends not in order:
            order.append(ends)
        key = (source, ports[0], target, ports[1])
        if packet[47] & 2:
            streams[key] = {"next": sequence + 1 & 0xFFFFFFFF, "held": {}, "bytes": b"", "at": 0}
            continue
        stream = streams[key]
        for n, byte in enumerate(payload):
            if (sequence + n - stream["next"]) & 0xFFFFFFFF < 1 << 31:
                stream["held"].setdefault((sequence + n) & 0xFFFFFFFF, byte)
        while stream["next"] in stream["held"]:
            stream["bytes"] += bytes([stream["held"].pop(stream["next"])])
            stream["next"] = stream["next"] + 1 & 0xFFFFFFFF
        while stream["bytes"].count(b"\x7e") >= 2:
            assert stream["bytes"][0] == 0x7E, "no flag"
            end = stream["bytes"].index(b"\x7e", 1)
            place = {"time_us": time, "stream": order.index(ends), "dir": "c2s" if ports[1] == 7611 else "s2c",
                     "offset": stream["at"], "wire": end + 1}
            found.append({**place, **frame(stream["bytes"][1:end])})
            stream["bytes"], stream["at"] = stream["bytes"][end + 1:], stream["at"] + end + 1
    return found


def pairs(found):
    asked, result = {}, []
    for n, item in enumerate(found):
        other = "s2c" if item["dir"] == "c2s" else "c2s"
        if "answers" in item:
            for kind in [item["of"]] if "of" in item else ANSWERED[item["type"]]:
                request = asked.get((item["stream"], other, kind, item["answers"]))
                if request is not None:
                    result.append([n, request, item["time_us"] - found[request]["time_us"]])
        elif item["sum"] == "be":
            asked[item["stream"], item["dir"], item["type"], item["id"]] = n
    return result


if __name__ == "__main__":
    frames = decode(sys.argv[1])
    head = {"generator": "Tests/Witnesses/jt808.py", "protocol": "jt808", "pairs": pairs(frames)}
    lines = ",\n".join("  " + json.dumps(frame) for frame in frames)
    sys.stdout.write(json.dumps(head)[:-1] + ',\n "messages": [\n' + lines + "\n ]}\n")
