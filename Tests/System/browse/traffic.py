"""Captures with names of our choice: MQTT clients that connect and publish."""
import struct


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack(">H", len(data)) + data


def packet(kind, body):
    length, count = b"", len(body)
    while True:
        byte, count = count % 128, count // 128
        length += bytes([byte | (128 if count else 0)])
        if not count:
            break
    return bytes([kind]) + length + body


def segment(second, client, number, forth, seq, ack, flags, data):
    ends = [struct.pack(">I", 0x0A000001 + client), struct.pack(">I", 0xC0A80001)]
    ports = [20000 + client % 40000, 1883]
    if not forth:
        ends.reverse()
        ports.reverse()
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, 65535, 0, 0) + data
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), number & 0xFFFF, 0, 64, 6, 0) + ends[0] + ends[1] + tcp
    frame = bytes(12) + b"\x08\x00" + ip
    return struct.pack("<IIII", int(second), int(second % 1 * 1e6), len(frame), len(frame)) + frame


def write(path, clients, words=("hello",), topics=None):
    """Writes a capture in which clients of these names connect and publish these words, to `topics` or to one topic. Checksums are not filled in."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        second = 1_760_000_000.0
        for client, name in enumerate(clients):
            place = [1000, 5000]

            def send(forth, data, flags=0x18):
                nonlocal second
                second += 0.001
                mine, other = (0, 1) if forth else (1, 0)
                file.write(segment(second, client, client, forth, place[mine], place[other] if flags != 2 else 0, flags, data))
                place[mine] += len(data) + (1 if flags & 2 else 0)

            send(True, b"", 2)
            send(False, b"", 0x12)
            send(True, b"", 0x10)
            send(True, packet(0x10, text("MQTT") + b"\x04\x02\x00\x3c" + text(name)))
            send(False, b"\x20\x02\x00\x00")
            for number, word in enumerate(words):
                topic = text(topics[number] if topics else "t")
                data = word if isinstance(word, bytes) else word.encode()
                send(True, packet(0x32, topic + struct.pack(">H", number + 1) + data))
                send(False, b"\x40\x02" + struct.pack(">H", number + 1))
    return path
