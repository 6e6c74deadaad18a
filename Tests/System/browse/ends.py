"""However it ends, the terminal is as it was, and nothing is left in the cache folder."""
import os
import signal
import time

MODES = "#{alternate_on}#{mouse_any_flag}#{cursor_flag}#{wrap_flag}"


def shown(bench, store=False):
    capture = bench.sample("tjp-weak-network.pcap")
    terminal = bench.terminal(bench.store(capture) if store else capture)
    terminal.wait("3 of 3", absent="●")
    assert terminal.ask(MODES) == "1100", terminal.ask(MODES)
    return terminal


def given_back(bench, terminal, status=None):
    """Waits for the shell, with the status that it tells; without one, of a process that it had stopped before."""
    terminal.wait(r"^ready\$ *\n*\Z" if status is None else "status=%s" % status)
    assert terminal.ask(MODES) == "0011", terminal.ask(MODES)
    # The shell's line is echoed, and a line feed is one.
    terminal.type("echo one; stty -a | tr ' ;' '\\n\\n' | grep -cxE 'icanon|echo|isig|opost|ixon|icrnl'")
    terminal.press("Enter")
    terminal.wait(r"^one\n6")
    left = os.listdir(os.path.join(bench.cache, "imdump")) if os.path.exists(bench.cache) else []
    assert left == [], left


def check_keys(bench):
    for key in ["q", "C-c"]:
        terminal = shown(bench)
        terminal.press(key)
        given_back(bench, terminal, 0)


def check_signals(bench):
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]:
        terminal = shown(bench)
        os.kill(terminal.process(), number)
        given_back(bench, terminal, 130)


def check_signals_over_a_store(bench):
    terminal = shown(bench, store=True)
    os.kill(terminal.process(), signal.SIGTERM)
    given_back(bench, terminal, 130)


def check_a_crash(bench):
    for number, status in [(signal.SIGSEGV, 139), (signal.SIGABRT, 134)]:
        terminal = shown(bench, store=True)
        os.kill(terminal.process(), number)
        terminal.wait("an error in imdump itself")
        given_back(bench, terminal, status)


def check_stop_and_go_on(bench):
    terminal = shown(bench)
    for _ in range(2):
        terminal.press("C-z")
        terminal.wait("Stopped")
        assert terminal.ask(MODES) == "0011", terminal.ask(MODES)
        terminal.type("fg")
        terminal.press("Enter")
        terminal.wait("3 of 3", absent="Stopped")
        assert terminal.ask(MODES) == "1100", terminal.ask(MODES)
    terminal.press("End")
    terminal.press("q")
    given_back(bench, terminal)


def check_a_signal_to_stop(bench):
    terminal = shown(bench)
    process = terminal.process()
    for number in [signal.SIGTSTP, signal.SIGSTOP]:
        os.kill(process, number)
        terminal.wait("Stopped")
        terminal.type("clear; fg")
        terminal.press("Enter")
        terminal.wait("3 of 3", absent="Stopped")
    terminal.press("q")
    given_back(bench, terminal)


def check_the_terminal_goes_away(bench):
    terminal = shown(bench)
    process = terminal.process()
    terminal.close()
    end = time.monotonic() + 60
    while os.path.exists("/proc/%d" % process):
        assert time.monotonic() < end, "still runs without a terminal"
        time.sleep(0.02)
    assert os.listdir(os.path.join(bench.cache, "imdump")) == []


def check_leftovers_of_a_killed_one_go(bench):
    terminal = shown(bench)
    os.kill(terminal.process(), signal.SIGKILL)
    terminal.wait("status=137")
    assert os.listdir(os.path.join(bench.cache, "imdump")) != []
    other = bench.terminal(bench.sample("tjp-clean-chat.pcap"))
    other.wait("by problems", absent="●")
    other.press("q")
    other.wait("status=0")
    assert os.listdir(os.path.join(bench.cache, "imdump")) == []
