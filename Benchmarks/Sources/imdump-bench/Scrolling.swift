@testable import IMBrowser
@testable import IMStore
@testable import IMTerminal
import IMWire

/// Scrolling lists of so many messages from end to end: through the window and rows that are laid out before, and the direct way, which
/// reads, formats and lays out what is seen for each frame.
enum ScrollMarks {
  private static let width = 200, height = 60

  static func run(store: String) throws {
    for count in [170, 200, 1_012, 1_000_000] {
      // Row by row; a million of them by screens.
      let step = count > 10_000 ? height - 5 : 1
      let direct = try self.direct(store, count, step), models = try self.models(store, count, step)
      tell(
        "scrolling \(count) messages, row models compared with direct drawing", "the ratio",
        "\(short(models.spent)) ms for \(models.frames) frames beside \(short(direct.spent)) ms: "
          + "\(short(direct.spent / models.spent)) times as fast", nil)
    }
  }

  private static func direct(_ store: String, _ count: Int, _ step: Int) throws -> (spent: Double, frames: Int) {
    let reader = try StoreReader(store)
    var painter = Painter(.many)
    let layout = RowLayout(width: width, showsClient: true)
    let finder = PageFinder(reader, zone: .utc)
    let begun = milliseconds()
    var first: Int64 = 0
    var frames = 0
    while Int(first) < count {
      let request = PageRequest(generation: 1, choice: PageRequest.Choice(), place: .after(first), count: height - 4)
      guard let items = try finder.page(request)?.items, !items.isEmpty else { break }
      var grid = Grid(width: width, height: height)
      for (i, item) in items.enumerated() {
        grid.put(MessageRow(item: item).parts(layout), row: 2 + i, width: width)
      }
      _ = painter.paint(grid)
      frames += 1
      first += Int64(step)
    }
    return (milliseconds() - begun, frames)
  }

  /// What the thread that paints takes: reading and laying out are another's work.
  private static func models(_ store: String, _ count: Int, _ step: Int) throws -> (spent: Double, frames: Int) {
    let reader = try StoreReader(store)
    let finder = PageFinder(reader, zone: .utc)
    var painter = Painter(.many)
    var window = MessageWindow(), book = RowCache()
    let layout = RowLayout(width: width, showsClient: true)
    window.resize(height - 4)
    window.open(PageRequest.Choice())
    var spent = 0.0
    var frames = 0
    func resolve() throws {
      while let request = window.nextRequest() {
        guard let page = try finder.page(request) else { return }
        let begun = milliseconds()
        _ = window.accept(page)
        book.change()
        spent += milliseconds() - begun
      }
      book.use(layout, version: window.rows.version)
      let seen = window.top..<window.top + window.height
      guard let request = book.nextRequest(window.rows, seen: seen) else { return }
      var answers: [RowsAnswer] = []
      request.layOut { answers.append($0) }
      let begun = milliseconds()
      for answer in answers { book.accept(answer) }
      spent += milliseconds() - begun
    }
    try resolve()
    while let selected = window.selected?.message.id, Int(selected) <= count {
      let begun = milliseconds()
      var grid = Grid(width: width, height: height)
      for i in 0..<window.height {
        guard let (key, model) = window.rows.model(at: window.top + i) else { continue }
        grid.put(book.cells(key, model, layout), row: 2 + i)
      }
      _ = painter.paint(grid)
      frames += 1
      window.move(step)
      spent += milliseconds() - begun
      try resolve()
      if window.selected?.message.id == selected { break }
    }
    return (spent, frames)
  }
}
