"""Captures of MQTT in carriers: behind a load balancer that speaks the PROXY protocol, and in compressed WebSocket frames.

The bytes are laid out here by hand from the documents (the PROXY protocol, RFC 6455, RFC 7692); nothing of them is shared
with the decoder.
"""
import socket
import struct
import zlib

from .requests import Capture, Talk

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def text(value):
    return struct.pack(">H", len(value)) + value.encode()


def packet(first, body=b""):
    length, rest = b"", len(body)
    while True:
        length += bytes([rest & 127 | (128 if rest > 127 else 0)])
        rest >>= 7
        if not rest:
            return bytes([first]) + length + body


def connect(name):
    return packet(0x10, text("MQTT") + b"\x04\x02\x00\x1e" + text(name))


def publish(topic, number, payload):
    return packet(0x32, text(topic) + struct.pack(">H", number) + payload)


def numbered(first, number, more=b""):
    return packet(first, struct.pack(">H", number) + more)


# The PROXY protocol

def tlv(kind, value):
    return struct.pack(">BH", kind, len(value)) + value


def crc32c(data):
    value = 0xffffffff
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    return value ^ 0xffffffff


def version2(source=None, destination=None, tlvs=b"", summed=False):
    """A header of version 2; without addresses the proxy speaks for itself."""
    addresses, family, command = b"", 0, 0x20
    if source:
        family, kind = (0x21, socket.AF_INET6) if ":" in source[0] else (0x11, socket.AF_INET)
        addresses = socket.inet_pton(kind, source[0]) + socket.inet_pton(kind, destination[0])
        addresses += struct.pack(">HH", source[1], destination[1])
        command = 0x21
    if summed:
        tlvs += tlv(3, bytes(4))
    header = SIGNATURE + struct.pack(">BBH", command, family, len(addresses) + len(tlvs)) + addresses + tlvs
    return header[:-4] + struct.pack(">I", crc32c(header)) if summed else header


def balancer():
    capture = Capture(51)
    front, front6 = ("198.51.100.1", 8883), ("2001:db8::1", 8883)
    tls = tlv(0x20, b"\x01\0\0\0\0" + tlv(0x21, b"TLSv1.3"))
    headers = [
        b"PROXY TCP4 192.0.2.77 198.51.100.1 50110 8883\r\n",
        version2(("192.0.2.78", 50111), front, tlv(1, b"mqtt") + tls, summed=True),
        version2(("2001:db8::77", 50112), front6, tlv(4, b"\0" * 9)),
        b"PROXY TCP6 2001:db8::78 2001:db8::1 50113 8883\r\n",
        version2(),
        b"PROXY UNKNOWN\r\n",
        b"PROXY TCP4 192.0.2.79 198.51.100.1 50x14 8883\r\n",
        SIGNATURE + b"\x21\x11\0\x06" + b"\xc0\0\x02\x50\xc6\x33",
    ]
    for n, header in enumerate(headers):
        talk = Talk(capture, ("10.0.0.5", 40100 + n), ("10.0.0.9", 1883), n / 4, len)
        # One comes in pieces, one together with the first frame.
        if n == 1:
            talk.say(0.01, 0, header[:7])
            talk.say(0.05, 0, header[7:30])
            talk.say(0.09, 0, header[30:])
        elif n != 3:
            talk.say(0.01, 0, header)
        talk.say(0.1, 0, *([header] if n == 3 else []), connect("phone-%d" % n))
        talk.say(0.13, 1, b"\x20\x02\0\0")
        for i in range(1, 4):
            talk.say(i, 0, publish("chat/room", i, b"message %d of phone %d" % (i, n)))
            talk.say(i + 0.03, 1, numbered(0x40, i))
        talk.say(5, 0, b"\xe0\0")
        talk.close(n / 4 + 5.2)
    return capture.run(12)


# WebSocket

class WebSocket:
    """Both sides' frames of one connection; the client's keys come from the capture's dice."""

    def __init__(self, capture, client, at, extension):
        self.dice = capture.dice
        self.keeps = "no_context_takeover" not in extension
        self.windows = [self.window(), self.window()]
        self.talk = Talk(capture, client, ("203.0.113.50", 443), at, len)
        lines = ["GET /mqtt HTTP/1.1", "Host: chat.example", "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
                 "Sec-WebSocket-Protocol: mqtt", "Sec-WebSocket-Extensions: " + extension, "", ""]
        self.talk.say(0.01, 0, "\r\n".join(lines).encode())
        lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "Sec-WebSocket-Protocol: mqtt",
                 "Sec-WebSocket-Extensions: " + extension, "", ""]
        self.talk.say(0.04, 1, "\r\n".join(lines).encode())

    def window(self):
        return zlib.compressobj(9, zlib.DEFLATED, -15)

    def frame(self, side, payload, opcode=2, final=True, compressed=False):
        head = bytes([(0x80 if final else 0) | (0x40 if compressed else 0) | opcode])
        mask = 0x80 if side == 0 else 0
        if len(payload) < 126:
            head += bytes([mask | len(payload)])
        elif len(payload) < 65536:
            head += struct.pack(">BH", mask | 126, len(payload))
        else:
            head += struct.pack(">BQ", mask | 127, len(payload))
        if side == 0:
            key = bytes(self.dice.below(256) for _ in range(4))
            head += key
            payload = bytes(byte ^ key[i & 3] for i, byte in enumerate(payload))
        return head + payload

    def pack(self, side, data):
        packed = self.windows[side].compress(data) + self.windows[side].flush(zlib.Z_SYNC_FLUSH)
        if not self.keeps:
            self.windows[side] = self.window()
        return packed[:-4]

    def say(self, at, side, data, parts=1, is_packed=True):
        """A message in so many fragments, with a ping between the first two."""
        if is_packed:
            data = self.pack(side, data)
        cuts = [len(data) * i // parts for i in range(parts + 1)]
        for i in range(parts):
            self.talk.say(at + i / 50, side, self.frame(side, data[cuts[i]:cuts[i + 1]], 0 if i else 2, i == parts - 1,
                                                        is_packed and i == 0))
            if i == 0 and parts > 1:
                self.talk.say(at + 0.01, side, self.frame(side, b"in between", 9))
                self.talk.say(at + 0.035, 1 - side, self.frame(1 - side, b"in between", 10))


def deflate():
    capture = Capture(52, small_cuts=90)
    offers = ["permessage-deflate", "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
              "permessage-deflate; client_max_window_bits=15"]
    for n, offer in enumerate(offers):
        socket_ = WebSocket(capture, ("192.0.2.%d" % (91 + n), 45000 + n), n / 3, offer)
        parts = 3 if n == 2 else 1
        socket_.say(0.1, 0, connect("browser-%d" % n), parts)
        socket_.say(0.2, 1, b"\x20\x02\0\0")
        socket_.say(0.3, 0, numbered(0x82, 1, text("chat/#") + b"\x01"), is_packed=n != 1)
        socket_.say(0.4, 1, numbered(0x90, 1, b"\x01"))
        for i in range(2, 10):
            socket_.say(i, 0, publish("chat/room", i, b"the same words again and again, number %d. " % i * i), parts)
            socket_.say(i + 0.2, 1, numbered(0x40, i))
            socket_.say(i + 0.4, 1, publish("chat/room", 100 + i, b"the same words come back, number %d. " % i * i), parts)
            socket_.say(i + 0.6, 0, numbered(0x40, 100 + i))
        # Two packets in one message, and one packet in two messages.
        long = publish("chat/file", 20, bytes(i * 7 % 251 for i in range(6000)))
        socket_.say(11, 0, b"\xc0\0" + long[:2000])
        socket_.say(11.1, 0, long[2000:])
        socket_.say(11.3, 1, b"\xd0\0" + numbered(0x40, 20))
        for beat in range(3):
            socket_.talk.say(13 + 20 * beat, 1, socket_.frame(1, b"beat %d" % beat, 9))
            if (n, beat) != (1, 1):
                socket_.talk.say(13.08 + 20 * beat, 0, socket_.frame(0, b"beat %d" % beat, 10))
        socket_.say(60, 0, b"\xe0\0")
        socket_.talk.say(60.1, 0, socket_.frame(0, struct.pack(">H", 1000), 8))
        socket_.talk.say(60.15, 1, socket_.frame(1, struct.pack(">H", 1000), 8))
        socket_.talk.close(n / 3 + 60.4)
    return capture.run(75)


ALL = {"proxy-balancer.pcap": balancer, "mqtt-websocket-deflate.pcap": deflate}
