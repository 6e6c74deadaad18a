import Foundation
import Testing

/// `tjp-racing.pcap` against the ledgers of the ends that made it: copies of one message on several connections are one message.
@Suite struct RacingTruthTests {
  private struct Truth: Decodable {
    struct Message: Decodable {
      var session: Int, sequence: Int, copies: Int
      var connections: [String]
    }
    var connections: Int
    var messages: [Message]
  }

  private struct Line: Decodable {
    var type: String, session: Int, seq: Int, fate: String, client: String
    var ts: [Int]
  }

  @Test func messagesAndCopiesAreThoseOfTheLedgers() throws {
    let name = "Samples/tjp-racing.pcap"
    let data = try Data(contentsOf: Command.folder.appending(path: name + ".truth.json"))
    let truth = try JSONDecoder().decode(Truth.self, from: data)
    let result = try Command.run(["messages", "--json", name])
    #expect(result.status == 0)
    #expect(result.errors.contains("\n\("imdump: \(truth.connections) connections, \(truth.connections) decoded")"))
    let lines = try result.output.split(separator: "\n").map {
      try JSONDecoder().decode(Line.self, from: Data($0.utf8))
    }.filter { $0.type == "data" }
    #expect(lines.count == truth.messages.count)
    for message in truth.messages {
      let found = lines.filter { $0.session == message.session && $0.seq == message.sequence }
      let line = try #require(found.first, "\(message) is missing")
      #expect(found.count == 1 && line.ts.count == message.copies, "\(message): \(found)")
      #expect(line.fate == "acked" || line.fate == "acked_after_retry")
      #expect(message.connections.contains(line.client))
    }
    // What the sample is for.
    #expect(truth.messages.contains { $0.connections.count > 1 })
  }
}
