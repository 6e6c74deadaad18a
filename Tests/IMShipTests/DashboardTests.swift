import Foundation
import IMTestSupport
import Testing

@testable import IMShip

/// What is imported into Kibana and OpenSearch Dashboards, and what their answers mean.
@Suite struct DashboardTests {
  private static func objects(_ text: String) throws -> [[String: Any]] {
    try text.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
  }

  /// The command has the objects of the sample; for OpenSearch Dashboards only their versions are named otherwise.
  @Test func theObjectsAreTheSample() throws {
    let sample = try String(contentsOfFile: "Samples/elk/kibana.ndjson", encoding: .utf8)
    #expect(DashboardServer.kibana.savedObjects == sample)
    let newer = try Self.objects(sample)
    let older = try Self.objects(DashboardServer.openSearchDashboards.savedObjects)
    #expect(newer.count == older.count && newer.count >= 18)
    for (one, other) in zip(newer, older) {
      let type = one["type"] as? String ?? ""
      #expect(Set(other.keys) == ["id", "type", "attributes", "references", "migrationVersion"])
      // The newest versions that Kibana 7.10 knows, which OpenSearch Dashboards began as.
      let versions = ["index-pattern": "7.6.0", "search": "7.9.3", "visualization": "7.10.0", "dashboard": "7.9.3"]
      #expect(other["migrationVersion"] as? [String: String] == [type: versions[type] ?? "none"])
      for key in ["id", "type", "attributes", "references"] {
        let texts = try [one, other].map { object in
          try JSONSerialization.data(withJSONObject: [try #require(object[key])], options: .sortedKeys)
        }
        #expect(texts[0] == texts[1], "\(key)")
      }
    }
  }

  @Test(arguments: [
    (#"{"name":"k","version":{"number":"8.19.0"},"status":{"overall":{"level":"available","summary":"x"}}}"#, "Kibana"),
    (#"{"status":{"overall":{"level":"unavailable"}}}"#, "Kibana"),
    (
      #"{"name":"o","version":{"number":"2.19.1"},"status":{"overall":{"since":"x","state":"green","title":"Green"}}}"#,
      "OpenSearch Dashboards"
    ),
    (#"{"status":{"overall":{}}}"#, nil), (#"{"cluster_name":"c","status":"green"}"#, nil), ("<html>", nil), ("", nil),
  ])
  func whatAnswersIsKnown(_ status: String, _ name: String?) {
    #expect(DashboardServer(status: Array(status.utf8))?.name == name)
  }

  @Test func whatBelongsToAnEngine() {
    #expect(DashboardServer(of: EngineInfo(engine: "opensearch")).header == "osd-xsrf: true")
    #expect(DashboardServer(of: EngineInfo(engine: "elasticsearch")).header == "kbn-xsrf: true")
  }

  /// Answers as Kibana's documentation has them.
  @Test func answersToImports() {
    func read(_ text: String) -> ImportAnswer? { ImportAnswer(Array(text.utf8)) }
    let done = read(
      #"{"success":true,"successCount":2,"successResults":[{"id":"a","type":"search","meta":{}}],"warnings":[]}"#)
    #expect(done?.stored == 2 && done?.refused == [])
    let refused = read(
      #"{"success":false,"successCount":1,"errors":[{"type":"search","id":"a","title":"A","error":{"type":"conflict"}},"#
        + #"{"id":"b","type":"lens","error":{"type":"missing_references","references":[{"type":"index-pattern","id":"v"}]}},"#
        + #"{"id":"c","type":"map","error":{"type":"unknown","message":"no \"map\"","statusCode":400}},{"id":"d","type":"x"}]}"#
    )
    #expect(
      refused?.refused == [
        "search a: conflict", "lens b: missing_references (v)", "map c: unknown: no \"map\"", "x d: no reason given",
      ] && refused?.stored == 1)
    for text in ["", "{}", "[]", #"{"successCount":-1}"#, #"{"successCount":1"#, #"{"successCount":1,"errors":[1]}"#] {
      #expect(read(text) == nil, "\(text)")
    }
    let many = Array(repeating: #"{"type":"search","id":"a"}"#, count: 5_000).joined(separator: ",")
    #expect(read(#"{"successCount":0,"errors":[\#(many)]}"#)?.refused.count == 100)
    #expect(
      ImportAnswer.message(Array(#"{"statusCode":400,"error":"Bad Request","message":"no \u0041"}"#.utf8)) == "no A")
    #expect(ImportAnswer.message(Array("{}".utf8)) == nil)
  }

  @Test func theRequestIsAForm() {
    var request = CurlRequest("POST", "http://k" + DashboardServer.path)
    request.headers = [DashboardServer.kibana.header]
    request.formFile = "imdump.ndjson"
    let lines = request.configuration(CurlRequest.Access(), agent: "a").split(separator: "\n")
    #expect(lines.contains(#"form = "file=@/dev/fd/3;filename=imdump.ndjson""#))
    #expect(lines.contains(#"header = "kbn-xsrf: true""#) && !lines.contains { $0.hasPrefix("data-binary") })
    #expect(lines.first == #"url = "http://k/api/saved_objects/_import?overwrite=true""#)
  }
}
