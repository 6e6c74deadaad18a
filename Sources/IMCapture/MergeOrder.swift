import IMWire

/// In which order the packets of several files come.
package enum MergeOrder: Sendable {
  /// By their times; those of one file keep their order. Of equal times the packet of the file that begins earlier comes first: where one
  /// file was rotated into the next, that is the order in which they were captured.
  case time
  /// File by file, as the files are named.
  case given
}

/// Where a file is in a merge: the time of its next packet and, of equal times, its rank among the files.
struct MergeKey: Comparable {
  var time: Timestamp
  /// Its place when the files are sorted by their beginnings.
  var rank: Int
  /// Its index.
  var file: Int

  @inline(__always)
  static func < (a: MergeKey, b: MergeKey) -> Bool {
    a.time == b.time ? a.rank < b.rank : a.time < b.time
  }
}

/// The files of a merge by the times of their next packets: a binary heap.
struct MergeQueue {
  private var keys: [MergeKey] = []

  /// No files.
  init() {}

  /// The file whose turn it is.
  var first: MergeKey? { keys.first }

  /// The next file's key, after `first`.
  var second: MergeKey? {
    switch keys.count {
    case ..<2: nil
    case 2: keys[1]
    default: min(keys[1], keys[2])
    }
  }

  /// Adds a file.
  mutating func insert(_ key: MergeKey) {
    var place = keys.count
    keys.append(key)
    while place > 0, keys[place] < keys[(place - 1) / 2] {
      keys.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// Moves the first file to `time`, the time of its next packet.
  mutating func moveFirst(to time: Timestamp) {
    guard !keys.isEmpty else { return }
    keys[0].time = time
    sink()
  }

  /// Takes the first file out.
  mutating func removeFirst() {
    guard let last = keys.popLast(), !keys.isEmpty else { return }
    keys[0] = last
    sink()
  }

  private mutating func sink() {
    var place = 0
    while true {
      let left = 2 * place + 1
      guard left < keys.count else { return }
      let child = left + 1 < keys.count && keys[left + 1] < keys[left] ? left + 1 : left
      guard keys[child] < keys[place] else { return }
      keys.swapAt(place, child)
      place = child
    }
  }
}
