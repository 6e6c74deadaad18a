import IMEngine

/// The TLS handshake of the connection that the engine reports next: it passes the handshake on just before the report.
struct ReportedHello {
  private var last: (serial: UInt32, hello: TLSHello)?

  mutating func note(_ hello: TLSHello, _ connection: ConnectionInfo) { last = (connection.serial, hello) }

  /// The handshake of the connection that `report` is of; `nil` where none was passed on.
  func of(_ report: borrowing ConnectionReport) -> TLSHello? {
    last?.serial == report.info.serial ? last?.hello : nil
  }
}
