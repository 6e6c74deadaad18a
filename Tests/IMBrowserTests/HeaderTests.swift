import IMTerminal
import IMWire
import Testing

@testable import IMBrowser
@testable import IMStore

/// What is above the lists.
@Suite struct HeaderTests {
  private static func title(_ zone: LocalZone, seconds: Int64 = 108, width: Int) -> String {
    var browser = Browser(BrowsedSource(files: ["tjp-weak-network.pcap"], isStore: false), zone: zone)
    browser.totals.sessions = 1
    browser.totals.connections.first = Timestamp(seconds: 1_760_000_000, fraction: 0)
    browser.totals.connections.last = Timestamp(seconds: 1_760_000_000 + seconds, fraction: 0)
    var text = browser.render(width: width, height: 24).text(row: 0)
    while text.last == " " { text.removeLast() }
    return text
  }

  /// Times on the screen are local ones: the title says of which zone.
  @Test func theTimeSpanHasItsZone() {
    let file = " imdump  tjp-weak-network.pcap  "
    let shanghai = LocalZone { _ in (28_800, "CST") }
    #expect(Self.title(.utc, width: 80) == file + "2025-10-09 08:53:20 to 08:55:08 UTC")
    #expect(Self.title(shanghai, width: 80) == file + "2025-10-09 16:53:20 to 16:55:08 +08:00")
    // Without room for it, the span alone.
    #expect(Self.title(shanghai, width: 68) == file + "2025-10-09 16:53:20 to 16:55:08")
    // A span in which clocks were put back.
    let changing = LocalZone { $0 < 1_760_000_050 ? (7_200, "CEST") : (3_600, "CET") }
    #expect(Self.title(changing, width: 80) == file + "2025-10-09 10:53:20 +02:00 to 09:55:08 +01:00")
  }

  /// After `'`, the kinds of problems fit 80 columns; each has a digit and a sentence in the help.
  @Test(arguments: [80, 140, 200]) func theKindsOfProblemsFit(_ width: Int) {
    let text = ProblemNames.digits(width: width)
    #expect(text.count <= width, "\(text)")
    for i in ProblemNames.all.indices { #expect(text.contains("\(i + 1) "), "\(text)") }
    #expect(ProblemNames.helps.count == ProblemNames.all.count)
  }
}
