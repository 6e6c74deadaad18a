package import IMOutput
import IMWire

/// A verdict as a line of JSON: `imdump why --json`.
package struct VerdictJSON {
  /// A writer.
  package init() {}

  /// Appends an object: the verdict, what was found, the captures, and the commands that go on from here. What is not known is absent.
  package func write(_ verdict: Verdict, _ model: ReportModel, next commands: [String], to out: inout ByteWriter) {
    JSONLines.line(to: &out) { json in
      json.string("verdict", verdict.level.rawValue)
      json.string("color", verdict.level.color)
      json.string("headline", verdict.headline)
      if model.live == nil { Self.list("files", model.captures, &json) }
      if let live = model.live { json.string("interface", live.interface) }
      if let (first, last) = model.captured {
        json.instant("first_packet", first)
        json.instant("last_packet", last)
      }
      json.openList("findings")
      for finding in verdict.findings {
        json.openItem()
        json.string("topic", finding.topic.rawValue)
        if let level = finding.level { json.string("level", level.rawValue) }
        if let count = finding.count { json.exact("count", count) }
        if let total = finding.total { json.exact("of", total) }
        if !finding.causes.isEmpty {
          json.open("causes")
          for cause in finding.causes { json.exact(named: cause.name, cause.count) }
          json.close()
        }
        Self.list("text", finding.sentences, &json)
        json.close()
      }
      json.closeList()
      json.string("thresholds", model.thresholds.text)
      Self.list("next", commands, &json)
    }
  }

  private static func list(_ key: StaticString, _ values: [String], _ json: inout JSONLines) {
    json.openList(key)
    for value in values { json.item(value) }
    json.closeList()
  }
}
