#!/usr/bin/env python3
"""Writes CAPTURE.truth.json: every MQTT control packet as tshark sees it. python3 Samples/mqtt-truth.py CAPTURE

Each message: time_us (of the packet that completed it), stream, dir (c2s is towards port 1883), type, name, length (the
remaining length), and where the packet has them id, qos, dup, retain, topic.
"""
import collections
import json
import subprocess
import sys
import xml.etree.ElementTree as ET

NAMES = ("connect connack publish puback pubrec pubrel pubcomp subscribe suback unsubscribe unsuback pingreq pingresp "
         "disconnect").split()


def value(layer, name, base=10):
    """The number of a field anywhere below `layer`, or None."""
    found = layer.find(".//field[@name='%s']" % name)
    return None if found is None else int(found.get("show"), 0 if base == 16 else base)


def messages(capture):
    command = ["tshark", "-n", "-r", capture, "-o", "tcp.reassemble_out_of_order:TRUE", "-Y", "mqtt", "-T", "pdml"]
    pdml = subprocess.run(command, check=True, capture_output=True).stdout
    for packet in ET.fromstring(pdml).iter("packet"):
        seconds, fraction = packet.find(".//field[@name='frame.time_epoch']").get("show").split(".")
        tcp = packet.find("proto[@name='tcp']")
        for layer in packet.iter("proto"):
            if layer.get("name") != "mqtt" or value(layer, "mqtt.msgtype") is None:
                continue
            kind = value(layer, "mqtt.msgtype")
            message = {"time_us": int(seconds) * 10**6 + int(fraction[:6]), "stream": value(tcp, "tcp.stream"),
                       "dir": "c2s" if value(tcp, "tcp.dstport") == 1883 else "s2c",
                       "type": kind, "name": NAMES[kind - 1], "length": value(layer, "mqtt.len")}
            number = value(layer, "mqtt.msgid")
            if number is not None:
                message["id"] = number
            if kind == 3:
                for key, name in (("qos", "mqtt.qos"), ("dup", "mqtt.dupflag"), ("retain", "mqtt.retain")):
                    message[key] = value(layer, name)
                message["topic"] = layer.find(".//field[@name='mqtt.topic']").get("show")
            yield message


def main(capture):
    version = subprocess.run(["tshark", "--version"], check=True, capture_output=True, text=True).stdout.split(" (Git")[0]
    found = list(messages(capture))
    counters = collections.Counter(message["name"] for message in found)
    head = json.dumps({"generator": "Samples/mqtt-truth.py with " + version, "counters": dict(sorted(counters.items()))})
    lines = ",\n".join("  " + json.dumps(message, ensure_ascii=False) for message in found)
    with open(capture + ".truth.json", "w", encoding="utf-8") as file:
        file.write(head[:-1] + ',\n "messages": [\n' + lines + "\n ]}\n")
    print("%s: %d MQTT packets: %s" % (capture, len(found), dict(sorted(counters.items()))))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
