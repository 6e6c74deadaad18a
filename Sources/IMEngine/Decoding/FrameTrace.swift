/// Hears of the steps that a body's reading takes.
protocol StepTracer {
  /// The step with the index `step` is about to be taken at `position`.
  mutating func reached(_ step: Int, at position: Int)
}

/// Nobody listens.
struct NoTracer: StepTracer {
  @inline(__always)
  mutating func reached(_ step: Int, at position: Int) {}
}

/// Remembers the steps.
struct StepRecorder: StepTracer {
  var steps: [(index: Int, position: Int)] = []
  mutating func reached(_ step: Int, at position: Int) { steps.append((step, position)) }
}

/// A walk through one frame as its plan reads it: what stands where, and, where it is no frame or its body not of its type, what
/// speaks against it. For whoever writes a profile; nothing of it is made while a capture is decoded.
package struct FrameTrace: Sendable {
  /// One part of a frame.
  package struct Part: Equatable, Sendable {
    /// The field's name in a profile, or the step's.
    package var name: String
    /// Its first byte, from the frame's first, and its bytes.
    package var offset: Int, count: Int
    /// The number that it is; `nil` for what is none.
    package var value: UInt64?
    /// The line of the profile that says so, where it is known.
    package var line: Int?
  }

  /// The parts, in the order in which they are read.
  package var parts: [Part] = []
  /// What speaks against the frame; `nil` where nothing does.
  package var refusal: String?
  /// The line of the profile that refused, where it is known.
  package var line: Int?
}

extension ProtocolPlan {
  /// The walk through a frame that was decoded; `bytes` is what it was read from. Each side may have its own layout.
  package func trace(_ frame: Frame, in bytes: RawSpan, isFromServer: Bool = false) -> FrameTrace {
    var trace = FrameTrace()
    guard frame.start >= 0, frame.count >= 0, frame.headerCount <= frame.count,
      frame.start + frame.count <= bytes.byteCount
    else { return trace }
    // A load of eight bytes may reach behind the frame.
    var copy = bytes.withUnsafeBytes { Array($0[frame.start..<frame.start + frame.count]) }
    copy += [UInt8](repeating: 0, count: RawBuffer.slack + 256)
    var moved = frame
    moved.start = 0
    let owner = isVariant(frame) ? variant ?? self : self
    owner.walk(&moved, Bytes(copy.span.bytes), &trace, owner.pointer.layout(ofServer: isFromServer))
    return trace
  }

  /// What stands at the beginning of `bytes`, where a frame was looked for, and why it is none.
  package func trace(notAFrame bytes: [UInt8]) -> FrameTrace {
    var trace = FrameTrace()
    let plan = pointer.pointee
    guard !plan.framing.isDelimited else {
      trace.refusal =
        "the bytes between delimiters are not a frame: their length, escapes or magic number are wrong"
      return trace
    }
    let end = bytes.count
    let padded = bytes + [UInt8](repeating: 0, count: RawBuffer.slack + 256)
    let view = Bytes(padded.span.bytes)
    guard end >= Int(plan.headerCount) else {
      trace.refusal = "\(end) bytes are less than a header of \(plan.headerCount)"
      return trace
    }
    var frame = Frame(kind: plan.unknownKind)
    header(view, &trace, pointer)
    let head = view.u64(0)
    guard head & plan.signatureMask == plan.magic & plan.signatureMask else {
      trace.refusal = "the magic number does not match"
      return trace
    }
    guard head & plan.magicMask == plan.magic else {
      trace.refusal = "the version does not match"
      return trace
    }
    let type = plan.type.read(view, 0)
    let kind = pointer.kind(type)
    switch pointer.read(view, 0, end, &frame) {
    case .frame:
      guard pointer.open(view, &frame) else {
        refuse(frame, view, &trace)
        return trace
      }
      trace.refusal =
        frame.kind == plan.unknownKind
        ? "its type is unknown" : "it could be a frame, but there is too little evidence for it and for what follows"
    case .needMore: trace.refusal = "its length of \(frame.count) bytes goes beyond the data"
    case .notAFrame:
      trace.line = line(ofType: kind.pointee)
      if head & kind.pointee.headMask != kind.pointee.headValue {
        trace.refusal = "the flags of the first byte are not those of \(name(kind.pointee))"
      } else if plan.lengthRule == .field,
        plan.length.read(view, 0) &+ UInt64(bitPattern: Int64(plan.lengthAdd)) > UInt64(plan.maximumBody)
      {
        trace.line = nil
        trace.refusal = "the length exceeds the maximum, or is less than a header"
      } else if frame.headerCount > 0, frame.count - frame.headerCount < Int(plan.framing.trailerCount) {
        trace.line = nil
        trace.refusal = "the length is less than that of the trailer"
      } else if kind.pointee.minimumBody > kind.pointee.maximumBody {
        trace.refusal = "\(name(kind.pointee)) is not known on this connection"
      } else {
        trace.refusal = "\(name(kind.pointee)) has a body of a different length"
      }
    }
    return trace
  }

  private func name(_ kind: FrameKind) -> String {
    Int(kind.index) < typeNames.count ? "type '\(typeNames[Int(kind.index)])'" : "an unknown type"
  }

  // MARK: Parts

  private func header(
    _ bytes: borrowing Bytes, _ trace: inout FrameTrace, _ layout: UnsafePointer<Plan>, _ extent: GeneralExtent? = nil
  ) {
    let plan = layout.pointee
    // A message may have a header of its own after what begins it.
    let origin = extent?.header ?? 0
    func fixed(_ name: String, _ mask: UInt64) {
      guard mask != 0 else { return }
      let first = mask.leadingZeroBitCount / 8
      let last = 7 - mask.trailingZeroBitCount / 8
      let value = bytes.u64(origin) >> UInt64((7 - last) * 8) & (.max >> UInt64(64 - (last + 1 - first) * 8))
      trace.parts.append(FrameTrace.Part(name: name, offset: origin + first, count: last + 1 - first, value: value))
    }
    fixed("magic", plan.signatureMask)
    fixed("version", plan.magicMask & ~plan.signatureMask)
    var fields: [(String, Field)] = [
      ("length", plan.length), ("type", plan.type), ("status", plan.status), ("sequence", plan.sequence),
      ("session", plan.session), ("time", plan.time), ("compression", plan.compression),
      ("encryption", plan.encryption), ("duplicate", plan.duplicate), ("checksum", plan.checksum),
    ]
    guard plan.framing.kind != .line else { return }
    // Numbers that are not to be shown are not shown here either.
    func isHidden(_ name: String) -> Bool { name == "session" && plan.framing.hidesSession }
    if let extent, let general = plan.general {
      fields.removeAll { $0.0 == "type" }
      for i in 0..<Int(general.pointee.partCount) {
        if case .field(let field) = general.pointee.parts[i] { fields.append(("type", field)) }
      }
      fields += [("channel", general.pointee.channel), ("duplicate", general.pointee.duplicate)]
      if general.pointee.wideCount > 0 {
        let at = layout.base(of: Int(general.pointee.wideOffset), extent, general) + Int(general.pointee.wideOffset)
        trace.parts.append(
          FrameTrace.Part(name: "sequence", offset: at, count: Int(general.pointee.wideCount), value: nil))
      }
      if let range = layout.lengthPlace(extent, general) {
        trace.parts.append(FrameTrace.Part(name: "length", offset: range.lowerBound, count: range.count, value: nil))
      }
      for (name, field) in fields where field.isPresent {
        guard let value = layout.read(field, bytes, extent, general) else { continue }
        let place = field.place
        let offset = layout.base(of: Int(field.offset), extent, general) + place.offset
        trace.parts.append(
          FrameTrace.Part(name: name, offset: offset, count: place.count, value: isHidden(name) ? nil : value))
      }
      trace.parts.sort { $0.offset < $1.offset }
      return
    }
    // Without bounds, nothing tells where the fields of such a frame are.
    guard plan.general == nil else { return }
    for (name, field) in fields where field.isPresent {
      let place = field.place
      trace.parts.append(
        FrameTrace.Part(
          name: name, offset: place.offset, count: place.count, value: isHidden(name) ? nil : field.read(bytes, 0)))
    }
    trace.parts.sort { $0.offset < $1.offset }
  }

  /// The bounds of a frame at the beginning of `bytes` whose header the general reader reads; `nil` for any other frame.
  private func extent(
    _ frame: Frame, _ bytes: borrowing Bytes, _ layout: UnsafePointer<Plan>
  ) -> GeneralExtent? {
    // An inflated body has the fields, and they are not among these bytes.
    guard layout.pointee.general != nil, !frame.flags.contains(.inflated),
      [.counted, .message, .terminated].contains(layout.pointee.framing.kind)
    else { return nil }
    let values = ContentValues()
    guard
      case .frame(let extent) = layout.nextGeneral(
        bytes, 0, frame.count, message: 0..<frame.count, values.pointer), !extent.isForeign,
      extent.end == frame.count, extent.body == frame.headerCount
    else { return nil }
    return extent
  }

  private func walk(
    _ frame: inout Frame, _ bytes: borrowing Bytes, _ trace: inout FrameTrace, _ layout: UnsafePointer<Plan>
  ) {
    header(bytes, &trace, layout, extent(frame, bytes, layout))
    let body = frame.headerCount
    if pointer.pointee.lengthRule == .varint {
      let at = Int(pointer.pointee.lengthOffset)
      trace.parts.append(
        FrameTrace.Part(name: "length", offset: at, count: max(0, body - at), value: UInt64(max(0, frame.bodyCount))))
    }
    if !steps(frame, bytes, &trace) { return }
    let end = frame.count - frame.trailerCount
    if trace.parts.allSatisfy({ $0.offset < body }), end > body {
      trace.parts.append(FrameTrace.Part(name: "body", offset: body, count: end - body))
    }
    if frame.trailerCount > 0 {
      trace.parts.append(FrameTrace.Part(name: "trailer", offset: end, count: frame.trailerCount))
    }
  }

  /// The steps of the frame's type; false where one of them refuses.
  private func steps(_ frame: Frame, _ bytes: borrowing Bytes, _ trace: inout FrameTrace) -> Bool {
    let kind = frame.kind.pointee
    guard kind.stepCount > 0 else { return true }
    var copy = frame
    var recorder = StepRecorder()
    let isOfType = pointer.runSteps(bytes, &copy, &recorder)
    let end = frame.count - frame.trailerCount
    for (i, step) in recorder.steps.enumerated() {
      let operation = steps(step.index)
      let isLast = i + 1 == recorder.steps.count
      let next = isLast ? (isOfType ? end : step.position) : recorder.steps[i + 1].position
      if [.unless, .when, .status, .refuse, .end, .settle].contains(operation.operation), !(isLast && !isOfType) {
        continue
      }
      let count = max(0, next - step.position)
      let isNumber = [.load, .expect].contains(operation.operation) && (1...8).contains(Int(operation.count))
      let width = Int(operation.count)
      let value: UInt64? =
        isNumber && step.position + width <= end ? bytes.u64(step.position) >> UInt64(64 - width * 8) : nil
      trace.parts.append(
        FrameTrace.Part(
          name: Self.words(operation), offset: step.position, count: count, value: value, line: stepLine(step.index)))
    }
    guard !isOfType, let last = recorder.steps.last else { return isOfType }
    let operation = steps(last.index)
    trace.line = stepLine(last.index)
    trace.refusal =
      "step \(last.index - Int(kind.firstStep) + 1) of \(name(kind)), \(Self.words(operation)), at byte \(last.position): \(end - last.position) bytes are left"
    return false
  }

  private func refuse(_ frame: Frame, _ bytes: borrowing Bytes, _ trace: inout FrameTrace) {
    _ = steps(frame, bytes, &trace)
  }

  private static func words(_ step: PlanStep) -> String {
    let into = step.register == .none ? "" : " into \(step.register)"
    return switch step.operation {
    case .skip: "skip"
    case .load: "load\(into)"
    case .text: "text\(into)"
    case .expect: "expect"
    case .unless: "unless"
    case .when: "when"
    case .string: "string\(into)"
    case .bytes: "bytes"
    case .end: "optional"
    case .status: "status"
    case .tlv, .list: "tlv"
    case .refuse: "no expect"
    case .each: "each\(into)"
    case .close: "end"
    case .settle: "load"
    case .at: "at\(into)"
    case .digits: "digits\(into)"
    case .until: "until\(into)"
    }
  }
}

extension Field {
  /// The bytes in which its bits stand.
  var place: (offset: Int, count: Int) {
    let low = Int(shift)
    let high = low + 63 - mask.leadingZeroBitCount
    let first = littleEndian ? low / 8 : 7 - high / 8
    let last = littleEndian ? high / 8 : 7 - low / 8
    return (Int(offset) + first, last + 1 - first)
  }
}
