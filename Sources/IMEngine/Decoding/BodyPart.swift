/// A chunk of a frame's body, and how its profile reads it: for sinks that rewrite frames.
package struct BodyPart: Equatable, Sendable {
  /// What stands there.
  package enum Kind: Sendable {
    /// What the frame is read by: lengths, tags, bytes that are expected, numbers.
    case structure
    /// Text.
    case text
    /// Anything else.
    case bytes
    /// What fills an element up.
    case padding
  }

  /// Where it stands, from the body's first byte.
  package var range: Range<Int>
  /// What stands there.
  package var kind: Kind
}

extension ProtocolPlan {
  /// The parts of a frame's body that its type's steps and its list of elements tell; what is in none of them nobody reads.
  ///
  /// `bytes` is what the frame was read from; `body` is what `tlvs` point into. Of an inflated body only the elements are told.
  package func bodyParts(of frame: Frame, in bytes: RawSpan, body: RawSpan, tlvs: Span<TLVRef>) -> [BodyPart] {
    let owner = isVariant(frame) ? variant ?? self : self
    var parts = frame.flags.contains(.inflated) ? [] : owner.stepParts(frame, bytes)
    owner.addElements(tlvs, body, &parts)
    let plan = pointer.pointee
    if frame.kind.pointee.role == .acknowledgment, frame.bodyCount == plan.ackBodyCount {
      parts.append(BodyPart(range: 0..<frame.bodyCount, kind: .structure))
    }
    return parts
  }

  /// What the steps of the frame's type read.
  private func stepParts(_ frame: Frame, _ bytes: RawSpan) -> [BodyPart] {
    guard frame.kind.pointee.stepCount > 0, frame.start >= 0, frame.headerCount <= frame.count,
      frame.start + frame.count <= bytes.byteCount
    else { return [] }
    // A load of eight bytes may reach behind the frame.
    var copy = bytes.withUnsafeBytes { Array($0[frame.start..<frame.start + frame.count]) }
    copy += [UInt8](repeating: 0, count: RawBuffer.slack + 256)
    var moved = frame
    moved.start = 0
    var recorder = StepRecorder()
    let isOfType = pointer.runSteps(Bytes(copy.span.bytes), &moved, &recorder)
    let end = frame.count - frame.trailerCount
    var parts: [BodyPart] = []
    for (i, step) in recorder.steps.enumerated() {
      let isLast = i + 1 == recorder.steps.count
      guard isOfType || !isLast else { break }
      let next = isLast ? end : recorder.steps[i + 1].position
      add(steps(step.index), step.position - frame.headerCount, next - frame.headerCount, &parts)
    }
    return parts
  }

  private func add(_ step: PlanStep, _ from: Int, _ end: Int, _ parts: inout [BodyPart]) {
    func note(_ range: Range<Int>, _ kind: BodyPart.Kind) {
      if !range.isEmpty { parts.append(BodyPart(range: range, kind: kind)) }
    }
    guard end > from else { return }
    let count = Int(step.count)
    switch step.operation {
    case .load, .expect: note(from..<min(end, from + count), .structure)
    case .digits: note(from..<end, .structure)
    case .each: note(from..<end, .structure)
    case .text, .bytes:
      let start = min(end, from + count)
      note(from..<start, .structure)
      note(start..<end, step.operation == .text ? .text : .bytes)
    case .string, .until:
      note(from..<end - 1, .text)
      note(end - 1..<end, .structure)
    case .list:
      // The length; its elements are told by themselves.
      note(from..<min(end, from + max(1, count)), .structure)
      if count == 0 {
        var at = from + 1
        while at < min(end, from + 4) {
          note(at..<at + 1, .structure)
          at += 1
        }
      }
    case .skip, .unless, .when, .end, .status, .tlv, .refuse, .close, .settle, .at: break
    }
  }

  // MARK: Elements

  private func addElements(_ tlvs: Span<TLVRef>, _ body: RawSpan, _ parts: inout [BodyPart]) {
    let view = Bytes(body)
    for i in tlvs.indices {
      let element = tlvs[i]
      let (start, count) = (Int(element.offset), Int(element.count))
      guard start + count <= body.byteCount else { continue }
      let header = headerCount(of: element, view, start)
      parts.append(BodyPart(range: max(0, start - header)..<start, kind: .structure))
      let pad = -(header + count) & Int(pointer.pointee.tlv.paddingMask)
      if pad > 0 {
        parts.append(
          BodyPart(range: start + count..<min(body.byteCount, start + count + pad), kind: .padding))
      }
      if element.isList || count == 0 { continue }
      if pointer.pointee.tlv.shape == .formed, pointer.form(element.tag)?.kind == .pair {
        addPair(view, start, count, &parts)
      } else {
        parts.append(BodyPart(range: start..<start + count, kind: kind(of: element)))
      }
    }
  }

  /// Bytes of tag and length in front of the value at `start`.
  private func headerCount(of element: TLVRef, _ body: borrowing Bytes, _ start: Int) -> Int {
    let tlv = pointer.pointee.tlv
    let least = Int(tlv.headerCount)
    if tlv.shape == .formed {
      let hasLength = [.text, .bytes].contains(pointer.form(element.tag)?.kind)
      return least + (hasLength ? (tlv.length.mask.nonzeroBitCount + 7) / 8 : 0)
    }
    guard tlv.optional.isPresent, start >= least + Int(tlv.optionalCount) else { return least }
    let longer = least + Int(tlv.optionalCount)
    let copy = (0..<longer).map { body.u8(start - longer + $0) } + [UInt8](repeating: 0, count: RawBuffer.slack)
    let header = Bytes(copy.span.bytes)
    return tlv.optional.read(header, 0) != 0 && tlv.tag.read(header, 0) == UInt64(element.tag) ? longer : least
  }

  /// Two texts, each with its length of two bytes.
  private func addPair(_ body: borrowing Bytes, _ start: Int, _ count: Int, _ parts: inout [BodyPart]) {
    var at = start
    let end = start + count
    for _ in 0..<2 where at + 2 <= end {
      let length = min(end - at - 2, Int(body.u8(at)) << 8 | Int(body.u8(at + 1)))
      parts.append(BodyPart(range: at..<at + 2, kind: .structure))
      parts.append(BodyPart(range: at + 2..<at + 2 + length, kind: .text))
      at += 2 + length
    }
  }

  /// What the value of an element is: numbers that the plan reads, or that the profile calls numbers and does not hide.
  private func kind(of element: TLVRef) -> BodyPart.Kind { kind(ofElement: element.tag, isShort: element.count <= 8) }

  /// The same by its tag; `isShort` says that it has at most eight bytes.
  package func kind(ofElement tag: UInt32, isShort: Bool) -> BodyPart.Kind {
    let plan = pointer.pointee
    if tag == plan.identityTag { return .text }
    if [plan.statusTags.0, plan.statusTags.1, plan.keepAliveTag].contains(tag), isShort { return .structure }
    if tag == plan.receiptTag || tag == plan.deliveryTag, isShort || plan.receiptSize > 0 { return .structure }
    if tag == plan.handshakeRequest || tag == plan.handshakeAnswer, isShort { return .structure }
    guard !sensitiveTags.contains(tag) else { return .bytes }
    return switch tagTypes[tag]?.kind {
    case .unsigned, .signed, .varint, .time, .milliseconds, .seconds1900: isShort ? .structure : .bytes
    case .text: .text
    default: .bytes
    }
  }
}
