"""Files of what a list shows."""
import csv
import json
import os
import re
import tempfile
import xml.etree.ElementTree

from .keys import wait_selected
from .screens import shown, steps


def opened(bench, capture, **options):
    folder = tempfile.mkdtemp(prefix="saved-", dir=bench.folder)
    terminal = bench.terminal(bench.store(bench.sample(capture)), width=120, folder=folder, **options)
    terminal.wait("by problems")
    terminal.press("a")
    wait_selected(terminal, r"^. +1 ")
    return terminal, folder


def name(terminal, key, text):
    terminal.press(key)
    terminal.wait(" to")
    terminal.press("C-u")
    terminal.type(text)
    terminal.press("Enter")


def check_rows_are_those_of_a_query(bench):
    terminal, folder = opened(bench, "tjp-weak-network.pcap")
    store = bench.store(bench.sample("tjp-weak-network.pcap"))
    wanted = bench.imdump("query", store, "SELECT * FROM messages ORDER BY id", "--json").stdout
    name(terminal, "e", "all.jsonl")
    terminal.wait("all.jsonl: 120 messages$")
    assert open(os.path.join(folder, "all.jsonl")).read() == wanted
    terminal.press("Space", "Down", "Space")
    terminal.wait(r"^.\+ +3 ")
    name(terminal, "e", "two.csv")
    terminal.wait("two.csv: 2 messages")
    rows = list(csv.DictReader(open(os.path.join(folder, "two.csv"), newline="")))
    assert [row["id"] for row in rows] == ["1", "3"], rows
    by_id = {line["id"]: line for line in map(json.loads, wanted.splitlines())}
    for row in rows:
        for key, value in by_id[int(row["id"])].items():
            assert row[key] == ("" if value is None else str(value)), (key, row[key], value)


def check_a_filtered_list(bench):
    terminal, folder = opened(bench, "tjp-weak-network.pcap")
    terminal.press("/")
    terminal.type("retries > 0")
    terminal.press("Enter")
    terminal.wait("filter: retries > 0")
    name(terminal, "e", "retried.json")
    terminal.wait("retried.json: ")
    told = bench.imdump("messages", "-q", "--json", bench.sample("tjp-weak-network.pcap"), "-Y", "retries > 0").stdout
    told = sorted((line["conn"], line["seq"], line["type"], line["fate"], line["retries"]) for line in map(json.loads, told.splitlines()))
    rows = [json.loads(line) for line in open(os.path.join(folder, "retried.json"))]
    assert told and told == sorted((row["conn"], row["seq"], row["type"], row["fate"], row["retries"]) for row in rows), rows


def check_packets_decode_to_the_same_messages(bench):
    capture = bench.sample("tjp-weak-network.pcap")
    terminal, folder = opened(bench, "tjp-weak-network.pcap")
    terminal.press("n")
    terminal.press("Space")
    terminal.wait(r"^.\+ +\d+ ")
    name(terminal, "w", "one.pcapng")
    terminal.wait("one.pcapng: .*the same message")
    path = os.path.join(folder, "one.pcapng")

    def messages(path):
        lines = [json.loads(line) for line in bench.imdump("messages", "-q", "--json", path).stdout.splitlines()]
        return [{key: value for key, value in line.items() if key != "conn"} for line in lines]
    saved, whole = messages(path), messages(capture)
    # Whole connections are copied, with their handshakes: the chosen message and its neighbours.
    assert saved and all(line in whole for line in saved), saved
    assert any(line["retries"] > 0 or line["fate"] in ("unanswered", "damaged") for line in saved), saved


def check_a_file_that_is_there(bench):
    terminal, folder = opened(bench, "tjp-weak-network.pcap")
    path = os.path.join(folder, "mine.csv")
    with open(path, "w") as file:
        file.write("mine")
    name(terminal, "e", "mine.csv")
    terminal.wait("mine.csv already exists. Replace it")
    terminal.press("n")
    terminal.wait("was not changed")
    assert open(path).read() == "mine"
    name(terminal, "e", "mine.csv")
    terminal.wait("Replace it")
    terminal.press("y")
    terminal.wait("mine.csv: 120 messages")
    assert open(path).read().startswith("id,time,")


def check_a_folder_that_is_not_there(bench):
    terminal, folder = opened(bench, "tjp-weak-network.pcap")
    name(terminal, "e", "absent/rows.csv")
    terminal.wait("absent/rows.csv: ")
    name(terminal, "w", "absent/packets.pcap")
    terminal.wait("absent/packets.pcap: ")
    terminal.press("Escape")
    wait_selected(terminal, "")


def check_typed_letters_do_nothing_else(bench):
    terminal, folder = opened(bench, "tjp-weak-network.pcap")
    terminal.press("e")
    terminal.wait("messages.csv")
    # What is typed takes the place of the suggestion.
    terminal.type("qqnPmf")
    terminal.wait(": qqnPmf *$")
    terminal.press("Escape")
    terminal.wait("messages of all sessions", absent="qqnPmf")
    assert os.listdir(folder) == []


def check_ladders(bench):
    """As text and SVG: the lines of imdump ladder, but for what docs/browse.md says of a store's."""
    capture = bench.sample("tjp-weak-network.pcap")
    terminal, folder = opened(bench, "tjp-weak-network.pcap")
    terminal.type(":ladder 1\n")
    shown(terminal, "ladder")
    name(terminal, "e", "one.txt")
    terminal.wait("one.txt: \\d+ rows")
    text = open(os.path.join(folder, "one.txt")).read()
    printed = bench.imdump("ladder", capture, "--conn", "1").stdout
    seen, wanted = steps(text.split("\n")), steps(printed.split("\n"))
    assert len(seen) == len(wanted) > 5, (seen, wanted)
    for mine, other in zip(seen, wanted):
        assert mine[:2] + mine[3:] == other[:2] + other[3:], (mine, other)
    assert text.split("\n")[:2] == printed.split("\n")[:2], text
    name(terminal, "e", "one.svg")
    terminal.wait("one.svg: \\d+ rows")
    drawing = xml.etree.ElementTree.parse(os.path.join(folder, "one.svg"))
    rows = [element for element in drawing.iter() if element.tag.endswith("}g")]
    assert len(rows) == len(text.splitlines()) - 2, (len(rows), text)
    # What is there is asked about, and Esc leaves everything as it is.
    name(terminal, "e", "one.txt")
    terminal.wait("Replace it")
    terminal.press("n")
    terminal.wait("was not changed")
    terminal.press("e")
    terminal.wait("the ladder as")
    terminal.press("Escape")
    shown(terminal, "ladder")


def check_packets_of_a_ladder(bench):
    terminal, folder = opened(bench, "tjp-weak-network.pcap")
    terminal.type(":ladder 2\n")
    shown(terminal, "ladder")
    name(terminal, "w", "two.pcap")
    terminal.wait("two.pcap: .*the same \\d+ messages")
    lines = bench.imdump("messages", "-q", "--json", os.path.join(folder, "two.pcap")).stdout.splitlines()
    wanted = bench.imdump("messages", "-q", "--json", bench.sample("tjp-weak-network.pcap"), "-Y", "conn == 2").stdout.splitlines()
    kept = [re.sub('"conn":\\d+', "", line) for line in lines]
    assert wanted and all(re.sub('"conn":\\d+', "", line) in kept for line in wanted), (wanted, kept)
