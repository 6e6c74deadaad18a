package import IMEngine
package import IMFields
package import IMWire

/// The named fields of frames, as outputs and filters want them; it keeps what one message tells of the next.
package struct FieldReaderCache: ~Copyable {
  private var reader = FieldReader()
  /// The last frame: the next one has its memory.
  private var frame = FieldFrame(bytes: [], body: 0, type: "")
  /// Where values stand in the last frame that are not to be shown, from its header's first byte.
  package var secrets: [Range<Int>] { hasRead ? reader.secrets : [] }
  /// Whether the last frame's profile names fields.
  private var hasRead = false

  /// A book with nothing in it.
  package init() {}

  /// The fields of `frame`; `nil` where its profile names none.
  package mutating func fields(
    _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, _ plan: ProtocolPlan, bytes: RawSpan, body: RawSpan
  ) -> [NamedField]? {
    hasRead = false
    guard let fields = plan.fields else { return nil }
    hasRead = true
    plan.read(frame, info, direction, bytes: bytes, body: body, into: &self.frame)
    return reader.fields(of: &self.frame, fields)
  }

  /// Where the fields of a frame are, by what earlier frames of its connection set; empty where its profile names none.
  mutating func marks(
    _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, _ plan: ProtocolPlan, bytes: RawSpan, body: RawSpan
  ) -> [FieldMark] {
    guard let fields = plan.fields else { return [] }
    plan.read(frame, info, direction, bytes: bytes, body: body, into: &self.frame)
    return reader.marks(of: &self.frame, fields)
  }

  /// Forgets a connection that is over.
  package mutating func forget(_ connection: UInt32) { reader.forget(connection) }
}
