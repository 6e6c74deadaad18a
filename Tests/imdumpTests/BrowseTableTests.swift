import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser
@testable import IMStore

/// The list of connections as it is shown, with the words of `imdump streams`.
@Suite struct BrowseTableTests {
  private static func rows(_ sample: String, width: Int, height: Int) throws -> [String] {
    let store = try Store(sample)
    let reader = try StoreReader(store.path)
    var browser = Browser(BrowsedSource(files: [Samples.path(sample)], isStore: false), zone: .utc)
    browser.screen = .connections
    browser.sessionsShown = SessionsRequest()
    browser.totals = SessionTotals(try reader.sessions())
    browser.totals.connections = try reader.connectionTotals()
    browser.connections.shown = ConnectionsRequest()
    browser.connections.rows.replace(try reader.connections(limit: 100))
    let grid = browser.render(width: width, height: height)
    return (0..<height).map { row in
      var text = grid.text(row: row)
      while text.last == " " { text.removeLast() }
      return text
    }
  }

  /// A connection that nobody decodes has no counts of messages.
  @Test func whatIsNotDecodedIsNotCounted() throws {
    let rows = try Self.rows("tjp-weak-network.pcap", width: 80, height: 33)
    #expect(rows.contains("      # start    client              protocol end       msgs retry  lost"))
    #expect(rows.contains("!     1 08:53:20 192.0.2.77:50110    tjp      rst c2s     11     2     1"))
    #expect(rows.contains("      5 08:54:04 192.0.2.77:50111    -        refused      -     -     -"))
    #expect(rows.contains("      7 08:54:09 192.0.2.77:50112    -        timeout      -     -     -"))
  }

  /// Where nothing is decoded, a narrow screen has the server's port and name.
  @Test func aNarrowScreenHasTheNameOfTLS() throws {
    let rows = try Self.rows("tls/tjp-tls13.pcap", width: 80, height: 24)
    #expect(rows.contains("      # start    client              server             protocol       end"))
    let first = try #require(rows.first { $0.hasPrefix("      1 ") })
    #expect(first.hasSuffix("     127.0.0.1:8443     TLS im.example fin"), "\(first)")
  }

  /// After one FIN a connection is open, as `imdump streams` says.
  @Test func aConnectionWithOneFINIsOpen() throws {
    let rows = try Self.rows("tjp-racing.pcap", width: 120, height: 50)
    let row = try #require(rows.first { $0.contains(" 10.77.0.2:42824 ") })
    #expect(row.contains(" open ") && !row.contains("half"), "\(row)")
    let printed = try Command.run(["streams", "-q", Samples.path("tjp-racing.pcap")]).output
    #expect(printed.split(separator: "\n").first { $0.contains(" 10.77.0.2:42824 ") }?.contains(" open") == true)
  }
}
