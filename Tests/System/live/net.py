"""Network namespaces that belong to one run of check-live, with nothing of the machine's own network in them."""
import ctypes
import os
import socket
import subprocess
import time

CLONE_NEWNET = 0x40000000


class Net:
    """Namespaces `near` and `far` joined by a veth pair, `wire0` in both; each has a loopback of its own.

    Neither has an address, and IPv6 is off, so the only packets are those that a check sends.
    """

    def __init__(self):
        name = "imdump-live-%d" % os.getpid()
        self.near, self.far = name + "-near", name + "-far"
        self.made = []

    def __enter__(self):
        try:
            for space in (self.near, self.far):
                ip("netns", "add", space)
                self.made.append(space)
                subprocess.run(["ip", "netns", "exec", space, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1",
                                "net.ipv6.conf.default.disable_ipv6=1"], stderr=subprocess.DEVNULL)
                ip("-n", space, "link", "set", "lo", "up")
            ip("-n", self.near, "link", "add", "wire0", "type", "veth", "peer", "name", "wire0", "netns", self.far)
            for space in (self.near, self.far):
                ip("-n", space, "link", "set", "wire0", "txqueuelen", "10000", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for space in self.made:
            subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL)
        self.made = []


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise OSError("ip %s: %s" % (" ".join(arguments), done.stderr.strip()))


def inside(space, command):
    """The command line that runs `command` in a namespace; `ip` becomes the command, so its process is the command's."""
    return ["ip", "netns", "exec", space, *command]


def send(space, packets, pause=0.0, limit=10.0, then=None, device="wire0"):
    """Starts a process that sends packets through `device` of a namespace, for `limit` seconds at most; its id.

    `then` is a process and a signal for it, right after the last packet.
    """
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        enter(space)
        until = time.monotonic() + limit
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sender.bind((device, 0))
        for packet in packets:
            sender.send(packet)
            if pause:
                time.sleep(pause)
            if time.monotonic() > until:
                break
        if then:
            os.kill(*then)
        status = 0
    finally:
        os._exit(status)


def enter(space):
    """Moves this process, made to end there, into a namespace."""
    descriptor = os.open("/run/netns/" + space, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.close(descriptor)
