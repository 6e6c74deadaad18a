"""A relay between a client and a server on the loopback that loses connections without a word, as a NAT does that forgot them."""
import select
import socket
import threading


class Relay(threading.Thread):
    """Takes connections on one port and hands their bytes to another, until they are forgotten."""

    def __init__(self, port, target):
        super().__init__(daemon=True)
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", port))
        self.peers, self.lock, self.ended, self.all = {}, threading.Lock(), threading.Event(), []

    def forget(self):
        """From now on no byte of the connections that are open gets through; both ends find them open."""
        with self.lock:
            self.peers.clear()

    def run(self):
        while not self.ended.is_set():
            with self.lock:
                peers = dict(self.peers)
            for one in select.select([self.listener, *peers], [], [], 0.02)[0]:
                if one is self.listener:
                    self.join_up()
                else:
                    self.hand_on(one, peers)
        for one in [self.listener, *self.all]:
            one.close()

    def join_up(self):
        client, server = self.listener.accept()[0], socket.create_connection(("127.0.0.1", self.target))
        for one in (client, server):
            # Small writes are handed on at once, else round trips are not the client's.
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.all.append(one)
        with self.lock:
            self.peers.update({client: server, server: client})

    def hand_on(self, one, peers):
        with self.lock:
            if one not in self.peers:
                return
            try:
                data = one.recv(65_536)
                if data:
                    peers[one].sendall(data)
                    return
                peers[one].shutdown(socket.SHUT_WR)
            except OSError:
                pass
            self.peers.pop(one, None)

    def end(self):
        self.ended.set()
        self.join(5)
