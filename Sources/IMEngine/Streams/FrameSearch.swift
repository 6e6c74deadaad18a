import IMWire

/// What a search for the next frame has found.
enum SearchResult {
  case at(Int)
  /// It may be there: more bytes would tell.
  case open(Int)
  case none
}

/// Looks for the frames of one plan in bytes of which nobody knows where a frame begins, and weighs what is found.
///
/// It is stateless: the state of a search is in `PartialFrame.Search`.
struct FrameSearch {
  /// What a candidate header turned out to be.
  enum Verdict {
    case confirmed
    case rejected
    /// More bytes would tell. So many bits speak for it; where no more come they must do, if it `isWhole`: one frame at
    /// least stands there to its end.
    case open(bits: Int, isWhole: Bool)
  }

  /// The plan whose frames are looked for.
  let plan: UnsafePointer<Plan>
  /// What frames are read into.
  let template: Frame
  /// Bits of proof that a search wants beyond the usual.
  var extraEvidence = 0

  /// Looks for the first frame in what `partial` holds.
  ///
  /// A candidate counts when its proof reaches the plan's measure: fixed bits of its header, a right checksum, its body's
  /// fields, and the headers that follow it. At the end, when no more bytes come, half of it will do, or, without a magic
  /// number, the best of all candidates, when chance would hardly bring as much among so many bytes.
  func find(
    _ bytes: borrowing Bytes, _ partial: Ref<PartialFrame>, isEnd: Bool, countsParts: Bool = false
  ) -> SearchResult {
    if plan.pointee.framing.isDelimited { return findBeginning(bytes, partial) }
    let needed = Int(plan.pointee.confirmEvidence) + extraEvidence
    let hasMagic = plan.pointee.magicEvidence >= 32
    let start = partial.pointee.start
    let end = partial.pointee.end
    let base = partial.pointee.streamOffset &- UInt64(start)
    var open: [UInt64] = []
    if !isEnd, partial.pointee.search.candidates.count > 8,
      partial.pointee.search.reached > partial.pointee.streamOffset,
      let first = partial.pointee.search.candidates.first, first >= partial.pointee.streamOffset,
      Int(truncatingIfNeeded: partial.pointee.search.reached &- base) + 32 > end
    {
      // Many are not weighed again for each of a few bytes.
      return .open(Int(truncatingIfNeeded: first &- base))
    }
    if !isEnd {
      for place in partial.pointee.search.candidates where place >= partial.pointee.streamOffset {
        let position = Int(truncatingIfNeeded: place &- base)
        switch verify(bytes, position, end, partial, needed: needed, isTrusted: true) {
        case .confirmed: return .at(position)
        case .rejected: continue
        case .open: open.append(place)
        }
      }
    }
    var position = start
    if !isEnd, !partial.pointee.search.candidates.isEmpty, partial.pointee.search.reached > partial.pointee.streamOffset
    {
      position = min(end, Int(truncatingIfNeeded: partial.pointee.search.reached &- base))
    }
    var best = (position: 0, bits: hasMagic ? needed / 2 - 1 : Self.chance(end - start) - 1)
    var isFound = false
    while position < end {
      let next = nextCandidate(bytes, position, end)
      // Passing over a place costs far less than weighing it.
      partial.pointee.search.credit -= (next - position) >> 3
      position = next
      guard position < end else { break }
      // Who makes the search dear has said nothing that could be found.
      guard partial.pointee.search.credit > 0 else { return .none }
      switch verify(bytes, position, end, partial, needed: needed, isTrusted: true) {
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
            partial.pointee.search.reached = base &+ UInt64(position)
            partial.pointee.search.candidates = open
            return .open(Int(truncatingIfNeeded: open[0] &- base))
          }
        }
      }
      position += 1
    }
    if isEnd { return isFound ? .at(best.position) : .none }
    partial.pointee.search.reached = base &+ UInt64(end)
    partial.pointee.search.candidates = open
    return open.first.map { .open(Int(truncatingIfNeeded: $0 &- base)) } ?? .none
  }

  /// Bits of proof that one of `count` bytes hardly begins by chance.
  static func chance(_ count: Int) -> Int { 12 + Int.bitWidth - max(1, count).leadingZeroBitCount }

  /// The next place at or behind `position` where a header may begin; with fewer bytes left than tell, that place.
  func nextCandidate(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Int {
    let mask = plan.pointee.commonMask
    let magic = plan.pointee.common
    var position = position
    guard mask != 0 else {
      while position < end, !plan.pointee.mayBegin(with: bytes.u8(position)) { position += 1 }
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
  func mayBegin(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Bool {
    let available = min(8, end - position)
    let mask = plan.pointee.magicMask & ~(available == 8 ? 0 : UInt64.max >> UInt64(available * 8))
    return bytes.u64(position) & mask == plan.pointee.magic & mask
  }

  /// Weighs the candidate at `position`, and the frames behind it as far as they prove it.
  ///
  /// `isTrusted` says that the plan is known to be that of the connection: then what a body's fields hold counts in full.
  func verify(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ partial: Ref<PartialFrame>, needed: Int,
    isTrusted: Bool
  ) -> Verdict {
    var fit = 0
    var evidence = 0
    var probe = template
    var at = position
    let counts = isTrusted && plan.pointee.checksumEvidence == 0
    for _ in 0..<64 {
      partial.pointee.search.credit -= 1
      let result = plan.read(bytes, at, end, &probe)
      // Most places are rejected at once.
      if at == position, result != .notAFrame, partial.pointee.startsDelivery(at: position) {
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
        if plan.pointee.checksumRule != .none { partial.pointee.search.credit -= probe.count >> 4 }
        guard plan.open(bytes, &probe) else { return .rejected }
        let sum = Int(plan.pointee.checksumEvidence)
        if sum > 0, sum < 32, probe.checksumStatus == .bad { return .rejected }
        if sum < 32, probe.kind.pointee.index == FrameKind.unknownIndex { return .rejected }
        if plan.weighsBodies {
          partial.pointee.search.credit -= probe.count >> 4
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
  func weigh(_ bytes: borrowing Bytes, _ probe: inout Frame, _ at: Int, _ end: Int) -> Int? {
    probe.start = at
    probe.type = plan.pointee.type.read(bytes, at)
    probe.kind = plan.kind(probe.type)
    let kind = probe.kind.pointee
    let head = bytes.u64(at)
    guard kind.index != FrameKind.unknownIndex, head & kind.headMask == kind.headValue,
      probe.hasLength(of: kind)
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
        guard let weight = plan.weigh(step, bytes, at: &position, last: last, end: end) else { return nil }
        bits += weight
        guard position <= end else { return bits }
        continue
      case .end:
        if position == last { return bits + 8 }
        continue
      case .tlv: return bits
      case .settle, .at: continue
      // Only the bytes themselves show their length.
      case .digits, .until: return bits
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
  private func weighText(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) -> Int? {
    guard !holdsControl(bytes, offset, min(count, 256)) else { return nil }
    var printable = 0
    for i in 0..<min(count, 256) where printable < 16 && bytes.u8(offset + i) < 0x80 { printable += 1 }
    // 95 of 256 bytes are ASCII that can be printed.
    return printable * 7 / 5
  }

  /// Where frames may begin in bytes of a direction that is lost.
  func findBeginning(_ bytes: borrowing Bytes, _ partial: Ref<PartialFrame>) -> SearchResult {
    let end = partial.pointee.end
    guard let place = plan.nextBeginning(bytes, partial.pointee.start, end) else { return .none }
    // A flag alone may be the last of a frame or the first of another; behind a line feed nothing is left to be held.
    return place + 1 < end || plan.pointee.framing.kind == .line ? .at(place) : .open(place)
  }
}
