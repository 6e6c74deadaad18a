"""tjp on the wire: frames, TLV fields, session identifiers and sequence counters (see ../README.md)."""
import struct
import zlib

MAGIC = 0xDECAFBAD
HEADER = struct.Struct(">IBBHIIBBHII")
DATA, HEARTBEAT, ACK, CONTROL, RECEIPT = range(5)
NAMES = {DATA: "data", HEARTBEAT: "heartbeat", ACK: "ack", CONTROL: "control", RECEIPT: "receipt"}

VERSION_REQUEST, VERSION_RESPONSE, READ, FILE_TRANSFER, STATUS = 0x0001, 0x0002, 0x0010, 0x0012, 0x0020
TEXT, IMAGE, NESTED = 0x1001, 0x1002, 0xFFFF


def type_name(number):
    return NAMES.get(number, "type_%d" % number)


def field(tag, value):
    return struct.pack(">HI", tag, len(value)) + value


def text(string):
    return field(TEXT, string.encode())


def nested(*fields):
    return field(NESTED, b"".join(fields))


def tree(body):
    """[[tag, length, children or None], ...], or None when the bytes are not a list of fields."""
    found, at = [], 0
    while at < len(body):
        if at + 6 > len(body):
            return None
        tag, length = struct.unpack_from(">HI", body, at)
        value = body[at + 6:at + 6 + length]
        if len(value) < length:
            return None
        inner = tree(value) if tag == NESTED else None
        if tag == NESTED and inner is None:
            return None
        found.append([tag, length, inner])
        at += 6 + length
    return found


class Frame:
    """One frame: its fields, its bytes, and what an observer is to say about it.

    checksum: be, le, bad or none. claim: what the length field says instead of the truth.
    compression: none, zlib (`body` is compressed already) or label-only. A frame with `plain` unset has no TLV tree.
    again: the checksum of a retry.
    """

    def __init__(self, kind, sequence, session, body=b"", *, checksum="be", encryption=0, compression="none",
                 plain=None, version=(1, 0), claim=None, acks=None, again="be"):
        self.kind, self.sequence, self.session, self.body = kind, sequence, session, body
        self.encryption, self.compression, self.version = encryption, compression, version
        self.checksum = checksum if body or checksum == "bad" else "none"
        self.plain, self.claim, self.acks, self.again = plain, claim, acks, again
        self.second = None      # of the last transmission; written by bytes()

    def bytes(self, second):
        self.second = second
        crc = zlib.crc32(self.body) if self.body else 0
        if self.checksum == "bad":
            crc ^= 0x00010000
        if self.checksum == "le":
            crc = int.from_bytes(crc.to_bytes(4, "big"), "little")
        length = len(self.body) if self.claim is None else self.claim
        label = 0 if self.compression == "none" else 1
        return HEADER.pack(MAGIC, *self.version, self.kind, self.sequence, second, self.encryption, label, self.session,
                           length, crc) + self.body

    def copy(self, **changes):
        other = Frame.__new__(Frame)
        other.__dict__.update(self.__dict__, **changes)
        return other


def parse(stream):
    """Takes whole, sound frames from the front of a bytearray: (kind, sequence, session, body, label, checksum is good)."""
    frames = []
    while True:
        at = stream.find(MAGIC.to_bytes(4, "big"))
        if at < 0:
            del stream[:max(0, len(stream) - 3)]
            return frames
        del stream[:at]
        if len(stream) < HEADER.size:
            return frames
        _, major, minor, kind, sequence, _, _, label, session, length, crc = HEADER.unpack_from(stream)
        if (major, minor) != (1, 0) or length > 10 << 20:
            del stream[:1]
            continue
        if len(stream) < HEADER.size + length:
            return frames
        body = bytes(stream[HEADER.size:HEADER.size + length])
        del stream[:HEADER.size + length]
        right = zlib.crc32(body) if body else 0
        swapped = int.from_bytes(right.to_bytes(4, "big"), "little")
        frames.append((kind, sequence, session, body, label, crc in (right, swapped)))


def fold(uuid):
    """The 16-bit session identifier: both halves of the UUID's first eight digits, exclusive-or."""
    number = int(uuid[:8], 16)
    return number >> 16 ^ number & 0xFFFF


class Counters:
    """The sequence counters of one sender, one for each category."""

    def __init__(self, seed):
        hashed = 5381
        for byte in seed.encode():
            hashed = hashed * 33 + byte & 0xFFFFFFFF
        self.last = [self.start((hashed & 0xFFFFFF) + category * 1000 & 0xFFFFFF) for category in range(3)]

    @staticmethod
    def start(number):
        return number % 10000 if number > 0xFF0000 else number

    def next(self, category):
        number = self.last[category] + 1
        self.last[category] = 0 if number >= 0xFF0000 else number
        return category << 24 | self.last[category]
