import CDeflate

/// What shows documents to people: Kibana, or OpenSearch Dashboards.
package enum DashboardServer: Equatable, Sendable {
  case kibana, openSearchDashboards

  /// Its name.
  package var name: String { self == .kibana ? "Kibana" : "OpenSearch Dashboards" }

  /// The header without which it refuses requests.
  package var header: String { self == .kibana ? "kbn-xsrf: true" : "osd-xsrf: true" }

  /// The one that belongs to an engine.
  package init(of engine: EngineInfo) { self = engine.engine == "opensearch" ? .openSearchDashboards : .kibana }

  /// Reads the answer to `GET /api/status`: Kibana names the state of the whole `level`, OpenSearch Dashboards `state`. `nil` where it is of
  /// neither, or too terse to tell.
  package init?(status bytes: [UInt8]) {
    var scanner = JSONScanner(bytes)
    var found: DashboardServer?
    let isRead = scanner.members { scanner, key in
      guard scanner.spells(key, "status"), scanner.next == UInt8(ascii: "{") else { return scanner.skip() }
      return scanner.members { scanner, key in
        guard scanner.spells(key, "overall"), scanner.next == UInt8(ascii: "{") else { return scanner.skip() }
        return scanner.members { scanner, key in
          if scanner.spells(key, "level") { found = .kibana }
          if scanner.spells(key, "state"), found == nil { found = .openSearchDashboards }
          return scanner.skip()
        }
      }
    }
    guard isRead, let found else { return nil }
    self = found
  }

  /// The path at which saved objects are imported; those that exist are replaced.
  package static let path = "/api/saved_objects/_import?overwrite=true"

  /// The data views, saved searches, charts and dashboards, as a file that it imports: one JSON object per line.
  ///
  /// `Scripts/make-kibana` makes them as Kibana 8 and 9 read them. OpenSearch Dashboards has the format of Kibana 7.10, in which an object
  /// names its version by another member.
  package var savedObjects: String {
    let lines = String(decoding: Self.unpacked(PackageResources.kibana_ndjson_gz), as: UTF8.self)
    guard self == .openSearchDashboards else { return lines }
    return lines.split(separator: "\n").map { Self.older($0) + "\n" }.joined()
  }

  private static func older(_ line: Substring) -> String {
    var line = String(line.replacing("\"coreMigrationVersion\": \"8.8.0\", ", with: ""))
    for (type, version) in [
      ("index-pattern", "7.6.0"), ("search", "7.9.3"), ("visualization", "7.10.0"), ("dashboard", "7.9.3"),
    ] {
      line = line.replacing(
        "\"type\": \"\(type)\", \"typeMigrationVersion\": \"8.0.0\"}",
        with: "\"type\": \"\(type)\", \"migrationVersion\": {\"\(type)\": \"\(version)\"}}")
    }
    return line
  }

  /// A gzip file of this program, unpacked; empty where it is none.
  private static func unpacked(_ bytes: [UInt8]) -> [UInt8] {
    // The last four bytes are the length, little endian.
    let length = bytes.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    guard length <= 1 << 20, let decompressor = libdeflate_alloc_decompressor() else { return [] }
    defer { libdeflate_free_decompressor(decompressor) }
    return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      // SAFETY: libdeflate reads bytes.count bytes and writes at most `length`, the capacity of the buffer.
      let result = bytes.withUnsafeBytes {
        libdeflate_gzip_decompress(decompressor, $0.baseAddress, $0.count, buffer.baseAddress, length, &count)
      }
      if result != LIBDEFLATE_SUCCESS { count = 0 }
    }
  }
}

/// An answer to an import of saved objects.
package struct ImportAnswer: Equatable, Sendable {
  /// Objects that were stored.
  package var stored = 0
  /// Each object that was refused: its type, its id and why, in words.
  package var refused: [String] = []

  /// Reads an answer; `nil` where it is none.
  package init?(_ bytes: [UInt8]) {
    var scanner = JSONScanner(bytes)
    var count: Int?
    var refused: [String] = []
    let isRead = scanner.members { scanner, key in
      if scanner.spells(key, "successCount") {
        count = scanner.integer()
        return count != nil
      }
      guard scanner.spells(key, "errors"), scanner.next == UInt8(ascii: "[") else { return scanner.skip() }
      return scanner.elements { scanner in
        guard let text = Self.refusal(&scanner) else { return false }
        if refused.count < 100 { refused.append(text) }
        return true
      }
    }
    guard isRead, scanner.isAtEnd, let count, count >= 0 else { return nil }
    (stored, self.refused) = (count, refused)
  }

  /// Why a whole import was refused; `nil` where the answer does not say.
  package static func message(_ bytes: [UInt8]) -> String? {
    var scanner = JSONScanner(bytes)
    var message: String?
    let isRead = scanner.members { scanner, key in
      guard scanner.spells(key, "message"), scanner.next == UInt8(ascii: "\"") else { return scanner.skip() }
      message = scanner.text().map { String(scanner.unescaped($0).prefix(500)) }
      return message != nil
    }
    return isRead ? message : nil
  }

  /// One object that was refused, in words.
  private static func refusal(_ scanner: inout JSONScanner) -> String? {
    var type = "", id = "", reason = "", missing: [String] = []
    func text(_ scanner: inout JSONScanner) -> String? {
      guard scanner.next == UInt8(ascii: "\"") else { return scanner.skip() ? "" : nil }
      return scanner.text().map { String(scanner.unescaped($0).prefix(200)) }
    }
    let isRead = scanner.members { scanner, key in
      if scanner.spells(key, "type") { return text(&scanner).map { type = $0 } != nil }
      if scanner.spells(key, "id") { return text(&scanner).map { id = $0 } != nil }
      guard scanner.spells(key, "error"), scanner.next == UInt8(ascii: "{") else { return scanner.skip() }
      var kind = "", message = ""
      let isError = scanner.members { scanner, key in
        if scanner.spells(key, "type") { return text(&scanner).map { kind = $0 } != nil }
        if scanner.spells(key, "message") { return text(&scanner).map { message = $0 } != nil }
        guard scanner.spells(key, "references"), scanner.next == UInt8(ascii: "[") else { return scanner.skip() }
        return scanner.elements { scanner in
          var name = ""
          let isReference = scanner.members { scanner, key in
            guard scanner.spells(key, "id") else { return scanner.skip() }
            return text(&scanner).map { name = $0 } != nil
          }
          if missing.count < 10 { missing.append(name) }
          return isReference
        }
      }
      reason = [kind, message].filter { !$0.isEmpty }.joined(separator: ": ")
      return isError
    }
    guard isRead else { return nil }
    let others = missing.isEmpty ? "" : " (\(missing.joined(separator: ", ")))"
    return "\(type) \(id): \(reason.isEmpty ? "no reason given" : reason)\(others)"
  }
}
