"""A small TCP between two ends, a clock, and a tap that sees the packets somewhere on the way."""
import heapq

SECOND = 1_000_000
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


class Dice:
    """A linear congruential generator: the same numbers everywhere, whatever Python's own generator does."""

    def __init__(self, seed):
        self.state = seed * 2654435761 + 12345

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        return (self.state >> 33) % limit

    def chance(self, per_thousand):
        return self.below(1000) < per_thousand


class Clock:
    def __init__(self, start):
        self.now, self.count, self.events = start, 0, []

    def at(self, time, action, *arguments):
        self.count += 1
        heapq.heappush(self.events, (max(time, self.now), self.count, action, arguments))

    def after(self, delay, action, *arguments):
        self.at(self.now + delay, action, *arguments)

    def run(self, until):
        while self.events and self.events[0][0] <= until:
            self.now, _, action, arguments = heapq.heappop(self.events)
            action(*arguments)


class Packet:
    """One segment as the tap sees it; `start` counts payload bytes of its direction from 0, whatever the numbers say."""

    def __init__(self, connection, direction, flags, start, acknowledged, payload=b"", sent=0):
        self.connection, self.direction, self.flags = connection, direction, flags
        self.start, self.acknowledged, self.payload, self.sent = start, acknowledged, payload, sent
        self.time = 0
        self.echo = connection.ends[direction].last_clock


class Network:
    """Carries packets past a tap. Delays in us: from the phone to the tap, and from the tap to the server.

    lose_before, lose_after, hold: per thousand packets (data and bare ACKs only) that are lost before the tap or
    behind it, or arrive late at the tap. `hiding` holds rules; a packet that one of them picks reaches the other end, but
    not the capture.
    """

    def __init__(self, clock, dice, near=9_000, far=4_000, lose_before=0, lose_after=0, hold=0):
        self.clock, self.dice, self.near, self.far = clock, dice, near, far
        self.lose_before, self.lose_after, self.hold = lose_before, lose_after, hold
        self.hiding, self.captured, self.last = [], [], 0

    def send(self, packet):
        connection, direction = packet.connection, packet.direction
        ordinary = not packet.flags & (SYN | FIN | RST) and packet.start + packet.acknowledged + len(packet.payload) > 0
        before, behind = (self.near, self.far) if direction == 0 else (self.far, self.near)
        time = max(self.clock.now + before + self.dice.below(700), connection.line[direction] + 60 + self.dice.below(90))
        if ordinary and self.dice.chance(self.hold):
            time += 2_000 + self.dice.below(6_000)      # others overtake it
        else:
            connection.line[direction] = time
        if ordinary and self.dice.chance(self.lose_before):
            return
        lost = connection.unreachable or ordinary and self.dice.chance(self.lose_after)
        self.clock.at(time, self.pass_tap, packet, behind, lost)

    def pass_tap(self, packet, behind, lost):
        packet.time = self.last = max(self.clock.now, self.last + 1)
        if not any([rule(packet) for rule in self.hiding]):
            self.captured.append(packet)
        if not lost:
            self.clock.after(behind + self.dice.below(300), packet.connection.ends[1 - packet.direction].arrive, packet)


class End:
    """One end of a connection. Offsets count stream bytes from 0; a FIN is one byte after the last."""

    def __init__(self, connection, direction):
        self.connection, self.direction = connection, direction
        self.out, self.acknowledged, self.sent = bytearray(), 0, 0
        self.received, self.held, self.repeats = 0, [], 0
        self.closing = self.fin_seen = self.dead = False
        self.established = False
        self.wait, self.timer = 250_000, 0
        self.last_clock = 0
        self.application = None

    @property
    def peer(self):
        return self.connection.ends[1 - self.direction]

    def emit(self, flags, start, payload=b""):
        acknowledged = self.received + (1 if self.fin_seen else 0)
        network = self.connection.network
        network.send(Packet(self.connection, self.direction, flags, start, acknowledged, payload, network.clock.now))

    def write(self, data):
        self.out += data
        while self.sent < len(self.out):
            size = min(self.connection.cut(self.direction), len(self.out) - self.sent)
            self.emit(PSH | ACK, self.sent, bytes(self.out[self.sent:self.sent + size]))
            self.sent += size
        self.arm()

    def close(self):
        if not self.closing and not self.dead:
            self.closing = True
            self.emit(FIN | ACK, len(self.out))
            self.sent = len(self.out) + 1
            self.arm()

    def abort(self):
        if not self.dead:
            self.emit(RST | ACK, self.sent)
            self.stop("rst")

    def stop(self, why):
        if not self.dead:
            self.dead = True
            self.application.closed(self.connection, why)

    def arm(self):
        self.timer += 1
        if self.acknowledged < self.sent:
            self.connection.network.clock.after(self.wait, self.expired, self.timer)

    def expired(self, timer):
        if timer == self.timer and not self.dead:
            self.wait = min(self.wait * 2, 4 * SECOND)
            self.repeat()
            self.arm()

    def repeat(self):
        """Sends what is not acknowledged again, up to one full segment: its bounds differ from the first time's."""
        end = min(self.acknowledged + self.connection.segment, len(self.out), self.sent)
        if self.acknowledged < end:
            self.emit(PSH | ACK, self.acknowledged, bytes(self.out[self.acknowledged:end]))
        elif self.closing:
            self.emit(FIN | ACK, len(self.out))

    def arrive(self, packet):
        if self.dead:
            return
        self.last_clock = packet.sent // 1000 & 0xFFFFFFFF
        if packet.flags & SYN:
            self.connection.shake(self, packet)
            return
        if packet.flags & RST:
            self.stop("rst")
            return
        if not self.established:
            self.established = True
            self.application.opened(self.connection)
        self.acknowledge(packet)
        self.accept(packet)

    def acknowledge(self, packet):
        if packet.acknowledged > self.acknowledged:
            self.acknowledged, self.repeats, self.wait = packet.acknowledged, 0, 250_000
            self.arm()
        elif packet.acknowledged == self.acknowledged < self.sent and not packet.payload:
            self.repeats += 1
            if self.repeats == 3:
                self.repeat()

    def accept(self, packet):
        end, before = packet.start + len(packet.payload), self.received
        if packet.payload:
            self.held.append((packet.start, end))
            for start, stop in sorted(self.held):
                if start <= self.received < stop:
                    self.received = stop
            self.held = [piece for piece in self.held if piece[1] > self.received]
        if packet.flags & FIN and end == self.received:
            self.fin_seen = True
        if packet.payload or packet.flags & FIN:
            self.emit(ACK, self.sent)
        if self.received > before:
            self.application.received(self.connection, self.direction, bytes(self.peer.out[before:self.received]))
        if self.fin_seen and not self.dead:
            if self.closing:
                self.stop("fin")
            else:
                self.connection.network.clock.after(300, self.close)
                self.connection.network.clock.after(400, self.stop, "fin")


class Connection:
    """Two ends. `answer` is yes, refuse or silence; `cut` gives the size of the next segment of a direction."""

    def __init__(self, network, addresses, numbers, cut, answer="yes", segment=1400):
        self.network, self.addresses, self.numbers, self.cut = network, addresses, numbers, cut
        self.segment, self.answer, self.unreachable = segment, answer, answer == "silence"
        self.line = [0, 0]
        self.frames = [[], []]
        self.ends = [End(self, 0), End(self, 1)]
        self.first = self.opened = self.closed = None
        self.how = "open"

    def open(self, phone, server):
        self.ends[0].application, self.ends[1].application = phone, server
        self.first = self.network.clock.now
        for seconds in (0, 1, 3, 7) if self.unreachable else (0,):
            self.network.clock.after(seconds * SECOND, self.ends[0].emit, SYN, 0)

    def shake(self, end, packet):
        if end.direction == 1 and self.answer == "refuse":
            end.emit(RST | ACK, 0)
        elif end.direction == 1:
            end.emit(SYN | ACK, 0)
        else:
            end.established = True
            end.emit(ACK, 0)
            end.application.opened(self)

    def put(self, direction, frames, second):
        """Writes frames (or loose bytes) in one go and keeps where each stands in the stream."""
        at, data = len(self.ends[direction].out), b""
        for frame in frames:
            raw = frame if isinstance(frame, bytes) else frame.bytes(second)
            if raw is not frame:
                start = at + len(data)
                self.frames[direction].append((start, start + len(raw), frame.copy()))
            data += raw
        self.ends[direction].write(data)
