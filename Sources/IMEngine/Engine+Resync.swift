import IMWire

extension Engine {
  /// Bytes held while a header waits for its proof; then it is passed over. A magic number is proof enough to wait for as
  /// long as its frame may be, unless that was in vain too often.
  private mutating func maximumHeld(_ rest: UnsafeMutablePointer<StreamRest>) -> Int {
    let isPatient = currentPlan.pointee.magicEvidence >= 32 && rest.pointee.search.wasted < 64 << 20
    return isPatient ? Int(currentPlan.pointee.maximumBody) + (64 << 10) : Self.usuallyHeld
  }

  private static var usuallyHeld: Int { 256 << 10 }

  /// What a candidate header turned out to be.
  enum Verdict {
    case confirmed
    case rejected
    /// More bytes would tell. So many bits speak for it; where no more come they must do, if it `isWhole`: one frame at
    /// least stands there to its end.
    case open(bits: Int, isWhole: Bool)
  }

  /// What a search for the next frame has found.
  enum SearchResult {
    case at(Int)
    /// It may be there: more bytes would tell.
    case open(Int)
    case none
  }

  /// Looks for the next frame in what a lost direction holds. True when it is found and stands at the start.
  ///
  /// Bytes that no frame can begin at are dropped and counted.
  mutating func resynchronise(
    _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ rest: UnsafeMutablePointer<StreamRest>, isEnd: Bool
  ) -> Bool {
    let bytes = Bytes(RawSpan(_unsafeStart: rest.pointee.memoryStart, byteCount: rest.pointee.readableCount))
    var result = findAny(flow, bytes, rest, isEnd: isEnd)
    if case .open(let position) = result, rest.pointee.end - position > maximumHeld(rest) {
      result = findAny(flow, bytes, rest, isEnd: true, countsParts: true)
    }
    if rest.pointee.count > Self.usuallyHeld { noteWaste(rest, result) }
    switch result {
    case .at(let position):
      drop(flow, side, rest, position - rest.pointee.start, isFound: true)
      flow.half(side).pointee.flags.remove(.lost)
      rest.pointee.needed = 0
      rest.pointee.search.candidates.removeAll()
      return true
    case .open(let position):
      // Wait for more, but keep only what may still matter.
      drop(flow, side, rest, position - rest.pointee.start, isFound: false)
    case .none:
      drop(flow, side, rest, rest.pointee.count, isFound: false)
    }
    return false
  }

  private mutating func noteWaste(_ rest: UnsafeMutablePointer<StreamRest>, _ result: SearchResult) {
    switch result {
    case .at(let position) where position == rest.pointee.start: return
    case .open(let position) where position == rest.pointee.start: return
    default: rest.pointee.search.wasted += rest.pointee.count
    }
  }

  /// Looks for the first frame in what `rest` holds.
  ///
  /// A candidate counts when its proof reaches the plan's measure: fixed bits of its header, a right checksum, its body's
  /// fields, and the headers that follow it. At the end, when no more bytes come, half of it will do, or, without a magic
  /// number, the best of all candidates, when chance would hardly bring as much among so many bytes.
  mutating func find(
    _ bytes: borrowing Bytes, _ rest: UnsafeMutablePointer<StreamRest>, isEnd: Bool, countsParts: Bool = false
  ) -> SearchResult {
    if currentPlan.pointee.framing.isDelimited { return findBeginning(bytes, rest) }
    let needed = Int(currentPlan.pointee.confirmEvidence) + doubt
    let hasMagic = currentPlan.pointee.magicEvidence >= 32
    let start = rest.pointee.start
    let end = rest.pointee.end
    let base = rest.pointee.streamOffset &- UInt64(start)
    var open: [UInt64] = []
    if !isEnd, rest.pointee.search.candidates.count > 8, rest.pointee.search.reached > rest.pointee.streamOffset,
      let first = rest.pointee.search.candidates.first, first >= rest.pointee.streamOffset,
      Int(truncatingIfNeeded: rest.pointee.search.reached &- base) + 32 > end
    {
      // Many are not weighed again for each of a few bytes.
      return .open(Int(truncatingIfNeeded: first &- base))
    }
    if !isEnd {
      for place in rest.pointee.search.candidates where place >= rest.pointee.streamOffset {
        let position = Int(truncatingIfNeeded: place &- base)
        switch verify(bytes, position, end, rest, needed: needed, isTrusted: true) {
        case .confirmed: return .at(position)
        case .rejected: continue
        case .open: open.append(place)
        }
      }
    }
    var position = start
    if !isEnd, !rest.pointee.search.candidates.isEmpty, rest.pointee.search.reached > rest.pointee.streamOffset {
      position = min(end, Int(truncatingIfNeeded: rest.pointee.search.reached &- base))
    }
    var best = (position: 0, bits: hasMagic ? needed / 2 - 1 : Self.chance(end - start) - 1)
    var isFound = false
    while position < end {
      let next = nextCandidate(bytes, position, end)
      // Passing over a place costs far less than weighing it.
      rest.pointee.search.credit -= (next - position) >> 3
      position = next
      guard position < end else { break }
      // Who makes the search dear has said nothing that could be found.
      guard rest.pointee.search.credit > 0 else { return .none }
      switch verify(bytes, position, end, rest, needed: needed, isTrusted: true) {
      case .confirmed:
        // In front of it, with as much to say for itself as can be, may stand one that ends where this one begins.
        return isFound && hasMagic ? .at(best.position) : .at(position)
      case .rejected: break
      case .open(let bits, let isWhole):
        if isEnd {
          if isWhole || countsParts, bits > best.bits, !(hasMagic && isFound) {
            best = (position, bits)
            isFound = true
          }
        } else {
          if open.count < 32 { open.append(base &+ UInt64(position)) }
          if hasMagic {
            position += 1
            rest.pointee.search.reached = base &+ UInt64(position)
            rest.pointee.search.candidates = open
            return .open(Int(truncatingIfNeeded: open[0] &- base))
          }
        }
      }
      position += 1
    }
    if isEnd { return isFound ? .at(best.position) : .none }
    rest.pointee.search.reached = base &+ UInt64(end)
    rest.pointee.search.candidates = open
    return open.first.map { .open(Int(truncatingIfNeeded: $0 &- base)) } ?? .none
  }

  /// Bits of proof that one of `count` bytes hardly begins by chance.
  static func chance(_ count: Int) -> Int { 12 + Int.bitWidth - max(1, count).leadingZeroBitCount }

  /// Passes over bytes that are no frame.
  mutating func drop(
    _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ rest: UnsafeMutablePointer<StreamRest>, _ count: Int,
    isFound: Bool
  ) {
    let half = flow.half(side)
    let figures = flow.pointee.figures
    let isCarried = half.pointee.flags.contains(.carried)
    let skipped = isCarried ? wireCount(flow, side, rest, count) : count
    if figures != .max { tracker.rare(tracker.figures.pointer(figures)).pointee.skippedBytes += UInt64(skipped) }
    let note = reassembler.note(flow, side)
    if isCarried, note.pointee.skipped == 0 { noteSkipped(flow, side, rest) }
    note.pointee.skipped += UInt64(skipped)
    ledger.skippedBytes += UInt64(skipped)
    let offset = rest.pointee.streamOffset
    let at = rest.pointee.count > 0 ? rest.pointee.mark(at: rest.pointee.start).timestamp : now
    setAside(flow, side, rest, count)
    if isFound { closeIsland(flow, side, at: offset &+ UInt64(count)) }
    rest.pointee.consume(count)
    let total = note.pointee.skipped
    guard isFound, total > 0 else { return }
    note.pointee.skipped = 0
    raise(
      Issue(
        .resynchronised, timestamp: at, direction: flow.pointee.direction(side),
        streamOffset: isCarried ? skippedFrom(flow, side) : offset &+ UInt64(count) &- total, byteCount: total), flow)
  }

  /// The next place at or behind `position` where a header may begin; with fewer bytes left than tell, that place.
  mutating func nextCandidate(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Int {
    let mask = currentPlan.pointee.commonMask
    let magic = currentPlan.pointee.common
    var position = position
    guard mask != 0 else {
      while position < end, !currentPlan.pointee.mayBegin(with: bytes.u8(position)) { position += 1 }
      return position
    }
    while position < end {
      let available = min(8, end - position)
      let seen = available == 8 ? mask : mask & ~(UInt64.max >> UInt64(available * 8))
      if bytes.u64(position) & seen == magic & seen { return position }
      position += 1
    }
    return end
  }

  /// Whether the bytes at `position`, fewer than a header, are the beginning of one as far as they go.
  mutating func mayBegin(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Bool {
    let available = min(8, end - position)
    let mask = currentPlan.pointee.magicMask & ~(available == 8 ? 0 : UInt64.max >> UInt64(available * 8))
    return bytes.u64(position) & mask == currentPlan.pointee.magic & mask
  }

  /// Weighs the candidate at `position`, and the frames behind it as far as they prove it.
  ///
  /// `isTrusted` says that the plan is known to be that of the connection: then what a body's fields hold counts in full.
  mutating func verify(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ rest: UnsafeMutablePointer<StreamRest>, needed: Int,
    isTrusted: Bool
  ) -> Verdict {
    let plan = currentPlan
    var fit = 0
    var evidence = 0
    var probe = frame.pointee
    var at = position
    let counts = isTrusted && plan.pointee.checksumEvidence == 0
    for _ in 0..<64 {
      rest.pointee.search.credit -= 1
      let result = plan.read(bytes, at, end, &probe)
      // Most places are rejected at once.
      if at == position, result != .notAFrame, rest.pointee.startsDelivery(at: position) {
        fit = 8
        evidence = 8
      }
      switch result {
      case .notAFrame:
        return .rejected
      case .needMore:
        let isHeader = end - at >= Int(plan.pointee.headerCount)
        if !isHeader, !mayBegin(bytes, at, end) { return .rejected }
        if isHeader, plan.weighsBodies, plan.pointee.lengthRule == .field || end - at > probe.headerCount {
          guard let bits = plan.weighFrame(bytes, &probe, at, end) else { return .rejected }
          evidence += bits
        } else if isHeader, plan.pointee.lengthRule == .field {
          // A header that is there counts, but only behind another frame.
          if at > position { evidence += Int(plan.pointee.magicEvidence) }
        } else if isHeader, counts, end - at > probe.headerCount {
          guard let bits = weigh(bytes, &probe, at, end) else { return .rejected }
          evidence += bits
        }
        // A part alone confirms nothing: bytes in front of a frame may borrow from it what makes them look like one.
        return evidence >= needed && at > position ? .confirmed : .open(bits: evidence, isWhole: at > position)
      case .frame:
        if plan.pointee.checksumRule != .none { rest.pointee.search.credit -= probe.count >> 4 }
        guard plan.open(bytes, &probe) else { return .rejected }
        let sum = Int(plan.pointee.checksumEvidence)
        if sum > 0, sum < 32, probe.checksumStatus == .bad { return .rejected }
        if sum < 32, probe.kind.pointee.index == FrameKind.unknownIndex { return .rejected }
        if plan.weighsBodies {
          rest.pointee.search.credit -= probe.count >> 4
          guard let bits = plan.weighFrame(bytes, &probe, at, end) else { return .rejected }
          evidence += bits + sum
        } else if counts {
          guard let bits = weigh(bytes, &probe, at, end) else { return .rejected }
          evidence += bits
        } else {
          evidence += plan.evidence(&probe)
        }
        at += probe.count
        if evidence >= needed { return .confirmed }
        if at == end {
          // The chain ends with the data: half a proof, which is enough when no more can come.
          if evidence + 8 >= needed { return .confirmed }
          // Frames that fill their deliveries from the first byte to the last prove some more.
          return .open(bits: evidence + (counts || plan.weighsBodies ? 8 : fit), isWhole: true)
        }
      }
    }
    return .confirmed
  }

  /// Bits of proof that the frame at `at`, whole or not, is one: how little of what its bytes say would be there by chance.
  /// `nil` when they say that it is none.
  private mutating func weigh(_ bytes: borrowing Bytes, _ probe: inout Frame, _ at: Int, _ end: Int) -> Int? {
    let plan = currentPlan
    probe.start = at
    probe.type = plan.pointee.type.read(bytes, at)
    probe.kind = plan.kind(probe.type)
    let kind = probe.kind.pointee
    let head = bytes.u64(at)
    guard kind.index != FrameKind.unknownIndex, head & kind.headMask == kind.headValue,
      probe.bodyCount >= Int(kind.minimumBody), probe.bodyCount <= Int(kind.maximumBody)
    else { return nil }
    var bits = Int(plan.pointee.magicEvidence) + Int(kind.evidence) + plan.pointee.type.mask.nonzeroBitCount
    if kind.flags.contains(.hasOtherSteps) { return plan.weighBody(bytes, probe, end).map { bits + $0 } }
    let last = at + probe.count - probe.trailerCount
    var position = at + probe.headerCount
    var loaded: UInt64 = 0
    var i = Int(kind.firstStep)
    let steps = i + Int(kind.stepCount)
    while i < steps {
      let step = plan.pointee.steps[i]
      i += 1
      let count = Int(step.count)
      switch step.operation {
      case .unless, .when:
        let word = step.register == .bits ? loaded : head
        if (word & step.a == step.b) == (step.operation == .unless) { i += count }
        continue
      case .refuse, .list, .each, .close:
        guard let weight = plan.weigh(step, bytes, &position, last, end) else { return nil }
        bits += weight
        guard position <= end else { return bits }
        continue
      case .end:
        if position == last { return bits + 8 }
        continue
      case .tlv: return bits
      default: break
      }
      guard position + count <= last else { return nil }
      guard position + count <= end else { return bits }
      let value = count > 0 && count <= 8 ? bytes.u64(position) >> UInt64(64 - count * 8) : 0
      position += count
      if step.register == .bits { loaded = value }
      if step.operation == .expect {
        if value & step.b == step.a {
          bits += step.b.nonzeroBitCount
          while i < steps, plan.pointee.steps[i].operation == .expect { i += 1 }
        } else if i < steps, plan.pointee.steps[i].operation == .expect {
          position -= count
        } else {
          return nil
        }
      } else if step.operation == .text {
        let length = Int(truncatingIfNeeded: value)
        guard position + length <= last, value >= step.a else { return nil }
        guard let text = weighText(bytes, position, min(length, end - position)) else { return nil }
        if length > 0 { bits += 12 + text }
        position += length
        guard position <= end else { return bits }
      }
    }
    return bits
  }

  /// Bits of proof that `count` bytes are text; `nil` when they are not.
  private mutating func weighText(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) -> Int? {
    guard !holdsControl(bytes, offset, min(count, 256)) else { return nil }
    var printable = 0
    for i in 0..<min(count, 256) where printable < 16 && bytes.u8(offset + i) < 0x80 { printable += 1 }
    // 95 of 256 bytes are ASCII that can be printed.
    return printable * 7 / 5
  }
}
