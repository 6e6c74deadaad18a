#!/usr/bin/env python3
"""Writes CAPTURE.truth.json: every SMPP or Diameter message as tshark sees it. python3 Samples/tshark-truth.py CAPTURE...

Each message: time_us (of the packet that completed it), stream, dir (c2s is towards the protocol's port), type (SMPP's
command_id; Diameter's command code, with bit 31 for a request), id (sequence_number; hop-by-hop), length (header included), in
answers status (command_status; the first Result-Code or Experimental-Result-Code), for Diameter avps (nested ones included).
`pairs`: for each answer, its number in `messages`, that of the newest request before it with the same id the other way, and
the microseconds between.
"""
import json
import subprocess
import sys
import xml.etree.ElementTree as ET

PORTS = {"smpp": 2775, "diameter": 3868}


def value(layer, name):
    found = layer.find(".//field[@name='%s']" % name)
    if found is None:
        return None
    shown = found.get("show")
    return int(shown, 0) if shown.lower() not in ("true", "false") else int(shown.lower() == "true")


def message(layer, protocol):
    if protocol == "smpp":
        if value(layer, "smpp.command_id") is None:
            return None
        found = {"type": value(layer, "smpp.command_id"), "id": value(layer, "smpp.sequence_number"),
                 "length": value(layer, "smpp.command_length")}
        if found["type"] >> 31:
            found["status"] = value(layer, "smpp.command_status")
        return found
    code = value(layer, "diameter.cmd.code")
    if code is None:
        return None
    is_request = value(layer, "diameter.flags.request")
    found = {"type": is_request << 31 | code, "id": value(layer, "diameter.hopbyhopid"), "length": value(layer, "diameter.length"),
             "avps": len(layer.findall(".//field[@name='diameter.avp.code']"))}
    for field in layer.iter("field"):
        if not is_request and field.get("name") in ("diameter.Result-Code", "diameter.Experimental-Result-Code"):
            found["status"] = int(field.get("show"))
            break
    return found


def messages(capture, protocol):
    command = ["tshark", "-n", "-r", capture, "-o", "tcp.reassemble_out_of_order:TRUE", "-Y", protocol, "-T", "pdml"]
    pdml = subprocess.run(command, check=True, capture_output=True).stdout
    for packet in ET.fromstring(pdml).iter("packet"):
        seconds, fraction = packet.find(".//field[@name='frame.time_epoch']").get("show").split(".")
        tcp = packet.find("proto[@name='tcp']")
        for layer in packet.iter("proto"):
            found = message(layer, protocol) if layer.get("name") == protocol else None
            if found:
                yield dict({"time_us": int(seconds) * 10**6 + int(fraction[:6]), "stream": value(tcp, "tcp.stream"),
                            "dir": "c2s" if value(tcp, "tcp.dstport") == PORTS[protocol] else "s2c"}, **found)


def is_answer(message, protocol):
    return message["type"] >> 31 == (protocol == "smpp")


def pairs(found, protocol):
    asked, result = {}, []
    for n, message in enumerate(found):
        if not is_answer(message, protocol):
            asked[message["stream"], message["dir"], message["id"]] = n
            continue
        other = "s2c" if message["dir"] == "c2s" else "c2s"
        request = asked.get((message["stream"], other, message["id"]))
        if request is not None:
            result.append([n, request, message["time_us"] - found[request]["time_us"]])
    return result


def main(captures):
    version = subprocess.run(["tshark", "--version"], check=True, capture_output=True, text=True).stdout.split(" (Git")[0]
    for capture in captures:
        protocol = "smpp" if "smpp" in capture else "diameter"
        found = list(messages(capture, protocol))
        head = {"generator": "Samples/tshark-truth.py with " + version, "protocol": protocol, "pairs": pairs(found, protocol)}
        lines = ",\n".join("  " + json.dumps(message) for message in found)
        with open(capture + ".truth.json", "w", encoding="utf-8") as file:
            file.write(json.dumps(head)[:-1] + ',\n "messages": [\n' + lines + "\n ]}\n")
        print("%s: %d messages, %d pairs" % (capture, len(found), len(head["pairs"])))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
