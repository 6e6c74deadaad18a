import Foundation
import IMDocuments
import IMOutput
import IMTestSupport
import IMWire
import Testing

@Suite("ECS documents of a sample")
struct ECSStreamTests {
  static let sample = "tjp-weak-network.pcap"

  @Test("the fates are those of the sample's truth")
  func truth() throws {
    let data = Data(try Samples.bytes("\(Self.sample).truth.json"))
    let truth = try JSONSerialization.jsonObject(with: data) as? [String: Any]
    var expected: [String: Int] = [:]
    for message in truth?["messages"] as? [[String: Any]] ?? [] {
      let direction = message["dir"] as? String == "c2s" ? "client_to_server" : "server_to_client"
      expected["\(message["type"] ?? "") \(direction) \(message["fate"] ?? "")", default: 0] += 1
    }
    var found: [String: Int] = [:]
    for document in try ECSRun.documents(try Samples.packets(Self.sample)) where document.dataset == "imdump.message" {
      let message = ["type", "direction", "fate"].map { document.text("imdump.msg.\($0)") ?? "" }
      found[message.joined(separator: " "), default: 0] += 1
    }
    #expect(found == expected)
    #expect(!expected.isEmpty)
  }

  @Test("the same capture gives the same bytes; every line is whole and short enough")
  func repeatable() throws {
    let packets = try Samples.packets(Self.sample)
    var options = ECSOptions()
    options.messageLog = .all
    options.flushSize = 1_000
    let first = ECSRun.bytes(packets, options)
    #expect(first == ECSRun.bytes(packets, options))
    let bytes = try #require(first[.message])
    #expect(bytes.last == 10)
    #expect(
      bytes.split(separator: 10, omittingEmptySubsequences: false).allSatisfy { $0.count < JSONLines.maximumLine })
  }

  @Test("datasets can have streams of their own, with the same lines")
  func separate() throws {
    let packets = try Samples.packets(Self.sample)
    var options = ECSOptions()
    options.messageLog = .all
    let joined = try #require(ECSRun.bytes(packets, options)[.message])
    options.separatesDatasets = true
    let parts = ECSRun.bytes(packets, options)
    #expect(Set(parts.keys) == [.message, .connection, .weird, .summary, .capture])
    let lines = parts.values.flatMap { $0.split(separator: 10).map { String(decoding: $0, as: UTF8.self) } }
    // The first one, of the capture's start, is what every file begins with.
    let all = joined.split(separator: 10).map { String(decoding: $0, as: UTF8.self) }
    #expect(lines.sorted() == all.dropFirst().sorted())
    for (dataset, bytes) in parts {
      for document in try ECSRun.documents(bytes) { #expect(document.dataset == dataset.name) }
    }
  }

  @Test("periods add up to the run")
  func additive() throws {
    let documents = try ECSRun.documents(try Samples.packets(Self.sample))
    let summaries = documents.filter { $0.dataset == "imdump.summary" }
    let messages = documents.filter { $0.dataset == "imdump.message" && $0.text("imdump.msg.type") == "data" }
    for direction in ["client_to_server", "server_to_client"] {
      let units = summaries.compactMap { $0.number("imdump.summary.messages.\(direction).units") }.reduce(0, +)
      #expect(units == Double(messages.filter { $0.text("imdump.msg.direction") == direction }.count))
    }
    #expect(summaries.count == 3)
    #expect(summaries.map { $0.flag("imdump.summary.partial") } == [true, false, true])
  }

  @Test("a sample holds whole sessions, and the sessions do not depend on the order")
  func sampling() throws {
    let packets = try Samples.packets(Self.sample)
    func sessions(_ log: MessageLog) throws -> [String: Int] {
      var counts: [String: Int] = [:]
      for document in try ECSRun.documents(packets, log: log) where document.dataset == "imdump.message" {
        counts[document.text("imdump.app_session.id") ?? "", default: 0] += 1
      }
      return counts
    }
    let all = try sessions(.all)
    let sampled = try sessions(.sample(2))
    #expect(!sampled.isEmpty)
    #expect(sampled.count < all.count)
    for (session, count) in sampled { #expect(all[session] == count) }
  }

  @Test("the log of errors has what was not simply answered")
  func errors() throws {
    let packets = try Samples.packets(Self.sample)
    let errors = try ECSRun.documents(packets, log: .errors).filter { $0.dataset == "imdump.message" }
    let all = try ECSRun.documents(packets).filter { $0.dataset == "imdump.message" }
    #expect(errors.count == all.filter { $0.text("imdump.msg.fate") != "acked" }.count)
    #expect(errors.allSatisfy { $0.text("imdump.msg.fate") != "acked" })
  }
}
