"""Captures of protocols of requests and answers: SMPP, Diameter, goim, JT/T 808. Both ends ask, and answers come in any order.

The bytes are laid out here by hand from the protocols' documents; nothing of them is shared with the decoder.
"""
import struct

from .tcp import SECOND, Clock, Connection, Dice, Network

START = 1_760_000_000 * SECOND + 500_000


class Side:
    """One end as an application: it answers what it was told to answer, when all of it has come."""

    def __init__(self, talk, direction):
        self.talk, self.direction, self.rest = talk, direction, b""

    def opened(self, connection):
        if self.direction == 0:
            self.talk.opened()

    def closed(self, connection, why):
        pass

    def received(self, connection, direction, data):
        self.rest += data
        while len(self.rest) >= 4 and len(self.rest) >= self.talk.size(self.rest):
            count = self.talk.size(self.rest)
            frame, self.rest = self.rest[:count], self.rest[count:]
            for answer, delay in self.talk.answers.pop((self.direction, frame), []):
                self.talk.clock.after(int(delay * SECOND), self.talk.write, self.direction, answer)


class Talk:
    """One connection, and what is said on it; times are seconds from its beginning."""

    def __init__(self, capture, client, server, at, size):
        self.capture, self.clock, self.size = capture, capture.clock, size
        self.answers, self.script = {}, []
        numbers = capture.dice.below(1 << 31) * 2, capture.dice.below(1 << 31) * 2 + 1
        self.connection = Connection(capture.network, (client, server), numbers, capture.cut)
        capture.clock.at(START + int(at * SECOND), self.connection.open, Side(self, 0), Side(self, 1))

    def opened(self):
        for at, side, frames in self.script:
            self.clock.after(int(at * SECOND), self.write, side, b"".join(frames))

    def write(self, side, data):
        if data is None:
            self.connection.ends[side].close()
        else:
            self.connection.ends[side].write(data)

    def say(self, at, side, *frames):
        """Writes frames in one go."""
        self.script.append((at, side, frames))

    def ask(self, at, side, request, answer=None, delay=0.02):
        """Writes a request; the other side answers `delay` seconds after it has all of it."""
        if answer is not None:
            self.answers.setdefault((1 - side, request), []).append((answer, delay))
        self.script.append((at, side, (request,)))

    def close(self, at, side=0):
        self.clock.at(START + int(at * SECOND), self.write, side, None)


class Capture:
    def __init__(self, seed, small_cuts=0, **network):
        self.clock, self.dice, self.small_cuts = Clock(START), Dice(seed), small_cuts
        self.network = Network(self.clock, self.dice, **network)

    def cut(self, direction):
        return 1 + self.dice.below(40) if self.dice.chance(self.small_cuts) else 1400

    def run(self, seconds):
        self.clock.run(START + int(seconds * SECOND))
        return self.network.captured


# SMPP

def u32(*numbers):
    return struct.pack(">%dI" % len(numbers), *numbers)


def text(value):
    return value.encode() + b"\0"


def option(tag, value):
    return struct.pack(">HH", tag, len(value)) + value


def pdu(command, sequence, body=b"", status=0):
    return u32(16 + len(body), command, status, sequence) + body


def bind(command, sequence, name, password):
    return pdu(command, sequence, text(name) + text(password) + text("") + bytes([0x34, 1, 1]) + text(""))


def message(command, sequence, source, target, words, *options):
    return pdu(command, sequence, text("") + b"\1\1" + text(source) + b"\1\1" + text(target) + b"\0\0\0" + text("") + text("")
               + b"\1\0\0\0" + bytes([len(words)]) + words + b"".join(options))


def smpp():
    # Whole messages in a segment: tshark overlooks some SMPP that is cut inside its header.
    capture = Capture(41)
    server = ("203.0.113.20", 2775)
    talk = Talk(capture, ("192.0.2.31", 41000), server, 0, lambda b: struct.unpack(">I", b[:4])[0])
    talk.ask(0.05, 0, bind(9, 1, "shop", "secret08"), pdu(0x80000009, 1, text("centre") + option(0x0210, b"\x34")))
    for n in range(2, 8):           # a window of six, answered backwards
        talk.ask(1 + n / 1000, 0, message(4, n, "4915550100", "4915550%03d" % n, b"Your parcel %d is on its way" % n),
                 pdu(0x80000004, n, text("m-%08x" % n)), 0.3 - n / 50)
    talk.ask(2, 0, message(4, 8, "shop", "12", b"no such number"), pdu(0x80000004, 8, status=0x0B), 0.05)
    talk.ask(2.2, 0, message(4, 9, "shop", "4915550109", b"", option(0x0424, bytes(range(256)) * 9),
                             option(0x020C, b"\0\7"), option(0x020E, b"\2"), option(0x020F, b"\1")),
             pdu(0x80000004, 9, text("m-00000009")), 0.09)
    # Both sides number from 1: a number in one direction says nothing about the other.
    talk.ask(3, 1, message(5, 2, "4915550102", "shop", b"id:m-00000002 stat:DELIVRD", option(0x001E, text("m-00000002")),
                           option(0x0427, b"\2")), pdu(0x80000005, 2, text("")), 0.03)
    talk.ask(3.001, 1, message(5, 3, "4915550103", "shop", b"STOP"), pdu(0x80000005, 3, text("")), 0.02)
    talk.ask(3.5, 0, pdu(3, 10, text("m-00000002") + b"\1\1" + text("4915550100")),
             pdu(0x80000003, 10, text("m-00000002") + text("") + b"\2\0"), 0.04)
    talk.ask(4, 0, pdu(7, 11, text("m-00000003") + b"\1\1" + text("4915550100") + text("") + text("") + b"\1\0\3new"),
             pdu(0x80000007, 11), 0.04)
    talk.ask(4.2, 0, pdu(8, 12, text("") + text("m-00000004") + b"\1\1" + text("4915550100") + b"\1\1" + text("4915550004")),
             pdu(0x80000008, 12, status=0x11), 0.04)
    talk.ask(5, 0, pdu(0x103, 13, text("") + b"\1\1" + text("4915550100") + b"\1\1" + text("4915550113") + b"\0\1\0"
                       + option(0x0424, b"data")), pdu(0x80000103, 13, text("m-0000000d")), 0.04)
    for n in range(4):
        talk.ask(6 + 10 * n, 0, pdu(0x15, 20 + n), None if n == 2 else pdu(0x80000015, 20 + n), 0.015)
        talk.ask(8 + 10 * n, 1, pdu(0x15, 20 + n), pdu(0x80000015, 20 + n), 0.012)
    talk.ask(9, 0, pdu(0x0A0A, 30, b"what"), pdu(0x80000000, 30, status=3), 0.02)
    talk.ask(9.5, 0, message(4, 31, "shop", "4915550131", b"refused whole"), pdu(0x80000000, 31, status=0x14), 0.02)
    talk.ask(40, 0, message(4, 32, "shop", "4915550132", b"nobody answers"))
    talk.ask(52, 0, pdu(6, 33), pdu(0x80000006, 33), 0.01)
    talk.close(53)
    other = Talk(capture, ("192.0.2.32", 41001), server, 0.4, lambda b: struct.unpack(">I", b[:4])[0])
    other.ask(0.05, 0, bind(1, 1, "alerts", "wrong"), pdu(0x80000001, 1, status=0x0E), 0.02)
    other.ask(0.5, 0, bind(1, 2, "alerts", "right"), pdu(0x80000001, 2, text("centre")), 0.02)
    other.say(7, 1, pdu(0x102, 9, b"\1\1" + text("4915550150") + b"\1\1" + text("alerts") + option(0x0422, b"\0")),
              pdu(0x15, 10))
    other.answers[(0, pdu(0x15, 10))] = [(pdu(0x80000015, 10), 0.03)]
    other.ask(9, 1, message(5, 11, "4915550151", "alerts", b"a longer text " * 15), pdu(0x80000005, 11, text("")), 0.02)
    other.ask(12, 1, pdu(6, 12), pdu(0x80000006, 12), 0.01)
    other.close(14, 1)
    return capture.run(60)


# Diameter

def avp(code, value, vendor=None):
    value = value if isinstance(value, bytes) else u32(value) if isinstance(value, int) else value.encode()
    head = struct.pack(">IB", code, 0xC0 if vendor else 0x40)
    count = 8 + (4 if vendor else 0) + len(value)
    return head + struct.pack(">I", count)[1:] + (u32(vendor) if vendor else b"") + value + b"\0" * (-count % 4)


def group(code, *avps, vendor=None):
    return avp(code, b"".join(avps), vendor)


def command(code, flags, application, hop, end, *avps):
    body = b"".join(avps)
    return (b"\1" + struct.pack(">I", 20 + len(body))[1:] + bytes([flags]) + struct.pack(">I", code)[1:]
            + u32(application, hop, end) + body)


def diameter():
    capture = Capture(42, small_cuts=60)
    gateway = [avp(264, "pgw.example.net"), avp(296, "example.net")]
    charging = [avp(264, "ocs.example.org"), avp(296, "example.org")]
    talk = Talk(capture, ("192.0.2.41", 42000), ("203.0.113.30", 3868), 0, lambda b: struct.unpack(">I", b"\0" + b[1:4])[0])
    talk.ask(0.05, 0, command(257, 0x80, 0, 1, 101, *gateway, avp(257, b"\0\1\xc0\0\2\x29"), avp(266, 0), avp(269, "gateway"),
                              group(260, avp(266, 10415), avp(258, 16777238))),
             command(257, 0, 0, 1, 101, avp(268, 2001), *charging, avp(257, b"\0\1\xcb\0\x71\x1e"), avp(266, 0), avp(269, "ocs")))
    for n in range(6):
        hop, session = 10 + n, avp(263, "pgw.example.net;1760000000;%d" % (n // 3))
        units = group(456, group(437, group(413, group(445, avp(447, struct.pack(">q", 5))), avp(425, 978)), avp(421, struct.pack(">Q", 1 << 20))),
                      avp(432, 7), group(446, avp(420, 60 * n)))
        request = command(272, 0xC0, 4, hop, 200 + n, session, *gateway, avp(283, "example.org"), avp(258, 4), avp(416, 1 + n % 3),
                          avp(415, n), group(443, avp(450, 0), avp(444, "491555010%d" % n)), units,
                          group(873, group(874, avp(2, 7, 10415), avp(8, "20895", 10415), vendor=10415), vendor=10415))
        result = 5012 if n == 4 else 2001
        answer = command(272, 0x40, 4, hop, 200 + n, session, avp(268, result), *charging, avp(258, 4), avp(416, 1 + n % 3), avp(415, n),
                         group(456, group(431, avp(421, struct.pack(">Q", 1 << 20))), avp(268, result)))
        talk.ask(1 + n / 500, 0, request, answer, 0.2 - n / 40)     # all of them open at once, answered backwards
    lost = command(272, 0xC0, 4, 30, 300, avp(263, "pgw.example.net;1760000000;9"), *gateway, avp(283, "example.org"), avp(415, 9))
    again = lost[:4] + b"\xd0" + lost[5:]
    talk.say(3, 0, lost)
    talk.ask(6, 0, again, command(272, 0x40, 4, 30, 300, avp(263, "pgw.example.net;1760000000;9"), avp(268, 2001), *charging))
    # The server asks with a number that the client has used.
    talk.ask(8, 1, command(258, 0xC0, 4, 10, 400, avp(263, "pgw.example.net;1760000000;0"), *charging, avp(285, 0)),
             command(258, 0x40, 4, 10, 400, avp(263, "pgw.example.net;1760000000;0"), avp(268, 2002), *gateway))
    talk.ask(9, 0, command(265, 0xC0, 16777236, 40, 401, avp(263, "af;1"), *gateway, avp(504, "IMS", 10415),
                           group(517, avp(518, 1, 10415), group(519, avp(509, 1, 10415), avp(507, "permit out 17 from any to any", 10415),
                                                                vendor=10415), vendor=10415)),
             command(265, 0x40, 16777236, 40, 401, avp(263, "af;1"), group(297, avp(266, 10415), avp(298, 5063)), *charging))
    talk.ask(10, 0, command(271, 0xC0, 3, 41, 402, avp(263, "acct;1"), *gateway, avp(480, 2), avp(485, 0)),
             command(271, 0x40, 3, 41, 402, avp(263, "acct;1"), avp(268, 2001), *charging, avp(480, 2), avp(485, 0)))
    talk.ask(11, 0, command(275, 0xC0, 16777236, 42, 403, avp(263, "af;1"), *gateway, avp(295, 1)),
             command(275, 0x40, 16777236, 42, 403, avp(263, "af;1"), avp(268, 2001), *charging))
    talk.ask(12, 0, command(8388700, 0xC0, 16777300, 43, 404, avp(263, "other;1"), *gateway),
             command(8388700, 0x20, 16777300, 43, 404, avp(263, "other;1"), avp(268, 3001), *charging))
    for n in range(3):
        talk.ask(15 + 30 * n, 0, command(280, 0x80, 0, 50 + n, 500 + n, *gateway, avp(278, 77)),
                 None if n == 1 else command(280, 0, 0, 50 + n, 500 + n, avp(268, 2001), *charging), 0.01)
        talk.ask(20 + 30 * n, 1, command(280, 0x80, 0, 50 + n, 600 + n, *charging),
                 command(280, 0, 0, 50 + n, 600 + n, avp(268, 2001), *gateway), 0.01)
    talk.ask(85, 0, command(282, 0x80, 0, 60, 700, *gateway, avp(273, 0)), command(282, 0, 0, 60, 700, avp(268, 2001), *charging))
    talk.close(86)
    return capture.run(90)


# goim

def pack(operation, sequence, body=b""):
    return struct.pack(">IHHII", 16 + len(body), 16, 1, operation, sequence) + body


def goim():
    capture = Capture(43, small_cuts=120)
    for n in range(2):
        talk = Talk(capture, ("192.0.2.%d" % (51 + n), 43000), ("203.0.113.40", 3101), n / 3, lambda b: struct.unpack(">I", b[:4])[0])
        talk.ask(0.02, 0, pack(7, 1, b'{"mid":%d,"room_id":"live://%d","platform":"ios"}' % (123 + n, 1000)), pack(8, 1), 0.01)
        for beat in range(4):
            talk.ask(1 + 30 * beat, 0, pack(2, 2 + beat), None if (n, beat) == (1, 2) else pack(3, 2 + beat), 0.008)
        talk.ask(5, 0, pack(12, 10, b"live://2000"), pack(13, 10), 0.02)
        talk.ask(6, 0, pack(14, 11, b"1000,1001"), pack(15, 11), 0.02)
        for said in range(5):
            talk.ask(8 + said / 10, 0, pack(4, 20 + said, b'{"text":"hello %d"}' % said), pack(5, 20 + said), 0.03)
        # What is pushed comes several frames in one go, without numbers of its own.
        talk.say(10, 1, *[pack(1000, 0, b'{"push":%d}' % item) for item in range(7)])
        talk.say(11, 1, pack(1001, 0, b"x" * 5000), pack(1002, 0))
        talk.ask(60, 0, pack(16, 12, b"1000"), pack(17, 12), 0.02)
        talk.close(100 + n)
    return capture.run(110)


# JT/T 808

ESCAPES = {0x7E: b"\x7d\x02", 0x7D: b"\x7d\x01"}


def quoted(content):
    """A frame on the wire: the sum behind it, escapes, a flag at either end."""
    total = 0
    for byte in content:
        total ^= byte
    return b"\x7e" + b"".join(ESCAPES.get(byte, bytes([byte])) for byte in content + bytes([total])) + b"\x7e"


class Phone:
    """One side of a terminal's connection: the number that stands in every header, and a counter."""

    def __init__(self, number, newer, serial):
        self.number, self.newer, self.serial = number, newer, serial

    def frame(self, kind, body=b"", piece=None, serial=None):
        if serial is None:
            serial, self.serial = self.serial, self.serial + 1 & 0xFFFF
        properties = len(body) | (0x4000 if self.newer else 0) | (0x2000 if piece else 0)
        number = bytes.fromhex(self.number.rjust(20 if self.newer else 12, "0"))
        return quoted(struct.pack(">HH", kind, properties) + (b"\1" if self.newer else b"") + number + struct.pack(">H", serial)
                      + (struct.pack(">HH", *piece) if piece else b"") + body)


def general(phone, answered, kind, result=0):
    """The answer that both sides give to nearly everything."""
    return phone.frame(0x8001 if phone.platform else 0x0001, struct.pack(">HHB", answered, kind, result))


def place(n, *more):
    """A body of 0x0200: alarms, states, latitude, longitude, height, speed, direction, time, and additional items."""
    # 0x7D7E stands in it, so that every one of them has escapes.
    return (struct.pack(">IIIIHHH", 0, 0x00000003, 31_229_566 + n * 90, 121_473_126 + n * 120, 0x7D7E, 523 + n, n * 15 % 360)
            + bytes.fromhex("251009%02d%02d%02d" % (8, 53 + n // 60, n % 60)) + b"".join(more))


def item(tag, value):
    return bytes([tag, len(value)]) + value


def jt808():
    capture = Capture(44, small_cuts=140)

    def whole(data):
        end = data.find(b"\x7e", 1)
        return len(data) + 1 if end < 0 else end + 1

    for n, (number, newer) in enumerate([("13800138000", False), ("139000000126", False), ("8613712345678", True)]):
        terminal, platform = Phone(number, newer, 0 if n else 0xFFF0), Phone(number, newer, 0x7D00 + n)
        terminal.platform, platform.platform = False, True
        talk = Talk(capture, ("192.0.2.%d" % (61 + n), 44000), ("203.0.113.50", 7611), n / 3, whole)

        # Serials are drawn in the order of time.
        events = []

        def plan(at, what):
            events.append((at, len(events), what))

        def ask(at, kind, body=b"", result=0, delay=0.03, piece=None, answer=True):
            def now():
                serial = terminal.serial
                request = terminal.frame(kind, body, piece)
                talk.ask(at, 0, request, general(platform, serial, kind, result) if answer else None, delay)
            plan(at, now)

        def tell(at, kind, body, answer, delay=0.05):
            def now():
                serial = platform.serial
                request = platform.frame(kind, body)
                talk.ask(at, 1, request, answer(serial), delay)
            plan(at, now)

        def register():
            serial = terminal.serial
            body = struct.pack(">HH", 31, 115) + b"MAKER" + b"MODEL-7".ljust(30 if newer else 20, b"\0") + b"T000%03d" % n + b"\1AB1234"
            talk.ask(0.05, 0, terminal.frame(0x0100, body),
                     platform.frame(0x8100, struct.pack(">HB", serial, 0) + b"key-%d" % n), 0.04)

        def damaged():              # a sum that is wrong, and the same once more
            serial = terminal.serial
            right = terminal.frame(0x0200, place(50))
            talk.say(26, 0, right[:-2] + bytes([right[-2] ^ 0x01]) + b"\x7e")
            talk.ask(29, 0, right, general(platform, serial, 0x0200), 0.03)

        def several():              # in one go, and answered in one go
            serials = [(terminal.serial + k) & 0xFFFF for k in range(4)]
            talk.say(27, 0, *[terminal.frame(0x0200, place(60 + k)) for k in range(4)])
            talk.say(27.2, 1, *[general(platform, serial, 0x0200) for serial in serials])

        plan(0.05, register)
        ask(0.5, 0x0102, (b"\x05key-%d" % n if newer else b"key-%d" % n), result=1 if n == 1 else 0)
        if n == 1:
            ask(1, 0x0102, b"key-1")
        for beat in range(3):
            ask(5 + 30 * beat, 0x0002, answer=(n, beat) != (0, 1), delay=0.012)
        for report in range(10):
            more = [item(1, struct.pack(">I", 70_000 + report)), item(2, struct.pack(">H", 412)), item(0x30, b"\x1f"), item(0x31, b"\x0b")]
            if report == 4:
                more.append(item(0x11, b"\0"))
            if report == 6:
                more.append(item(0xE1, b"private ~}~ item"))
            ask(6 + report, 0x0200, place(report, *more), result=4 if report == 4 else 0)
        tell(20, 0x8300, b"\x01" + "停车休息 ~}~".encode("gb18030"), lambda serial: general(terminal, serial, 0x8300))
        tell(21, 0x8104, b"", lambda serial: terminal.frame(0x0104, struct.pack(">HB", serial, 1) + struct.pack(">IBI", 1, 4, 30)))
        tell(22, 0x8201, b"", lambda serial: terminal.frame(0x0201, struct.pack(">H", serial) + place(40)))
        tell(23, 0x8105, b"\x03", lambda serial: general(terminal, serial, 0x8105, 3))
        if n == 0:                  # a picture in three pieces, each answered
            for piece in range(3):
                ask(25 + piece / 50, 0x0801, bytes(capture.dice.below(256) for _ in range(900 if piece < 2 else 333)), piece=(3, piece + 1))
        if n == 1:
            plan(26, damaged)
            plan(30, lambda: talk.say(30, 0, terminal.frame(0x0F01, b"a type of its own")))
        if n == 2:
            plan(27, several)
        ask(70 + n, 0x0003)
        for _, _, what in sorted(events, key=lambda event: event[:2]):
            what()
        talk.close(72 + n)
    return capture.run(80)


ALL = {"smpp-gateway.pcap": smpp, "diameter-charging.pcap": diameter, "goim-room.pcap": goim,
       "jt808-terminals.pcap": jt808}
