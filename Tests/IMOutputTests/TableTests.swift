import IMTerminal
import Testing

@testable import IMOutput

/// Tables, on terminals of any width.
@Suite struct TableTests {
  private func table(_ width: Int?) -> [String] {
    var table = TextTable(["name", "count", "none", "long heading", "remark"], left: [0, 4])
    table.add(["a", "1", "0", "22", ""])
    table.add(["bcdef", "100", "-", "3", "late"])
    var out = ByteWriter()
    table.write(to: &out, width: width)
    return out.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
  }

  @Test func columnsAreAsWideAsTheirCells() {
    let whole = [
      "name   count  none  long heading  remark",
      "a          1     0            22",
      "bcdef    100     -             3  late",
    ]
    #expect(table(nil) == whole)
    #expect(table(40) == whole)
  }

  @Test func aNarrowTerminalGetsNoColumnsOfZeros() {
    #expect(
      table(39) == [
        "name   count  long heading  remark",
        "a          1            22",
        "bcdef    100             3  late",
      ])
  }

  @Test func aNarrowerOneGetsBlocks() {
    #expect(
      table(27) == [
        "name   count  long heading", "a          1            22", "bcdef    100             3", "",
        "name   remark", "a", "bcdef  late",
      ])
    // Never less than one column beside the first, however narrow.
    #expect(table(1).count == 3 * 3 + 2)
    for width in 20...60 { for line in table(width) { #expect(line.count <= width) } }
  }

  @Test func longLinesAreBrokenBehindCommas() {
    #expect(wrapped("gap 2, retries 10", nil) == "gap 2, retries 10")
    #expect(wrapped("gap 2, retries 10", 17) == "gap 2, retries 10")
    #expect(wrapped("gap 2, retries 10", 16) == "gap 2,\n  retries 10")
    #expect(wrapped("gap 2, retries 10, late 3", 18) == "gap 2, retries 10,\n  late 3")
    #expect(wrapped("gap 2, retries 10", 3) == "gap\n  2,\n  retries\n  10")
    #expect(wrapped("", 3) == "")
  }
}

/// The width of texts on a terminal; expectations are those of the Python package wcwidth 0.2 (`wcswidth`).
@Suite struct CellsTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("消息", 4), ("a消b", 4), ("한국어", 6), ("ｱｲｳ", 3), ("ＡＢ", 4), ("é", 1), ("e\u{301}", 1),
    ("👍", 2), ("👨\u{200d}👩\u{200d}👧", 2), ("❤\u{fe0f}", 2), ("☎", 1), ("①", 1), ("—", 1), ("…", 1), ("𠀀", 2), ("가", 2),
    ("ไทย", 3), ("\u{200b}x", 1), ("⚡", 2), ("✓", 1), ("☕", 2), ("日本語 text", 11),
  ]) func widths(_ text: String, _ width: Int) { #expect(cells(text) == width) }

  @Test func aPrefixStaysWithin() {
    #expect(prefix("消息 ok", cells: 3) == "消")
    #expect(prefix("消息 ok", cells: 6) == "消息 o")
    #expect(prefix("e\u{301}x", cells: 1) == "e\u{301}")
    #expect(prefix("abc", cells: 0) == "")
  }

  @Test func columnsStayInLine() {
    var table = TextTable(["name", "n"])
    table.add(["消息👍", "1"])
    table.add(["abc", "20"])
    var out = ByteWriter()
    table.write(to: &out)
    #expect(out.text == "name     n\n消息👍   1\nabc     20\n")
  }
}
