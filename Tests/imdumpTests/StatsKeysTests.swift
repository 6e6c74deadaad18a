import Foundation
import Testing

/// `imdump stats --json` over captures of two protocols whose types have names in common.
@Suite struct StatsKeysTests {
  @Test func eachKeyOnce() throws {
    let captures = ["Samples/tjp-clean-chat.pcap", "Samples/goim-room.pcap"]
    let both = try Command.run(["stats", "-q", "--json"] + captures)
    #expect(both.status == 0)
    // A reader of JSON keeps one of two equal keys, so they are counted in the text.
    let text = try #require(both.output.firstMatch(of: /"counters":\{([^}]*)\}/)).1
    let keys = text.split(separator: ",").map { $0.prefix { $0 != ":" } }
    #expect(Set(keys).count == keys.count)
    let parts = try captures.map { try counters(Command.run(["stats", "-q", "--json", $0]).output) }
    let sum = parts[0].merging(parts[1], uniquingKeysWith: +)
    #expect(try counters(both.output) == sum)
  }

  private func counters(_ output: String) throws -> [String: Int] {
    let object = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
    return try #require(object?["counters"] as? [String: Int])
  }
}
