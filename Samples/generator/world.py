"""One simulated capture: a clock, a network with a tap, phones, a server, and a list of what happens when."""
from .apps import Phone, Server
from .tcp import FIN, RST, SECOND, Clock, Connection, Dice, Network

START = 1_760_000_000 * SECOND + 250_000


class World:
    def __init__(self, seed, server="203.0.113.10", small_cuts=0, **network):
        self.clock, self.dice = Clock(START), Dice(seed)
        self.network = Network(self.clock, self.dice, **network)
        self.server = Server(self, server)
        self.connections, self.end, self.small_cuts = [], 0, small_cuts
        self.initial = None         # the next connection's sequence numbers, where they are to be special
        self.interfaces, self.placed = [], None

    def phone(self, uuid, address, port):
        return Phone(self, uuid, address, port, self.server)

    def connection(self, phone, server, answer):
        numbers = self.initial or (self.dice.below(1 << 31) * 2, self.dice.below(1 << 31) * 2 + 1)
        self.initial = None
        addresses = ((phone.address, phone.port), (server.address, server.port))
        connection = Connection(self.network, addresses, numbers, self.cut, answer)
        self.connections.append(connection)
        connection.open(phone, server)
        return connection

    def cut(self, direction):
        """Mostly full segments; `small_cuts` per thousand are short, so that frames straddle segments."""
        return 1 + self.dice.below(90) if self.dice.chance(self.small_cuts) else 1400

    def second(self):
        return self.clock.now // SECOND

    def ended(self, connection, why):
        connection.how = why

    def at(self, seconds, action, *arguments, **settings):
        self.clock.at(START + int(seconds * SECOND), lambda: action(*arguments, **settings))

    def run(self, seconds):
        self.end = START + int(seconds * SECOND)
        self.clock.run(self.end)
        return self

    def packets(self):
        return self.network.captured

    def check(self):
        """A capture is to hold no payload behind its sender's FIN or behind any RST: what that means is arguable."""
        over = {}
        for packet in self.packets():
            key = packet.connection, packet.direction
            if packet.payload:
                assert over.get(key, packet.start + len(packet.payload)) >= packet.start + len(packet.payload), "late data"
                assert (packet.connection, "rst") not in over, "data behind RST at %d" % packet.time
            if packet.flags & FIN:
                over[key] = packet.start
            if packet.flags & RST:
                over[packet.connection, "rst"] = True
