"""What the laboratory reads and changes in a frame, and the captures it writes."""
import struct

PCAP_NANOSECONDS = 0xA1B23C4D


class Capture:
    """Writes a capture with nanoseconds."""

    def __init__(self, path, is_tap):
        self.file = open(path, "wb", 1 << 16)
        self.file.write(struct.pack("<IHHiIII", PCAP_NANOSECONDS, 2, 4, 0, 0, 262144, 1 if is_tap else 101))
        self.count = 0

    def add(self, nanoseconds, frame):
        seconds, rest = divmod(nanoseconds, 1000000000)
        self.file.write(struct.pack("<IIII", seconds, rest, len(frame), len(frame)) + frame)
        self.count += 1

    def close(self):
        self.file.close()


def ip_header(frame, is_tap):
    """(offset of the IP header, its version; 0 when there is none)"""
    offset = 14 if is_tap else 0
    return (offset, frame[offset] >> 4) if len(frame) > offset else (offset, 0)


def is_control(frame, is_tap):
    """ARP and IPv6 neighbour discovery are the laboratory's own and are not impaired."""
    offset, version = ip_header(frame, is_tap)
    if is_tap and frame[12:14] not in (b"\x08\0", b"\x86\xdd"):
        return True
    return version == 6 and len(frame) > offset + 40 and frame[offset + 6] == 58 and 133 <= frame[offset + 40] <= 137


def tcp_span(frame, is_tap):
    """(TCP header, TCP payload, end) as offsets; None for anything else"""
    offset, version = ip_header(frame, is_tap)
    if version == 4 and frame[offset + 9] == 6:
        start = offset + (frame[offset] & 15) * 4
        end = offset + struct.unpack_from("!H", frame, offset + 2)[0]
    elif version == 6 and frame[offset + 6] == 6:
        start = offset + 40
        end = start + struct.unpack_from("!H", frame, offset + 4)[0]
    else:
        return None
    if start + 20 > len(frame):
        return None
    return start, start + (frame[start + 12] >> 4) * 4, min(end, len(frame))


def flip_bit(frame, is_tap, draw):
    """Flips a bit of the TCP segment and leaves the checksum, so that the receiver's kernel drops it."""
    span = tcp_span(frame, is_tap)
    first = span[0] if span else ip_header(frame, is_tap)[0] + 20
    if first >= len(frame):
        return frame
    changed = bytearray(frame)
    changed[draw.randrange(first, len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def flip_payload_bit(frame, is_tap, draw):
    """Flips a bit of the TCP payload and mends the checksum (RFC 1624), so that only the application can see it.

    Returns None when there is no payload.
    """
    span = tcp_span(frame, is_tap)
    if not span or span[2] <= span[1]:
        return None
    start, payload, end = span
    changed = bytearray(frame)
    place = draw.randrange(payload, end)
    word = place - ((place - start) & 1)

    def value():
        return (changed[word] << 8) | (changed[word + 1] if word + 1 < end else 0)

    old = value()
    changed[place] ^= 1 << draw.randrange(8)
    checksum = (changed[start + 16] << 8) | changed[start + 17]
    total = (~checksum & 0xFFFF) + (~old & 0xFFFF) + value()
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    checksum = ~total & 0xFFFF
    changed[start + 16], changed[start + 17] = checksum >> 8, checksum & 255
    return bytes(changed)
