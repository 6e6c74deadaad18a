package import IMMetrics

/// The figures of one scope as members of nested objects, in the order in which they are declared: made once from their
/// dotted places, and walked for each report. An object in which no figure has a value is left out.
struct FigureTree<Snapshot>: Sendable {
  /// What times are told in where a name does not say it.
  enum Times: Sendable {
    case microseconds, milliseconds
  }

  /// A member: a figure at one of its names, or an object.
  private final class Member: Sendable {
    let key: StaticText
    /// Reads the figure; `nil` for an object. By itself, since a figure's names would be copied with it.
    let read: Figure<Snapshot>.Read?
    /// Places of the figure's dimensions.
    let first: Range<Int>, second: Range<Int>
    let form: Form
    let omitsZero: Bool
    /// What stands in the object.
    let members: [Member]

    /// The figure at `leaf`.
    init(_ key: String, _ figure: Figure<Snapshot>, _ leaf: FigureInfo.Leaf, _ form: Form) {
      self.key = StaticText(key)
      read = figure.read
      (first, second) = (leaf.first, leaf.second)
      self.form = form
      omitsZero = figure.info.omitsZero
      members = []
    }

    /// An object.
    init(_ key: String, _ members: [Member]) {
      self.key = StaticText(key)
      read = nil
      (first, second, form, omitsZero) = (0..<0, 0..<0, .whole, false)
      self.members = members
    }

    /// The figure's value, added up where it has several places; `nil` where it is not known, and for an object.
    func value(_ snapshot: Snapshot) -> FigureValue? {
      guard let read else { return nil }
      if first.count == 1, second.count == 1 { return read(snapshot, first.lowerBound, second.lowerBound) }
      return Figure.sum(read, snapshot, first, second)
    }
  }

  /// How a value is written.
  private enum Form: Sendable {
    case whole, milliseconds, microseconds, seconds
  }

  private let members: [Member]

  /// The tree of `figures` at the places that `places` gives.
  init(_ figures: [Figure<Snapshot>], _ times: Times, at places: (FigureInfo) -> [String]) {
    let root = Branch()
    for figure in figures {
      for place in places(figure.info) {
        for leaf in figure.info.leaves(place) {
          root.add(leaf.path[...]) { Member($0, figure, leaf, Self.form(leaf.path, figure.info.unit, times)) }
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

    func add(_ path: ArraySlice<String>, _ member: (String) -> Member) {
      guard let key = path.first else { return }
      if path.count == 1 {
        entries.append((key, nil, member(key)))
      } else if let branch = entries.first(where: { $0.key == key })?.branch {
        branch.add(path.dropFirst(), member)
      } else {
        let branch = Branch()
        entries.append((key, branch, nil))
        branch.add(path.dropFirst(), member)
      }
    }

    var members: [Member] {
      entries.compactMap { entry in entry.member ?? entry.branch.map { Member(entry.key, $0.members) } }
    }
  }

  // MARK: Writing

  /// Writes the members of `snapshot`. `isWanted` chooses among the outermost; `aside` is called behind each of these, whether
  /// it was written or not.
  func write(
    _ snapshot: Snapshot, _ lines: inout JSONLines, aside: (String, inout JSONLines) -> Void = { _, _ in },
    isWanted: (String) -> Bool = { _ in true }
  ) {
    for member in members {
      if isWanted(member.key.text) { _ = Self.write(member, snapshot, &lines) }
      aside(member.key.text, &lines)
    }
  }

  /// The numbers in the object `key`, by name.
  func counts(_ snapshot: Snapshot, in key: String) -> [(name: String, value: UInt64)] {
    let object = members.first { $0.key.text == key }
    return (object?.members ?? []).compactMap { member in
      guard case .count(let value)? = member.value(snapshot) else { return nil }
      return (member.key.text, value)
    }
  }

  private static func write(_ member: Member, _ snapshot: Snapshot, _ lines: inout JSONLines) -> Bool {
    guard member.read == nil else {
      guard let value = member.value(snapshot) else { return false }
      if member.omitsZero, case .count(0) = value { return false }
      lines.beginMember(member.key)
      put(value, member.form, &lines)
      return true
    }
    let mark = lines.mark
    lines.beginMember(member.key)
    lines.openObject()
    var isEmpty = true
    for inner in member.members where write(inner, snapshot, &lines) { isEmpty = false }
    if isEmpty, !member.key.isKeptEmpty {
      lines.takeBack(to: mark)
      return false
    }
    lines.close()
    return true
  }

  private static func put(_ value: FigureValue, _ form: Form, _ lines: inout JSONLines) {
    switch value {
    // Elasticsearch's long is signed.
    case .count(let count): lines.writer.number(min(count, UInt64(Int64.max)))
    case .change(let change): lines.writer.number(change)
    case .ratio, .share: lines.writer.decimal(value.ratio ?? 0, 6)
    case .seconds(let seconds): lines.writer.decimal(seconds, 6)
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
    isKeptEmpty = ["skipped_packets", "gaps", "issues", "analysis"].contains(text)
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
  static let stream = FigureTree(Catalogue.streams, .microseconds) { $0.json }
  static let streamSide = FigureTree(Catalogue.streamSides, .microseconds) { $0.json }
  static let capture = FigureTree(Catalogue.captures, .milliseconds) { $0.capture }

  // For documents and pages, which stand in other rooms: a generic function would not know there what it writes.

  /// Writes the members of a server's figures, or of the run's; `aside` is called behind each of the outermost.
  package static func write(
    _ snapshot: ServerSnapshot, _ lines: inout JSONLines, aside: (String, inout JSONLines) -> Void,
    isWanted: (String) -> Bool
  ) { server.write(snapshot, &lines, aside: aside, isWanted: isWanted) }

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
