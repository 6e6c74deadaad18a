import Testing

@testable import IMReport

/// Commands that continue on the next line, ready to be pasted.
@Suite struct PastedCommandsTests {
  @Test(
    arguments: [
      ([], 40, []), (["imdump why a"], 40, ["next: imdump why a"]),
      (["imdump why a", "imdump stats a"], 40, ["next: imdump why a", "      imdump stats a"]),
      // The backslash takes two columns.
      (["imdump messages abc --lost"], 32, ["next: imdump messages abc --lost"]),
      (["imdump messages abcd --lost"], 32, ["next: imdump messages abcd \\", "        --lost"]),
      // An option stays with its value.
      (["imdump ladder a.pcap --conn 1"], 34, ["next: imdump ladder a.pcap \\", "        --conn 1"]),
      (["imdump ladder a.pcap --conn 1"], 35, ["next: imdump ladder a.pcap --conn 1"]),
      // A word that is wider than a line is not split, nor is a quoted one.
      (["imdump why 'a b  c d e f g h i j k l'"], 20, ["next: imdump why \\", "        'a b  c d e f g h i j k l'"]),
      (["imdump why a\\ b\\ c\\ d\\ e"], 20, ["next: imdump why \\", "        a\\ b\\ c\\ d\\ e"]),
      (["imdump why 'it'\\''s' b"], 24, ["next: imdump why \\", "        'it'\\''s' b"]),
      (["imdump why 列車列車"], 24, ["next: imdump why \\", "        列車列車"]),
    ] as [([String], Int, [String])])
  func linesFit(_ commands: [String], _ width: Int, _ expected: [String]) {
    #expect(PastedCommands(commands, width: width).lines == expected)
  }

  /// A command with very many files stays on one line, and commands for which there is no room are left out.
  @Test func linesAreBounded() {
    let files = (0..<200).map { "file-\($0).pcap" }.joined(separator: " ")
    #expect(PastedCommands(["imdump why \(files)"], width: 40).lines == ["next: imdump why \(files)"])
    let some = (0..<7).map { "file-number-\($0).pcap" }.joined(separator: " ")
    let two = PastedCommands(["imdump why \(some)", "imdump stats \(some)"], width: 30).lines
    #expect(two.count <= 9 && two[0].hasPrefix("next: imdump why") && !two.joined().contains("stats"))
    // The pasted lines are the command.
    let pasted = two.map { $0.hasSuffix(" \\") ? String($0.dropLast()) : $0 }.joined().split(separator: " ").dropFirst()
    #expect(pasted.joined(separator: " ") == "imdump why \(some)")
  }
}
