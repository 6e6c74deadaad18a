package import IMOwners

extension FrameJSONWriter {
  /// Adds whose the connection is to the line that was written last: `owner`, an object of `unit`, `container`, `pod` and
  /// `user`, the number of a user.
  package static func amend(owner: SocketOwner, to out: inout ByteWriter) {
    // The brace and the line feed.
    out.truncate(to: out.count - 2)
    out.literal(",")
    out.owner(owner)
    out.literal("}\n")
  }
}

extension ByteWriter {
  /// Appends `"owner":{...}`.
  mutating func owner(_ owner: SocketOwner) {
    literal("\"owner\":{")
    for (key, value) in [("unit", owner.unit), ("container", owner.container), ("pod", owner.pod)] {
      guard let value else { continue }
      literal("\"")
      text(key)
      literal("\":")
      jsonString(value)
      literal(",")
    }
    literal("\"user\":")
    number(UInt64(owner.user))
    literal("}")
  }
}
