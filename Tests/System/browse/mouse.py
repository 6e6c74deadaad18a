"""The mouse."""
from .keys import opened, wait_selected
from .terminal import heading_of, screen_of


def check_clicks_and_the_wheel(bench):
    terminal = opened(bench)
    top = heading_of(terminal.lines()) + 1
    terminal.mouse(0, top + 1, 10)
    wait_selected(terminal, "40475")
    terminal.mouse(65, top + 1, 10)
    wait_selected(terminal, "22509")
    terminal.mouse(64, top + 1, 10)
    wait_selected(terminal, "49147")
    # Outside of the list nothing happens.
    terminal.mouse(0, 23, 10)
    terminal.mouse(0, 0, 0)
    wait_selected(terminal, "49147")
    terminal.mouse(0, top, 10)
    terminal.wait(r"^ session 49147 .*\n +1 ")
    wait_selected(terminal, "^. +1 ")
    terminal.mouse(0, heading_of(terminal.lines()) + 4, 10)
    wait_selected(terminal, "^. +10 ")


def check_clicks_on_tabs(bench):
    terminal = opened(bench)
    for title, name in [("Connections", "connections"), ("Types", "types"), ("Messages", "messages"),
                        ("Problems", "problems"), ("Sessions", "sessions")]:
        row = heading_of(terminal.lines()) - 1
        terminal.mouse(0, row, terminal.lines()[row].index(title))
        terminal.wait(lambda text: screen_of(text.split("\n")) == name)


def check_the_mouse_is_given_back(bench):
    terminal = opened(bench)
    terminal.wait(lambda text: terminal.ask("#{mouse_any_flag}#{mouse_sgr_flag}") == "11")
    terminal.press("m")
    terminal.wait("the mouse selects text")
    terminal.wait(lambda text: terminal.ask("#{mouse_any_flag}") == "0")
    terminal.press("m")
    terminal.wait(lambda text: terminal.ask("#{mouse_any_flag}") == "1")


def check_no_mouse(bench):
    terminal = opened(bench, "--no-mouse")
    assert terminal.ask("#{mouse_any_flag}") == "0"
