import IMTestSupport
import Testing

@testable import IMStore

/// What is found in a table of SQLite's FTS5 is what a text holds.
@Suite struct SearchIndexTests {
  private static let alphabet = Array("今晚上吃什么好")

  @Test func aRunIsFoundByEveryPieceOfIt() throws {
    var random = SeededRandom(7)
    func text(_ count: Int) -> String {
      String((0..<count).map { _ in Self.alphabet[Int(random.next() % UInt64(Self.alphabet.count))] })
    }
    let database = try Connection(":memory:", .writing)
    try database.run("CREATE VIRTUAL TABLE search USING fts5(text, content = '', columnsize = 0)", "test")
    let texts = (0..<300).map { _ in text(Int(random.next() % 8)) }
    var add = try database.prepare("INSERT INTO search (rowid, text) VALUES (?1, ?2)", "test")
    for (i, text) in texts.enumerated() {
      add.bind(1, Int64(i))
      add.bind(2, SearchText.indexed(text))
      try add.run()
    }
    var ask = try database.prepare("SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rowid", "test")
    for count in 1...5 {
      for _ in 0..<40 {
        let piece = text(count)
        ask.bind(1, SearchText.query(piece))
        var found: [Int] = []
        while try ask.step() { found.append(Int(ask.row.number(0) ?? -1)) }
        ask.reset()
        #expect(found == texts.indices.filter { texts[$0].contains(piece) }, "\(piece)")
      }
    }
  }
}
