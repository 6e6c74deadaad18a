import IMTerminal
import IMWire
import Testing

@testable import IMBrowser
@testable import IMStore

/// What the lists say of a capture of which nothing was decoded.
@Suite struct UndecodedTests {
  private static let why = [
    "8 of 19 TCP connections are TLS (TLS 1.0; TLS 1.2 to api.example), not decrypted: --keylog FILE decrypts those whose secrets it has",
    "no connection speaks " + Array(repeating: "protocol", count: 40).joined(separator: ", "),
  ]

  private static func browser(_ file: String) -> Browser {
    var browser = Browser(BrowsedSource(files: [file], isStore: false), zone: .utc)
    browser.sessionsShown = SessionsRequest()
    browser.types.found = StoredTypes(types: [])
    browser.progress.unread = why
    return browser
  }

  private static func rows(_ browser: inout Browser, _ screen: Browser.Screen, _ width: Int, _ height: Int) -> [String]
  {
    browser.screen = screen
    let grid = browser.render(width: width, height: height)
    return (0..<height).map { row in
      var text = grid.text(row: row)
      while text.last == " " { text.removeLast() }
      return text
    }
  }

  /// Each list says why, and has the whole command with the name of the file.
  @Test(arguments: [Browser.Screen.problems, .sessions, .connections, .messages, .types])
  func theCommandIsWhole(_ screen: Browser.Screen) throws {
    var browser = Self.browser("captures/chat.pcap")
    let rows = Self.rows(&browser, screen, 80, 24)
    #expect(
      rows.contains(" all TCP connections, with ports and TLS names:")
        || rows.contains(" all TCP connections, with ports and TLS names: imdump streams captures/chat.pcap"))
    #expect(rows.contains { $0.hasSuffix("imdump streams captures/chat.pcap") })
    #expect(rows.contains(" 8 of 19 TCP connections are TLS (TLS 1.0; TLS 1.2 to api.example), not"))
    if screen != .connections { #expect(rows.filter { $0.contains("protocol, protocol") }.count == 6) }
  }

  /// A long name is broken, and not cut; what does not fit is the end of the explanation.
  @Test func aLongNameIsWhole() {
    let file = "captures/" + String(repeating: "long-name-", count: 12) + ".pcap"
    for (width, height) in [(80, 24), (60, 20), (50, 14)] {
      var browser = Self.browser(file)
      let rows = Self.rows(&browser, .sessions, width, height)
      let first = rows.firstIndex { $0.hasPrefix(" imdump streams ") } ?? 0
      #expect(rows[first..<height - 2].map { $0.dropFirst() }.joined().hasPrefix("imdump streams \(file)"), "\(rows)")
      #expect(rows[first - 1].hasSuffix("TLS names:"))
      #expect(rows.contains { $0.hasSuffix(" …") } == (height < 24), "\(rows)")
    }
  }
}
