import Glibc
import IMOutput

/// One file of documents, to which whole lines are appended.
///
/// A disk that is full or fails costs lines, never a part of one: what a line lacks is written first when there is room again,
/// or the line is taken back when the file is closed.
final class LogFile {
  /// What became of some lines.
  struct Outcome {
    /// Lines that are lost.
    var dropped: UInt64 = 0
    /// Why, as the system's error number; 0 where nothing failed.
    var errno: Int32 = 0
  }

  private var descriptor: Int32
  /// Bytes of the file's whole lines.
  private(set) var byteCount: UInt64 = 0
  /// What a line lacks of which the file has the beginning, and how much of it that is.
  private var missing: [UInt8] = []
  private var begun: UInt64 = 0

  /// The file behind `descriptor`, which is closed here.
  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

  /// Appends whole lines.
  func append(_ lines: UnsafeRawBufferPointer) -> Outcome {
    var outcome = Outcome()
    guard complete(&outcome.errno) else {
      outcome.dropped = Self.count(lines[...])
      return outcome
    }
    let written = Self.write(lines, to: descriptor, &outcome.errno)
    guard written < lines.count else {
      byteCount += UInt64(written)
      return outcome
    }
    // The line that is cut, and those behind it.
    let end = lines[..<written].lastIndex(of: 10).map { $0 + 1 } ?? 0
    byteCount += UInt64(end)
    var rest = written
    if written > end {
      rest = lines[written...].firstIndex(of: 10).map { $0 + 1 } ?? lines.count
      begun = UInt64(written - end)
      missing = Array(lines[written..<rest])
    }
    outcome.dropped = Self.count(lines[rest...])
    return outcome
  }

  /// Closes the file. A line that is still cut is taken back.
  func close() -> Outcome {
    var outcome = Outcome()
    if !complete(&outcome.errno) {
      outcome.dropped = 1
      _ = ftruncate(descriptor, off_t(byteCount))
    }
    // Some disks tell only now that there was no room.
    if Glibc.close(descriptor) != 0, outcome.errno == 0 { outcome.errno = errno }
    descriptor = -1
    return outcome
  }

  /// Writes what the cut line lacks; whether no line is cut then.
  private func complete(_ error: inout Int32) -> Bool {
    guard !missing.isEmpty else { return true }
    let written = missing.withUnsafeBytes { Self.write($0, to: descriptor, &error) }
    begun += UInt64(written)
    missing.removeFirst(written)
    guard missing.isEmpty else { return false }
    byteCount += begun
    return true
  }

  /// Writes as much as can be; an error's number tells why that is not all.
  private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ error: inout Int32) -> Int {
    var done = 0
    while done < bytes.count {
      let n = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
      if n > 0 {
        done += n
      } else if n == 0 || errno != EINTR {
        error = n == 0 ? EIO : errno
        break
      }
    }
    return done
  }

  /// How many lines these are.
  static func count(_ lines: Slice<UnsafeRawBufferPointer>) -> UInt64 {
    lines.reduce(0) { $1 == 10 ? $0 + 1 : $0 }
  }
}
