"""SIGKILL at any moment: what was printed or written half a second ago is there, and readable."""
import json
import mmap
import os
import random
import signal
import struct
import time

from . import load, net, runs

# Written at the latest so many seconds after the packet: half a second of waiting, and the kernel's block.
FLUSH = 1.0
# Ethernet, IP and TCP without options.
BARE = 54
NAMES = {load.wire.DATA: "data", load.wire.ACK: "ack"}


class Sender:
    """Sends packets at a steady pace, and knows when it sent which."""

    def __init__(self, space, packets, rate):
        self.times = mmap.mmap(-1, 8 * (len(packets) + 1))
        self.process = net.send(space, self.paced(packets, rate), limit=60)

    def paced(self, packets, rate):
        begun = time.monotonic()
        for number, packet in enumerate(packets):
            while (left := begun + number / rate - time.monotonic()) > 0:
                time.sleep(left)
            struct.pack_into("d", self.times, 8 * number, time.monotonic())
            yield packet

    def sent(self, until):
        """Packets sent before this moment."""
        count = 0
        while 0 < struct.unpack_from("d", self.times, 8 * count)[0] < until:
            count += 1
        return count

    def end(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def whole_packets(path):
    """The whole packets of a pcap file that may be cut."""
    with open(path, "rb") as file:
        data = file.read()
    at, found = 24, []
    while at + 16 <= len(data):
        count = struct.unpack_from("<I", data, at + 8)[0]
        if at + 16 + count > len(data):
            break
        found.append(data[at + 16:at + 16 + count])
        at += 16 + count
    return found, len(data) >= 24


def check(binary, space, folder, report, is_long):
    """Captures that are killed."""
    times = 200 if is_long else 20
    made = load.Load(os.path.join(folder, "killed.pcap"), 2_000, 5, width=50)
    packets = list(load.packets(made.path))
    every = list(headers(packets))
    lines, said, _ = runs.offline(binary, "-r", made.path, "--format", "json")
    report.equal("frames of the load", lines, made.frames)
    path = os.path.join(folder, "killed-written.pcap")
    draw = random.Random(9)
    good, partial, cut, most, trouble = 0, 0, 0, 0, []
    for number in range(times):
        run = runs.Run(binary, space.far, folder, "-q", "-i", "wire0", "--format", "json", "-w", path)
        if not run.listens():
            report.check("imdump captures", False, run.wait().said)
            return
        # Fast enough for several writes a batch, or so slow that only the clock has them written.
        sender = Sender(space.near, packets, draw.choice([300, 3_000, 12_000]))
        time.sleep(draw.uniform(0.05, 2.5))
        killed = time.monotonic()
        run.stop(signal.SIGKILL)
        sent, due = sender.sent(killed), sender.sent(killed - FLUSH)
        sender.end()

        found, has_header = whole_packets(path)
        with open(run.out, "rb") as file:
            out = file.read().split(b"\n")
        rest, whole = out[-1], out[:-1]
        try:
            frames = [json.loads(line) for line in whole]
        except ValueError as error:
            trouble.append("a line is none: %s" % error)
            continue
        due_frames = sum(len(packet) > BARE for packet in packets[:due])
        again, _, status = runs.offline(binary, "-r", path, "--format", "json")
        holds = (has_header and found == packets[:len(found)] and due <= len(found) <= sent
                 and due_frames <= len(frames) and status in (0, 1)
                 and again == sum(len(packet) > BARE for packet in found)
                 and [(frame["type"], frame["seq"], frame["session"]) for frame in frames] == every[:len(frames)])
        good, partial = good + holds, partial + bool(rest)
        cut += os.path.getsize(path) != 24 + sum(16 + len(packet) for packet in found)
        most = max(most, sent - len(found))
        if not holds:
            trouble.append("%d sent, %d due; %d written; %d frames due, %d printed" % (
                sent, due, len(found), due_frames, len(frames)))
    report.check("killed at %d moments: all is there that was due, in %d of them" % (times, good), good == times,
                 *trouble[-5:])
    report.note("last lines cut: %d; files that end inside a record: %d; packets not yet written, at most: %d" % (
        partial, cut, most))


def headers(packets):
    """Type, number and session of the frames that the packets of the load carry, one in each behind the handshakes."""
    for packet in packets:
        if len(packet) > BARE:
            _, _, _, kind, sequence, _, _, _, session, _, _ = load.wire.HEADER.unpack_from(packet, BARE)
            yield NAMES[kind], sequence, session
