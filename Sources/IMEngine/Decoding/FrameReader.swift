import IMWire

/// What the bytes at a place are.
enum ReadResult {
  /// A whole frame; `frame` describes it.
  case frame
  /// The beginning of one; `frame.pointee.count` bytes are needed to go on.
  case needMore
  /// Not a frame.
  case notAFrame
}

// Methods of the pointer, not of the plan: calling one of the plan's own would copy its half kilobyte to the stack.
extension UnsafePointer<Plan> {
  /// Reads the header at `offset`. All that is loaded beyond `end` is slack.
  @inline(__always)
  func read(_ bytes: borrowing Bytes, _ offset: Int, _ end: Int, _ frame: UnsafeMutablePointer<Frame>) -> ReadResult {
    #if HARDWIRED
      if true { return readHardWired(bytes, offset, end, frame) }
    #endif
    let available = end &- offset
    let header = Int(pointee.headerCount)
    guard available >= header else {
      frame.pointee.count = header
      return .needMore
    }
    let head = bytes.u64(offset)
    guard head & pointee.magicMask == pointee.magic else { return .notAFrame }
    frame.pointee.start = offset
    if pointee.lengthRule == .field {
      let body = pointee.length.read(bytes, offset) &+ UInt64(bitPattern: Int64(pointee.lengthAdd))
      guard body <= UInt64(pointee.maximumBody) else { return .notAFrame }
      frame.pointee.headerCount = header
      frame.pointee.count = header &+ Int(truncatingIfNeeded: body)
    } else {
      let result = readVarint(bytes, offset, available, longest: Int(pointee.maximumBody), frame)
      if result != .frame { return result }
    }
    frame.pointee.type = pointee.type.read(bytes, offset)
    frame.pointee.kind = kind(frame.pointee.type)
    let kind = frame.pointee.kind
    guard head & kind.pointee.headMask == kind.pointee.headValue else { return .notAFrame }
    let body = frame.pointee.count &- frame.pointee.headerCount
    guard body >= Int(kind.pointee.minimumBody), body <= Int(kind.pointee.maximumBody) else { return .notAFrame }
    frame.pointee.flags = []
    if pointee.sequence.isPresent {
      frame.pointee.sequence = pointee.sequence.read(bytes, offset)
      frame.pointee.flags = .sequence
    }
    frame.pointee.session = pointee.session.read(bytes, offset)
    return available >= frame.pointee.count ? .frame : .needMore
  }

  /// The length of MQTT and its like: seven bits a byte, least significant first, at most four bytes.
  @inline(never)
  func readVarint(
    _ bytes: borrowing Bytes, _ offset: Int, _ available: Int, longest: Int, _ frame: UnsafeMutablePointer<Frame>
  ) -> ReadResult {
    var value = 0
    var position = Int(pointee.lengthOffset)
    for shift in stride(from: 0, to: 28, by: 7) {
      guard position < available else {
        frame.pointee.count = position + 1
        // Whatever type this is, its header is not complete.
        frame.pointee.headerCount = position
        return .needMore
      }
      let byte = bytes.u8(offset + position)
      value |= Int(byte & 0x7f) << shift
      position += 1
      if byte & 0x80 == 0 {
        guard value <= longest else { return .notAFrame }
        frame.pointee.headerCount = position
        frame.pointee.count = position + value + Int(pointee.lengthAdd)
        return .frame
      }
    }
    return .notAFrame
  }

  /// Verifies the checksum and runs the type's steps; the frame is whole. False when the body cannot be of its type.
  @inline(__always)
  func open(_ bytes: borrowing Bytes, _ frame: UnsafeMutablePointer<Frame>) -> Bool {
    #if HARDWIRED
      if true { return openHardWired(bytes, frame) }
    #endif
    frame.pointee.flags.insert(.opened)
    if pointee.checksumRule == .crc32 {
      let body = frame.pointee.count &- frame.pointee.headerCount
      frame.pointee.checksum = pointee.checksum.read(bytes, frame.pointee.start)
      if body == 0 {
        frame.pointee.checksumStatus = frame.pointee.checksum == 0 ? .none : .bad
      } else {
        let sum = crc32(bytes, frame.pointee.start &+ frame.pointee.headerCount, body)
        let field = UInt32(truncatingIfNeeded: frame.pointee.checksum)
        frame.pointee.checksumStatus =
          sum == field ? .be : pointee.checksumEitherOrder && sum == field.byteSwapped ? .le : .bad
      }
    } else if pointee.checksumRule == .general {
      openGeneral(bytes, frame)
    } else {
      frame.pointee.checksumStatus = .unchecked
    }
    forgetSteps(frame)
    return frame.pointee.kind.pointee.stepCount == 0 || runSteps(bytes, frame)
  }

  /// Runs the type's steps over the body; false when it cannot be of its type.
  @inline(never)
  func runSteps(_ bytes: borrowing Bytes, _ frame: UnsafeMutablePointer<Frame>) -> Bool {
    var nobody = NoTracer()
    return runSteps(bytes, frame, &nobody)
  }

  /// The same, and tells `tracer` of each step in front of it.
  @inline(__always)
  func runSteps<Tracer: StepTracer>(
    _ bytes: borrowing Bytes, _ frame: UnsafeMutablePointer<Frame>, _ tracer: inout Tracer
  ) -> Bool {
    let head = bytes.u64(frame.pointee.start)
    let end = frame.pointee.start + frame.pointee.count - frame.pointee.trailerCount
    let body = frame.pointee.start + frame.pointee.headerCount
    var position = body
    // Until its place is known, there is no list.
    frame.pointee.listOffset = end - body
    frame.pointee.listEnd = 0
    frame.pointee.secondListEnd = 0
    // What a step has put aside for others to look at.
    var bits: UInt64 = 0
    // Whether all texts are plausible. In a stream that is in step a frame is one also without that, and has its number.
    var isPlausible = true
    // Where the header has no number, that of the frame before may still stand there.
    if !pointee.sequence.isPresent { frame.pointee.flags.remove(.sequence) }
    var i = Int(frame.pointee.kind.pointee.firstStep)
    let last = i + Int(frame.pointee.kind.pointee.stepCount)
    while i < last {
      let step = pointee.steps[i]
      tracer.reached(i, at: position)
      i += 1
      let count = Int(step.count)
      switch step.operation {
      case .unless, .when:
        let word = step.register == .bits ? bits : head
        if (word & step.a == step.b) == (step.operation == .unless) { i += count }
      case .skip:
        guard end - position >= count else { return false }
        position += count
      case .refuse:
        guard !stands(step, bytes, position, end) else { return false }
      case .list:
        guard let list = list(bytes, position, end, width: count), fits(bytes, list.start, list.end) != nil else {
          return isShort(frame)
        }
        note(list: list, body, frame)
        position = list.end
      case .each:
        guard readStatuses(bytes, position, end, width: count, frame) else { return false }
        position = end
      case .close:
        guard position == end else { return false }
      case .settle: frame.pointee.flags.insert(.settlesVariant)
      case .at: continue
      case .load, .expect:
        guard end - position >= count, count <= 8, count > 0 else { return false }
        let value = bytes.u64(position) >> UInt64(64 - count * 8)
        position += count
        if step.operation == .load {
          let number = step.a == 0 ? value : rewritten(value, step)
          if step.register == .bits { bits = number } else { put(number, step.register, frame) }
        } else if value & step.b == step.a {
          while i < last, pointee.steps[i].operation == .expect { i += 1 }
        } else if i < last, pointee.steps[i].operation == .expect {
          position -= count
        } else {
          return false
        }
      case .text:
        guard end - position >= count, count <= 4, count > 0 else { return false }
        let length = Int(truncatingIfNeeded: bytes.u64(position) >> UInt64(64 - count * 8))
        position += count
        guard end - position >= length, UInt64(length) >= step.a else { return false }
        if isPlausibleText(bytes, position, length) {
          note(step.register, position, length, frame)
        } else {
          isPlausible = false
        }
        position += length
      case .string:
        let length = textCount(bytes, position, min(count, end - position))
        guard length >= 0 else { return isShort(frame) }
        note(step.register, position, length, frame)
        position += length + 1
      case .bytes:
        guard end - position >= count, count <= 4, count > 0 else { return isShort(frame) }
        let length = Int(truncatingIfNeeded: bytes.u64(position) >> UInt64(64 - count * 8))
        position += count
        guard end - position >= length else { return isShort(frame) }
        position += length
      case .end:
        if position == end {
          frame.pointee.listOffset = position - body
          return isPlausible
        }
      case .status:
        // The general reader has already read it, if the frame reaches that far.
        if pointee.general == nil { put(pointee.status.read(bytes, frame.pointee.start), .status, frame) }
      case .digits:
        var number: UInt64 = 0
        let first = position
        while position < end, position - first < min(count, 19), bytes.u8(position) &- 0x30 < 10 {
          number = number &* 10 &+ UInt64(bytes.u8(position) &- 0x30)
          position += 1
        }
        guard position > first else { return false }
        put(number, step.register, frame)
      case .until:
        guard let stop = bytes.find(position, end, UInt32(truncatingIfNeeded: step.a), 1) else { return false }
        note(text: position..<stop, step.register, bytes, frame)
        position = stop + 1
      case .tlv:
        frame.pointee.listOffset = position - body
        return isPlausible
      }
    }
    return isPlausible
  }

  /// A number that is not written as a big-endian one.
  private func rewritten(_ value: UInt64, _ step: PlanStep) -> UInt64 {
    if step.a == PlanStep.bcd { return decimal(value) }
    let number = step.a == PlanStep.shifted ? value : value.byteSwapped >> UInt64(64 - Int(step.count) * 8)
    return number >> (step.b & 63)
  }

  private func isShort(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    frame.pointee.flags.insert(.malformed)
    return false
  }

  /// Bytes in front of the zero byte that ends a text, which is one of `room` at `offset`; -1 where there is none.
  func textCount(_ bytes: borrowing Bytes, _ offset: Int, _ room: Int) -> Int {
    for i in 0..<max(0, room) where bytes.u8(offset + i) == 0 { return i }
    return -1
  }

  func note(
    _ register: Frame.Register, _ offset: Int, _ count: Int, _ frame: UnsafeMutablePointer<Frame>
  ) {
    if register == .identity {
      frame.pointee.identityOffset = offset - frame.pointee.start
      frame.pointee.identityCount = count
    } else if register == .subject {
      frame.pointee.subjectOffset = offset - frame.pointee.start
      frame.pointee.subjectCount = count
    }
  }

  /// Records a text: its position, or a number that distinguishes frames.
  private func note(
    text: Range<Int>, _ register: Frame.Register, _ bytes: borrowing Bytes, _ frame: UnsafeMutablePointer<Frame>
  ) {
    switch register {
    case .none: break
    case .identity, .subject: note(register, text.lowerBound, text.count, frame)
    default: put(bytes.span.withUnsafeBytes { raw in ContentNumber.of(raw[text]) }, register, frame)
    }
  }

  func put(_ value: UInt64, _ register: Frame.Register, _ frame: UnsafeMutablePointer<Frame>) {
    switch register {
    case .sequence:
      frame.pointee.sequence = value
      frame.pointee.flags.insert(.sequence)
    case .status:
      frame.pointee.status = value
      frame.pointee.flags.insert(.status)
    case .keepAlive: frame.pointee.keepAlive = value
    case .answered:
      frame.pointee.answered = value
      frame.pointee.flags.insert(.answered)
    case .reference:
      frame.pointee.answered = value
      frame.pointee.flags.insert(.reference)
    case .multiple: if value & 1 != 0 { frame.pointee.flags.insert(.multiple) }
    case .last:
      frame.pointee.last = value
      frame.pointee.flags.insert(.last)
    case .none, .identity, .subject, .bits: break
    }
  }

  /// Names and topics hold no control characters; random bytes usually do.
  private func isPlausibleText(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) -> Bool {
    !holdsControl(bytes, offset, min(count, 256))
  }

  /// Whether the header at `offset` says that the body is neither compressed nor encrypted.
  @inline(__always)
  func isPlain(_ bytes: borrowing Bytes, _ offset: Int) -> Bool {
    #if HARDWIRED
      if true { return isPlainHardWired(bytes, offset) }
    #endif
    return bytes.load(offset &+ Int(pointee.plainOffset), as: UInt64.self) & pointee.plainMask == 0
      || isReadable(bytes, offset)
  }

  @inline(never)
  private func isReadable(_ bytes: borrowing Bytes, _ offset: Int) -> Bool {
    !(pointee.compression.isPresent && pointee.compression.read(bytes, offset) == pointee.zlibValue)
      && !(pointee.encryption.isPresent && pointee.encryption.read(bytes, offset) >= pointee.encryptedFrom)
  }

  /// How many bits of proof an opened frame gives that it is one.
  func evidence(_ frame: UnsafePointer<Frame>) -> Int {
    var bits = Int(pointee.magicEvidence) + Int(frame.pointee.kind.pointee.evidence)
    switch frame.pointee.checksumStatus {
    case .be, .le, .none: bits += Int(pointee.checksumEvidence)
    case .bad, .unchecked: break
    }
    if frame.pointee.subjectCount > 0 { bits += 12 }
    if frame.pointee.identityCount > 0 { bits += 8 }
    let first = Int(frame.pointee.kind.pointee.firstStep)
    for i in first..<first + Int(frame.pointee.kind.pointee.stepCount) where pointee.steps[i].operation == .expect {
      bits += pointee.steps[i].b.nonzeroBitCount
      break
    }
    return bits
  }
}

extension UnsafePointer<Plan> {
  /// Bits of proof that the frame `probe` at `at` is one, of a plan without magic number and checksum: a type that is known,
  /// a status as it has to be, fields that fit the body, elements that fill it to its last byte. Only what stands before
  /// `end` is looked at, and `nil` says that it is no frame.
  ///
  /// Values of 32 bits are mostly small, so a type that is known proves less than its width.
  func weighFrame(_ bytes: borrowing Bytes, _ probe: inout Frame, _ at: Int, _ end: Int) -> Int? {
    probe.start = at
    probe.type = pointee.type.read(bytes, at)
    probe.kind = kind(probe.type)
    let kind = probe.kind.pointee
    guard kind.index != FrameKind.unknownIndex, bytes.u64(at) & kind.headMask == kind.headValue,
      probe.hasLength(of: kind)
    else { return nil }
    var bits = Int(pointee.magicEvidence) + Int(pointee.typeEvidence) + Int(kind.evidence)
    let padding = Int(pointee.tlv.paddingMask)
    guard probe.count & padding == 0 else { return nil }
    bits += padding.nonzeroBitCount
    if pointee.status.isPresent {
      let status = pointee.status.read(bytes, at)
      // What asks has no status yet.
      guard status == 0 || kind.role == .acknowledgment else { return nil }
      bits += status == 0 ? 8 : status < 65_536 ? 4 : 0
    }
    return weighBody(bytes, probe, end).map { bits + $0 }
  }

  /// What the body's fields and elements add to that.
  func weighBody(_ bytes: borrowing Bytes, _ probe: borrowing Frame, _ end: Int) -> Int? {
    let kind = probe.kind.pointee
    let head = bytes.u64(probe.start)
    let last = probe.start + probe.count - probe.trailerCount
    var position = probe.start + probe.headerCount
    var bits = 0
    var loaded: UInt64 = 0
    var i = Int(kind.firstStep)
    let steps = i + Int(kind.stepCount)
    while i < steps {
      let step = pointee.steps[i]
      let count = Int(step.count)
      i += 1
      switch step.operation {
      case .status, .settle, .at: continue
      case .refuse, .list, .each, .close:
        guard let weight = weigh(step, bytes, at: &position, last: last, end: end) else { return nil }
        bits += weight
      case .tlv: return bits + weighList(bytes, position, last, end)
      case .digits:
        let first = position
        while position < min(last, end), position - first < count, bytes.u8(position) &- 0x30 < 10 { position += 1 }
        if position == end, end < last { return bits }
        guard position > first else { return nil }
        bits += 4
        continue
      case .until:
        guard let stop = bytes.find(position, min(last, end), UInt32(truncatingIfNeeded: step.a), 1) else {
          return end < last ? bits : nil
        }
        position = stop + 1
        continue
      case .unless, .when:
        let word = step.register == .bits ? loaded : head
        if (word & step.a == step.b) == (step.operation == .unless) { i += count }
        continue
      case .end:
        if position == last { return bits + 8 }
        continue
      case .string:
        let room = min(count, last - position)
        let length = textCount(bytes, position, min(room, end - position))
        if length < 0 { return room > end - position ? bits : nil }
        guard !holdsControl(bytes, position, min(length, 256)) else { return nil }
        bits += 2 + min(length, 8)
        position += length + 1
      case .skip, .load, .expect, .text, .bytes:
        let isValue = step.operation != .skip
        guard last - position >= count else { return nil }
        guard end - position >= count else { return bits }
        let value = isValue && count > 0 && count <= 8 ? bytes.u64(position) >> UInt64(64 - count * 8) : 0
        position += count
        if step.register == .bits { loaded = value }
        if step.operation == .text || step.operation == .bytes {
          guard value <= UInt64(last - position), step.operation == .bytes || value >= step.a else { return nil }
          if step.operation == .text, holdsControl(bytes, position, min(Int(value), end - position, 256)) { return nil }
          position += Int(value)
        } else if step.operation == .expect, value & step.b == step.a {
          bits += step.b.nonzeroBitCount
          while i < steps, pointee.steps[i].operation == .expect { i += 1 }
        } else if step.operation == .expect {
          guard i < steps, pointee.steps[i].operation == .expect else { return nil }
          position -= count
        }
      }
      guard position <= end else { return bits }
    }
    if kind.stepCount == 0, !kind.flags.contains(.noTLV) { return weighList(bytes, position, last, end) }
    // Fields that end where their body does.
    return bits + (kind.stepCount > 0 && position == last && kind.evidence == 0 ? 8 : 0)
  }

  /// Bits of proof that a TLV list stands between `position` and `last`: none, unless it is there to its end and fits.
  func weighList(_ bytes: borrowing Bytes, _ position: Int, _ last: Int, _ end: Int) -> Int {
    guard pointee.tlv.shape != .none, last <= end else { return 0 }
    let plan = pointee.tlv
    let first = position
    var position = position
    var found = 0
    while position < last, found < 256 {
      let tag = plan.tag.read(bytes, position)
      let isLonger = plan.optional.isPresent && plan.optional.read(bytes, position) != 0
      let header = Int(plan.headerCount) + (isLonger ? Int(plan.optionalCount) : 0)
      guard header > 0, last - position >= header else { return 0 }
      var size = plan.length.read(bytes, position)
      if plan.lengthCountsHeader {
        guard size >= UInt64(header) else { return 0 }
        size -= UInt64(header)
      }
      position += header
      guard size <= UInt64(last - position) else { return 0 }
      position = min(last, position + Int(size) + (-(header + Int(size)) & Int(plan.paddingMask)))
      // Zeros are common.
      if tag != 0 || size != 0 { found += 1 }
    }
    if found == 0 { return position == first ? 8 : 0 }
    return min(24, 12 + 4 * found)
  }
}

/// Whether one of `count` bytes at `offset` is an ASCII control character. Eight bytes at a time; slack stands behind them.
func holdsControl(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) -> Bool {
  let ones: UInt64 = 0x0101_0101_0101_0101
  var found: UInt64 = 0
  var i = 0
  while i < count {
    // What stands behind the last byte counts as a space.
    let left = UInt64(truncatingIfNeeded: min(8, count - i)) &* 8
    let keep = UInt64.max &<< (64 - left)
    let word = bytes.u64(offset + i) & keep | (0x20 &* ones) & ~keep
    let delete = word ^ (0x7f &* ones)
    // The upper bit of a byte of `a` is set where a byte is below 0x20, of `b` where it is 0x7f; borrows reach only bytes
    // above one that is.
    let a = (word &- 0x20 &* ones) & ~word
    let b = (delete &- ones) & ~delete
    found |= (a | b) & (0x80 &* ones)
    i += 8
  }
  return found != 0
}
