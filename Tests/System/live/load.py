"""A load for a live capture: many tjp connections, so many messages a second, every one answered.

Frames come from Samples/generator; TCP and IP are written here, because a load of a minute has half a million packets.
"""
import array
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "Samples"))
from generator import wire  # noqa: E402

SYN, ACK, PSH, FIN = 2, 16, 8, 1
START = 1_760_000_000_000_000_000
MESSAGES_OF_A_CONNECTION = 50
SERVER = 0xCB00710A     # 203.0.113.10


def total(data):
    """The sum of big-endian 16-bit words; `data` has an even number of bytes."""
    words = array.array("H", data)
    if sys.byteorder == "little":
        words.byteswap()
    return sum(words)


def folded(number):
    while number >> 16:
        number = (number & 0xFFFF) + (number >> 16)
    return number ^ 0xFFFF


class Connection:
    """One phone's connection: packets with right checksums, and the sequence numbers of both ends."""

    def __init__(self, number):
        # 198.18.0.0/15 is for tests of this kind.
        self.client, self.port = 0xC6120000 + number % 60_000 + 1, 20_000 + number // 60_000
        self.next = [number * 7_919 & 0xFFFFFFFF, number * 104_729 & 0xFFFFFFFF]
        self.session, self.counter, self.messages = number * 31 & 0xFFFF, number % 1_000, 0
        self.known = [False, False]

    def packet(self, way, flags, payload=b""):
        source, target = (self.client, SERVER) if way == 0 else (SERVER, self.client)
        ports = (self.port, 8080) if way == 0 else (8080, self.port)
        acknowledged = self.next[1 - way] if flags & ACK else 0
        head = struct.pack(">HHIIBBHHH", *ports, self.next[way], acknowledged, 0x50, flags, 65_000, 0, 0)
        count = 20 + len(payload)
        sums = total(struct.pack(">IIHH", source, target, 6, count)) + total(head + payload + b"\0" * (count & 1))
        head = head[:16] + struct.pack(">H", folded(sums)) + head[18:]
        self.next[way] = self.next[way] + len(payload) + bool(flags & (SYN | FIN)) & 0xFFFFFFFF
        outer = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + count, 0, 0x4000, 64, 6, 0, source, target)
        outer = outer[:10] + struct.pack(">H", folded(total(outer))) + outer[12:]
        macs = (b"\x02\0\0\0\0\x01", b"\x02\0\0\0\0\x02")
        return macs[1 - way] + macs[way] + b"\x08\0" + outer + head + payload

    def open(self):
        return [self.packet(0, SYN), self.packet(1, SYN | ACK), self.packet(0, ACK)]

    def close(self):
        return [self.packet(0, FIN | ACK), self.packet(1, FIN | ACK), self.packet(0, ACK)]

    def message(self, second):
        """A text and its answer."""
        self.counter += 1
        self.messages += 1
        body = wire.text("message %d of session %d, which somebody typed" % (self.counter, self.session))
        said = wire.Frame(wire.DATA, self.counter, self.session, body).bytes(second)
        answer = wire.Frame(wire.ACK, self.counter, self.session).bytes(second)
        return self.packet(0, PSH | ACK, said), self.packet(1, PSH | ACK, answer)


class Load:
    """What a capture file holds, as its writer knows it."""

    def __init__(self, path, rate, seconds, width=1_000):
        """Writes `rate` messages a second for `seconds`; `width` connections are open at once."""
        self.path, self.seconds = path, seconds
        self.packets = self.messages = self.connections = self.bytes = 0
        step = 1_000_000_000 // rate
        with open(path, "wb", buffering=1 << 20) as self.file:
            self.file.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1))
            open_now, count = [], int(rate * seconds)
            for n in range(count):
                time = START + n * step
                place = n % width
                if place == len(open_now):
                    open_now.append(self.begin(time))
                connection = open_now[place]
                if connection.messages == MESSAGES_OF_A_CONNECTION:
                    self.write(time, connection.close())
                    connection = open_now[place] = self.begin(time)
                self.write(time + step // 4, self.exchange(connection, time), step // 3)
                self.messages += 1
            for connection in open_now:
                self.write(START + count * step, connection.close())
        self.frames = 2 * self.messages

    def exchange(self, connection, time):
        """The packets of a message and its answer."""
        return connection.message(time // 1_000_000_000)

    def begin(self, time):
        connection = Connection(self.connections)
        self.connections += 1
        self.write(time, connection.open())
        return connection

    def write(self, time, packets, apart=0):
        for packet in packets:
            record = struct.pack("<IIII", time // 1_000_000_000, time % 1_000_000_000, len(packet), len(packet))
            self.file.write(record + packet)
            self.packets += 1
            self.bytes += len(packet)
            time += apart


def packets(path):
    """The packets of a file that `Load` wrote."""
    with open(path, "rb") as file:
        data = file.read()
    at = 24
    while at + 16 <= len(data):
        count = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16:at + 16 + count]
        at += 16 + count
