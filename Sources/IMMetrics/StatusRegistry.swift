package import IMEngine

/// The statuses that exchanges know by a number: what `ExchangeSink.met` told.
package struct StatusRegistry: Sendable {
  private var codes: [StatusCode] = []

  /// No statuses.
  package init() {}

  /// Takes note that exchanges know `status` by the number `place`.
  package mutating func met(_ status: StatusCode, place: UInt16) {
    // The engine counts up from 1.
    if Int(place) == codes.count + 1 { codes.append(status) }
  }

  /// The status with the number `place`, as `Exchange.status` has it; `nil` where there is none.
  package subscript(place: UInt16) -> StatusCode? {
    place > 0 && Int(place) <= codes.count ? codes[Int(place) - 1] : nil
  }
}
