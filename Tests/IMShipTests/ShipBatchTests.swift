import Foundation
import Testing

@testable import IMShip

/// Batches, what is sent of them, and what answers change.
@Suite struct ShipBatchTests {
  private static func document(_ id: String, dataset: String = "imdump.message") -> [UInt8] {
    Array(
      "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"data_stream\":{\"type\":\"logs\",\"dataset\":\"\(dataset)\",\"namespace\":\"default\"},\"event\":{\"kind\":\"event\",\"id\":\"\(id)\"}}"
        .utf8)
  }

  /// A batch of documents of one file, each line followed by a line feed.
  private static func batch(_ lines: [[UInt8]]) -> ShipBatch {
    var batch = ShipBatch(), at: UInt64 = 0
    for line in lines {
      batch.add(line[...], file: 0, start: at, end: at + UInt64(line.count) + 1)
      at += UInt64(line.count) + 1
    }
    return batch
  }

  private static func answer(_ items: String...) throws -> BulkAnswer {
    try #require(BulkAnswer(Array("{\"took\":1,\"errors\":true,\"items\":[\(items.joined(separator: ","))]}".utf8)))
  }

  private static func item(_ status: Int, _ error: String = "") -> String {
    "{\"create\":{\"_index\":\"a\",\"status\":\(status)\(error.isEmpty ? "" : ",\"error\":" + error)}}"
  }

  @Test func aBodyHasAnActionAndTheLineAsItIs() throws {
    let line = Self.document("a\\\"b")
    var batch = Self.batch([line])
    let text = String(decoding: batch.body(limit: 1 << 20), as: UTF8.self)
    #expect(
      text == "{\"create\":{\"_index\":\"logs-imdump.message-default\",\"_id\":\"a\\\"b\"}}\n"
        + String(decoding: line, as: UTF8.self) + "\n")
    // Foundation reads the action as the engine does.
    let action =
      try JSONSerialization.jsonObject(with: Data(text.split(separator: "\n")[0].utf8)) as? [String: [String: String]]
    #expect(action?["create"]?["_id"] == "a\"b")
  }

  @Test func whatIsPendingIsSentAgainAndHoldsTheOffset() throws {
    let lines = ["a", "b", "c", "d"].map { Self.document($0) }
    let length = UInt64(lines[0].count + 1)
    var batch = Self.batch(lines)
    _ = batch.body(limit: 1 << 20)
    let applied = try batch.apply(
      Self.answer(Self.item(201), Self.item(429), Self.item(409), Self.item(400, "{\"type\":\"t\",\"reason\":\"r\"}")))
    let change = try #require(applied)
    #expect((change.stored, change.known, change.later, change.refused) == (1, 1, 1, 1))
    #expect(batch.sentTo == [0: length])
    #expect(batch.progress[0].map { [$0.sent, $0.held] } == [1, 3])
    // The refused one comes after one that is pending: it is told when that is done.
    #expect(batch.refused(after: { _ in 0 }).isEmpty)
    let text = String(decoding: batch.body(limit: 1 << 20), as: UTF8.self)
    #expect(text.contains("\"_id\":\"b\"") && !text.contains("\"_id\":\"a\"") && batch.sentCount == 1)
    _ = try batch.apply(Self.answer(Self.item(201)))
    #expect(batch.isDone)
    #expect(batch.sentTo == [0: 4 * length])
    #expect(batch.progress[0].map { [$0.sent, $0.held] } == [4, 0])
    let refused = batch.refused(after: { _ in length })
    #expect(refused.map(\.0.start) == [3 * length])
    #expect(refused.first?.0.text == "400 t: r")
  }

  @Test func anAnswerOfAnotherLengthChangesNothing() throws {
    var batch = Self.batch([Self.document("a"), Self.document("b")])
    _ = batch.body(limit: 1 << 20)
    let change = try batch.apply(Self.answer(Self.item(201)))
    #expect(change == nil)
    #expect(batch.pendingCount == 2)
  }

  @Test func aTimeSeriesGetsNoIDs() throws {
    var batch = Self.batch([
      Self.document("a", dataset: "imdump.summary"), Self.document("b"), Self.document("c", dataset: "imdump.summary"),
    ])
    _ = batch.body(limit: 1 << 20)
    let unset = Self.item(
      400, "{\"type\":\"document_parsing_exception\",\"reason\":\"_id must be unset or set to [x] but was [a]\"}")
    let applied = try batch.apply(Self.answer(unset, Self.item(201), unset))
    let change = try #require(applied)
    #expect(change.hasOtherForm && change.refused == 0)
    let text = String(decoding: batch.body(limit: 1 << 20), as: UTF8.self)
    #expect(!text.contains("_id") && batch.sentCount == 2)
    _ = try batch.apply(Self.answer(Self.item(201), Self.item(409)))
    #expect(batch.isDone)
  }

  @Test func aBodyKeepsToItsLimitAndHasOneDocumentAtLeast() {
    let lines = (0..<10).map { Self.document("\($0)") }
    var batch = Self.batch(lines)
    _ = batch.body(limit: 10)
    #expect(batch.sentCount == 1)
    let limit = 3 * (lines[0].count + 256)
    let body = batch.body(limit: limit)
    #expect((2...4).contains(batch.sentCount) && body.count <= limit)
    _ = batch.body(limit: 1 << 20, count: 4)
    #expect(batch.sentCount == 4)
  }

  @Test func whatIsNoDocumentIsRefusedWithoutBeingSent() {
    var batch = Self.batch([Array("no JSON".utf8), Array("{}".utf8), Self.document("a")])
    _ = batch.body(limit: 1 << 20)
    #expect(batch.sentCount == 1)
    let lines = batch.refused(after: { _ in 0 }).map {
      String(decoding: RefusedLine.bytes($0.0, $0.1, file: "f"), as: UTF8.self)
    }
    #expect(lines.count == 2)
    #expect(lines[0].hasSuffix("\"document\":\"no JSON\"}\n"))
    #expect(lines[1].hasSuffix("\"document\":{}}\n"))
  }

  @Test(arguments: [
    (200, "", BulkAnswer.Item.stored), (201, "", .stored), (409, "", .known), (429, "", .later), (503, "", .later),
    (403, "{\"type\":\"cluster_block_exception\",\"reason\":\"blocked\"}", .later),
    (403, "{\"type\":\"security_exception\",\"reason\":\"no\"}", .denied(reason: "no")),
    (
      400, "{\"type\":\"t\",\"reason\":\"r\",\"caused_by\":{\"type\":\"u\",\"reason\":\"s\"}}",
      .refused(status: 400, type: "t", reason: "r: s")
    ),
    (404, "\"text\"", .refused(status: 404, type: "", reason: "text")),
  ])
  func items(status: Int, error: String, expected: BulkAnswer.Item) throws {
    #expect(try Self.answer(Self.item(status, error)).items == [expected])
  }

  /// Every prefix of an answer, and every change of one byte, is read or refused, without a trap.
  @Test func answersThatAreCutOrDamaged() {
    let whole = Array(
      "{\"errors\":true,\"items\":[\(Self.item(201)),\(Self.item(400, "{\"type\":\"t\",\"reason\":\"\\u00e9\"}"))]}"
        .utf8)
    #expect(BulkAnswer(whole)?.items.count == 2)
    for count in 0..<whole.count { #expect(BulkAnswer(Array(whole[..<count])) == nil) }
    for index in whole.indices {
      for byte in [0, 0x22, 0x5c, 0x7b, 0xff] as [UInt8] {
        var bytes = whole
        bytes[index] = byte
        _ = BulkAnswer(bytes)
      }
    }
    #expect(BulkAnswer(Array(String(repeating: "{\"items\":[", count: 100_000).utf8)) == nil)
  }

  /// The scanner takes what Foundation takes, and refuses what it refuses.
  @Test(arguments: [
    "{}", "{\"a\":[1,-2.5e3,true,false,null,\"\\ud83d\\ude00\"]}", "{\"a\":01}", "[1]", "{\"a\" 1}",
    "{\"a\":\"\u{1}\"}",
    "{\"a\":\"\\x\"}", "{\"a\":tru}", "{\"a\":-}", "{\"a\":1.}", " {\"a\":{\"b\":{}}} ", "{\"a\":1}{}", "{\"a\":\"", "",
  ])
  func objects(text: String) {
    let isObject = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) is [String: Any]
    #expect(DocumentHead.isObject(Array(text.utf8), 0..<text.utf8.count) == isObject)
  }

  @Test func formsOfFiles() {
    #expect(LogForm(line: Self.document("a")) == .ecs)
    #expect(LogForm(line: Array("{\"resourceLogs\":[]}".utf8)) == .otlp)
    #expect(LogForm(line: Array("{\"a\":1}".utf8)) == .unknown)
  }
}
