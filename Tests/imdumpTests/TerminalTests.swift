import Foundation
import IMTerminal
import IMTestSupport
import Testing

/// What commands do on a terminal, on one of the test's own.
@Suite struct TerminalTests {
  private static let sample = "Samples/tjp-weak-network.pcap"

  /// Lines without colors.
  private static func lines(_ text: String) -> [String] {
    text.replacing(/\u{1b}\[[0-9;]*m/, with: "").split(separator: "\r\n").map(String.init)
  }

  @Test(
    arguments: [40, 80, 140], [["stats"], ["messages", "--by", "session"], ["streams"], ["streams", "--ranges"]])
  func tablesKeepToTheWidth(_ columns: Int, _ command: [String]) throws {
    let told = Self.lines(try Terminal.run(command + [Self.sample], columns: columns))
    #expect(told.count { !$0.hasPrefix("imdump: ") } > 3)
    // The summary on standard error is broken between words.
    #expect(told.allSatisfy { cells($0) <= columns }, "\(told)")
    #expect(told.contains { $0.hasPrefix("imdump: ") && $0.contains("599 packets") })
  }

  @Test func colorsAreForTerminals() throws {
    let words = ["messages", Self.sample, "--lost", "-q"]
    #expect(try Terminal.run(words).contains("\u{1b}["))
    for own in [["NO_COLOR": "1"], ["TERM": "dumb"]] {
      #expect(!(try Terminal.run(words, environment: own)).contains("\u{1b}"), "\(own)")
    }
    #expect(!(try Terminal.run(words + ["--color", "never"])).contains("\u{1b}"))
    #expect(!(try Command.run(words)).output.contains("\u{1b}"))
    #expect(try Command.run(words + ["--color", "always"]).output.contains("\u{1b}["))
  }

  /// Progress through a long file stays on one line, however narrow the terminal is, and is gone at the end.
  @Test(arguments: [30, 200]) func progressKeepsToTheWidth(_ columns: Int) throws {
    let folder = try Scratch()
    let bytes = try Samples.bytes("tjp-weak-network.pcap")
    let long = bytes.prefix(24) + (0..<500).flatMap { _ in bytes.dropFirst(24) }
    let path = try folder.file("a-capture-of-a-gateway.pcap", long)
    let told = try Terminal.run(["stats", path, "--json", "--no-sandbox"], columns: columns)
    let shown = told.components(separatedBy: "\r\u{1b}[K").dropFirst().map { $0.prefix { !$0.isNewline && $0 != "{" } }
    let progress = shown.filter { !$0.isEmpty }
    #expect(!progress.isEmpty && progress.allSatisfy { cells(String($0)) < columns }, "\(told.prefix(500))")
    #expect(columns < 100 || progress.allSatisfy { $0.contains(" % ") })
    let quiet = try Terminal.run(["stats", path, "--json", "-q"], columns: columns)
    #expect(!quiet.contains("\r\u{1b}[K"))
  }
}
