package import IMWire

/// When the packets of a file were captured, as far as it was read.
package struct FileTimes: Equatable, Sendable {
  /// The time of its first packet; `nil` where none was read.
  package private(set) var first: Timestamp?
  /// The latest time.
  package private(set) var last = Timestamp.distantPast
  /// Packets that are earlier than the one before them.
  package private(set) var backwards: UInt64 = 0
  private var previous = Timestamp.distantPast

  /// Nothing was read.
  package init() {}

  /// Adds a packet that was captured at `time`.
  @inline(__always)
  package mutating func add(_ time: Timestamp) {
    if first == nil { first = time }
    last = max(last, time)
    backwards &+= time < previous ? 1 : 0
    previous = time
  }

  /// Adds the packets of `range`.
  mutating func add(_ records: UnsafePointer<PacketRecord>, _ range: Range<Int>) {
    for i in range { add(records[i].timestamp) }
  }

  /// What is to be said of files in the order in which they were given, in lines; nothing of one file.
  package static func notes(_ files: [(path: String, times: FileTimes)], order: MergeOrder) -> [String] {
    let read = files.filter { $0.times.first != nil }
    guard read.count > 1 else { return [] }
    var notes: [String] = []
    if order == .time {
      let starts = read.map { $0.times.first ?? .distantPast }
      if zip(starts, starts.dropFirst()).contains(where: { $0 > $1 }) {
        notes.append(
          "the files are read in the order of their packets' times, not in the given order (--in-order keeps that)"
        )
      }
      if let (count, pair) = overlaps(read) {
        notes.append(
          count == 2
            ? "the files \(pair.0) and \(pair.1) overlap in time: their packets are merged by time"
            : "\(count) files overlap in time, such as \(pair.0) and \(pair.1): their packets are merged by time")
      }
    } else {
      var latest = (path: "", time: Timestamp.distantPast)
      for (path, times) in read {
        if let first = times.first, first < latest.time {
          notes.append(
            "the files are not in time order: \(path) begins before \(latest.path) ends; without --in-order, packets are merged by time"
          )
          break
        }
        if times.last > latest.time { latest = (path, times.last) }
      }
    }
    let unsorted = read.filter { $0.times.backwards > 0 }
    if let one = unsorted.first {
      let others = unsorted.count == 1 ? "" : ", and so have \(unsorted.count - 1) other files"
      notes.append(
        "\(one.path) has \(one.times.backwards) \(one.times.backwards == 1 ? "packet that is" : "packets that are") earlier than the one before\(others): the order of packets in a file is kept"
      )
    }
    return notes
  }

  /// How many files overlap with another one, and two of them.
  private static func overlaps(
    _ files: [(path: String, times: FileTimes)]
  ) -> (count: Int, pair: (String, String))? {
    let sorted = files.enumerated().sorted {
      ($0.element.times.first ?? .distantPast, $0.offset) < ($1.element.times.first ?? .distantPast, $1.offset)
    }
    var latest: (offset: Int, time: Timestamp)?
    var found: Set<Int> = []
    var pair: (String, String)?
    for (offset, file) in sorted {
      if let latest, let first = file.times.first, first < latest.time {
        found.formUnion([latest.offset, offset])
        if pair == nil { pair = (files[min(latest.offset, offset)].path, files[max(latest.offset, offset)].path) }
      }
      if latest.map({ $0.time < file.times.last }) ?? true { latest = (offset, file.times.last) }
    }
    return pair.map { (found.count, $0) }
  }
}
