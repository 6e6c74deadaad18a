"""A program on a terminal of its own: what stands on it, and when it came."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata

SEQUENCE = re.compile(rb"\x1b\[([?0-9;]*)([A-Za-z])|\x1b\][^\x07]*\x07")


class Terminal:
    """Times are time.monotonic(), taken when bytes come and not when they are understood."""

    def __init__(self, words, width=200, height=60, environment=None):
        self.width, self.height = width, height
        self.rows = [[" "] * width for _ in range(height)]
        self.reverse = [[False] * width for _ in range(height)]
        self.row = self.column = 0
        self.isReverse = False
        self.rest = b""
        self.closed = False
        variables = dict(os.environ, TERM="xterm-256color", LC_ALL="C.UTF-8", TZ="UTC", **(environment or {}))
        # The child starts when the terminal has its size.
        ready, go = os.pipe()
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.read(ready, 1)
            os.execve(words[0], words, variables)
        self.size(width, height)
        os.set_blocking(self.descriptor, False)
        self.begun = time.monotonic()
        os.write(go, b"x")
        os.close(ready)
        os.close(go)

    def size(self, width, height):
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def resize(self, width, height):
        self.width, self.height = width, height
        self.rows = [[" "] * width for _ in range(height)]
        self.reverse = [[False] * width for _ in range(height)]
        self.size(width, height)

    def press(self, keys):
        os.write(self.descriptor, keys.encode())

    def take(self, seconds):
        """Waits for bytes and shows them; gives when the last of what was there came, or None."""
        if self.closed or not select.select([self.descriptor], [], [], max(0, seconds))[0]:
            return None
        chunks = []
        while True:
            try:
                chunk = os.read(self.descriptor, 65_536)
            except BlockingIOError:
                break
            except OSError:
                chunk = b""
            if not chunk:
                self.closed = True
                break
            chunks.append(chunk)
            came = time.monotonic()
        if not chunks:
            return None
        self.show(b"".join(chunks))
        return came

    def rest_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.closed:
            self.take(end - time.monotonic())

    def wait(self, test, seconds=30):
        """Waits until `test` is true of the terminal; gives when the bytes came that made it so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.closed:
            came = self.take(end - time.monotonic())
            if came is not None and test(self):
                return came
        raise SystemExit("bench-browse: waited in vain; there is\n" + "\n".join(self.text(row) for row in range(self.height)))

    def text(self, row):
        return "".join(self.rows[row])

    def selected(self):
        """The last row that is shown in reverse from its second cell on, beneath the title."""
        for row in range(self.height - 1, 0, -1):
            if self.reverse[row][1] and self.reverse[row][min(20, self.width - 1)]:
                return row
        return None

    def memory(self):
        """Kilobytes that the process has had at most, and has of its own now."""
        with open("/proc/%d/status" % self.pid) as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["VmHWM"].split()[0]), int(lines["RssAnon"].split()[0])

    def end(self):
        if not self.closed:
            try:
                self.press("q")
                self.rest_for(0.2)
                end = time.monotonic() + 10
                while time.monotonic() < end and not self.closed:
                    self.take(0.1)
            except OSError:
                pass
        if not self.closed:
            os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        os.close(self.descriptor)

    def show(self, data):
        data = self.rest + data
        self.rest = b""
        # What is cut in the middle of a sequence or a character waits.
        cut = data.rfind(b"\x1b")
        if cut >= 0 and not SEQUENCE.match(data, cut) and len(data) - cut < 64:
            data, self.rest = data[:cut], data[cut:]
        else:
            for back in range(1, min(4, len(data)) + 1):
                byte = data[-back]
                if byte >= 0xC0:
                    if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4):
                        data, self.rest = data[:-back], data[-back:]
                    break
                if byte < 0x80:
                    break
        place = 0
        while place < len(data):
            found = SEQUENCE.search(data, place)
            end = found.start() if found else len(data)
            if end > place:
                self.put(data[place:end].decode("utf-8", "replace"))
            if not found:
                break
            if found.group(2):
                self.heed(found.group(1).decode(), found.group(2).decode())
            place = found.end()

    def heed(self, numbers, letter):
        if letter == "H":
            row, column = (numbers.split(";") + ["1"])[:2] if numbers else ("1", "1")
            self.row, self.column = int(row) - 1, int(column) - 1
        elif letter == "m":
            for number in numbers.split(";"):
                if number in ("", "0"):
                    self.isReverse = False
                elif number == "7":
                    self.isReverse = True
        elif letter == "J":
            self.rows = [[" "] * self.width for _ in range(self.height)]
            self.reverse = [[False] * self.width for _ in range(self.height)]

    def put(self, text):
        for character in text:
            if not 0 <= self.row < self.height or character < " ":
                continue
            wide = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            for i in range(wide):
                if self.column + i < self.width:
                    self.rows[self.row][self.column + i] = character if i == 0 else ""
                    self.reverse[self.row][self.column + i] = self.isReverse
            self.column += wide
