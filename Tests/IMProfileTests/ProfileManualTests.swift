import Foundation
import Testing

@testable import IMProfile

/// `imdump-profile(5)` and the schema have every key that the compiler knows, and the manual's examples compile.
@Suite struct ProfileManualTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: folder.appending(path: path), encoding: .utf8)
  }

  /// The keys that the compiler's sources ask for.
  private static func keys() throws -> Set<String> {
    var keys: Set<String> = []
    let sources = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "Sources/IMProfile").path)
    for name in sources where name.hasPrefix("ProfileCompiler") || name.hasPrefix("FieldCompiler") {
      let source = try text("Sources/IMProfile/\(name)")
      // What is allowed somewhere, and what is asked for.
      for match in source.matches(of: /(?:allow|fields|field)\(([^()]*?"[^()]*)\)|\["offset"[^\]]*\]/) {
        for key in match.output.0.matches(of: /"([a-z-]+)"/) { keys.insert(String(key.output.1)) }
      }
      for match in source.matches(of: /(?:required|optional)\("([a-z-]+)"\)/) { keys.insert(String(match.output.1)) }
    }
    return keys
  }

  @Test func everyKeyStandsInTheManual() throws {
    let keys = try Self.keys()
    #expect(
      keys.isSuperset(of: ["profile", "offset", "mask", "wraps-at", "string", "optional", "sensitive", "within"]))
    var named: Set<String> = []
    for line in try Self.text("man/imdump-profile.5").split(separator: "\n") {
      guard line.firstRange(of: "Cm ") != nil || line.hasPrefix(".Sh ") else { continue }
      for word in line.split(whereSeparator: { " ,.*".contains($0) }) { named.insert(String(word)) }
    }
    #expect(keys.subtracting(named) == [])
  }

  @Test func theExamplesCompile() throws {
    let blocks = try Self.text("man/imdump-profile.5").components(separatedBy: ".Bd -literal -offset indent\n")
      .dropFirst()
    var count = 0
    for block in blocks {
      let example = block.components(separatedBy: "\n.Ed")[0]
      if example.hasPrefix("profile:") {
        _ = try ProfileCompiler.compile(example, source: "example \(count + 1)")
        count += 1
      } else if example.hasPrefix("tlv:") {
        let page = ProfileErrorTests.lines.prefix(14).joined(separator: "\n") + "\n" + example
        _ = try ProfileCompiler.compile(page, source: "attributes")
        count += 1
      }
    }
    #expect(count == 4)
  }

  /// The properties that the schema has, wherever.
  private static func properties(_ node: Any) -> Set<String> {
    var found: Set<String> = []
    if let mapping = node as? [String: Any] {
      if let properties = mapping["properties"] as? [String: Any] { found.formUnion(properties.keys) }
      for value in mapping.values { found.formUnion(properties(value)) }
    } else if let list = node as? [Any] {
      for value in list { found.formUnion(properties(value)) }
    }
    return found
  }

  @Test func theSchemaHasTheSameKeys() throws {
    let schema = try JSONSerialization.jsonObject(with: Data(Self.text("docs/profile.schema.json").utf8))
    // A step that is a word of its own is no key.
    let keys = try Self.keys()
    let properties = Self.properties(schema)
    #expect(keys.subtracting(properties) == [])
    #expect(properties.subtracting(keys) == [])
  }
}
