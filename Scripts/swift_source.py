"""Reads Swift source for the checks beside this file: where a comment or a string stands, and the code without either."""
import os
import re

TOKEN = re.compile(r'''
    (?P<line>//[^\n]*)
  | (?P<block>/\*.*?\*/)
  | (?P<multi>(?P<hashes>\#*)"""(?:\\.|(?!"""(?P=hashes)).)*"""(?P=hashes))
  | (?P<raw>(?P<hash>\#+)".*?"(?P=hash))
  | (?P<string>"(?:\\.|[^"\\\n])*")
''', re.X | re.S)


def code(text):
    """The source with comments and strings blanked out; every line and column stays where it was."""
    return TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def swift_files(*folders):
    """The Swift files under `folders`, sorted, as paths."""
    found = []
    for folder in folders:
        for path, _, names in os.walk(folder):
            found += [os.path.join(path, name) for name in names if name.endswith(".swift")]
    return sorted(found)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def report(what, findings):
    """Prints what was found and ends with 1, or says that nothing was."""
    for finding in findings:
        print(finding)
    print("%s: %s" % (what, "ok" if not findings else "%d to mend" % len(findings)))
    raise SystemExit(1 if findings else 0)
