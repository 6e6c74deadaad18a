#!/usr/bin/env python3
"""Captures of connections that begin in the clear and go on in TLS, with their key log: Samples/make-starttls.py FOLDER

Both ends are Python's ssl (OpenSSL), the TCP segments are made here. Inside are messages of MQTT, or of NATS where the beginning is
NATS's own. starttls.pcap has one connection for each beginning, on ports 20001 and following; starttls.keys is the key log; the truth is
beside it: for each port the bytes in the clear and the messages that are published inside.
"""
import json
import os
import ssl
import struct
import subprocess
import sys
import tempfile

COUNT = 6


def mqtt(number):
    """What the client and the server say inside: CONNECT, and COUNT publications with QoS 1, each answered."""
    def packet(first, body):
        return bytes([first, len(body)]) + body
    yield "c", packet(0x10, b"\0\4MQTT\4\2\0\0\0\5start")
    yield "s", packet(0x20, b"\0\0")
    for i in range(1, COUNT + 1):
        yield "c", packet(0x32, b"\0\3a/b" + struct.pack(">H", i) + b"message %d of %d" % (i, number))
        yield "s", packet(0x40, struct.pack(">H", i))


def nats(number):
    """The same of NATS: CONNECT and PING, and publications that the server delivers."""
    yield "c", b'CONNECT {"verbose":false,"tls_required":true,"lang":"python"}\r\nPING\r\n'
    yield "s", b"PONG\r\n"
    yield "c", b"SUB room.1 1\r\n"
    for i in range(1, COUNT + 1):
        body = b"message %d of %d" % (i, number)
        yield "c", b"PUB room.1 %d\r\n%s\r\n" % (len(body), body)
        yield "s", b"MSG room.1 1 %d\r\n%s\r\n" % (len(body), body)


INFO = b'INFO {"server_id":"N","version":"2.10.0","proto":1,"tls_required":true,"max_payload":1048576}\r\n'
BEGINNINGS = [
    ("xmpp", mqtt, [
        ("c", b"<?xml version='1.0'?><stream:stream to='im.example' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"),
        ("s", b"<?xml version='1.0'?><stream:stream from='im.example' id='1' xmlns='jabber:client' version='1.0'>"),
        ("s", b"<stream:features><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls></stream:features>"),
        ("c", b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
        ("s", b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")]),
    ("smtp", mqtt, [
        ("s", b"220 im.example ESMTP\r\n"), ("c", b"EHLO client.example\r\n"),
        ("s", b"250-im.example\r\n250-PIPELINING\r\n250 STARTTLS\r\n"), ("c", b"STARTTLS\r\n"), ("s", b"220 Ready to start TLS\r\n")]),
    ("imap", mqtt, [("s", b"* OK [CAPABILITY IMAP4rev1 STARTTLS] ready\r\n"), ("c", b"a1 STARTTLS\r\n"), ("s", b"a1 OK begin TLS\r\n")]),
    ("pop3", mqtt, [("s", b"+OK POP3 ready\r\n"), ("c", b"STLS\r\n"), ("s", b"+OK begin TLS\r\n")]),
    ("postgres", mqtt, [("c", struct.pack(">II", 8, 80877103)), ("s", b"S")]),
    ("ldap", mqtt, [
        ("c", bytes.fromhex("301d02010177188016") + b"1.3.6.1.4.1.1466.20037"),
        ("s", bytes.fromhex("300c02010178070a010004000400"))]),
    ("amqp", mqtt, [("c", b"AMQP\2\1\0\0"), ("s", b"AMQP\2\1\0\0")]),
    ("nats", nats, [("s", INFO)]),
    ("mqtt", mqtt, list(mqtt(0))[:2] + [("c", b"\xc0\0"), ("s", b"\xd0\0")]),
]


class Connection:
    """One TCP connection as packets."""
    def __init__(self, packets, client, server):
        self.packets, self.ports, self.next = packets, {"c": client, "s": server}, {"c": 1000, "s": 5000}
        self.send("c", b"", 2)
        self.send("s", b"", 0x12)
        self.send("c", b"", 0x10)

    def send(self, side, data, flags=0x18):
        """Sends data as segments of at most 1,400 bytes."""
        other = "s" if side == "c" else "c"
        for at in range(0, max(1, len(data)), 1400):
            part = data[at:at + 1400]
            address = {"c": bytes([10, 0, 0, 1]), "s": bytes([10, 0, 0, 2])}
            tcp = struct.pack(">HHIIBBHHH", self.ports[side], self.ports[other], self.next[side], self.next[other] if flags & 16 else 0, 0x50, flags, 65535, 0, 0)
            pseudo = address[side] + address[other] + struct.pack(">BBH", 0, 6, len(tcp) + len(part))
            tcp = tcp[:16] + struct.pack(">H", checksum(pseudo + tcp + part)) + tcp[18:]
            ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp) + len(part), len(self.packets) & 0xffff, 0x4000, 64, 6, 0) + address[side] + address[other]
            ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
            self.packets.append(bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]) + ip + tcp + part)
            self.next[side] += len(part) + (1 if flags & 3 else 0)


def checksum(data):
    data += b"\0" * (len(data) & 1)
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


class End:
    """One end of TLS over buffers."""
    def __init__(self, context, isServer):
        self.input, self.output = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.input, self.output, server_side=isServer, server_hostname=None if isServer else "im.example")
        self.isReady = False

    def step(self):
        """Goes on with the handshake; what there is to send."""
        if not self.isReady:
            try:
                self.tls.do_handshake()
                self.isReady = True
            except ssl.SSLWantReadError:
                pass
        return self.output.read()


def talk(connection, contexts, inner):
    ends = {"c": End(contexts["c"], False), "s": End(contexts["s"], True)}
    while not all(end.isReady for end in ends.values()):
        for side, other in (("c", "s"), ("s", "c")):
            data = ends[side].step()
            if data:
                connection.send(side, data)
                ends[other].input.write(data)
    for side, data in inner:
        other = "s" if side == "c" else "c"
        ends[side].tls.write(data)
        data = ends[side].output.read()
        connection.send(side, data)
        ends[other].input.write(data)


def main():
    folder = sys.argv[1]
    keys = os.path.join(folder, "starttls.keys")
    packets, truth = [], {}
    if os.path.exists(keys):
        os.unlink(keys)
    with tempfile.TemporaryDirectory() as space:
        key, chain = os.path.join(space, "key"), os.path.join(space, "crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", chain, "-days", "30", "-subj", "/CN=im.example"], check=True, capture_output=True)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(chain, key)
        number = 0
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            for name, inside, beginning in BEGINNINGS:
                client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
                client.minimum_version = client.maximum_version = version
                client.keylog_filename = keys
                number += 1
                port = {"nats": 4222, "mqtt": 1883}.get(name, 20000 + number)
                connection = Connection(packets, 40000 + number, port)
                for side, data in beginning:
                    connection.send(side, data)
                talk(connection, {"c": client, "s": server}, inside(number))
                connection.send("c", b"", 0x11)
                connection.send("s", b"", 0x11)
                connection.send("c", b"", 0x10)
                truth[40000 + number] = {"beginning": name, "clear": sum(len(d) for _, d in beginning), "messages": COUNT}
    with open(os.path.join(folder, "starttls.pcap"), "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i, packet in enumerate(packets):
            time = 1_780_000_000_000_000 + i * 1000
            file.write(struct.pack("<IIII", time // 1_000_000, time % 1_000_000, len(packet), len(packet)) + packet)
    with open(os.path.join(folder, "starttls.truth.json"), "w") as file:
        json.dump(truth, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
