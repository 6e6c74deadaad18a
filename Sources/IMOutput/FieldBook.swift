package import IMEngine
package import IMFields
package import IMWire

/// The named fields of frames, as outputs and filters want them; it keeps what one message tells of the next.
package struct FieldBook {
  private var memory = FieldMemory()
  /// Where values stand in the last frame that are not to be shown, from its header's first byte.
  package private(set) var secrets: [Range<Int>] = []

  /// A book with nothing in it.
  package init() {}

  /// The fields of `frame`; `nil` where its profile names none.
  package mutating func fields(
    _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, _ plan: ProtocolPlan, bytes: RawSpan, body: RawSpan
  ) -> [NamedField]? {
    secrets = []
    guard let fields = plan.fields else { return nil }
    let whole = plan.fieldFrame(frame, info, direction, bytes: bytes, body: body)
    let found: [NamedField]
    (found, secrets) = FieldReader.read(whole, fields, &memory)
    return found
  }

  /// Forgets a connection that is over.
  package mutating func forget(_ connection: UInt32) { memory.forget(connection) }
}
