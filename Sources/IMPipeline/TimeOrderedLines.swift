import IMOutput
import IMWire

/// Lines of messages in the order in which these began. Messages come nearly in that order: one after a hole in its stream comes late.
///
/// Lines wait for those that may come before them: half of `most` lines, or of `mostBytes`. A message that comes later than that has its
/// line where it comes.
struct TimeOrderedLines {
  private struct Entry {
    let time: Timestamp
    let number: UInt32
    let bytes: Range<Int>
  }

  private static let most = 65_536, mostBytes = 8 << 20
  /// Seconds of packets for which a line of a stream waits, such as that of a pipe whose reader is watching.
  private static let wait: Int64 = 10

  private var bytes: [UInt8] = []
  private var entries: [Entry] = []
  private var isSorted = true

  /// Whether `takeOldest` is due.
  var isFull: Bool { entries.count >= Self.most || bytes.count >= Self.mostBytes }

  /// Adds the line of the message with the number `number`, which began at `time`.
  mutating func add(_ line: borrowing ByteWriter, _ time: Timestamp, _ number: UInt32) {
    if let last = entries.last, (time, number) < (last.time, last.number) { isSorted = false }
    let start = bytes.count
    line.withBytes { bytes += $0 }
    entries.append(Entry(time: time, number: number, bytes: start..<bytes.count))
  }

  /// Appends what `begin` writes in front of a line.
  typealias Beginning = (Timestamp, inout ByteWriter) -> Void

  /// Appends the older half of the lines, and forgets them.
  mutating func takeOldest(to out: inout ByteWriter, _ begin: Beginning = { _, _ in }) {
    sort()
    take(max(1, entries.count / 2), to: &out, begin)
  }

  /// Appends the lines that are ten seconds older than the newest one, and forgets them.
  mutating func takeSettled(to out: inout ByteWriter, _ begin: Beginning = { _, _ in }) {
    sort()
    guard let last = entries.last?.time.advanced(by: -Self.wait * 1_000_000_000) else { return }
    let count = entries.prefix { $0.time < last }.count
    if count > 0 { take(count, to: &out, begin) }
  }

  /// Appends all lines, and forgets them.
  mutating func takeAll(to out: inout ByteWriter, _ begin: Beginning = { _, _ in }) {
    sort()
    take(entries.count, to: &out, begin)
  }

  private mutating func sort() {
    if !isSorted { entries.sort { ($0.time, $0.number) < ($1.time, $1.number) } }
    isSorted = true
  }

  private mutating func take(_ count: Int, to out: inout ByteWriter, _ begin: Beginning) {
    bytes.withUnsafeBytes { bytes in
      for entry in entries.prefix(count) {
        begin(entry.time, &out)
        out.raw(UnsafeRawBufferPointer(rebasing: bytes[entry.bytes]))
      }
    }
    var kept: [UInt8] = []
    var others: [Entry] = []
    for entry in entries.dropFirst(count) {
      let start = kept.count
      kept += bytes[entry.bytes]
      others.append(Entry(time: entry.time, number: entry.number, bytes: start..<kept.count))
    }
    (bytes, entries) = (kept, others)
  }
}
