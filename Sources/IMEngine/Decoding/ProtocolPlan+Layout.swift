/// What code outside of the decoder needs to know of a protocol's layout.
extension ProtocolPlan {
  /// The bytes of the session's number in `header`, an unescaped header in wire order; `nil` if it has none.
  package func sessionPlace(in header: [UInt8]) -> (range: Range<Int>, coding: NumberCoding, littleEndian: Bool)? {
    let plan = pointer.pointee
    var field = plan.session
    let padded = header + [UInt8](repeating: 0, count: RawBuffer.slack + 8)
    do {
      let bytes = Bytes(padded.span.bytes)
      for i in 0..<Int(plan.framing.partCount) where plan.framing.parts[i].session.isPresent {
        guard Int(plan.framing.parts[i].when.offset) + 8 <= padded.count else { continue }
        if plan.framing.parts[i].when.read(bytes, 0) != 0 { field = plan.framing.parts[i].session }
      }
    }
    guard field.isPresent, plan.framing.kind != .line else { return nil }
    let place = field.place
    guard place.offset >= 0, place.offset + place.count <= header.count, field.mask.nonzeroBitCount == 8 * place.count
    else { return nil }
    return (place.offset..<place.offset + place.count, plan.framing.sessionCoding, field.littleEndian)
  }

  /// The positions of a line's fields among its words.
  package var lineWords: LineWords { pointer.pointee.framing.words }
  /// Whether frames are lines.
  package var hasLines: Bool { pointer.pointee.framing.kind == .line }
  /// Whether frames end at a delimiter; one may precede them too.
  package var isDelimited: Bool { pointer.pointee.framing.isDelimited }
  /// The delimiter of such frames.
  package var delimiter: UInt8 { pointer.pointee.framing.delimiter }
  /// Bytes that identify a frame whose body was cut off: the header with the longest length that it may have.
  package var headOfCut: Int {
    Int(pointer.pointee.headerCount) + (pointer.pointee.lengthRule == .varint ? 3 : 0)
  }
  /// Whether frames have a checksum that is verified.
  package var hasChecksum: Bool { pointer.pointee.checksumRule != .none }
  /// Bytes of a header, as far as all have them.
  package var headerCount: Int { Int(pointer.pointee.headerCount) }
  /// Whether the layout of a header depends on its length alone: frames are in their streams as they are, their headers have no
  /// parts that others lack, and there is no variant.
  package var hasPlainFrames: Bool {
    let framing = pointer.pointee.framing
    return !isDelimited && !hasLines && framing.partCount == 0 && variant == nil
  }
  /// Whether elements have a tag of two bytes and a length of four, big endian, in front of the value, and nothing around them.
  package var hasTag2Length4: Bool {
    let tlv = pointer.pointee.tlv
    return tlv.shape == .tag2Length4 && tlv.headerCount == 6 && !tlv.lengthCountsHeader && !tlv.optional.isPresent
      && tlv.paddingMask == 0
  }
}
