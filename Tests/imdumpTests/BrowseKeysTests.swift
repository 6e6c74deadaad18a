import Foundation
import IMTestSupport
import Testing

@testable import IMBrowser

/// The keys that docs/browse.md lists are those of the table.
@Suite struct BrowseKeysTests {
  private static let begin = "<!-- keys -->\n", end = "\n<!-- end of keys -->"

  /// The keys as a table of Markdown: those of several screens once.
  private static var table: String {
    var rows: [(label: String, help: String, screens: [String])] = []
    for screen in Browser.Screen.allCases {
      for row in KeyMap.of(screen).rows {
        if let known = rows.firstIndex(where: { $0.label == row.label && $0.help == row.help }) {
          rows[known].screens.append("\(screen)")
        } else {
          rows.append((row.label, row.help, ["\(screen)"]))
        }
      }
    }
    // Keys of all screens are last.
    let all = Browser.Screen.allCases.count
    rows = rows.filter { $0.screens.count < all } + rows.filter { $0.screens.count == all }
    return "\n| Keys | On | Do |\n|---|---|---|\n"
      + rows.map { row in
        let keys = row.label.split(separator: " ").map { "`\($0)`" }.joined(separator: " ")
        return "| \(keys) | \(row.screens.count == all ? "all" : row.screens.joined(separator: ", ")) | \(row.help) |\n"
      }.joined()
  }

  @Test func theDocumentationListsEachKey() throws {
    let path = Command.folder.appending(path: "docs/browse.md")
    let page = try String(contentsOf: path, encoding: .utf8)
    let begun = try #require(page.range(of: Self.begin))
    let ended = try #require(page.range(of: Self.end, range: begun.upperBound..<page.endIndex))
    let listed = String(page[begun.upperBound..<ended.lowerBound])
    if ProcessInfo.processInfo.environment["IMDUMP_RECORD"] == "1" {
      try page.replacingCharacters(in: begun.upperBound..<ended.lowerBound, with: Self.table)
        .write(to: path, atomically: true, encoding: .utf8)
    } else {
      #expect(listed == Self.table)
    }
  }
}
