import IMEngine

extension Frame {
  /// Whether the frame tells a status: every answer that has one does. The field of others, which some headers have in common
  /// with answers, says something only when it is not 0.
  @inline(__always)
  var tellsStatus: Bool {
    flags.rawValue & Flags.status.rawValue != 0 && (status != 0 || kind.pointee.role == .acknowledgment)
  }
}
