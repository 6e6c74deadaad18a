"""Packets as bytes, and the two file formats."""
import ipaddress
import struct

from .tcp import ACK, RST, SYN


def checksum(data):
    total = sum(struct.unpack(">%dH" % ((len(data) + 1) // 2), data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def mac(address):
    """A locally administered address made of the IP address's last two bytes."""
    return b"\x02\0\0\0" + ipaddress.ip_address(address).packed[-2:]


class Encoder:
    """Makes the bytes of one capture's packets: Ethernet with any VLAN tags, IP, and TCP with the timestamps option."""

    def __init__(self):
        self.identification = {}

    def tcp(self, packet):
        own, other = packet.direction, 1 - packet.direction
        numbers, ports = packet.connection.numbers, [port for _, port in packet.connection.addresses]
        clock = struct.pack(">BBBBII", 1, 1, 8, 10, packet.sent // 1000 & 0xFFFFFFFF, packet.echo)
        if packet.flags & SYN:
            sequence, options = numbers[own], b"\x02\x04\x05\xb4\x01\x01" + clock[2:] + b"\x01\x03\x03\x07"
        elif packet.flags & RST and packet.connection.answer == "refuse":
            sequence, options = 0, b""
        else:
            sequence, options = numbers[own] + 1 + packet.start, clock
        acknowledged = numbers[other] + 1 + packet.acknowledged if packet.flags & ACK else 0
        return struct.pack(">HHIIBBHHH", ports[own], ports[other], sequence & 0xFFFFFFFF, acknowledged & 0xFFFFFFFF,
                           20 + len(options) << 2, packet.flags, 0xFFFF if packet.flags & SYN else 502, 0, 0) + options

    def encode(self, packet, vlans=()):
        source, target = [ipaddress.ip_address(host) for host, _ in packet.connection.addresses][::1 - 2 * packet.direction]
        segment = self.tcp(packet) + packet.payload
        if source.version == 6:
            pseudo = source.packed + target.packed + struct.pack(">II", len(segment), 6)
            head = struct.pack(">IHBB", 0x60000000, len(segment), 6, 64) + source.packed + target.packed
        else:
            pseudo = source.packed + target.packed + struct.pack(">HH", 6, len(segment))
            number = self.identification[source] = self.identification.get(source, 0) + 1 & 0xFFFF
            head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), number, 0x4000, 64, 6, 0)
            head += source.packed + target.packed
            head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
        segment = segment[:16] + struct.pack(">H", checksum(pseudo + segment)) + segment[18:]
        tags = b"".join(struct.pack(">HH", 0x8100 if n == len(vlans) - 1 else 0x88A8, tag) for n, tag in enumerate(vlans))
        return mac(str(target)) + mac(str(source)) + tags + (b"\x86\xdd" if source.version == 6 else b"\x08\0") + head + segment


def pcap(path, packets):
    """A little-endian pcap file with microseconds; `packets` is [(microseconds, bytes)]."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for time, data in packets:
            file.write(struct.pack("<IIII", time // 1_000_000, time % 1_000_000, len(data), len(data)) + data)


def pcapng(path, interfaces, packets):
    """A little-endian pcapng file with nanoseconds; `packets` is [(nanoseconds, interface, bytes)]."""
    def padded(data):
        return data + b"\0" * (-len(data) % 4)

    def option(code, value):
        return struct.pack("<HH", code, len(value)) + padded(value)

    def block(kind, body):
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    end = struct.pack("<HH", 0, 0)
    with open(path, "wb") as file:
        file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + option(4, b"Samples/make.py") + end))
        for name in interfaces:
            file.write(block(1, struct.pack("<HHI", 1, 0, 262144) + option(2, name.encode()) + option(9, b"\x09") + end))
        for time, interface, data in packets:
            head = struct.pack("<IIIII", interface, time >> 32, time & 0xFFFFFFFF, len(data), len(data))
            file.write(block(6, head + padded(data)))
