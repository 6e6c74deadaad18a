extension ProtocolPlan {
  /// The number in the optional part of an element's header, which says who defined its tag, as in Diameter; 0 where the element
  /// has no such part. It is looked for in front of the value, for outputs.
  package func vendor(of tlv: TLVRef, in body: RawSpan) -> UInt64 {
    let form = pointer.pointee.tlv
    let extra = Int(form.optionalCount)
    let header = Int(form.headerCount) + extra
    let value = Int(tlv.offset)
    guard form.optional.isPresent, (1...4).contains(extra), header <= 24, value >= header, value <= body.byteCount
    else {
      return 0
    }
    // A field is one load of eight bytes, so room is added behind the header.
    var bytes = body.withUnsafeBytes { Array($0[value - header..<value]) }
    bytes.append(contentsOf: repeatElement(0, count: 16))
    let loaded = Bytes(bytes.span.bytes)
    guard form.tag.read(loaded, 0) == UInt64(tlv.tag), form.optional.read(loaded, 0) != 0 else { return 0 }
    return bytes[header - extra..<header].reduce(0) { $0 << 8 | UInt64($1) }
  }
}
