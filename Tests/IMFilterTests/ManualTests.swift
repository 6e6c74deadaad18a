import Foundation
import IMFilter
import Testing

/// `man/imdump-filter.7` says what the schema says. `IMDUMP_RECORD=1` writes the field list anew.
@Suite(.serialized) struct ManualTests {
  static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "man/imdump-filter.7")

  @Test(arguments: [("fields", FilterSchema.messages), ("fields of connections", .connections)])
  func fieldListIsTheSchema(_ name: String, _ schema: FilterSchema) throws {
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    let title = name.prefix(1).uppercased() + name.dropFirst()
    let begin = try #require(text.range(of: ".\\\" \(title), written by the tests with IMDUMP_RECORD=1.\n"))
    let end = try #require(text.range(of: ".\\\" End of \(name).\n"))
    let list = schema.manualList
    if ProcessInfo.processInfo.environment["IMDUMP_RECORD"] == "1" {
      let new = text[..<begin.upperBound] + list + text[end.lowerBound...]
      try String(new).write(to: Self.page, atomically: true, encoding: .utf8)
    } else {
      #expect(text[begin.upperBound..<end.lowerBound] == list)
    }
  }

  @Test(arguments: MessageField.allCases)
  func everyFieldStandsInThePage(_ field: MessageField) throws {
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    let key = field.field.isKeyed ? "[path]" : ""
    #expect(text.contains("\n.It Ic \(field.field.name)\(key) Pq"))
    #expect(text.contains("\n\(field.field.meaning).\n"))
  }

  @Test(arguments: ConnectionField.allCases)
  func everyFieldOfConnectionsStandsInThePage(_ field: ConnectionField) throws {
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    let section = try #require(text.range(of: ".Ss Fields of connections"))
    let list = text[section.upperBound...]
    #expect(list.contains("\n.It Ic \(field.field.name) Pq"))
    #expect(list.contains("\n\(field.field.meaning).\n"))
  }

  @Test func everyExampleIsAFilter() throws {
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    let section = try #require(text.range(of: ".Sh EXAMPLES"))
    let examples = text[section.upperBound...].split(separator: "\n").filter { $0.hasPrefix(".Dl ") }
      .map { line in
        [("\\(dq", "\""), ("\\-", "-"), ("\\(ha", "^"), ("\\e", "\\")].reduce(String(line.dropFirst(4))) {
          $0.replacingOccurrences(of: $1.0, with: $1.1)
        }
      }
    #expect(examples.count == 11)
    for example in examples.dropLast() { _ = try Filter(String(example), schema: .messages) }
    _ = try Filter(try #require(examples.last), schema: .connections)
  }
}
