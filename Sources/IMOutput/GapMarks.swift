package import IMEngine
package import IMWire

/// Remembers where streams lack bytes until the next frame of the stream comes, which is the first one behind the gap.
///
/// Told of every issue and asked at every frame. Bounded: beyond `maximumCount` streams without a further frame all are
/// forgotten.
package struct GapMarks {
  /// What lies in front of a frame.
  package struct Mark {
    /// Bytes of the stream that are missing; 0 where bytes were only passed over.
    package fileprivate(set) var missing: UInt64 = 0
    /// The gaps that came before anybody knew what the connection speaks, in the order of the stream.
    package fileprivate(set) var early: [Issue] = []
    /// A frame that begins here or later stands behind the gap.
    fileprivate var end: UInt64 = 0
    /// The connection of early gaps, as its last frame told it; `nil` while none was decoded.
    fileprivate var info: ConnectionInfo?
  }

  private static let maximumCount = 16_384
  /// At most so many early gaps of a stream are kept apart; further ones add to the last.
  private static let maximumEarly = 1_024
  private var marks: [UInt64: Mark] = [:]

  /// No gaps.
  package init() {}

  /// Whether no stream has one.
  package var isEmpty: Bool { marks.isEmpty }

  /// Takes note of an issue, if it says that bytes are missing or were passed over.
  package mutating func note(_ issue: Issue, _ info: ConnectionInfo) {
    guard issue.kind == .gap || issue.kind == .resynchronised else { return }
    let profile = FlowProfileName(info.plan)
    guard profile != .unreadable else { return }
    let key = Self.key(info, issue.direction)
    if marks.count >= Self.maximumCount, marks[key] == nil { marks.removeAll(keepingCapacity: true) }
    var mark = marks[key] ?? Mark()
    mark.end = max(mark.end, issue.streamOffset &+ issue.byteCount)
    if issue.kind == .gap {
      mark.missing &+= issue.byteCount
      if profile == .unknown {
        if mark.early.count < Self.maximumEarly {
          mark.early.append(issue)
        } else {
          mark.early[mark.early.count - 1].byteCount &+= issue.byteCount
        }
      }
    }
    marks[key] = mark
  }

  /// The mark of the stream that `frame` belongs to, if the frame stands behind it. It is forgotten then.
  package mutating func take(_ frame: Frame, _ info: ConnectionInfo, _ direction: Direction) -> Mark? {
    let key = Self.key(info, direction)
    // From its first frame on it is known whose gaps they are, even if no frame follows them.
    for way in [key, key ^ 1] where marks[way]?.early.isEmpty == false { marks[way]?.info = info }
    guard let mark = marks[key], frame.streamOffset >= mark.end else { return nil }
    marks[key] = nil
    return mark
  }

  /// Takes the early gaps of decoded connections that no frame has followed, in the order of connections and streams.
  package mutating func takeRest() -> [(gap: Issue, info: ConnectionInfo)] {
    let rest = marks.filter { $1.info != nil }
    for key in rest.keys { marks[key] = nil }
    return rest.sorted { $0.key < $1.key }.flatMap { _, mark in
      mark.info.map { info in mark.early.map { ($0, info) } } ?? []
    }
  }

  /// The stream by its sender: which end is the client may turn out to be otherwise later.
  private static func key(_ info: ConnectionInfo, _ direction: Direction) -> UInt64 {
    let (a, b) = (info.peer, info.server)
    let clientIsLower = (a.address.high, a.address.low, a.port) < (b.address.high, b.address.low, b.port)
    let senderIsLower = clientIsLower == (direction == .clientToServer)
    return UInt64(info.serial) << 1 | (senderIsLower ? 0 : 1)
  }
}

/// What `ConnectionInfo.plan` says beside the index of a plan.
enum FlowProfileName {
  /// A plan reads it; none was chosen yet; none will be.
  case plan, unknown, unreadable

  init(_ plan: UInt8) { self = plan < 64 ? .plan : plan == .max ? .unknown : .unreadable }
}
