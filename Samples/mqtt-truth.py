#!/usr/bin/env python3
"""Writes CAPTURE.truth.json: every MQTT control packet as tshark sees it. python3 Samples/mqtt-truth.py CAPTURE

Each message: time_us (of the packet that completed it), stream, dir (c2s is towards port 1883), type, name, length (the
remaining length), and where the packet has them id, qos, dup, retain, topic, level (of CONNECT), reasons (MQTT 5's, and the
return code of CONNACK) and properties ([identifier, value] each, the will's behind CONNECT's own).
"""
import collections
import json
import subprocess
import sys
import xml.etree.ElementTree as ET

NAMES = ("connect connack publish puback pubrec pubrel pubcomp subscribe suback unsubscribe unsuback pingreq pingresp "
         "disconnect auth").split()


def value(layer, name, base=10):
    """The number of a field anywhere below `layer`, or None."""
    found = layer.find(".//field[@name='%s']" % name)
    return None if found is None else int(found.get("show"), 0 if base == 16 else base)


def properties(layer):
    """The properties of MQTT 5 as [identifier, value]; the value of a user property is a list of two."""
    found = []
    for field in layer.iter("field"):
        name, show = field.get("name"), field.get("show")
        if name == "mqtt.property_id":
            found.append([int(show, 0), None])
        elif name in ("mqtt.prop_number", "mqtt.property.max_qos", "mqtt.property.topic_alias"):
            found[-1][1] = int(show)
        elif name in ("mqtt.prop_string", "mqtt.property.content_type"):
            found[-1][1] = show
        elif name in ("mqtt.prop_key", "mqtt.prop_value"):
            found[-1][1] = (found[-1][1] or []) + [show]
    return found


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
            if kind == 1:
                message["level"] = value(layer, "mqtt.ver")
            reasons = [int(field.get("show"), 0) for field in layer.iter("field")
                       if field.get("name").endswith((".reason_code", "conack.val"))]
            if reasons:
                message["reasons"] = reasons
            if properties(layer):
                message["properties"] = properties(layer)
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
