import Foundation
import IMEngine
import IMYAML
import Testing

@testable import IMProfile

/// Dissectors and pages: what a profile says cannot become a statement or markup, and what cannot be said is refused.
/// That dissectors decode what imdump decodes, `Scripts/check-dissectors` shows.
@Suite struct ExportTests {
  /// As hostile as a title may be.
  static let hostile = "x\"]] os.execute('id') --[[\\\u{202E}\u{0}\u{1B}[2J` | <b>&amp;x*_[a](b)\u{2028}é"

  private static func page(_ title: String) -> String {
    let quoted = title.unicodeScalars.map {
      $0.isASCII && $0.value >= 32 && $0 != "\"" && $0 != "\\" ? String($0) : "\\U" + String(format: "%08x", $0.value)
    }
    return """
      profile: p
      version: 1
      title: "\(quoted.joined())"
      description: "\(quoted.joined())"
      header: { length: 8 }
      length: { offset: 0, size: 4 }
      fields: { type: { offset: 4, size: 2 } }
      types: { 1: { name: a, role: message } }
      """
  }

  @Test func quoting() {
    #expect(LuaDissector.quoted("a b") == "\"a b\"")
    #expect(LuaDissector.quoted("\"\\\n\u{0}é") == "\"\\034\\092\\010\\000\\195\\169\"")
    // A number that follows is not taken for a part of the escape: there are always three digits.
    #expect(LuaDissector.quoted("\n1") == "\"\\0101\"")
  }

  @Test func hostileTitleInLua() throws {
    let text = try ProfileExport.wireshark(Self.page(Self.hostile), source: "x")
    let head = try #require(text.firstRange(of: "local profile = {\n"))
    for line in text[..<head.lowerBound].split(separator: "\n") { #expect(line.hasPrefix("--")) }
    let description = try #require(text.split(separator: "\n").first { $0.hasPrefix("  description = ") })
    #expect(description.hasSuffix("(imdump profile p)\","))
    // Between the quotes there is none, and nothing that is not plain.
    let inside = description.dropFirst("  description = \"".count).dropLast(2)
    #expect(inside.utf8.allSatisfy { (32...126).contains($0) && $0 != 34 })
    for scalar: Unicode.Scalar in ["\u{202E}", "\u{0}", "\u{1B}", "\u{2028}"] {
      #expect(!text.unicodeScalars.contains(scalar))
    }
  }

  @Test func hostileTitleInMarkdown() throws {
    let text = try ProfileExport.markdown(Self.page(Self.hostile), source: "x")
    let title = try #require(text.split(separator: "\n").dropFirst().first)
    #expect(!title.contains("<") && title.contains("&lt;b&gt;&amp;amp;x\\*\\_\\[a\\](b)"))
    #expect(title.contains("\\`") && title.contains("\\|"))
    #expect(try ProfileExport.markdown(Self.page("- 1. no list"), source: "x").contains("\n\\- 1. no list.\n"))
    #expect(try ProfileExport.markdown(Self.page("1. no list"), source: "x").contains("\n1\\. no list.\n"))
  }

  /// A key that the language may get is refused, with its place, until exporters know it.
  @Test(arguments: [
    ("dialect: x", 1, 1), ("header: { length: 8, trailer: 2 }", 1, 22),
    ("types:\n  1: { name: a, role: message, body: [{ load: { size: 1, into: status, when: x } }] }", 2, 72),
    ("tlv: { dialects: {} }", 1, 8), ("fields: { type: { offset: 1, radix: 8 } }", 1, 30),
  ]) func unknownKeys(_ text: String, _ line: Int, _ column: Int) throws {
    let reader = try YAMLReader(text, source: "x", subject: "profile")
    let error = try #require(throws: SourceError.self) { try ExportableKeys.check(reader) }
    #expect(error.line == line && error.column == column)
    #expect(error.message.hasSuffix("cannot be exported yet"))
  }

  /// The list of built-in profiles is that of the folder.
  @Test func builtIn() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Sources/IMProfile/Profiles")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let names = files.filter { $0.hasSuffix(".yaml") }.map { String($0.dropLast(5)) }
    #expect(BuiltInProfiles.names.sorted() == names.sorted(), "run Scripts/make-profiles")
    var places: [(place: Int, name: String)] = []
    for name in names {
      let text = try String(contentsOf: folder.appending(path: "\(name).yaml"), encoding: .utf8)
      #expect(BuiltInProfiles.text(name) == text)
      let place = try YAMLReader(text, source: name, subject: "profile").optional("place")?.number(1...99)
      if let place { places.append((place, name)) }
    }
    #expect(BuiltInProfiles.usual == places.sorted { $0 < $1 }.map(\.name))
  }

  /// Every built-in profile is exported, or refused with its reason.
  @Test(arguments: BuiltInProfiles.names) func allOfThem(_ name: String) throws {
    let text = try #require(BuiltInProfiles.text(name))
    let types = try BuiltInProfiles.plan(name).typeNames
    do throws(ProfileError) {
      let lua = try ProfileExport.wireshark(text, source: name)
      for type in types { #expect(lua.contains("name = \"\(type)\"")) }
      let page = try ProfileExport.markdown(text, source: name)
      #expect(page.hasPrefix("# \(name)\n"))
    } catch {
      #expect(error.message.hasSuffix("cannot be exported yet"))
    }
  }
}
