import IMWire
import Testing

@testable import IMBrowser

/// The command that `!` shows, as text.
@Suite struct EquivalentCommandTests {
  private static func lines(_ source: BrowsedSource) -> [Browser.Screen: String] {
    var browser = Browser(source, zone: .utc)
    var lines: [Browser.Screen: String] = [:]
    for screen in [.problems, .sessions, .connections, .types, .messages, .ladder] as [Browser.Screen] {
      browser.screen = screen
      lines[screen] = browser.equivalentCommand
    }
    return lines
  }

  /// A capture that no file has is read from its interface again. The capture filter is behind all options.
  @Test func ofAnInterface() {
    var source = BrowsedSource(files: [], isStore: false, options: ["--port", "18083"])
    (source.interface, source.captureFilter) = ("lo", "tcp port 18083")
    #expect(
      Self.lines(source) == [
        .problems: "imdump -i lo --store lo.db --port 18083 'tcp port 18083'"
          + " && imdump query lo.db 'SELECT kind, cause, count(*) FROM problems GROUP BY 1, 2'",
        .sessions: "imdump messages -i lo --port 18083 --by session 'tcp port 18083'",
        .connections: "imdump streams -i lo --port 18083 --sort problems 'tcp port 18083'",
        .types: "imdump messages -i lo --port 18083 --by type 'tcp port 18083'",
        .messages: "imdump messages -i lo --port 18083 'tcp port 18083'",
        .ladder: "imdump -i lo -w lo.pcapng --port 18083 'tcp port 18083'"
          + " && imdump ladder lo.pcapng --port 18083 --conn 0",
      ])
    // What `-w` writes has all that is shown.
    source.files = ["a b.pcap"]
    #expect(
      Self.lines(source)[.sessions] == "imdump messages 'a b.pcap' --port 18083 --by session 'tcp port 18083'")
    #expect(
      Self.lines(source)[.ladder] == "imdump ladder 'a b.pcap' --port 18083 --conn 0 'tcp port 18083'")
  }

  /// What no command prints of a capture is a query of the store that is made of it, in the folder in which one is.
  @Test func ofCaptures() {
    var source = BrowsedSource(files: ["caps/it's.pcap", "b.pcap"], isStore: false, options: ["--no-checksum"])
    source.captureFilter = "port 80"
    let index = #"imdump index 'caps/it'\''s.pcap' b.pcap -o 'it'\''s.pcap.db' --no-checksum 'port 80'"#
    let query = #" && imdump query 'it'\''s.pcap.db' "#
    #expect(
      Self.lines(source)[.problems]
        == index + query + "'SELECT kind, cause, count(*) FROM problems GROUP BY 1, 2'")
    func sessions(_ change: (inout SessionOrder) -> Void) -> String {
      var browser = Browser(source, zone: .utc)
      var request = browser.sessionSignal.value
      change(&request.order)
      browser.sessionSignal = CombinedSignal(request, quiet: .zero, patience: .zero)
      return browser.equivalentCommand
    }
    #expect(sessions { $0.sort = .retries } == index + query + "'SELECT * FROM sessions ORDER BY retries DESC'")
    #expect(
      sessions { ($0.sort, $0.isReversed, $0.pins) = (.number, true, [7, 2]) }
        == index + query + "'SELECT * FROM sessions ORDER BY id IN (2, 7) DESC, id DESC'")
    #expect(
      sessions { $0.filter = "40475" }.hasPrefix(index + query + "'SELECT * FROM sessions WHERE instr(lower("))
    #expect(
      sessions { _ in } == #"imdump messages 'caps/it'\''s.pcap' b.pcap --no-checksum --by session 'port 80'"#)
  }
}
