package import IMEngine

/// The TLS handshake of the connection that the engine reports next: it passes the handshake on just before the report.
package struct ReportedHello {
  private var last: (serial: UInt32, hello: TLSHello)?

  /// No handshake so far.
  package init() {}

  /// Stores a handshake of `connection`.
  package mutating func note(_ hello: TLSHello, _ connection: ConnectionInfo) { last = (connection.serial, hello) }

  /// The handshake of the connection in `report`; `nil` if none was passed on.
  package func of(_ report: borrowing ConnectionReport) -> TLSHello? {
    last?.serial == report.info.serial ? last?.hello : nil
  }
}
