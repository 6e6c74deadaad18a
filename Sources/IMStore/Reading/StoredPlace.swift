/// Where the bytes of a message's first copy are, and by what they are known again.
package struct StoredPlace: Equatable, Sendable {
  /// The capture; `nil` where there is none any more.
  package var capture: String?
  /// Bytes of the capture when it was read; `nil` where that is not known.
  package var captureByteCount: UInt64?
  /// Where the frame begins in the capture, unpacked; `nil` where it does not stand there in one piece.
  package var offset: UInt64?
  /// Bytes of the frame, and of its body.
  package var byteCount: Int, bodyCount: Int
  /// The name of its type, and the number that its sender gave it, in decimal.
  package var type: String, sequence: String?
  /// The profile that has decoded it.
  package var profile: String
  /// The ends of its TCP connection.
  package var client: String, server: String
}

extension StoreReader {
  /// Where the bytes of a message are; `nil` where there is no such message.
  package func place(ofMessage id: Int64) throws(StoreError) -> StoredPlace? {
    let place: StoredPlace?? = try withStatement(
      """
      SELECT capture.path, capture.byte_count, m.byte_offset, m.byte_count, m.length, t.name, m.sequence, t.profile,
        ifnull(c.via, c.client), c.server
      FROM message AS m LEFT JOIN capture ON capture.id = m.capture LEFT JOIN type AS t ON t.id = m.type
        LEFT JOIN connection AS c ON c.id = m.connection WHERE m.id = ?1
      """, id
    ) { row in
      StoredPlace(
        capture: row.text(0), captureByteCount: row.number(1).flatMap { UInt64(exactly: $0) },
        offset: row.number(2).flatMap { UInt64(exactly: $0) }, byteCount: Int(row.counted(3) ?? 0),
        bodyCount: Int(row.counted(4) ?? 0), type: row.text(5) ?? "",
        sequence: row.number(6).map { "\($0)" } ?? row.text(6), profile: row.text(7) ?? "", client: row.text(8) ?? "",
        server: row.text(9) ?? "")
    }
    return place ?? nil
  }
}
