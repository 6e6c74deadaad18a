#!/usr/bin/env python3
"""Makes the captures of this folder but for those of real brokers again, and the truth of tjp's, byte for byte: python3 Samples/make.py [FOLDER]

Standard library only. Each capture is a simulation: two applications talk over a small TCP (generator/tcp.py), a tap
sees the packets pass, and the truth is computed from what was written and when the tap saw it (generator/truth.py).
"""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from generator import carriers, files, reach, relatives, requests, scenarios, truth  # noqa: E402


def write_truth(path, world):
    """One line a message, so that a difference is easy to read."""
    known = truth.compute(world.connections, world.packets(), world.end)
    lines = ",\n".join("  " + json.dumps(message, ensure_ascii=False) for message in known.pop("messages"))
    rest = json.dumps(dict({"generator": "Samples/make.py", "packets": len(world.packets())}, **known), indent=1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(rest[:-2] + ',\n "messages": [\n' + lines + "\n ]\n}\n")


def main(folder):
    for name, scenario in scenarios.ALL.items():
        world = scenario()
        world.check()
        encoder, path = files.Encoder(), os.path.join(folder, name)
        if name.endswith(".pcapng"):
            packets = [(p.time * 1000 + n * 377 % 1000, *world.placed(p)) for n, p in enumerate(world.packets())]
            files.pcapng(path, world.interfaces,
                         [(time, interface, encoder.encode(p, vlans)) for time, interface, vlans, p in packets])
        else:
            files.pcap(path, [(p.time, encoder.encode(p)) for p in world.packets()])
        write_truth(path + ".truth.json", world)
        print("%s: %d packets, %d bytes" % (name, len(world.packets()), os.path.getsize(path)))
    # The truth of these is another decoder's: tshark's, and those in Tests/Witnesses.
    for name, scenario in {**requests.ALL, **relatives.ALL, **carriers.ALL, **reach.ALL}.items():
        encoder, path, packets = files.Encoder(), os.path.join(folder, name), scenario()
        files.pcap(path, [(p.time, encoder.encode(p)) for p in packets])
        if name in reach.COUNTS:
            with open(path + ".truth.json", "w", encoding="utf-8") as file:
                file.write(json.dumps(dict({"generator": "Samples/generator/reach.py"}, **reach.COUNTS[name]), indent=1) + "\n")
        print("%s: %d packets, %d bytes" % (name, len(packets), os.path.getsize(path)))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
