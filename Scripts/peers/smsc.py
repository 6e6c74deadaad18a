"""A small message centre that speaks SMPP 3.4: just enough to have something to say. Its codec is its own."""
import socket
import struct
import threading
import time

HEADER = struct.Struct(">IIII")
BIND, SUBMIT, ENQUIRE, UNBIND = (1, 2, 9), 4, 0x15, 6
# What it says to these numbers: throttled, invalid destination, a system error.
REFUSED = {b"900": 0x58, b"901": 0x0B, b"902": 0x08}


class Centre(threading.Thread):
    """Answers submits a window at a time, the last first, with a delay that grows; refuses some."""

    def __init__(self, window):
        super().__init__(daemon=True)
        self.window = window
        self.listener = socket.create_server(("127.0.0.1", 2775))
        self.listener.settimeout(20)
        self.seen, self.optional = 0, 0

    def run(self):
        peer, _ = self.listener.accept()
        peer.settimeout(20)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        held = []
        try:
            while True:
                head = self.read(peer, 16)
                length, command, _, number = HEADER.unpack(head)
                body = self.read(peer, length - 16)
                if command == SUBMIT:
                    self.seen += 1
                    held.append((number, self.status(body)))
                    if len(held) == self.window:
                        for number, status in reversed(held):
                            time.sleep(0.005)
                            text = b"" if status else b"id-%d\0" % number
                            peer.sendall(HEADER.pack(16 + len(text), 0x80000000 | SUBMIT, status, number) + text)
                        held = []
                elif command in BIND:
                    name = b"centre\0" + struct.pack(">HHB", 0x0210, 1, 0x34)
                    peer.sendall(HEADER.pack(16 + len(name), 0x80000000 | command, 0, number) + name)
                elif command in (ENQUIRE, UNBIND):
                    peer.sendall(HEADER.pack(16, 0x80000000 | command, 0, number))
                    if command == UNBIND:
                        return
        except OSError:
            return
        finally:
            peer.close()
            self.listener.close()

    @staticmethod
    def read(peer, count):
        data = b""
        while len(data) < count:
            more = peer.recv(count - len(data))
            if not more:
                raise OSError("closed")
            data += more
        return data

    def status(self, body):
        """What a submit is answered with, by its destination; counts optional parameters."""
        at = body.index(b"\0") + 3
        at = body.index(b"\0", at) + 3
        end = body.index(b"\0", at)
        destination = body[at:end]
        at = end + 4
        at = body.index(b"\0", at) + 1
        at = body.index(b"\0", at) + 1 + 4
        at += 1 + body[at]
        while at + 4 <= len(body):
            self.optional += 1
            at += 4 + struct.unpack_from(">H", body, at + 2)[0]
        return REFUSED.get(destination, 0)
