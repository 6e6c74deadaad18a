package import IMStore

/// The part of a ladder that is in memory, around the line that is selected.
///
/// The ladder itself is in the store, of as many messages as the connection has. Near an end of what is in memory the part around the
/// selected line is asked for, and takes the place of this one: the line stays selected, in its row of the screen.
package struct LadderView: Sendable {
  /// Lines between the selected one and an end of the part from which on another part is asked for, beside those of the screen.
  private static let margin = 40

  /// The session or the connection.
  package private(set) var choice = PageChoice()
  private(set) var generation = 0
  /// The lines.
  package internal(set) var list = SelectableList<LadderItem, LadderItem.ID> { $0.id }
  /// Whether nothing is above the lines; whether nothing is beneath.
  package private(set) var isFirst = false, isLast = false
  /// Whether a part has come since the ladder was begun.
  package private(set) var isLoaded = false
  /// The ends of the connection.
  private(set) var client = "", server = ""
  private var start = PageRequest.Place.after(0)
  private var awaited: LadderRequest?
  /// The message around which the last part was asked for: another one around it would be the same.
  private var anchor: Int64?
  /// Whether lines that are shown may be others than they were.
  private var isOutdated = false

  /// A ladder without lines.
  init() {}

  /// Whether there is a ladder at all.
  var isBegun: Bool { generation > 0 }

  /// Begins a ladder.
  mutating func open(_ choice: PageChoice, at place: PageRequest.Place) {
    if choice != self.choice { list.replace([]) }
    self.choice = choice
    start = place
    generation += 1
    (isLoaded, isOutdated, awaited, anchor) = (false, false, nil, nil)
  }

  /// Begins the same ladder at another place.
  mutating func restart(at place: PageRequest.Place) { open(choice, at: place) }

  /// Messages may have come: the ladder does not end where it ended.
  mutating func grow() {
    isLast = false
    anchor = nil
  }

  /// Messages may have come, and those that are shown may be others than they were: the part is asked for again.
  mutating func refresh() {
    grow()
    isOutdated = true
  }

  /// The part that is wanted next; `nil` while one is on its way, and where all that could be seen is there.
  mutating func nextRequest() -> LadderRequest? {
    guard awaited == nil else { return nil }
    let place: PageRequest.Place
    if !isLoaded {
      place = start
    } else {
      let margin = Self.margin + list.height
      let isNear = !isFirst && list.index < margin || !isLast && list.index + margin >= list.items.count
      guard isNear || isOutdated, let message = nearest, message != anchor else { return nil }
      anchor = message
      isOutdated = false
      place = .around(message)
    }
    awaited = LadderRequest(generation: generation, choice: choice, place: place)
    return awaited
  }

  /// The message that began nearest to the selected line.
  private var nearest: Int64? {
    let items = list.items
    guard items.indices.contains(list.index) else { return nil }
    let above = items[...list.index].last { $0.id.kind == .copy(0) }
    return (above ?? items[list.index...].first { $0.id.kind == .copy(0) })?.message.id
  }

  /// The part could not be read: it is asked for no more.
  mutating func fail() {
    awaited = nil
    (isLoaded, isFirst, isLast) = (true, true, true)
  }

  /// Takes a part. One for another ladder, or that nobody has asked for, is dropped; tells whether it was taken.
  mutating func accept(_ answer: LadderAnswer) -> Bool {
    guard let awaited, answer.request == awaited else { return false }
    self.awaited = nil
    (isFirst, isLast, client, server) = (answer.isFirst, answer.isLast, answer.client, answer.server)
    let isKept = isLoaded && list.selected.map { old in answer.items.contains { $0.id == old.id } } ?? false
    list.replace(answer.items)
    if !isKept {
      switch awaited.place {
      case .after: list.select(answer.items.firstIndex { $0.isOfMessage } ?? 0)
      case .before: list.select(answer.items.count - 1)
      case .from: list.select(0)
      case .around(let id):
        list.select(answer.items.firstIndex { $0.id.kind == .copy(0) && $0.message.id >= id } ?? list.items.count - 1)
      }
    }
    isLoaded = true
    return true
  }

  /// Selects the line of a message's first copy; where it is not in memory, the ladder begins anew around it.
  mutating func jump(to id: Int64) {
    if isLoaded, let found = list.items.firstIndex(where: { $0.id.kind == .copy(0) && $0.message.id == id }) {
      list.select(found)
    } else {
      restart(at: .around(id))
    }
  }
}
