package import IMOwners

extension FrameJSONWriter {
  /// Adds whose the connection is to the line that was written last: `owner`, an object of `unit`, `container`, `pod` and
  /// `user`, the number of a user.
  package static func amend(owner: SocketOwner, to out: inout ByteWriter) {
    JSONLines.amend(&out) { $0.owner(owner) }
  }
}

extension JSONLines {
  /// Whose a connection is: the member `owner`.
  mutating func owner(_ owner: SocketOwner) {
    open("owner")
    if let unit = owner.unit { string("unit", unit) }
    if let container = owner.container { string("container", container) }
    if let pod = owner.pod { string("pod", pod) }
    exact("user", UInt64(owner.user))
    close()
  }
}
