#!/usr/bin/env python3
"""A second decoder of goim, for want of one in tshark: python3 Tests/Witnesses/goim.py CAPTURE > CAPTURE.truth.json

A page of Python that shares nothing with imdump or with what made the capture. It reads a little-endian pcap of Ethernet and
IPv4 without options, puts each direction's bytes together by their sequence numbers, the first copy counting, and cuts frames:

     0            4          6         8             12           16
    +------------+----------+---------+-------------+------------+------
    | whole size | 16       | 1       | operation   | sequence   | body
    +------------+----------+---------+-------------+------------+------

A frame's time is that of the packet by which all bytes up to its last one were there. Operations 1, 3, 5, 8, 13, 15 and 17 answer
0, 2, 4, 7, 12, 14 and 16 of the same sequence the other way; `pairs` are [answer, request, microseconds].
"""
import json
import struct
import sys

ANSWERS = {1: 0, 3: 2, 5: 4, 8: 7, 13: 12, 15: 14, 17: 16}


def packets(data):
    at = 24
    while at + 16 <= len(data):
        seconds, micros, count, _ = struct.unpack_from("<IIII", data, at)
        yield seconds * 10**6 + micros, data[at + 16:at + 16 + count]
        at += 16 + count


def decode(path):
    streams, order = {}, []
    found = []
    for time, packet in packets(open(path, "rb").read()):
        size, = struct.unpack_from(">H", packet, 16)
        source, target = packet[26:30], packet[30:34]
        ports = struct.unpack_from(">HH", packet, 34)
        sequence, = struct.unpack_from(">I", packet, 38)
        flags = packet[47]
        payload = packet[34 + (packet[46] >> 4) * 4:14 + size]
        ends = tuple(sorted([(source, ports[0]), (target, ports[1])]))
        if ends not in order:
            order.append(ends)
        key = (source, ports[0], target, ports[1])
        if flags & 2:
            streams[key] = {"next": sequence + 1 & 0xFFFFFFFF, "held": {}, "bytes": b""}
            continue
        stream = streams[key]
        for n, byte in enumerate(payload):
            offset = (sequence + n - stream["next"]) & 0xFFFFFFFF
            if offset < 1 << 31:
                stream["held"].setdefault((sequence + n) & 0xFFFFFFFF, byte)
        while stream["next"] in stream["held"]:
            stream["bytes"] += bytes([stream["held"].pop(stream["next"])])
            stream["next"] = stream["next"] + 1 & 0xFFFFFFFF
        while len(stream["bytes"]) >= 16:
            whole, head, version, operation, number = struct.unpack_from(">IHHII", stream["bytes"])
            assert (head, version) == (16, 1), "no goim frame"
            if len(stream["bytes"]) < whole:
                break
            stream["bytes"] = stream["bytes"][whole:]
            found.append({"time_us": time, "stream": order.index(ends), "dir": "c2s" if ports[1] == 3101 else "s2c",
                          "type": operation, "id": number, "length": whole})
    return found


def pairs(found):
    asked, result = {}, []
    for n, frame in enumerate(found):
        other = "s2c" if frame["dir"] == "c2s" else "c2s"
        if frame["type"] in ANSWERS:
            request = asked.get((frame["stream"], other, ANSWERS[frame["type"]], frame["id"]))
            if request is not None:
                result.append([n, request, frame["time_us"] - found[request]["time_us"]])
        else:
            asked[frame["stream"], frame["dir"], frame["type"], frame["id"]] = n
    return result


if __name__ == "__main__":
    frames = decode(sys.argv[1])
    head = {"generator": "Tests/Witnesses/goim.py", "protocol": "goim", "pairs": pairs(frames)}
    lines = ",\n".join("  " + json.dumps(frame) for frame in frames)
    sys.stdout.write(json.dumps(head)[:-1] + ',\n "messages": [\n' + lines + "\n ]}\n")
