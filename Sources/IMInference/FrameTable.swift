/// The frames that a framing cuts samples into, in the order of the capture, as fields are looked for in them.
package struct FrameTable: Sendable {
  /// One frame.
  package struct Entry: Sendable {
    /// The connection's number.
    package var connection: Int
    /// 0 for a frame of the client, 1 for one of the server.
    package var direction: Int
    /// The packet with its last byte.
    package var packet: UInt64
    /// Its bytes in `FrameTable.bytes`: without delimiters and escapes.
    package var range: Range<Int>
    /// Where the frame before it of the same sample stands among the samples' frames.
    fileprivate var order: Int
  }

  /// How an escape is undone.
  package enum Escape: Equatable, Sendable {
    /// The next byte is exclusive-or'ed with the mask.
    case mask(UInt8, with: UInt8)
    /// What may stand behind the byte, and what that means.
    case replaces(UInt8, [UInt8: UInt8])
  }

  /// The bytes of all frames.
  package private(set) var bytes: [UInt8] = []
  /// The frames, in the order in which they were complete.
  package private(set) var entries: [Entry] = []
  /// The escape of delimited frames, where there is one.
  package private(set) var escape: Escape?
  /// Frames whose escapes no rule explains.
  package private(set) var badEscapes = 0

  /// Frames, and bytes of them, that are taken at most.
  private static var frameLimit: Int { 20_000 }
  private static var byteLimit: Int { 8 << 20 }

  /// Cuts `samples`.
  package init(_ samples: [StreamSample], _ framing: FramingHypothesis) {
    let views = samples.views()
    let walk = FrameWalk(views, framing, limit: .max)
    if case .delimited(let delimiter) = framing { escape = Self.escape(views, walk, delimiter) }
    for (order, frame) in walk.frames.enumerated() {
      let sample = samples[Int(frame.sample)]
      var content = Int(frame.start)..<Int(frame.start) + Int(frame.count)
      let last = content.upperBound - 1
      switch framing {
      case .delimited(let delimiter):
        while content.lowerBound < last, sample.bytes[content.lowerBound] == delimiter {
          content = content.lowerBound + 1..<content.upperBound
        }
        content = content.lowerBound..<last
      case .line:
        content = content.lowerBound..<last
        while let end = content.last, sample.bytes[end] == 0x0d { content = content.lowerBound..<end }
      case .length, .varint: break
      }
      guard entries.count < Self.frameLimit, bytes.count + content.count <= Self.byteLimit else { continue }
      let start = bytes.count
      guard append(sample.bytes[content]) else {
        badEscapes += 1
        bytes.removeSubrange(start...)
        continue
      }
      entries.append(
        Entry(
          connection: sample.connection, direction: sample.direction, packet: sample.packet(of: last),
          range: start..<bytes.count, order: order))
    }
    entries.sort { ($0.packet, $0.order) < ($1.packet, $1.order) }
  }

  private mutating func append(_ content: ArraySlice<UInt8>) -> Bool {
    guard let escape else {
      bytes += content
      return true
    }
    var isEscaped = false
    for byte in content {
      switch escape {
      case .mask(let mark, let mask):
        if isEscaped { bytes.append(byte ^ mask) } else if byte != mark { bytes.append(byte) }
        isEscaped = !isEscaped && byte == mark
      case .replaces(let mark, let meanings):
        if isEscaped {
          guard let meant = meanings[byte] else { return false }
          bytes.append(meant)
        } else if byte != mark {
          bytes.append(byte)
        }
        isEscaped = !isEscaped && byte == mark
      }
    }
    return !isEscaped
  }

  /// The escape that explains what stands behind it: 7D with 01 and 02 (JT/T 808), or with a bit turned round (HDLC, PPP).
  private static func escape(_ views: [SampleView], _ walk: FrameWalk, _ delimiter: UInt8) -> Escape? {
    guard delimiter == 0x7e else { return nil }
    var behind: [UInt8: Int] = [:]
    for frame in walk.frames {
      let bytes = views[Int(frame.sample)].bytes
      let end = Int(frame.start) + Int(frame.count) - 1
      for i in Int(frame.start)..<end where bytes[i] == 0x7d && i + 1 < end { behind[bytes[i + 1], default: 0] += 1 }
    }
    let total = behind.values.reduce(0, +)
    if total == 0 || behind[1, default: 0] + behind[2, default: 0] >= total * 9 / 10 {
      return .replaces(0x7d, [1: 0x7d, 2: 0x7e])
    }
    let masked = behind.filter { $0.key & 0x20 != 0 || $0.key >= 0x40 }.values.reduce(0, +)
    return masked >= total * 9 / 10 ? .mask(0x7d, with: 0x20) : nil
  }

  /// The byte that all frames have at `column`, but for one in a hundred; `nil` where they differ.
  package func constant(at column: Int) -> UInt8? {
    var counts = [Int](repeating: 0, count: 256)
    var total = 0
    for entry in entries where column < entry.range.count {
      counts[Int(bytes[entry.range.lowerBound + column])] += 1
      total += 1
    }
    guard let most = counts.indices.max(by: { counts[$0] < counts[$1] }), total > 0 else { return nil }
    return (total - counts[most]) * 100 <= total ? UInt8(most) : nil
  }

  /// The length of the shortest frame, but for one in a hundred.
  package var leastCount: Int {
    let counts = entries.map(\.range.count).sorted()
    return counts.isEmpty ? 0 : counts[counts.count / 100]
  }
}

extension StreamSample {
  /// The packet in which the byte at `offset` came.
  func packet(of offset: Int) -> UInt64 {
    var low = 0
    var high = starts.count
    while low < high {
      let middle = (low + high) / 2
      if starts[middle].offset > offset { high = middle } else { low = middle + 1 }
    }
    return low > 0 ? starts[low - 1].packet : 0
  }
}
