import Foundation
import IMDocuments
import IMTestSupport
import Testing

@testable import IMShip

/// State, waiting, curl's words and what an engine is told.
@Suite struct ShipDecisionTests {
  private static func response(_ output: String, _ exitStatus: Int32 = 0) -> CurlResponse {
    CurlResponse(output: Array(output.utf8), exitStatus: exitStatus, now: 1_767_225_600)
  }

  @Test func aStateIsReadAsItWasWritten() throws {
    var state = ShipState()
    #expect(ShipState(Array(state.text.utf8)) == state)
    state.cluster = "a\"b"
    state.refusedBytes = 7
    (state.totals.stored, state.totals.known, state.totals.refused, state.totals.lost) = (1, 2, 3, 4)
    state.totals.lostFiles = 5
    state.files = [
      ShipState.File(name: "a\\\n.ndjson", identity: FileIdentity(inode: .max, first: .max), offset: 5, tail: .max - 1),
      ShipState.File(
        name: "b", identity: FileIdentity(inode: 1, first: 2), offset: 0, tail: 3, lines: 4, held: 5, size: 6),
    ]
    #expect(ShipState(Array(state.text.utf8)) == state)
    _ = try JSONSerialization.jsonObject(with: Data(state.text.utf8))
    // A state that is cut is none.
    for count in 0..<state.text.utf8.count - 2 { #expect(ShipState(Array(state.text.utf8.prefix(count))) == nil) }
  }

  @Test func filesAreKnownByWhatTheyAre() {
    var state = ShipState()
    state.files = [ShipState.File(name: "a", identity: FileIdentity(inode: 1, first: 2), offset: 0, tail: 0)]
    #expect(state.index(of: FileIdentity(inode: 1, first: 2), name: "renamed") == 0)
    #expect(state.index(of: FileIdentity(inode: 9, first: 2), name: "a") == 0)
    #expect(state.index(of: FileIdentity(inode: 1, first: 3), name: "a") == nil)
    #expect(state.index(of: FileIdentity(inode: 9, first: 2), name: "copy") == nil)
  }

  @Test func waitsDoubleUpToAMinuteWithJitter() {
    var schedule = RetrySchedule()
    let delays = (0..<12).map { _ in schedule.fail(random: 0.5) }
    #expect(delays.prefix(4).elementsEqual([0.2, 0.4, 0.8, 1.6]))
    #expect(delays.last == 60)
    schedule.succeed()
    let wait1 = schedule.fail(random: 0)
    #expect(wait1 == 0.1)
    schedule.succeed()
    let wait2 = schedule.fail(share: 0.25, random: 0.5)
    #expect(wait2 == 0.05)
    schedule.succeed()
    let wait3 = schedule.fail(retryAfter: 20, random: 0)
    #expect(wait3 == 20)
    let wait4 = schedule.fail(retryAfter: 20, random: 0.999)
    #expect(wait4 < 21)
  }

  @Test(arguments: [
    ("5", 5.0), ("99999999", 3_600), ("Thu, 01 Jan 2026 00:00:10 GMT", 10), ("Wed, 31 Dec 2025 23:59:00 GMT", 0),
    ("%header{retry-after}", nil), ("", nil), ("-1", nil), ("Thu, 01 Foo 2026 00:00:10 GMT", nil),
  ])
  func retryAfter(text: String, seconds: Double?) {
    #expect(CurlResponse.seconds(text, now: 1_767_225_600) == seconds)
  }

  @Test func whatCurlWritesIsTakenApart() {
    let response = Self.response("{\"a\":1}\n\n200 7\n")
    #expect(response.body == Array("{\"a\":1}\n".utf8))
    #expect(response.status == 200)
    #expect(response.retryAfter == 7)
    #expect(response.verdict == .done)
    #expect(Self.response("", 7).verdict == .later("curl: 7"))
    #expect(Self.response("\n000 \nCould not connect", 7).verdict == .later("Could not connect"))
  }

  @Test func verdicts() {
    func kind(_ output: String, _ exitStatus: Int32 = 0) -> String {
      switch Self.response(output, exitStatus).verdict {
      case .done: "done"
      case .later: "later"
      case .tooLarge: "too large"
      case .wrong: "wrong"
      case .denied: "denied"
      }
    }
    for status in [429, 500, 502, 503, 504, 404, 301, 408] { #expect(kind("\n\(status) \n") == "later", "\(status)") }
    for status in [401, 403, 407] { #expect(kind("\n\(status) \n") == "denied", "\(status)") }
    #expect(kind("{\"error\":{\"type\":\"cluster_block_exception\",\"reason\":\"r\"}}\n403 \n") == "later")
    #expect(kind("\n413 \n") == "too large")
    #expect(kind("{\"error\":{\"type\":\"t\",\"reason\":\"r\"},\"status\":400}\n400 \n") == "wrong")
    #expect(kind("<html>plain HTTP to HTTPS</html>\n400 \n") == "later")
    for status in [6, 7, 28, 35, 52, 55, 56] as [Int32] { #expect(kind("\n000 \nx", status) == "later", "\(status)") }
    for status in [60, 58, 77] as [Int32] { #expect(kind("\n000 \nx", status) == "denied", "\(status)") }
    #expect(kind("\n000 \ntlsv13 alert certificate required", 56) == "denied")
    #expect(kind("\n200 \n", 18) == "later")
  }

  @Test func secretsStandInNoMessage() {
    var access = CurlRequest.Access()
    access.user = "elastic:pa\"ss"
    access.apiKey = "KEY"
    #expect(access.redacted("pa\"ss KEY elastic") == "*** *** elastic")
    let text = CurlRequest("GET", "http://h/\"\n").configuration(access, agent: "imdump")
    #expect(text.contains("user = \"elastic:pa\\\"ss\"\n"))
    #expect(text.contains("url = \"http://h/\\\"\\n\"\n"))
  }

  @Test(arguments: [
    (
      "{\"name\":\"n\",\"cluster_uuid\":\"u\",\"version\":{\"number\":\"8.19.0\"},\"tagline\":\"You Know, for Search\"}",
      "elasticsearch", "8.19.0", "u"
    ),
    (
      "{\"cluster_uuid\":\"_na_\",\"version\":{\"distribution\":\"opensearch\",\"number\":\"3.3.2\"}}", "opensearch",
      "3.3.2", ""
    ),
  ])
  func engines(text: String, engine: String, version: String, cluster: String) throws {
    let info = try #require(EngineInfo(Array(text.utf8)))
    #expect((info.engine, info.version, info.cluster) == (engine, version, cluster))
    #expect(info.named("opensearch").engine == "opensearch")
    #expect(EngineInfo(Array("{\"hello\":1}".utf8)) == nil)
  }

  @Test(arguments: ["elasticsearch", "opensearch"])
  func setupIsJSON(engine: String) throws {
    let steps = EngineSetup(EngineInfo(engine: engine), isTimeSeries: false, retention: "30d").steps
    for step in steps {
      #expect(throws: Never.self, "\(step.path)") { try JSONSerialization.jsonObject(with: Data(step.body.utf8)) }
    }
    let text = steps.map(\.body).joined()
    let isOpenSearch = engine == "opensearch"
    #expect(text.contains("\"data_retention\": \"30d\"") != isOpenSearch)
    #expect(steps.contains { $0.path == "/_plugins/_ism/policies/imdump" } == isOpenSearch)
    for word in ["flattened", "ignore_missing_component_templates", "constant_keyword", "copy_from"] {
      #expect(text.contains(word) != isOpenSearch, "\(word)")
    }
    #expect(text.contains("\"index.default_pipeline\": \"imdump\""))
  }

  @Test func compressedBodiesAreWhatGzipReads() throws {
    let bytes = (0..<100_000).map { UInt8($0 / 7 % 128) }
    let gzip = Gzip()
    let result = gzip.compressed(bytes)
    let compressed = try #require(result)
    let file = Program.scratchFile()
    defer { close(file) }
    let isWhole = compressed.withUnsafeBytes { write(file, $0.baseAddress, $0.count) == $0.count }
    try #require(isWhole && lseek(file, 0, SEEK_SET) == 0)
    let unpacked = try Program.run("/bin/gzip", ["-dc"], input: file)
    #expect(unpacked.ending == .exit(0))
    #expect(Array(unpacked.output.utf8) == bytes)
  }
}
