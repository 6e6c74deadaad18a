#!/usr/bin/env python3
"""A second decoder of tjp's relatives: python3 Tests/Witnesses/tjp.py CAPTURE > CAPTURE.truth.json

A page of Python that shares nothing with imdump or with what made the capture; which of the two it is, the frames' version says.
It reads a little-endian pcap of Ethernet and IPv4 without options and puts each direction's bytes together as goim.py does.

     0       4         6      8          12           16                                   20                24
    +-------+---------+------+----------+------------+------------------------------------+-----------------+----
    | magic | version | type | sequence | length     | CRC-32                             | body            |        version 0.0
    | magic | version | type | sequence | time       | encryption, compression, session   | length          | CRC-32 version 1.0
    +-------+---------+------+----------+------------+------------------------------------+-----------------+----

`sum`: be, le, bad, or none without a body. `pairs` are [answer, request, microseconds]: an answer is an ACK with the number of the
last request the other way (in its body of four bytes, else in its header), or the same heartbeat from the other side.
"""
import json
import struct
import sys
import zlib

ACKS, BEATS = {(0, 3), (1, 0x2001)}, {(0, 2), (1, 0x3001)}
SERVER = 8080


def packets(data):
    at = 24
    while at + 16 <= len(data):
        seconds, micros, count, _ = struct.unpack_from("<IIII", data, at)
        yield seconds * 10**6 + micros, data[at + 16:at + 16 + count]
        at += 16 + count


def frame(data):
    """The first frame of `data`: its parts and the rest; nothing where it is not whole."""
    if len(data) < 20:
        return None
    magic, major, minor, kind, number = struct.unpack_from(">IBBHI", data)
    assert magic == 0xDECAFBAD and (major, minor) in ((0, 0), (1, 0)), "no frame"
    head = 28 if major else 20
    if len(data) < head:
        return None
    length, = struct.unpack_from(">I", data, 20 if major else 12)
    if len(data) < head + length:
        return None
    written, body = data[head - 4:head], data[head:head + length]
    wanted = zlib.crc32(body)
    orders = {struct.pack(">I", wanted): "be", struct.pack("<I", wanted): "le"}
    sum_ = orders.get(written, "bad") if body else "none" if written == bytes(4) else "bad"
    return major, kind, number, body, sum_, data[head + length:]


def decode(path):
    streams, order, found, bodies = {}, [], [], []
    for time, packet in packets(open(path, "rb").read()):
        size, = struct.unpack_from(">H", packet, 16)
        ports = struct.unpack_from(">HH", packet, 34)
        key = (packet[26:30], ports[0], packet[30:34], ports[1])
        ends = tuple(sorted([key[:2], key[2:]]))
        if ends not in order:
            order.append(ends)
        sequence, = struct.unpack_from(">I", packet, 38)
        payload = packet[34 + (packet[46] >> 4) * 4:14 + size]
        if packet[47] & 2:
            streams[key] = [sequence + 1, {}, b""]
            continue
        stream = streams[key]
        for n, byte in enumerate(payload):
            if (sequence + n - stream[0]) & 0xFFFFFFFF < 1 << 31:
                stream[1].setdefault((sequence + n) & 0xFFFFFFFF, byte)
        while stream[0] & 0xFFFFFFFF in stream[1]:
            stream[2] += bytes([stream[1].pop(stream[0] & 0xFFFFFFFF)])
            stream[0] += 1
        while (whole := frame(stream[2])) is not None:
            major, kind, number, body, sum_, stream[2] = whole
            found.append({"time_us": time, "stream": order.index(ends), "dir": "c2s" if ports[1] == SERVER else "s2c",
                          "type": kind, "id": number, "length": (28 if major else 20) + len(body), "sum": sum_})
            bodies.append((major, body))
    return found, bodies


def pairs(found, bodies):
    asked, result = {}, []
    for n, one in enumerate(found):
        major, body = bodies[n]
        other = "s2c" if one["dir"] == "c2s" else "c2s"
        named = struct.unpack(">I", body)[0] if len(body) == 4 and major else one["id"]
        if (major, one["type"]) in ACKS:
            request = asked.pop((one["stream"], other, named), None)
        elif (major, one["type"]) in BEATS and one["dir"] == "s2c":
            request = asked.pop((one["stream"], other, one["id"]), None)
        else:
            asked[one["stream"], one["dir"], one["id"]] = n
            continue
        if request is not None:
            result.append([n, request, one["time_us"] - found[request]["time_us"]])
    return result


if __name__ == "__main__":
    frames, contents = decode(sys.argv[1])
    head = {"generator": "Tests/Witnesses/tjp.py", "protocol": "tjp", "pairs": pairs(frames, contents)}
    lines = ",\n".join("  " + json.dumps(one) for one in frames)
    sys.stdout.write(json.dumps(head)[:-1] + ',\n "messages": [\n' + lines + "\n ]}\n")
