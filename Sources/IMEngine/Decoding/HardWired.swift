#if HARDWIRED
  // `tjp` as if there were no profiles: what a plan costs is measured against this, by `Scripts/bench-plan`. Every number is a
  // constant here; it decodes nothing else, and is in no build but the one with `IMDUMP_HARDWIRED=1`.

  extension UnsafePointer<Plan> {
    /// `read` of `tjp`.
    @inline(__always)
    func readHardWired(
      _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, _ frame: UnsafeMutablePointer<Frame>
    ) -> ReadResult {
      let available = end &- offset
      guard available >= 28 else {
        frame.pointee.count = 28
        return .needMore
      }
      let head = bytes.u64(offset)
      guard head >> 24 == 0xde_cafb_ad01 else { return .notAFrame }
      frame.pointee.start = offset
      // Session, length and half of the checksum's neighbour: one load for the two that are wanted.
      let tail = bytes.u64(offset &+ 18)
      let body = tail >> 16 & 0xffff_ffff
      guard body <= 10_485_760 else { return .notAFrame }
      frame.pointee.headerCount = 28
      frame.pointee.count = 28 &+ Int(truncatingIfNeeded: body)
      let type = head & 0xffff
      frame.pointee.type = type
      let place = pointee.kinds + Int(truncatingIfNeeded: (type &* GoldenRatio.of64Bits) &>> 58)
      let kind = place.pointee.value == type ? place : pointee.unknownKind
      frame.pointee.kind = kind
      frame.pointee.flags = .sequence
      frame.pointee.sequence = bytes.u64(offset &+ 8) >> 32
      frame.pointee.session = tail >> 48
      return available >= frame.pointee.count ? .frame : .needMore
    }

    /// `open` of `tjp`.
    @inline(__always)
    func openHardWired(_ bytes: borrowing Bytes, _ frame: UnsafeMutablePointer<Frame>) -> Bool {
      frame.pointee.flags.insert(.opened)
      let body = frame.pointee.count &- 28
      let field = UInt32(truncatingIfNeeded: bytes.u64(frame.pointee.start &+ 24) >> 32)
      frame.pointee.checksum = UInt64(field)
      if body == 0 {
        frame.pointee.checksumStatus = field == 0 ? .none : .bad
      } else {
        let sum = crc32(bytes, frame.pointee.start &+ 28, body)
        frame.pointee.checksumStatus = sum == field ? .be : sum == field.byteSwapped ? .le : .bad
      }
      frame.pointee.identityCount = 0
      frame.pointee.subjectCount = 0
      frame.pointee.status = 0
      frame.pointee.keepAlive = 0
      return true
    }

    /// `isPlain` of `tjp`.
    @inline(__always)
    func isPlainHardWired(_ bytes: borrowing Bytes, _ offset: Int) -> Bool {
      bytes.u8(offset &+ 16) < 2 && bytes.u8(offset &+ 17) != 1
    }
  }
#endif
