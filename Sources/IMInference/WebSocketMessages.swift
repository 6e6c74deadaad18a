/// The messages of one direction of a WebSocket connection (RFC 6455), from its bytes: unmasked, and reassembled from their frames.
///
/// Compressed messages are counted and skipped. After missing bytes, reading resumes at a segment that begins with a frame.
package struct WebSocketMessages: Sendable {
  /// The concatenated payloads: one run for each message, and one segment start for each.
  package let sample: StreamSample?
  /// The number of messages, of binary ones, and of compressed ones, which are not read.
  package let count: Int, binaryCount: Int, compressedCount: Int
  /// The number of bytes in the direction, and of those in frames.
  package let byteCount: Int, explainedCount: Int

  private struct Header {
    var isFinal: Bool
    var isCompressed: Bool
    var opcode: UInt8
    var key: [UInt8]
    var count: Int
    var payload: Int
  }

  private enum Step {
    case header(Header)
    case cut
    case none
  }

  /// The maximum length of a message.
  private static var longest: Int { 16 << 20 }

  /// Reads the messages of `stream`.
  package init(_ stream: StreamSample) {
    let view = [stream].views()[0]
    let isMasked = stream.direction == 0
    var bytes: [UInt8] = []
    var runs: [Range<Int>] = []
    var starts: [SegmentStart] = []
    var message: [UInt8]?
    var isSkipped = false
    var isBinary = false
    var (binary, compressed, explained, total) = (0, 0, 0, 0)
    func end(at place: Int) {
      guard let whole = message else { return }
      message = nil
      if isSkipped {
        compressed += 1
        return
      }
      guard !whole.isEmpty else { return }
      if isBinary { binary += 1 }
      runs.append(bytes.count..<bytes.count + whole.count)
      starts.append(SegmentStart(offset: bytes.count, packet: stream.packet(of: place)))
      bytes += whole
    }
    for run in stream.runs {
      var position = run.lowerBound
      message = nil
      if stream.isFromStart, position == 0, let head = Self.headEnd(stream.bytes[run]) {
        position = head
      } else if let start = Self.resume(view, after: position - 1, run.upperBound, isMasked) {
        position = start
      } else {
        total += run.count
        continue
      }
      total += run.upperBound - position
      while position < run.upperBound {
        guard case .header(let header) = Self.header(stream.bytes, position, run.upperBound, isMasked),
          header.payload <= run.upperBound - position - header.count
        else {
          message = nil
          guard let next = Self.resume(view, after: position, run.upperBound, isMasked) else { break }
          position = next
          continue
        }
        let payload = position + header.count..<position + header.count + header.payload
        explained += header.count + header.payload
        position = payload.upperBound
        guard header.opcode < 8 else { continue }
        if header.opcode > 0 {
          message = []
          isSkipped = header.isCompressed
          isBinary = header.opcode == 2
        }
        guard message != nil else { continue }
        if !isSkipped, (message?.count ?? 0) + payload.count <= Self.longest {
          if header.key.isEmpty {
            message? += stream.bytes[payload]
          } else {
            for i in payload { message?.append(stream.bytes[i] ^ header.key[(i - payload.lowerBound) & 3]) }
          }
        }
        if header.isFinal { end(at: payload.upperBound - 1) }
      }
    }
    count = runs.count
    (binaryCount, compressedCount, byteCount, explainedCount) = (binary, compressed, total, explained)
    sample =
      runs.isEmpty
      ? nil
      : StreamSample(
        connection: stream.connection, direction: stream.direction, isFromStart: stream.isFromStart, bytes: bytes,
        runs: runs, starts: starts)
  }

  /// The payloads as one stream without holes, in which each message begins a segment, as analysis of stream protocols needs it.
  package var stream: StreamSample? {
    guard let sample else { return nil }
    return StreamSample(
      connection: sample.connection, direction: sample.direction, isFromStart: sample.isFromStart, bytes: sample.bytes,
      runs: [0..<sample.bytes.count], starts: sample.starts)
  }

  /// Whether the bytes are WebSocket frames, even if the request that upgraded the connection is missing.
  package var isBelieved: Bool {
    count + compressedCount >= 2 && explainedCount * 100 >= byteCount * 95
  }

  /// The end of the HTTP request or response at the beginning of a direction.
  private static func headEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
    guard bytes.starts(with: "GET ".utf8) || bytes.starts(with: "HTTP/1.1 101".utf8) else { return nil }
    var at = bytes.startIndex
    while let found = bytes[at...].prefix(64 << 10).firstIndex(of: 0x0a) {
      if bytes[found...].dropFirst().first == 0x0a { return found + 2 }
      if bytes[found...].dropFirst().starts(with: [0x0d, 0x0a]) { return found + 3 }
      at = found + 1
      if at - bytes.startIndex > 64 << 10 { return nil }
    }
    return nil
  }

  private static func header(_ bytes: [UInt8], _ at: Int, _ end: Int, _ isMasked: Bool) -> Step {
    guard end - at >= 2 else { return .cut }
    let (first, second) = (bytes[at], bytes[at + 1])
    let opcode = first & 15
    guard first & 0x30 == 0, opcode <= 2 || (8...10).contains(opcode), (second & 0x80 != 0) == isMasked,
      first & 0x40 == 0 || opcode == 1 || opcode == 2
    else { return .none }
    var payload = Int(second & 0x7f)
    var count = 2
    if opcode >= 8, first & 0x80 == 0 || payload > 125 { return .none }
    if payload >= 126 {
      let more = payload == 126 ? 2 : 8
      guard end - at >= 2 + more else { return .cut }
      let long = bytes[at + 2..<at + 2 + more].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      guard long <= UInt64(longest), long > (more == 2 ? 125 : 0xffff) else { return .none }
      payload = Int(long)
      count = 2 + more
    }
    var key: [UInt8] = []
    if isMasked {
      guard end - at >= count + 4 else { return .cut }
      key = Array(bytes[at + count..<at + count + 4])
      count += 4
    }
    return .header(
      Header(
        isFinal: first & 0x80 != 0, isCompressed: first & 0x40 != 0, opcode: opcode, key: key, count: count,
        payload: payload))
  }

  /// The next segment start from which consecutive frames lead to another start, or to the end.
  private static func resume(_ view: SampleView, after position: Int, _ end: Int, _ isMasked: Bool) -> Int? {
    var start = position
    for _ in 0..<64 {
      guard let next = view.nextStart(after: start), next < end else { return nil }
      start = next
      var place = start
      for _ in 0..<4 {
        guard case .header(let header) = header(view.bytes, place, end, isMasked),
          header.payload <= end - place - header.count
        else { break }
        place += header.count + header.payload
        if place == end || view.isStart(place) { return start }
      }
    }
    return nil
  }
}
