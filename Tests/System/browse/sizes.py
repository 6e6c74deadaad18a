"""Terminals of any size."""
from .terminal import heading_of


def check_sizes(bench):
    terminal = bench.terminal(bench.store(bench.sample("tjp-weak-network.pcap")))
    terminal.wait("3 of 3")
    for width, height in [(40, 10), (200, 60), (80, 24), (41, 11), (120, 15), (160, 50)]:
        terminal.resize(width, height)

        def fits(text):
            lines = text.split("\n")
            return len(lines) >= height and lines[height - 1].rstrip().endswith("quit") and "3 of 3" in lines[height - 2]
        fits.__doc__ = "a screen of %dx%d" % (width, height)
        lines = terminal.wait(fits)
        heading = heading_of(lines)
        # Tabs, totals and a preview where there are rows for them.
        assert (heading > 2) == (height >= 16) and any("latest problems" in line for line in lines) == (height >= 24), lines
        assert "49147" in lines[heading + 1] and " 15" in lines[heading + 1], lines[heading + 1]
        assert ("server" in lines[heading]) == (width >= 150), lines[heading]


def check_messages_fit(bench):
    terminal = bench.terminal(bench.store(bench.sample("tjp-weak-network.pcap")))
    terminal.wait("3 of 3")
    terminal.press("Enter")
    terminal.wait("^ session 49147")
    for width, height in [(40, 10), (200, 60), (80, 24)]:
        terminal.resize(width, height)
        terminal.wait(lambda text: len(text.split("\n")) >= height and text.split("\n")[height - 1].rstrip().endswith("quit"))
        lines = terminal.wait("08:53:20.455" if width > 0 else "")
        assert max(len(line) for line in lines) <= width


def check_too_small(bench):
    terminal = bench.terminal(bench.store(bench.sample("tjp-weak-network.pcap")))
    terminal.wait("3 of 3")
    terminal.resize(39, 12)
    terminal.wait("at least 40x10", absent="3 of 3")
    terminal.resize(80, 24)
    terminal.wait("3 of 3", absent="at least")
