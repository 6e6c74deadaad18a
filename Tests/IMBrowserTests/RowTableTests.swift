import IMStore
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser

/// Which rows show which messages, while messages come and go.
@Suite struct RowTableTests {
  /// Ten thousand changes of chance; behind each the table is what it is when it is made anew.
  @Test func everyChangeIsAsIfMadeAnew() {
    var random = SeededRandom(21)
    let source = ListedMessages.drawn(4_000, seed: 22).messages.map {
      MessageItem($0, client: "", texts: StoredMessageTexts(), zone: .utc)
    }
    var items: [MessageItem] = []
    var unfolded: [Int64: [StoredDetail]] = [:]
    var table = RowTable()
    // One answer for all of it: an expectation for each row takes a minute.
    func isAsIfMadeAnew() -> Bool {
      let wanted = RowTable(items, unfolded: unfolded)
      let layout = RowLayout(width: 100, showsClient: false)
      return table.count == wanted.count && table.itemCount == items.count
        && items.indices.allSatisfy { index in
          table.row(of: index) == wanted.row(of: index) && table.rows(of: index) == wanted.rows(of: index)
            && table.item(at: table.row(of: index)) == index
            && table.isUnfolded(index) == (unfolded[items[index].message.id] != nil)
        }
        && (0..<wanted.count).allSatisfy { row in
          let (found, made) = (table.model(at: row), wanted.model(at: row))
          return found?.key == made?.key && table.item(at: row) == wanted.item(at: row)
            && (!random.once(in: 8) || found?.model.parts(layout) == made?.model.parts(layout))
        }
    }
    for step in 0..<10_000 {
      let index = items.isEmpty ? 0 : Int(random.next() % UInt64(items.count))
      switch random.next() % 10 {
      case 0, 1:
        // Messages of anywhere, also in the middle: what is in front of another one changes.
        let first = Int(random.next() % 3_990)
        let new = Array(source[first..<first + Int(random.next() % 5)]).filter { item in
          !items.contains { $0.message.id == item.message.id }
        }
        let place = random.once(in: 3) ? 0 : random.once(in: 2) ? items.count : index
        items.insert(contentsOf: new, at: place)
        table.insert(new, at: place)
      case 2, 3:
        let range = index..<min(items.count, index + Int(random.next() % 6))
        for item in items[range] { unfolded[item.message.id] = nil }
        items.removeSubrange(range)
        table.remove(range)
      case 4...7:
        guard items.indices.contains(index) else { continue }
        let fields = (0..<Int(random.next() % 5)).map { StoredDetail("name\($0)", "value \(random.next() % 1_000)") }
        unfolded[items[index].message.id] = fields
        table.unfold(index, fields)
      default:
        guard items.indices.contains(index) else { continue }
        unfolded[items[index].message.id] = nil
        table.fold(index)
      }
      if items.count > 16 {
        for item in items[8...] { unfolded[item.message.id] = nil }
        table.remove(8..<items.count)
        items.removeSubrange(8...)
      }
      #expect(isAsIfMadeAnew(), "step \(step)")
    }
  }

  @Test func whatIsNotThereHasNoRows() {
    var table = RowTable()
    table.remove(0..<4)
    table.fold(0)
    table.unfold(3, [])
    table.insert([], at: 0)
    #expect(table.count == 0 && table.item(at: 0) == nil && table.model(at: 0) == nil && table.rows(of: 0).isEmpty)
  }
}
