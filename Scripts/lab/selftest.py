"""What the laboratory was asked for against what datagrams through it met."""
import argparse
import json
import os
import shlex
import sys
import tempfile

# Counts datagrams, their delays and their order. The socket that listens on TCP tells the laboratory that it is ready.
SINK = r"""
import json, select, socket, struct, sys, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE
udp.bind(("0.0.0.0", 9000))
tcp = socket.socket()
tcp.bind(("0.0.0.0", 9001))
tcp.listen()
delays, seen, twice, late, highest = [], set(), 0, 0, -1
while True:
    ready = select.select([udp], [], [], 0.2)[0]
    if ready:
        number, sent = struct.unpack_from("!Id", udp.recv(2048))
        delays.append((time.monotonic() - sent) * 1e3)
        twice += number in seen
        late += number not in seen and number < highest
        highest = max(highest, number)
        seen.add(number)
    if delays and (not ready or len(delays) % 500 == 0):
        open(sys.argv[1], "w").write(json.dumps(dict(
            got=len(seen), twice=twice, reordered=late, count=len(delays), mean=sum(delays) / len(delays),
            least=min(delays), most=max(delays))))
"""
SOURCE = r"""
import socket, struct, sys, time
count, rate, rest = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
began = time.monotonic()
for number in range(count):
    wait = began + number / rate - time.monotonic()
    if wait > 0:
        time.sleep(wait)
    udp.sendto(struct.pack("!Id", number, time.monotonic()) + b"x" * 1100, ("10.77.0.1", 9000))
time.sleep(rest)
"""
# name, options, datagrams, datagrams a second, seconds to wait after the last, what must hold
CASES = [
    ("clean", "", 4000, 2000, 0.5, lambda m, loss: loss == 0),
    ("loss 0.30", "--loss 0.3", 6000, 2000, 0.5, lambda m, loss: abs(loss - 0.3) < 0.03),
    ("loss 0.01", "--loss 0.01", 6000, 2000, 0.5, lambda m, loss: abs(loss - 0.01) < 0.006),
    ("delay 50 ms", "--delay 50", 3000, 1500, 0.6, lambda m, loss: loss == 0 and m["least"] >= 50),
    ("200 to 800 ms, in order", "--delay 200:800", 200, 20, 1.2, lambda m, loss: m["reordered"] == 0),
    ("200 to 800 ms, any order", "--delay 200:800 --free-order", 2000, 200, 1.2, lambda m, loss: m["reordered"] > 0),
    ("delay 20 ms, deviation 2", "--delay 20~2", 300, 50, 0.6, lambda m, loss: 18 < m["mean"] < 25),
    ("bursts 0.02:0.25", "--burst 0.02:0.25", 8000, 2000, 0.5, lambda m, loss: 0.04 < loss < 0.11),
    ("reorder 0.05 by 20 ms", "--reorder 0.05:20", 4000, 1000, 0.6, lambda m, loss: 100 < m["reordered"] < 320),
    ("twice 0.1", "--dup 0.1", 4000, 2000, 0.5, lambda m, loss: 300 < m["twice"] < 500),
    ("1 Mbit/s, offered 2.3", "--rate 1m --queue 32768", 1000, 250, 1.0, lambda m, loss: 0.3 < loss < 0.65),
    ("down for 1 of 4 s", "--down 1:1", 2000, 500, 0.5, lambda m, loss: 0.2 < loss < 0.3),
]


def check(words, options, run):
    parser = argparse.ArgumentParser("weaknet selftest")
    options(parser)
    failures = 0
    layout = "%-26s %6s %6s %7s %6s %6s %8s %8s %8s  %s"
    print(layout % ("case", "sent", "got", "loss", "twice", "reord", "min ms", "mean ms", "max ms", ""))
    for name, wanted, count, rate, rest, holds in CASES:
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            _, report = run(
                parser.parse_args(shlex.split(wanted) + words + ["--linger", "0.3"]),
                [sys.executable, "-c", SINK, out], [sys.executable, "-c", SOURCE, str(count), str(rate), str(rest)])
            with open(out) as file:
                met = json.load(file)
        loss = 1 - met["got"] / count
        books = report["c2s"]
        good = holds(met, loss) and books["balanced"] and met["count"] == books["delivered"]
        failures += not good
        print(layout % (name, count, met["got"], "%.4f" % loss, met["twice"], met["reordered"], "%.2f" % met["least"],
                        "%.2f" % met["mean"], "%.2f" % met["most"], "ok" if good else "FAILED"))
    return 1 if failures else 0
