package import IMContent

/// The content of a frame, and what precedes it.
package struct ContentShape: Hashable, Sendable {
  /// The content.
  package var kind: ContentKind
  /// The maximum number of digits of the type before a JSON text, as in Socket.IO; `nil` if nothing precedes the content.
  package var lead: Int?

  /// Pseudo paths of the numbers before a content.
  static let leadType = "<lead type>"
  static let leadNumber = "<lead number>"

  init(_ kind: ContentKind, lead: Int? = nil) { (self.kind, self.lead) = (kind, lead) }

  /// The members of a frame; `nil` if it is not such a content.
  func members(_ bytes: ArraySlice<UInt8>) -> [ContentMember]? {
    guard let lead else { return MemberReader.members(of: bytes, kind) }
    var at = bytes.startIndex
    func digits(_ most: Int) -> ArraySlice<UInt8> {
      let start = at
      while at < bytes.endIndex, at - start < most, bytes[at] &- 0x30 < 10 { at += 1 }
      return bytes[start..<at]
    }
    let type = digits(lead)
    guard !type.isEmpty else { return nil }
    if at < bytes.endIndex, bytes[at] == 0x2f {
      at = bytes[at...].firstIndex(of: 0x2c).map { $0 + 1 } ?? bytes.endIndex
    }
    let number = digits(19)
    var found = [ContentMember(path: Self.leadType, value: .text(Array(type)))]
    if !number.isEmpty { found.append(ContentMember(path: Self.leadNumber, value: .text(Array(number)))) }
    guard at < bytes.endIndex else { return found }
    // A message of digits and plain text is not JSON, except for the few that Engine.IO itself sends.
    guard let members = MemberReader.members(of: bytes[at...], kind) else {
      return bytes[at...].starts(with: "probe".utf8) || bytes[at] == 0x22 ? found : nil
    }
    return found + members
  }
}

/// The frames that a content framing finds in samples.
struct ContentWalk {
  /// One frame.
  struct Frame {
    /// The index of the sample.
    var sample: Int
    var extent: ContentFraming.Extent
    /// The members; `nil` if the content does not close.
    var members: [ContentMember]?
  }

  private(set) var frames: [Frame] = []
  /// The number of bytes examined, and of those in frames whose content closes.
  private(set) var byteCount = 0, explainedCount = 0
  /// The number of positions at which an expected frame did not begin, of runs that end inside a frame, and of frames whose content does not close.
  private(set) var errors = 0, cuts = 0, misfits = 0
  /// The number of counted segment starts at which a frame begins, and of all counted segment starts.
  private(set) var hits = 0, chances = 0
  /// Whether the walk stopped early because hardly anything matched.
  private(set) var isAbandoned = false

  private let framing: ContentFraming
  private let shape: ContentShape

  init(_ samples: [SampleView], _ framing: ContentFraming, _ shape: ContentShape, frameLimit: Int = 10_000) {
    (self.framing, self.shape) = (framing, shape)
    for (index, sample) in samples.enumerated() where !isAbandoned && frames.count < frameLimit {
      walk(sample, index, frameLimit)
    }
  }

  private mutating func walk(_ sample: SampleView, _ index: Int, _ frameLimit: Int) {
    var begins: Set<Int> = []
    for run in sample.runs {
      byteCount += run.count
      var position = run.lowerBound
      let isBeginning = sample.isFromStart && position == 0 || framing.isOfMessages
      if !isBeginning, let start = resume(sample, after: position - 1, run.upperBound) {
        // Bytes before it may be the end of a frame whose beginning is missing.
        byteCount -= start - position
        position = start
      }
      while position < run.upperBound {
        guard frames.count < frameLimit else {
          byteCount -= run.upperBound - position
          break
        }
        switch framing.step(sample.bytes, position, run.upperBound) {
        case .frame(let step):
          begins.insert(position)
          let extent = withTail(step, sample, run.upperBound)
          let members = extent.isBeat ? [] : shape.members(sample.bytes[extent.content])
          frames.append(Frame(sample: index, extent: extent, members: members))
          if members != nil { explainedCount += extent.frame.count } else { misfits += 1 }
          position = extent.frame.upperBound
          continue
        case .cut:
          guard let start = resume(sample, after: position, run.upperBound) else {
            cuts += 1
            // The end of the sample cuts frames, too.
            byteCount -= run.upperBound == sample.bytes.count ? run.upperBound - position : 0
            position = run.upperBound
            continue
          }
          errors += 1
          position = start
        case .none:
          errors += 1
          position = sample.nextStart(after: position).map { min($0, run.upperBound) } ?? run.upperBound
        }
        if errors + misfits > 8 + frames.count / 4 {
          isAbandoned = true
          return
        }
      }
    }
    let firsts = Set(sample.runs.map(\.lowerBound))
    for start in sample.telling where !firsts.contains(start) {
      chances += 1
      if begins.contains(start) { hits += 1 }
    }
  }

  /// The next of a few segment starts that two consecutive frames follow, or one frame up to the end.
  private func resume(_ sample: SampleView, after position: Int, _ end: Int) -> Int? {
    var start = position
    for _ in 0..<8 {
      guard let next = sample.nextStart(after: start), next < end else { return nil }
      start = next
      guard case .frame(let first) = framing.step(sample.bytes, start, end), closes(sample, first) else { continue }
      if first.frame.upperBound >= end { return start }
      if case .frame(let second) = framing.step(sample.bytes, first.frame.upperBound, end), closes(sample, second) {
        return start
      }
    }
    return nil
  }

  /// A frame, extended by the line feeds after it in the same packet.
  private func withTail(_ extent: ContentFraming.Extent, _ sample: SampleView, _ end: Int) -> ContentFraming.Extent {
    guard case .blocks(let ends, _, _) = framing, !ends.isEmpty, !extent.isBeat else { return extent }
    var stop = extent.frame.upperBound
    while stop < end, [0x0a, 0x0d].contains(sample.bytes[stop]), !sample.isStart(stop) { stop += 1 }
    return ContentFraming.Extent(frame: extent.frame.lowerBound..<stop, content: extent.content)
  }

  private func closes(_ sample: SampleView, _ extent: ContentFraming.Extent) -> Bool {
    extent.isBeat || shape.members(sample.bytes[extent.content]) != nil
  }

  /// The share of bytes in frames whose content closes, 0 to 1.
  var explained: Double { byteCount > 0 ? Double(explainedCount) / Double(byteCount) : 0 }

  /// Whether the framing explains enough to be accepted.
  var isBelieved: Bool {
    !isAbandoned && frames.count >= 4 && explained >= 0.9 && misfits * 20 <= frames.count
      && (errors + cuts) * 5 <= frames.count + 10
  }
}

extension ContentFraming {
  /// Whether frames are WebSocket messages, or parts of them.
  var isOfMessages: Bool {
    switch self {
    case .message, .records: true
    default: false
    }
  }
}
