package import IMEngine

/// Plans made by hand, for tests of modules that know no profile.
package enum MadePlan {
  /// The plan of `tjp`, built by hand so that these tests need no profile. It can have another name, clients identified by name instead
  /// of by number, and names of statuses.
  package static func tjp(
    name: String = "tjp", hasSessionNumbers: Bool = true, statusNames: [UInt64: String] = [:]
  ) -> ProtocolPlan {
    var draft = ProtocolPlan.Draft()
    draft.plan.magicMask = 0xffff_ffff_ff00_0000
    draft.plan.magic = 0xdeca_fbad_0100_0000
    draft.plan.signatureMask = 0xffff_ffff_0000_0000
    draft.plan.headerCount = 28
    draft.plan.length = Field(offset: 20, byteCount: 4)
    draft.plan.maximumBody = 10 << 20
    draft.plan.type = Field(offset: 6, byteCount: 2)
    draft.plan.sequence = Field(offset: 8, byteCount: 4)
    draft.plan.time = Field(offset: 12, byteCount: 4)
    if hasSessionNumbers { draft.plan.session = Field(offset: 18, byteCount: 2) }
    draft.statusNames[0] = statusNames
    draft.plan.checksum = Field(offset: 24, byteCount: 4)
    draft.plan.checksumRule = .crc32
    draft.plan.checksumEitherOrder = true
    draft.plan.counterBits = 24
    draft.plan.counterWrap = 0xff_0000
    draft.plan.ackBodyCount = 4
    draft.plan.ackBody = Field(offset: 0, byteCount: 4)
    draft.plan.tlv.shape = .tag2Length4
    draft.plan.tlv.tag = Field(offset: 0, byteCount: 2)
    draft.plan.tlv.length = Field(offset: 2, byteCount: 4)
    draft.plan.tlv.headerCount = 6
    draft.plan.tlv.nestedTag = 0xffff
    (draft.plan.handshakeRequest, draft.plan.handshakeAnswer) = (1, 2)
    let roles: [FrameRole] = [.message, .heartbeat, .acknowledgment, .control, .receipt]
    for (value, role) in roles.enumerated() {
      var kind = FrameKind()
      kind.value = UInt64(value)
      kind.role = role
      kind.flags = .numbered
      switch role {
      case .acknowledgment:
        kind.answers = 0b11011
        kind.flags.insert(.noTLV)
      case .heartbeat:
        kind.flags.formUnion([.expectsAck, .echoed, .noTLV, .fromClient])
        kind.maximumBody = 0
      case .control: kind.flags.formUnion([.expectsAck, .handshake])
      case .message, .receipt, .other: kind.flags.insert(.expectsAck)
      }
      draft.kinds.append(kind)
    }
    return ProtocolPlan(
      name: name, version: "1", ports: [8080], typeNames: ["data", "heartbeat", "ack", "control", "receipt"],
      tagNames: [:], checksumName: "crc32", draft: draft)
  }
}
