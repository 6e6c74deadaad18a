#!/usr/bin/env python3
"""The clients of mqtt-websocket.pcap: paho-mqtt over WebSocket, and one that cuts its messages into fragments.

python3 Samples/websocket-client.py PORT paho|fragments
"""
import os
import socket
import struct
import sys
import time


def paho(port):
    import paho.mqtt.client as mqtt
    import threading
    seen = threading.Semaphore(0)
    reader = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="web-reader", transport="websockets")
    reader.on_message = lambda *_: seen.release()
    subscribed = threading.Event()
    reader.on_subscribe = lambda *_: subscribed.set()
    reader.connect("127.0.0.1", port, keepalive=5)
    reader.loop_start()
    reader.subscribe([("chat/#", 2), ("news/+", 1)])
    subscribed.wait(5)
    writer = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="web-writer", transport="websockets")
    writer.connect("127.0.0.1", port)
    writer.loop_start()
    texts = [("chat/zhang", 0, "你好"), ("chat/zhang", 1, "在地铁上 🚇"), ("chat/zhang", 2, "收到请回复"),
             ("news/today", 1, "one line"), ("chat/file", 2, "x" * 70000), ("chat/file", 1, "y" * 300)]
    texts += [("chat/lines", i % 3, "line %d" % i) for i in range(12)]
    for topic, quality, text in texts:
        writer.publish(topic, text.encode(), quality).wait_for_publish(5)
        seen.acquire(timeout=5)
    time.sleep(6)
    writer.disconnect()
    reader.disconnect()
    writer.loop_stop()
    reader.loop_stop()


def string(text):
    return struct.pack("!H", len(text)) + text.encode()


def packet(first, body):
    length, rest = b"", len(body)
    while True:
        length += bytes([rest & 127 | (128 if rest > 127 else 0)])
        rest >>= 7
        if not rest:
            return bytes([first]) + length + body


def frame(payload, opcode=2, final=True):
    head = bytes([(0x80 if final else 0) | opcode])
    if len(payload) < 126:
        head += bytes([0x80 | len(payload)])
    else:
        head += bytes([0x80 | 126]) + struct.pack("!H", len(payload))
    key = os.urandom(4)
    return head + key + bytes(byte ^ key[i & 3] for i, byte in enumerate(payload))


def fragments(port):
    client = socket.create_connection(("127.0.0.1", port))
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.sendall(b"GET /mqtt HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                   b"Sec-WebSocket-Protocol: mqtt\r\n\r\n")
    client.recv(4096)
    # A packet in three fragments, with a ping between them; then two packets in one frame, one of them cut by it.
    connect = packet(0x10, string("MQTT") + b"\x04\x02\x00\x1e" + string("web-fragments"))
    for part in (frame(connect[:5], final=False), frame(b"beat", 9), frame(connect[5:9], 0, False), frame(connect[9:], 0)):
        client.sendall(part)
        time.sleep(0.05)
    time.sleep(0.2)
    stream = b"".join(packet(0x32, string("chat/parts") + struct.pack("!H", i) + b"part %d " % i * i) for i in range(1, 9))
    cuts = [0, 30, 31, 95, 160, 161, 300, len(stream)]
    for start, end in zip(cuts, cuts[1:]):
        client.sendall(frame(stream[start:end]))
        time.sleep(0.05)
    client.sendall(frame(packet(0xc0, b"")))
    client.sendall(frame(b"again", 9))
    time.sleep(0.3)
    client.sendall(frame(packet(0xe0, b"")))
    client.sendall(frame(struct.pack("!H", 1000), 8))
    time.sleep(0.3)
    client.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    {"paho": paho, "fragments": fragments}[sys.argv[2]](int(sys.argv[1]))
