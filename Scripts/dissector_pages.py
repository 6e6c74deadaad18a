"""Pages that use every key of the profile language, and captures of frames that are drawn for them, for check-dissectors."""
import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Samples"))
from generator import files, requests, tcp  # noqa: E402

HOSTILE = r'"x\"]] error(1) --[[ \\ \0 \n %s %d \u202E é"'

FIXED = """
profile: every-1
version: 1
title: %s
ports: [7001]
header: { length: 24, magic: { offset: 0, bytes: C0DE }, version: { offset: 2, bytes: 07 } }
length: { offset: 3, size: 3, order: little, counts: frame, maximum: 65536 }
fields:
  type: { offset: 6, size: 2, mask: 0x8FF0 }
  duplicate: { offset: 6, size: 1, low-bit: 4, bits: 1 }
  sequence: { offset: 8, size: 8, order: little }
  session: { offset: 16, size: 5 }
  status: { offset: 21, size: 2, order: little, low-bit: 3, bits: 9 }
sequence: { kind: identifier }
types:
  0x8010:
    name: steps
    role: message
    body: [{ expect: [AA, BBCC] }, { skip: 2 }, { string: { maximum: 9, into: identity } }, { string: { maximum: 4 } },
           { text: { size: 1, into: subject } }, { bytes: { size: 2 } }, { load: { size: 2, into: keep-alive } }, tlv]
  0x0020: { name: listed, role: other, body: tlv }
  0x0030: { name: short, role: control, body: [{ load: { size: 8, into: sequence } }, { optional: true, skip: 3 }, { bytes: { size: 1 } }] }
  0x0040: { name: ack, role: acknowledgment, answers: [steps], body: raw }
  0x0050: { name: five, role: heartbeat, flags: { mask: 0xFF, value: 0xC0 }, length: 5, body: raw }
acknowledgment: { body: { length: 6, offset: 1, size: 4, order: little } }
tlv:
  length: { offset: 0, size: 2, order: little }
  tag: { offset: 2, size: 3, order: little }
  header: 6
  counts: all
  optional: { offset: 5, mask: 0x41, adds: 3 }
  padding: 8
  repeats: true
  nested: [1, 70000]
  depth: 2
  sensitive: [9]
  tags: { 1: group, 2: name, 9: secret }
""" % HOSTILE

VARINT = """
profile: every-2
version: 1
title: %s
ports: [7002]
header: { length: 4, magic: { offset: 1, bytes: 0102 } }
length: { offset: 3, encoding: varint, maximum: 100000 }
fields:
  type: { offset: 0, size: 1, low-bit: 4, bits: 4 }
  duplicate: { offset: 0, size: 1, low-bit: 3, bits: 1 }
sequence: { kind: identifier }
types:
  1: { name: numbered, role: message, body: [{ unless: { mask: 0x06, value: 0 }, load: { size: 4, into: sequence } }, { text: { size: 2, into: subject } }] }
  2: { name: listed, role: other, flags: { mask: 0x0F, value: 0x02 }, body: tlv }
  3: { name: empty, role: heartbeat, flags: { mask: 0x0F, value: 0 }, length: 0 }
tlv: { tag: { size: 1 }, length: { size: 1 }, nested: 7, depth: 3 }
""" % HOSTILE

SUMMED = """
profile: every-3
version: 1
title: %s
ports: [7003]
header: { length: 12, magic: { offset: 0, bytes: ABCD } }
length: { offset: 4, size: 4 }
fields: { type: { offset: 2, size: 2, order: little }, checksum: { offset: 8, size: 4, order: little } }
checksum: { algorithm: crc32, order: either }
types: { 513: { name: one, role: message }, 7: { name: two, role: other, body: raw } }
tlv: { tag: { size: 2, order: little }, length: { size: 4 }, nested: 0xFFFF }
""" % HOSTILE


def drawn(dice, count):
    return bytes(dice.below(256) for _ in range(count))


def words(dice, count):
    return bytes(97 + dice.below(26) for _ in range(count))


def fixed_list(dice, depth=0):
    found = b""
    for _ in range(dice.below(4)):
        flags = dice.below(256)
        longer = 3 if flags & 0x41 else 0
        tag = (1, 2, 9, 70000, 70001)[dice.below(5)]
        value = fixed_list(dice, depth + 1) if tag in (1, 70000) and depth < 3 else drawn(dice, dice.below(20))
        size = 6 + longer + len(value)
        found += struct.pack("<HI", size, tag)[:5] + bytes([flags]) + bytes(longer) + value + bytes(-size % 8)
    return found


def fixed(dice):
    kind = (0x8010, 0x0020, 0x0030, 0x0040, 0x0050, 0x0060)[dice.below(6)]
    body = drawn(dice, dice.below(30))
    if kind == 0x8010:
        body = (b"\xaa" if dice.below(2) else b"\xbb\xcc") + b"..%s\0%s\0" % (words(dice, dice.below(9)), words(dice, dice.below(4)))
        topic, blob = words(dice, dice.below(200)), drawn(dice, dice.below(300))
        body += bytes([len(topic)]) + topic + struct.pack(">H", len(blob)) + blob + b"\0\x3c" + fixed_list(dice)
    elif kind == 0x0020:
        body = fixed_list(dice)
    elif kind == 0x0030:
        body = drawn(dice, 8) + (b"abc\2xy" if dice.below(2) else b"")
    elif kind == 0x0040:
        body = drawn(dice, (0, 4, 6)[dice.below(3)])
    elif kind == 0x0050:
        body = drawn(dice, 5)
    noise = dice.below(65536) & ~0x8FF0
    head = b"\xc0\xde\7" + struct.pack("<I", 24 + len(body))[:3] + struct.pack(">H", kind | noise) + drawn(dice, 8)
    return head + bytes(4) + bytes([dice.below(3)]) + drawn(dice, 3) + body


def varint_list(dice, depth=0):
    found = b""
    for _ in range(dice.below(4)):
        nests = dice.below(4) == 0 and depth < 2
        value = varint_list(dice, depth + 1)[:200] if nests else drawn(dice, dice.below(20))
        found += bytes([7 if nests and len(value) < 200 else dice.below(7), len(value)]) + value
    return found


def varint(dice):
    kind = 1 + dice.below(3)
    first, body = kind << 4, b""
    if kind == 1:
        first |= dice.below(16)
        topic = words(dice, dice.below(30))
        body = (drawn(dice, 4) if first & 6 else b"") + struct.pack(">H", len(topic)) + topic + drawn(dice, dice.below(400) * dice.below(60))
    elif kind == 2:
        first |= 2
        body = varint_list(dice)
    count, size = len(body), b""
    while True:
        size += bytes([count & 127 | (128 if count > 127 else 0)])
        count >>= 7
        if not count:
            return bytes([first]) + b"\1\2" + size + body


def summed_list(dice, depth=0):
    found = b""
    for n in range(dice.below(4)):
        nests = dice.below(4) == 0 and depth < 3
        value = summed_list(dice, depth + 1) if nests else drawn(dice, dice.below(30))
        found += struct.pack("<H", 0xFFFF if nests else n + 1) + struct.pack(">I", len(value)) + value
    return found


def summed(dice):
    body = summed_list(dice) if dice.below(2) else drawn(dice, dice.below(50))
    kind = 513 if dice.below(2) else 7
    order = "<I" if dice.below(2) else ">I"
    return b"\xab\xcd" + struct.pack("<H", kind) + struct.pack(">I", len(body)) + struct.pack(order, zlib.crc32(body) if body else 0) + body


def crc(width, polynomial, start, reflects, last):
    """A CRC bit by bit, by the parameters that the catalogue has for it."""
    def turned(value, bits):
        return int(bin(value | 1 << bits)[3:][::-1], 2)

    def sum_(data):
        register = start
        for byte in data:
            register ^= (turned(byte, 8) if reflects else byte) << width - 8
            for _ in range(8):
                register = (register << 1 ^ (polynomial if register >> width - 1 else 0)) & (1 << width) - 1
        return (turned(register, width) if reflects else register) ^ last
    return sum_


def fletcher(width, modulus):
    def sum_(data):
        data, a, b = data + bytes(-len(data) % width), 0, 0
        for at in range(0, len(data), width):
            a = (a + int.from_bytes(data[at:at + width], "little")) % modulus
            b = (b + a) % modulus
        return b << 8 * width | a
    return sum_


def xor(data):
    sum_ = 0
    for byte in data:
        sum_ ^= byte
    return sum_


# The bytes of a sum, and how it is computed.
SUMS = {
    "crc32": (4, zlib.crc32), "crc32c": (4, crc(32, 0x1EDC6F41, 0xFFFFFFFF, True, 0xFFFFFFFF)),
    "crc16-arc": (2, crc(16, 0x8005, 0, True, 0)), "crc16-modbus": (2, crc(16, 0x8005, 0xFFFF, True, 0)),
    "crc16-ccitt-false": (2, crc(16, 0x1021, 0xFFFF, False, 0)), "crc16-xmodem": (2, crc(16, 0x1021, 0, False, 0)),
    "crc16-x25": (2, crc(16, 0x1021, 0xFFFF, True, 0xFFFF)), "crc16-kermit": (2, crc(16, 0x1021, 0, True, 0)),
    "adler32": (4, zlib.adler32), "fletcher16": (2, fletcher(1, 255)), "fletcher32": (4, fletcher(2, 65535)), "xor": (1, xor),
    "sum8": (1, lambda data: sum(data) & 0xFF), "sum16": (2, lambda data: sum(data) & 0xFFFF), "sum32": (4, sum),
}


def sums():
    """A page for each kind of sum: of the frame or of the body, in the header or in a trailer, by a length or between flags."""
    for n, (name, (width, sum_)) in enumerate(SUMS.items()):
        trails, flags, whole = n % 2 == 0, n % 3 == 1, n % 4 < 2
        page = """
profile: sum-%d
version: 1
ports: [%d]
%s
header: { length: 12, magic: { offset: 0, bytes: FACE } }
length: { offset: 2, size: 2, counts: %s }
%s
fields: { type: { offset: 4, size: 2 }, sequence: { offset: 6, size: 2, encoding: bcd }%s }
checksum: { algorithm: %s, covers: %s, %s }
types: { 1: { name: one, role: message }, 2: { name: two, role: other, length: 3, body: [{ load: { size: 3, into: sequence, order: little } }] } }
tlv: { tag: { size: 1 }, length: { size: 1 } }
""" % (n, 7010 + n, "framing: { kind: delimited, delimiter: 7E, escape: { byte: 7D, mask: 20 } }" if flags else "",
            "frame" if whole else "body", "trailer: { length: 5 }" if trails else "",
            "" if trails else ", checksum: { offset: 8, size: %d, order: little }" % width, name,
            "{ from: 1 }" if whole else "body", "order: little, in: trailer" if trails else "order: big")

        def frame(dice, width=width, sum_=sum_, trails=trails, flags=flags, whole=whole):
            kind, trailer = 1 + dice.below(2), 5 if trails else 0
            body = drawn(dice, 3) if kind == 2 else b"".join(
                bytes([n, 5]) + drawn(dice, 5) for n in range(dice.below(5)))
            size = len(body) + (12 + trailer if whole else 0)
            head = b"\xfa\xce" + struct.pack(">HH", size, kind) + bytes([dice.below(10) * 17, dice.below(10)]) + bytes(4)
            covered = sum_((head + body)[1:] if whole else body).to_bytes(width, "little")
            if trails:
                made = head + body + covered + bytes(5 - width)
            else:
                made = head[:8] + covered + bytes(4 - width) + body
            if flags:
                made = made.replace(b"\x7d", b"\x7d\x5d").replace(b"\x7e", b"\x7d\x5e")
                made = b"\x7e" + made + b"\x7e"
            return made
        yield page, frame


def write(folder):
    """Writes the pages and their captures; gives [(page, capture), ...]."""
    made = []
    for n, (page, frame) in enumerate([(FIXED, fixed), (VARINT, varint), (SUMMED, summed), *sums()]):
        capture = requests.Capture(60 + n, small_cuts=150)
        dice = tcp.Dice(70 + n)
        for client in range(3):
            talk = requests.Talk(capture, ("192.0.2.%d" % (80 + client), 46000), ("203.0.113.50", 7001 + n if n < 3 else 7007 + n), client / 3, lambda data: 1 << 30)
            for turn in range(120 if n < 3 else 30):
                talk.say(0.05 + turn / 10, dice.below(2), *[frame(dice) for _ in range(1 + dice.below(4))])
            talk.close(20 + client)
        path = os.path.join(folder, "every-%d" % (n + 1) if n < 3 else "sum-%d" % (n - 3))
        encoder = files.Encoder()
        files.pcap(path + ".pcap", [(p.time, encoder.encode(p)) for p in capture.run(30)])
        with open(path + ".yaml", "w", encoding="utf-8") as file:
            file.write(page.lstrip())
        made.append((path + ".yaml", path + ".pcap"))
    return made
