"""Network namespaces with one TAP or TUN device each, made with system calls alone."""
import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
TUNSETIFF, IFF_TUN, IFF_TAP, IFF_NO_PI = 0x400454CA, 1, 2, 0x1000
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8913, 0x8914, 0x8916, 0x891C
SIOCSIFMTU, SIOCSIFHWADDR, SIOCGIFINDEX, SIOCSIFTXQLEN, SIOCSARP = 0x8922, 0x8924, 0x8933, 0x8943, 0x8955
IFF_UP = 1
ATF_COMPLETE_PERMANENT = 6

ADDRESS = {"server": "10.77.0.1", "client": "10.77.0.2"}
ADDRESS6 = {"server": "fd77::1", "client": "fd77::2"}
HARDWARE = {"server": b"\x02\x77\0\0\0\x01", "client": b"\x02\x77\0\0\0\x02", "observer": b"\x02\x77\0\0\0\x03"}

libc = ctypes.CDLL(None, use_errno=True)


def system_call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, name + ": " + os.strerror(number))


class Namespace:
    """One anonymous network namespace. It lives as long as this process and what was started in it."""

    def __init__(self, role, is_tap, mtu, has_ipv6):
        self.role, self.is_tap = role, is_tap
        self.has_ipv6 = has_ipv6 and role != "observer"
        self.interface = "obs0" if role == "observer" else "wn0"
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        try:
            system_call("unshare", CLONE_NEWNET)
            self.space = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            self.control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.control6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) if self.has_ipv6 else None
            self.device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            self._make_device(mtu)
            self.set_up(True)
            flags = self._flags(b"lo")
            fcntl.ioctl(self.control, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags | IFF_UP))
        finally:
            system_call("setns", home, CLONE_NEWNET)
            os.close(home)

    def _make_device(self, mtu):
        name = self.interface.encode()
        kind = IFF_TAP if self.is_tap else IFF_TUN
        fcntl.ioctl(self.device, TUNSETIFF, struct.pack("16sH22x", name, kind | IFF_NO_PI))
        fcntl.ioctl(self.control, SIOCSIFMTU, struct.pack("16si20x", name, mtu))
        fcntl.ioctl(self.control, SIOCSIFTXQLEN, struct.pack("16si20x", name, 20000))
        if self.is_tap:
            fcntl.ioctl(self.control, SIOCSIFHWADDR, struct.pack("16sH6s16x", name, 1, HARDWARE[self.role]))
        folder = "/proc/sys/net/ipv6/conf/%s/" % self.interface
        settings = {"disable_ipv6": "0" if self.has_ipv6 else "1", "accept_dad": "0", "router_solicitations": "0"}
        for key, value in settings.items() if os.path.isdir(folder) else ():
            try:
                with open(folder + key, "w") as file:
                    file.write(value)
            except OSError:
                pass
        if self.role == "observer":
            return
        for request, address in ((SIOCSIFADDR, ADDRESS[self.role]), (SIOCSIFNETMASK, "255.255.255.0")):
            fcntl.ioctl(self.control, request,
                        struct.pack("16sHH4s8x8x", name, socket.AF_INET, 0, socket.inet_aton(address)))

    def _flags(self, name):
        return struct.unpack_from("H", fcntl.ioctl(self.control, SIOCGIFFLAGS, struct.pack("16s24x", name)), 16)[0]

    def set_up(self, is_up):
        """Switches the interface on or off, and restores what the kernel forgets when it goes down."""
        name = self.interface.encode()
        flags = self._flags(name)
        flags = flags | IFF_UP if is_up else flags & ~IFF_UP
        fcntl.ioctl(self.control, SIOCSIFFLAGS, struct.pack("16sH22x", name, flags))
        if not is_up or self.role == "observer":
            return
        if self.is_tap:
            peer = "client" if self.role == "server" else "server"
            fcntl.ioctl(self.control, SIOCSARP, struct.pack(
                "HH4s8xH14si16s16s", socket.AF_INET, 0, socket.inet_aton(ADDRESS[peer]), 1, HARDWARE[peer],
                ATF_COMPLETE_PERMANENT, b"", name))
        if self.control6:
            index = struct.unpack("16si20x", fcntl.ioctl(self.control, SIOCGIFINDEX, struct.pack("16s24x", name)))[1]
            address = socket.inet_pton(socket.AF_INET6, ADDRESS6[self.role])
            try:
                fcntl.ioctl(self.control6, SIOCSIFADDR, address + struct.pack("Ii", 64, index))
            except FileExistsError:
                pass

    def spawn(self, command, settings=(), **options):
        """Starts a command in this namespace; it dies with this process, however this process dies."""
        parent = os.getpid()

        def child():
            os.setpgid(0, 0)
            system_call("setns", self.space, CLONE_NEWNET)
            for key, value in settings:
                with open("/proc/sys/" + key.replace(".", "/"), "w") as file:
                    file.write(value)
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(125)

        environment = dict(os.environ, LAB_ROLE=self.role, LAB_INTERFACE=self.interface,
                           LAB_SERVER=ADDRESS["server"], LAB_CLIENT=ADDRESS["client"])
        return subprocess.Popen(command, preexec_fn=child, env=environment, **options)

    def close(self):
        self.control.close()
        os.close(self.device)
        os.close(self.space)
        if self.control6:
            self.control6.close()
