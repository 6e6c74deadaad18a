"""What is printed: a line for each check, and the sums."""


class Report:
    """Counts checks and prints them as they come."""

    def __init__(self):
        self.passed = self.failed = 0

    def part(self, title):
        print("\n== " + title, flush=True)

    def note(self, text):
        print("        " + text, flush=True)

    def skipped(self, text):
        print("skipped " + text, flush=True)

    def check(self, name, holds, *facts):
        """One check. `facts` are printed when it fails."""
        if holds:
            self.passed += 1
        else:
            self.failed += 1
        print("%s %s" % ("ok     " if holds else "FAILED ", name), flush=True)
        if not holds:
            for fact in facts:
                for line in str(fact).rstrip().split("\n")[-12:]:
                    self.note(line)
        return holds

    def equal(self, name, found, expected):
        """One check that two values are the same."""
        return self.check("%s: %s" % (name, found if found == expected else "%s, not %s" % (found, expected)),
                          found == expected)
