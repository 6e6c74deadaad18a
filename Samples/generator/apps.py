"""The two applications of a conversation: a phone and a chat server, as they behave in Samples/README.md."""
import struct
import zlib

from . import wire
from .tcp import SECOND


class Server:
    """Acknowledges everything with an echo ACK, control frames twice; sends a receipt 2 s later and forwards chats.

    `ignore` maps (session, sequence) to how many times the server is to act as if the frame had not come;
    `slow` maps it to a delay of the first ACK in us; `forward` maps a session to the phone its texts go to.
    """

    def __init__(self, world, address, port=8080):
        self.world, self.address, self.port = world, address, port
        self.counters = wire.Counters("server")
        self.ignore, self.slow, self.forward, self.phones = {}, {}, {}, {}
        self.answers_handshake = False
        self.buffers = {}

    def opened(self, connection):
        self.buffers[connection] = bytearray()

    def closed(self, connection, why):
        self.world.ended(connection, why)

    def put(self, connection, *frames):
        if not connection.ends[1].dead and not connection.ends[1].closing:
            connection.put(1, frames, self.world.second())

    def later(self, delay, connection, *frames):
        self.world.clock.after(delay, self.put, connection, *frames)

    def received(self, connection, direction, data):
        self.buffers[connection] += data
        for kind, sequence, session, body, label, good in wire.parse(self.buffers[connection]):
            if kind == wire.ACK or kind > wire.RECEIPT or not good:
                continue
            left = self.ignore.get((session, sequence), 0)
            if left:
                self.ignore[session, sequence] = left - 1
                continue
            self.answer(connection, kind, sequence, session, body, label)

    def answer(self, connection, kind, sequence, session, body, label):
        echo = wire.Frame(wire.ACK, sequence, session, acks=sequence)
        delay = 400 + self.world.dice.below(2500)
        if kind == wire.CONTROL:
            if self.answers_handshake:
                reply = wire.field(wire.VERSION_RESPONSE, bytes([1, 0, 0, 0x0B]))
                self.later(delay, connection, wire.Frame(wire.CONTROL, sequence + 1, session, reply, plain=reply))
            self.later(delay, connection, echo, echo.copy())
            return
        self.later(self.slow.pop((session, sequence), delay), connection, echo)
        if kind == wire.DATA:
            number = struct.pack(">I", sequence)
            self.world.clock.after(2 * SECOND, self.receipt, connection, session, number)
            target = self.forward.get(session)
            if target and target.ready:
                settings = {"compression": "zlib", "plain": zlib.decompress(body)} if label else {}
                self.world.clock.after(delay + 1500, self.push, target, body, settings)

    def receipt(self, connection, session, number):
        if not connection.ends[1].dead and not connection.ends[1].closing:
            body = wire.field(wire.READ, number)
            self.put(connection, wire.Frame(wire.RECEIPT, self.counters.next(0), session, body, checksum="le", plain=body))

    def push(self, phone, body, settings=()):
        """A data frame to `phone`, if it is there."""
        if phone.ready:
            settings = dict({"plain": body, "encryption": 1}, **dict(settings))
            self.put(phone.connection, wire.Frame(wire.DATA, self.counters.next(0), phone.session, body, **settings))


class Phone:
    """One session: handshake, heartbeat, messages with one retry after 3 s, body ACKs, receipts, reconnects."""

    def __init__(self, world, uuid, address, port, server):
        self.world, self.uuid, self.address, self.port, self.server = world, uuid, address, port, server
        self.session, self.counters = wire.fold(uuid), wire.Counters(uuid)
        self.connection, self.ready, self.buffer = None, False, bytearray()
        self.pending, self.beats = {}, {}
        self.heartbeat_seconds, self.reconnects, self.attempts = 30, True, 0
        self.answers = []           # how the next attempts to connect end: yes, refuse, silence
        self.give_up = 30 * SECOND  # an attempt without an answer
        self.retries = True
        server.phones[self.session] = self

    def connect(self):
        answer = self.answers.pop(0) if self.answers else "yes"
        self.attempts += 1
        connection = self.connection = self.world.connection(self, self.server, answer)
        self.port += 1
        if answer == "silence":
            self.world.clock.after(self.give_up, self.attempt_over, connection)

    def attempt_over(self, connection):
        connection.ends[0].stop("timeout")

    def opened(self, connection):
        self.ready, self.buffer = True, bytearray()
        connection.opened = self.world.clock.now
        body = wire.field(wire.VERSION_REQUEST, bytes([1, 0, 0, 0x0B]))
        self.put(wire.Frame(wire.CONTROL, self.counters.next(2), self.session, body, plain=body))
        self.heartbeat(connection)

    def closed(self, connection, why):
        self.ready = False
        self.pending.clear()
        self.world.ended(connection, why)
        if self.reconnects:
            delay = min(2 * SECOND * 2 ** (self.attempts - 1), 30 * SECOND) + self.world.dice.below(SECOND)
            self.world.clock.after(delay, self.connect)

    def put(self, *frames):
        end = self.connection.ends[0]
        if not end.dead and not end.closing:
            self.connection.put(0, frames, self.world.second())

    def heartbeat(self, connection):
        if connection is not self.connection or not self.ready or not self.heartbeat_seconds:
            return
        sequence = self.counters.next(1)
        self.put(wire.Frame(wire.HEARTBEAT, sequence, self.session))
        self.beats[sequence] = connection
        self.world.clock.after(15 * SECOND, self.heartbeat_late, sequence)
        period = self.heartbeat_seconds * SECOND * (900 + self.world.dice.below(200)) // 1000
        self.world.clock.after(period, self.heartbeat, connection)

    def heartbeat_late(self, sequence):
        connection = self.beats.pop(sequence, None)
        if connection is self.connection and self.ready:
            connection.ends[0].abort()

    def message(self, body, times=1, **settings):
        """A data frame with the next number, written `times` times in one go; answers its number."""
        return self.burst([(body, settings)], times)[0]

    def burst(self, bodies, times=1):
        """Several data frames in one write: they share segments as the segments please."""
        frames = []
        for body, settings in bodies:
            settings = dict({"plain": body, "encryption": 1}, **settings)
            frames.append(wire.Frame(wire.DATA, self.counters.next(0), self.session, body, **settings))
        self.put(*[frame.copy() for frame in frames for _ in range(times)])
        for frame in frames:
            self.pending[frame.sequence] = frame
            if self.retries:
                self.world.clock.after(3 * SECOND, self.retry, self.connection, frame)
        return [frame.sequence for frame in frames]

    def retry(self, connection, frame):
        if connection is self.connection and self.pending.pop(frame.sequence, None):
            self.put(frame.copy(checksum=frame.again))

    def received(self, connection, direction, data):
        if connection is not self.connection:
            return
        self.buffer += data
        for kind, sequence, session, _, _, good in wire.parse(self.buffer):
            if kind == wire.ACK:
                self.pending.pop(sequence, None)
                self.beats.pop(sequence, None)
            elif good:
                self.world.clock.after(300 + self.world.dice.below(1500), self.acknowledge, connection, sequence)
                if kind == wire.DATA:
                    self.world.clock.after(2 * SECOND, self.receipt, connection, sequence)

    def acknowledge(self, connection, original):
        if connection is self.connection and self.ready:
            number = self.counters.next(original >> 24)
            self.put(wire.Frame(wire.ACK, number, self.session, struct.pack(">I", original), acks=original))

    def receipt(self, connection, original):
        if connection is self.connection and self.ready:
            body = wire.field(wire.READ, struct.pack(">I", original))
            self.put(wire.Frame(wire.RECEIPT, self.counters.next(0), self.session, body, plain=body))

    def leave(self, how="fin"):
        """Ends the connection for good."""
        self.reconnects = False
        self.drop(how)

    def drop(self, how="fin"):
        """Ends the connection; a phone that reconnects comes back after its pause."""
        end = self.connection.ends[0]
        self.ready = False
        end.close() if how == "fin" else end.abort()
