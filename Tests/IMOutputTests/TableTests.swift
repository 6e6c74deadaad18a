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
