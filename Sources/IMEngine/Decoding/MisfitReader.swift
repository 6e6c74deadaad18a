import IMWire

/// Frames that are not as the profile has them, though their length tells where they end: of a direction in step, where everything
/// in front of them was a frame, they are that sender's mistakes and no other bytes.
extension UnsafePointer<Plan> {
  /// What keeps a header from being one that `read` takes.
  struct Misfit: OptionSet {
    let rawValue: UInt8
    /// The body's length is none that its type may have.
    static let length = Misfit(rawValue: 1)
    /// The flags of the header's first byte are not those of its type.
    static let flags = Misfit(rawValue: 2)
    /// The version is another one.
    static let version = Misfit(rawValue: 4)
  }

  /// Reads the header at `offset`, which `read` takes for none, as that of a type which the profile knows: whatever its version, its
  /// flags and its length are, as long as the length is one that frames may have. `misfit` is what is wrong with it.
  func readMisfit(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, _ frame: UnsafeMutablePointer<Frame>, _ misfit: inout Misfit
  ) -> ReadResult {
    misfit = []
    let available = end - offset
    let header = Int(pointee.headerCount)
    guard available >= header, !pointee.framing.isDelimited else { return .notAFrame }
    let head = bytes.u64(offset)
    guard head & pointee.signatureMask == pointee.magic & pointee.signatureMask else { return .notAFrame }
    if head & pointee.magicMask != pointee.magic {
      // With a magic number, an unknown version is reported, and its header may be another one.
      guard pointee.signatureMask == 0 else { return .notAFrame }
      misfit.insert(.version)
    }
    guard readLength(bytes, offset, available, longest: Int(pointee.maximumBody), frame) == .frame else {
      return .notAFrame
    }
    readFields(bytes, offset, frame)
    let kind = frame.pointee.kind.pointee
    guard kind.index != FrameKind.unknownIndex else { return .notAFrame }
    if head & kind.headMask != kind.headValue { misfit.insert(.flags) }
    let body = frame.pointee.count - frame.pointee.headerCount
    if body < Int(kind.minimumBody) || body > Int(kind.maximumBody) { misfit.insert(.length) }
    return available >= frame.pointee.count ? .frame : .needMore
  }

  /// The longest frame that is passed over by its length: all that a varint of four bytes can say.
  static var longestSkipped: Int { 1 << 28 }

  /// Reads the header at `offset` of a frame whose body is longer than the profile's maximum, and right in everything else.
  func readOversized(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, _ frame: UnsafeMutablePointer<Frame>
  ) -> Bool {
    let available = end - offset
    guard available >= Int(pointee.headerCount), !pointee.framing.isDelimited else { return false }
    let head = bytes.u64(offset)
    guard head & pointee.magicMask == pointee.magic,
      readLength(bytes, offset, available, longest: Self.longestSkipped, frame) == .frame
    else { return false }
    readFields(bytes, offset, frame)
    let kind = frame.pointee.kind.pointee
    return kind.index != FrameKind.unknownIndex && kind.maximumBody == .max && head & kind.headMask == kind.headValue
      && frame.pointee.count - frame.pointee.headerCount > Int(pointee.maximumBody)
  }

  /// The length, whatever kind it is, of a body that has `longest` bytes at most.
  private func readLength(
    _ bytes: borrowing Bytes, _ offset: Int, _ available: Int, longest: Int, _ frame: UnsafeMutablePointer<Frame>
  ) -> ReadResult {
    frame.pointee.start = offset
    guard pointee.lengthRule == .field else { return readVarint(bytes, offset, available, longest: longest, frame) }
    let body = pointee.length.read(bytes, offset) &+ UInt64(bitPattern: Int64(pointee.lengthAdd))
    guard body <= UInt64(longest) else { return .notAFrame }
    frame.pointee.headerCount = Int(pointee.headerCount)
    frame.pointee.count = Int(pointee.headerCount) + Int(truncatingIfNeeded: body)
    return .frame
  }

  private func readFields(_ bytes: borrowing Bytes, _ offset: Int, _ frame: UnsafeMutablePointer<Frame>) {
    frame.pointee.type = pointee.type.read(bytes, offset)
    frame.pointee.kind = kind(frame.pointee.type)
    frame.pointee.flags = []
    if pointee.sequence.isPresent {
      frame.pointee.sequence = pointee.sequence.read(bytes, offset)
      frame.pointee.flags = .sequence
    }
    frame.pointee.session = pointee.session.read(bytes, offset)
  }
}
