import IMTLS
import IMWire

/// A caller of `TLSConnection` as an engine is one, with streams in memory.
final class TLSObserver {
  struct Record: Equatable {
    var offset: Int
    var bytes: [UInt8]
  }

  let context: TLSContext
  let connection: TLSConnection
  /// Application data of each direction, with the offset in the stream of its first ciphertext byte.
  private(set) var records: [[Record]] = [[], []]
  private(set) var unread: [[TLSUnread: Int]] = [[:], [:]]
  private(set) var controls: [[TLSControl]] = [[], []]
  private(set) var early: [UInt8] = []
  private(set) var mostHeld = 0
  private var held: [[UInt8]] = [[], []]
  private var offset = [0, 0]
  private var isWaiting = [false, false]

  init(_ context: TLSContext, sidesAreCertain: Bool = true) {
    self.context = context
    connection = TLSConnection(sidesAreCertain: sidesAreCertain)
  }

  convenience init(keyLog: [String], sidesAreCertain: Bool = true) {
    self.init(TLSContext(keys: KeyTable(byteLimit: 1 << 20)), sidesAreCertain: sidesAreCertain)
    add(keyLog)
  }

  func add(_ lines: [String]) {
    for line in lines { Array(line.utf8).withUnsafeBytes { _ = context.keys.take(line: $0) } }
  }

  /// Bytes as they came.
  func take(_ direction: Int, _ bytes: some Sequence<UInt8>, at nanoseconds: Int64 = 0) {
    held[direction] += bytes
    pull(direction, Timestamp(nanoseconds: nanoseconds), isEnd: false)
    retry()
  }

  /// Bytes that are missing.
  @discardableResult
  func lose(_ direction: Int, _ count: Int?) -> TLSLoss {
    if isWaiting[direction] {
      connection.giveUpWaiting(direction: direction)
      pull(direction, Timestamp(nanoseconds: 0), isEnd: false)
    }
    let loss = held[direction].withUnsafeBytes {
      connection.lose(
        byteCount: count.map(UInt64.init), after: $0, direction: direction, time: Timestamp(nanoseconds: 0), in: context
      )
    }
    offset[direction] += held[direction].count + (count ?? 0)
    held[direction] = []
    return loss
  }

  /// What waits is read as far as it can be now.
  func retry() {
    var isAgain = true
    while isAgain {
      isAgain = false
      for direction in 0..<2 where isWaiting[direction] && connection.canRetry(direction: direction, in: context) {
        isAgain = true
        pull(direction, Timestamp(nanoseconds: 0), isEnd: false)
      }
    }
  }

  func giveUp(_ direction: Int) {
    connection.giveUpWaiting(direction: direction)
    pull(direction, Timestamp(nanoseconds: 0), isEnd: false)
  }

  func finish() {
    for _ in 0..<2 {
      for direction in 0..<2 {
        if isWaiting[direction] { connection.giveUpWaiting(direction: direction) }
        pull(direction, Timestamp(nanoseconds: 0), isEnd: true)
      }
    }
  }

  private func pull(_ direction: Int, _ time: Timestamp, isEnd: Bool) {
    var at = 0
    isWaiting[direction] = false
    mostHeld = max(mostHeld, held[direction].count)
    held[direction].withUnsafeBytes { all in
      loop: while at < all.count {
        let rest = UnsafeRawBufferPointer(rebasing: all[at...])
        switch connection.next(rest, direction: direction, time: time, isEnd: isEnd, in: context) {
        case .more: break loop
        case .plaintext(let text):
          records[direction].append(
            Record(offset: offset[direction] + at + text.ciphertextIndex, bytes: Array(text.bytes)))
          if text.isEarly { early += text.bytes }
          at += text.count
        case .control(let count, let control):
          controls[direction].append(control)
          at += count
        case .unread(let count, let reason):
          unread[direction][reason, default: 0] += count
          at += count
        case .undecided:
          if isEnd {
            connection.giveUpWaiting(direction: direction)
            continue
          }
          isWaiting[direction] = true
          break loop
        }
      }
    }
    held[direction].removeFirst(at)
    offset[direction] += at
  }
}

/// Where the records of a stream are: type, offset, and length with the header.
func recordRanges(_ stream: [UInt8]) -> [(type: UInt8, range: Range<Int>)] {
  var at = 0
  var result: [(UInt8, Range<Int>)] = []
  while at + 5 <= stream.count {
    let end = at + 5 + (Int(stream[at + 3]) << 8 | Int(stream[at + 4]))
    result.append((stream[at], at..<end))
    at = end
  }
  return result
}
