package import IMMetrics

/// The figures of one scope as members of nested objects, in the order in which they are declared: made once from their
/// dotted places, and walked for each report. An object in which no figure has a value is left out.
struct MetricTree<Snapshot>: Sendable {
  /// What times are told in where a name does not say it.
  enum Times: Sendable {
    case microseconds, milliseconds
  }

  /// A member: a figure at one of its names, or an object, whose members follow it.
  private struct Member: Sendable {
    /// Its name with quotes and a colon.
    let key: Piece
    /// Reads the figure; `nil` for an object. By itself, since a figure's names would be copied with it.
    let read: Metric<Snapshot>.Read?
    /// Places of the figure's dimensions.
    let first: Range<Int>, second: Range<Int>
    let form: Form
    /// Whether a figure is left out where it is 0, and whether an object is there without members, too.
    let omitsZero: Bool, isKeptEmpty: Bool
    /// How many members it and what stands in it are.
    let count: Int
  }

  /// The figure's value, added up where it has several places; `nil` where it is not known, and for an object. Takes a pointer,
  /// since a method of the member's own would copy it.
  @inline(__always)
  private static func value(_ member: UnsafePointer<Member>, _ snapshot: Snapshot) -> MetricValue? {
    guard let read = member.pointee.read else { return nil }
    let (first, second) = (member.pointee.first, member.pointee.second)
    if first.count == 1, second.count == 1 { return read(snapshot, first.lowerBound, second.lowerBound) }
    return Metric.sum(read, snapshot, first, second)
  }

  /// How a value is written.
  private enum Form: Sendable {
    case whole, milliseconds, microseconds, seconds
  }

  /// All members, each in front of those that stand in it, and the names of the outermost.
  private let members: ContiguousArray<Member>
  private let outermost: [(name: String, place: Int)]

  /// The tree of `figures` at the places that `places` gives. What makes a tree is compiled once for all scopes: it runs once.
  @_semantics("optimize.sil.specialize.generic.never")
  init(_ figures: [Metric<Snapshot>], _ times: Times, at places: (MetricInfo) -> [String]) {
    let root = Branch()
    for figure in figures {
      for place in places(figure.info) {
        for leaf in figure.info.leaves(place) { root.add(leaf.path[...], figure, leaf) }
      }
    }
    var members: ContiguousArray<Member> = []
    outermost = root.lay(&members, times)
    self.members = members
  }

  private static func form(_ path: [String], _ unit: MetricUnit, _ times: Times) -> Form {
    guard unit == .time, let name = path.last else { return .whole }
    if name.hasSuffix("_ms") { return .milliseconds }
    if name.hasSuffix("_s") { return .seconds }
    return times == .microseconds ? .microseconds : .milliseconds
  }

  /// A tree while it is made.
  private final class Branch {
    private enum Content {
      case branch(Branch), figure(Metric<Snapshot>, MetricInfo.Leaf)
    }
    private var entries: [(key: String, content: Content)] = []

    @_semantics("optimize.sil.specialize.generic.never")
    func add(_ path: ArraySlice<String>, _ figure: Metric<Snapshot>, _ leaf: MetricInfo.Leaf) {
      guard let key = path.first else { return }
      if path.count == 1 { return entries.append((key, .figure(figure, leaf))) }
      for case (key, .branch(let branch)) in entries { return branch.add(path.dropFirst(), figure, leaf) }
      let branch = Branch()
      entries.append((key, .branch(branch)))
      branch.add(path.dropFirst(), figure, leaf)
    }

    /// Appends what stands in it to `members`, and gives names and places of its own members.
    @_semantics("optimize.sil.specialize.generic.never")
    @discardableResult
    func lay(_ members: inout ContiguousArray<Member>, _ times: Times) -> [(name: String, place: Int)] {
      entries.map { key, content in
        let place = members.count
        let name = Piece("\"\(key)\":")
        switch content {
        case .figure(let figure, let leaf):
          members.append(
            Member(
              key: name, read: figure.read, first: leaf.first, second: leaf.second,
              form: MetricTree.form(leaf.path, figure.info.unit, times), omitsZero: figure.info.omitsZero,
              isKeptEmpty: false, count: 1))
        case .branch(let branch):
          members.append(object(name, key, count: 1))
          branch.lay(&members, times)
          members[place] = object(name, key, count: members.count - place)
        }
        return (key, place)
      }
    }

    @_semantics("optimize.sil.specialize.generic.never")
    private func object(_ name: Piece, _ key: String, count: Int) -> Member {
      Member(
        key: name, read: nil, first: 0..<0, second: 0..<0, form: .whole, omitsZero: false,
        isKeptEmpty: ["skipped_packets", "gaps", "issues", "analysis"].contains(key), count: count)
    }
  }

  // MARK: Writing

  /// Writes the members of `snapshot`. `isWanted` chooses among the outermost; `aside` is called behind each of these, whether
  /// it was written or not.
  func write(
    _ snapshot: Snapshot, _ lines: inout JSONLines, aside: (String, inout JSONLines) -> Void = { _, _ in },
    isWanted: (String) -> Bool = { _ in true }
  ) {
    members.withUnsafeBufferPointer { members in
      guard let start = members.baseAddress else { return }
      for (name, place) in outermost {
        if isWanted(name) { _ = Self.write(start + place, snapshot, &lines) }
        aside(name, &lines)
      }
    }
  }

  /// The numbers in the object `key`, by name.
  func counts(_ snapshot: Snapshot, in key: String) -> [(name: String, value: UInt64)] {
    guard let object = outermost.first(where: { $0.name == key })?.place else { return [] }
    return members[object + 1..<object + members[object].count].compactMap { member in
      guard case .count(let count)? = withUnsafePointer(to: member, { Self.value($0, snapshot) }) else { return nil }
      // Without the quotes and the colon.
      return (String(member.key.description.dropFirst().dropLast(2)), count)
    }
  }

  /// Hands out each figure of `snapshot` that has a value, in order: its dotted name below the outermost members that
  /// `isWanted` takes, whether it is a whole number, and its value as JSON. Histograms are left out.
  func forEach(
    _ snapshot: Snapshot, isWanted: (String) -> Bool,
    _ body: (_ name: String, _ isWhole: Bool, _ text: UnsafeRawBufferPointer) -> Void
  ) {
    var lines = JSONLines()
    for (name, place) in outermost where isWanted(name) {
      // The dotted names of the objects around the member, and where each ends.
      var around: [(prefix: String, end: Int)] = []
      let end = place + members[place].count
      for index in place..<end {
        while let last = around.last, index >= last.end { around.removeLast() }
        let key = (around.last?.prefix ?? "") + String(members[index].key.description.dropFirst().dropLast(2))
        guard members[index].read != nil else {
          around.append((key + ".", index + members[index].count))
          continue
        }
        guard let value = withUnsafePointer(to: members[index], { Self.value($0, snapshot) }) else { continue }
        if members[index].omitsZero, case .count(0) = value { continue }
        let isWhole: Bool
        switch value {
        case .count, .change: isWhole = true
        case .microseconds, .mean: isWhole = members[index].form == .microseconds || members[index].form == .whole
        case .ratio, .share, .seconds, .nanoseconds: isWhole = false
        case .coarse, .percentiles, .buckets: continue
        }
        lines.writer.removeAll()
        Self.put(value, members[index].form, &lines)
        lines.writer.withBytes { body(key, isWhole, $0) }
      }
    }
  }

  /// Writes a member, and what stands in it; false where there is nothing to write.
  @inline(__always)
  private static func write(
    _ member: UnsafePointer<Member>, _ snapshot: Snapshot, _ lines: inout JSONLines
  ) -> Bool {
    guard member.pointee.read != nil else { return writeObject(member, snapshot, &lines) }
    guard let value = value(member, snapshot) else { return false }
    if member.pointee.omitsZero, case .count(0) = value { return false }
    lines.beginMember(member.pointee.key)
    put(value, member.pointee.form, &lines)
    return true
  }

  /// Writes an object, whose members stand behind it.
  private static func writeObject(
    _ object: UnsafePointer<Member>, _ snapshot: Snapshot, _ lines: inout JSONLines
  ) -> Bool {
    let mark = lines.mark
    lines.beginMember(object.pointee.key)
    lines.openObject()
    var isEmpty = true
    var member = object + 1
    let end = object + object.pointee.count
    while member < end {
      if write(member, snapshot, &lines) { isEmpty = false }
      member += member.pointee.count
    }
    if isEmpty, !object.pointee.isKeptEmpty {
      lines.takeBack(to: mark)
      return false
    }
    lines.close()
    return true
  }

  private static func put(_ value: MetricValue, _ form: Form, _ lines: inout JSONLines) {
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

/// The trees of documents and of `stats --json`, made when the first report is written.
package enum MetricTrees {
  static let run = MetricTree(Catalogue.run, .microseconds) { $0.json }
  static let server = MetricTree(Catalogue.servers, .microseconds) { $0.json }
  static let type = MetricTree(Catalogue.types, .microseconds) { $0.json.filter { !$0.hasSuffix("_") } }
  static let sequence = MetricTree(Catalogue.sequences, .microseconds) { $0.json }
  static let connection = MetricTree(Catalogue.connections, .milliseconds) { $0.connection }
  static let interval = MetricTree(Catalogue.intervals, .milliseconds) { $0.interval }
  static let period = MetricTree(Catalogue.periods, .milliseconds) { $0.interval }
  static let session = MetricTree(Catalogue.sessions, .milliseconds) { $0.json }
  static let listed = MetricTree(Catalogue.listed, .microseconds) { $0.json }
  static let stream = MetricTree(Catalogue.streams, .microseconds) { $0.json }
  static let streamSide = MetricTree(Catalogue.streamSides, .microseconds) { $0.json }
  static let capture = MetricTree(Catalogue.captures, .milliseconds) { $0.capture }

  // For documents and pages, which stand in other rooms: a generic function would not know there what it writes.

  /// Writes the members of a server's figures, or of the run's; `aside` is called behind each of the outermost.
  package static func write(
    _ snapshot: ServerSnapshot, _ lines: inout JSONLines, aside: (String, inout JSONLines) -> Void,
    isWanted: (String) -> Bool
  ) { server.write(snapshot, &lines, aside: aside, isWanted: isWanted) }

  /// Hands out the figures of a connection's report by dotted names, those of the outermost members that `isWanted` takes.
  package static func forEach(
    _ snapshot: ConnectionSnapshot, isWanted: (String) -> Bool,
    _ body: (_ name: String, _ isWhole: Bool, _ text: UnsafeRawBufferPointer) -> Void
  ) { connection.forEach(snapshot, isWanted: isWanted, body) }

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
