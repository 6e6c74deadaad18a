import IMDocuments

/// What answers at an address.
package struct EngineInfo: Equatable, Sendable {
  /// `elasticsearch` or `opensearch`.
  package var engine: String
  /// Its version; empty where it is not known.
  package var version = ""
  /// The cluster's own id; empty where it has none.
  package var cluster = ""

  /// An engine that was named.
  package init(engine: String) { self.engine = engine }

  /// Reads the answer to `GET /`; `nil` where it is of no engine.
  package init?(_ bytes: [UInt8]) {
    var scanner = JSONScanner(bytes)
    var number: String?, distribution = "", cluster = ""
    func text(_ scanner: inout JSONScanner) -> String? {
      scanner.next == UInt8(ascii: "\"") ? scanner.text().map { scanner.unescaped($0) } : nil
    }
    let isRead = scanner.members { scanner, key in
      if scanner.spells(key, "cluster_uuid"), let value = text(&scanner) {
        cluster = value == "_na_" ? "" : value
        return true
      }
      guard scanner.spells(key, "version"), scanner.next == UInt8(ascii: "{") else { return scanner.skip() }
      return scanner.members { scanner, key in
        if scanner.spells(key, "number"), let value = text(&scanner) {
          number = value
          return true
        }
        if scanner.spells(key, "distribution"), let value = text(&scanner) {
          distribution = value
          return true
        }
        return scanner.skip()
      }
    }
    guard isRead, let number else { return nil }
    engine = distribution == "opensearch" ? "opensearch" : "elasticsearch"
    version = number
    self.cluster = cluster
  }

  /// The same, of the engine `name` where that is given.
  package func named(_ name: String?) -> EngineInfo {
    var info = self
    info.engine = name ?? engine
    return info
  }
}

/// The requests that prepare an engine, in order.
package struct EngineSetup: Sendable {
  /// One request.
  package struct Step: Sendable {
    /// Its method, its path and its body.
    package var method: String, path: String, body: String
    /// Whether shipping goes on where the engine refuses it, whether that is reported, and what is missing then.
    package var mayFail = false, isReported = true, without = ""
  }

  /// The requests.
  package private(set) var steps: [Step] = []

  /// What belongs to `engine`. `retention` is how long documents are kept, such as `30d`; `nil` for the engine's own rule.
  package init(_ engine: EngineInfo, isTimeSeries: Bool, retention: String?) {
    let isOpenSearch = engine.engine == "opensearch"
    let target: IndexTemplates.Engine = isOpenSearch ? .opensearch : .elasticsearch
    steps.append(
      Step(
        method: "PUT", path: "/_ingest/pipeline/\(IndexTemplates.pipeline)", body: IndexTemplates.pipelineText(target)))
    for (name, text) in IndexTemplates.files(
      for: target, isTimeSeries: isTimeSeries && !isOpenSearch, retention: retention)
    {
      let stem = name.dropLast(".json".utf8.count)
      if stem.hasPrefix("component-") {
        steps.append(Step(method: "PUT", path: "/_component_template/\(stem.dropFirst(10))", body: text))
      } else if stem.hasPrefix("index-") {
        steps.append(Step(method: "PUT", path: "/_index_template/\(stem.dropFirst(6))", body: text))
      }
    }
    guard let retention else { return }
    if isOpenSearch {
      steps.append(
        Step(
          method: "PUT", path: "/_plugins/_ism/policies/imdump", body: IndexTemplates.policy(retention), mayFail: true,
          without: "an existing policy is not changed; without the plugin, documents are kept forever"))
    } else {
      // Streams that are there already.
      steps.append(
        Step(
          method: "PUT", path: "/_data_stream/logs-imdump.*,metrics-imdump.*/_lifecycle",
          body: "{\"data_retention\": \"\(retention)\"}\n", mayFail: true, isReported: false))
    }
  }
}
