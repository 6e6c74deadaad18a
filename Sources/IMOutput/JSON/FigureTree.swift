package import IMMetrics

/// The figures of one scope as members of nested objects, in the order in which they are declared: made once from their
/// dotted places, and walked for each report. An object in which no figure has a value is left out.
struct FigureTree<Snapshot>: Sendable {
  /// What times are told in where a name does not say it.
  enum Times: Sendable {
    case microseconds, milliseconds
  }

  /// A figure at one of its names.
  private final class Leaf: Sendable {
    let figure: Figure<Snapshot>, first: Range<Int>, second: Range<Int>
    let form: Form
    let omitsZero: Bool

    init(_ figure: Figure<Snapshot>, _ leaf: FigureInfo.Leaf, _ form: Form) {
      self.figure = figure
      (first, second) = (leaf.first, leaf.second)
      self.form = form
      omitsZero = figure.info.omitsZero
    }

    func value(_ snapshot: Snapshot) -> FigureValue? { figure.value(snapshot, first, second) }
  }

  private enum Member: Sendable {
    case figure(Leaf)
    case object([(key: StaticText, member: Member)])
  }

  /// How a value is written.
  private enum Form: Sendable {
    case whole, milliseconds, microseconds, seconds
  }

  private let members: [(key: StaticText, member: Member)]

  /// The tree of `figures` at the places that `places` gives.
  init(_ figures: [Figure<Snapshot>], _ times: Times, at places: (FigureInfo) -> [String]) {
    let root = Branch()
    for figure in figures {
      for place in places(figure.info) {
        for leaf in figure.info.leaves(place) {
          root.add(leaf.path[...]) { .figure(Leaf(figure, leaf, Self.form(leaf.path, figure.info.unit, times))) }
        }
      }
    }
    members = root.members
  }

  private static func form(_ path: [String], _ unit: FigureUnit, _ times: Times) -> Form {
    guard unit == .time, let name = path.last else { return .whole }
    if name.hasSuffix("_ms") { return .milliseconds }
    if name.hasSuffix("_s") { return .seconds }
    return times == .microseconds ? .microseconds : .milliseconds
  }

  /// A tree while it is made.
  private final class Branch {
    private var entries: [(key: String, branch: Branch?, member: Member?)] = []

    func add(_ path: ArraySlice<String>, _ member: () -> Member) {
      guard let key = path.first else { return }
      if path.count == 1 {
        entries.append((key, nil, member()))
      } else if let branch = entries.first(where: { $0.key == key })?.branch {
        branch.add(path.dropFirst(), member)
      } else {
        let branch = Branch()
        entries.append((key, branch, nil))
        branch.add(path.dropFirst(), member)
      }
    }

    var members: [(key: StaticText, member: Member)] {
      entries.compactMap { entry in
        if let member = entry.member { return (StaticText(entry.key), member) }
        return entry.branch.map { (StaticText(entry.key), .object($0.members)) }
      }
    }
  }

  // MARK: Writing

  /// Writes the members of `snapshot`. `isWanted` chooses among the outermost; `aside` is called behind each of these, whether
  /// it was written or not.
  func write(
    _ snapshot: Snapshot, _ lines: inout JSONLines, aside: (String, inout JSONLines) -> Void = { _, _ in },
    isWanted: (String) -> Bool = { _ in true }
  ) {
    for (key, member) in members {
      if isWanted(key.text) { _ = Self.write(key, member, snapshot, &lines) }
      aside(key.text, &lines)
    }
  }

  /// The numbers in the object `key`, by name.
  func counts(_ snapshot: Snapshot, in key: String) -> [(name: String, value: UInt64)] {
    guard case .object(let members)? = members.first(where: { $0.key.text == key })?.member else { return [] }
    return members.compactMap { key, member in
      guard case .figure(let leaf) = member, case .count(let value)? = leaf.value(snapshot) else { return nil }
      return (key.text, value)
    }
  }

  private static func write(
    _ key: StaticText, _ member: Member, _ snapshot: Snapshot, _ lines: inout JSONLines
  ) -> Bool {
    switch member {
    case .figure(let leaf):
      guard let value = leaf.value(snapshot) else { return false }
      if leaf.omitsZero, case .count(0) = value { return false }
      lines.beginMember(key)
      put(value, leaf.form, &lines)
      return true
    case .object(let members):
      let mark = lines.mark
      lines.beginMember(key)
      lines.openObject()
      var isEmpty = true
      for (key, member) in members where write(key, member, snapshot, &lines) { isEmpty = false }
      if isEmpty, !key.isKeptEmpty {
        lines.takeBack(to: mark)
        return false
      }
      lines.close()
      return true
    }
  }

  private static func put(_ value: FigureValue, _ form: Form, _ lines: inout JSONLines) {
    switch value {
    // Elasticsearch's long is signed.
    case .count(let count): lines.writer.number(min(count, UInt64(Int64.max)))
    case .change(let change): lines.writer.number(change)
    case .ratio(let ratio), .seconds(let ratio): lines.writer.decimal(ratio, 6)
    case .microseconds(let time):
      switch form {
      case .milliseconds: lines.writer.thousandths(time)
      case .seconds: lines.writer.decimal(Double(time) / 1_000_000, 3)
      case .microseconds, .whole: lines.writer.number(time)
      }
    case .mean(let time):
      switch form {
      case .milliseconds: lines.writer.decimal(time / 1_000, 3)
      case .seconds: lines.writer.decimal(time / 1_000_000, 3)
      case .microseconds, .whole: lines.writer.number(Int64(exactly: time.rounded(.towardZero)) ?? 0)
      }
    case .nanoseconds(let time): lines.writer.thousandths(form == .microseconds ? time : time / 1_000)
    case .coarse(let histogram): buckets(histogram, &lines)
    // These are of monitoring systems only.
    case .percentiles, .buckets: lines.writer.literal("{}")
    }
  }

  /// `{"values":[1.5,...],"counts":[2,...]}`.
  private static func buckets(_ histogram: RTTHistogram, _ lines: inout JSONLines) {
    var values: [Double] = []
    var counts: [UInt64] = []
    histogram.forEachBucket {
      values.append($0)
      counts.append($1)
    }
    lines.openObject()
    lines.openList("values")
    for value in values { lines.item(decimal: value, 3) }
    lines.closeList()
    lines.openList("counts")
    for count in counts { lines.item(Int64(clamping: count)) }
    lines.closeList()
    lines.close()
  }
}

/// The name of a member, with its quotes and its colon, made once.
final class StaticText: Sendable {
  /// The name.
  let text: String
  /// The name as it is written.
  let quoted: Piece
  /// Whether it is an object that is there without members, too.
  let isKeptEmpty: Bool

  init(_ text: String) {
    self.text = text
    quoted = Piece("\"\(text)\":")
    isKeptEmpty = ["skipped_packets", "gaps", "issues"].contains(text)
  }
}

/// The trees of documents and of `stats --json`, made when the first report is written.
package enum FigureTrees {
  static let run = FigureTree(Catalogue.run, .microseconds) { $0.json }
  static let server = FigureTree(Catalogue.servers, .microseconds) { $0.json }
  static let type = FigureTree(Catalogue.types, .microseconds) { $0.json.filter { !$0.hasSuffix("_") } }
  static let sequence = FigureTree(Catalogue.sequences, .microseconds) { $0.json }
  static let connection = FigureTree(Catalogue.connections, .milliseconds) { $0.connection }
  static let interval = FigureTree(Catalogue.intervals, .milliseconds) { $0.interval }
  static let period = FigureTree(Catalogue.periods, .milliseconds) { $0.interval }
  static let session = FigureTree(Catalogue.sessions, .milliseconds) { $0.json }
  static let capture = FigureTree(Catalogue.captures, .milliseconds) { $0.capture }

  // For the documents, which stand in another room: a generic function would not know there what it writes.

  /// Writes the members of a connection's report; `aside` is called behind each of the outermost.
  package static func write(
    _ snapshot: ConnectionSnapshot, _ lines: inout JSONLines, aside: (String, inout JSONLines) -> Void
  ) { connection.write(snapshot, &lines, aside: aside) }

  /// Writes the members of an interval's report whose outermost name `isWanted` takes.
  package static func write(
    _ snapshot: IntervalSnapshot, _ lines: inout JSONLines, isWanted: (String) -> Bool = { _ in true }
  ) { interval.write(snapshot, &lines, isWanted: isWanted) }

  /// Writes the members of a capture's report.
  package static func write(_ snapshot: CaptureSnapshot, _ lines: inout JSONLines) { capture.write(snapshot, &lines) }
}
