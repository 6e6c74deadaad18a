import IMTLS
import IMWire

/// What is kept of a connection's TLS records, both directions.
struct TLSReader {
  /// One direction.
  struct Way {
    /// Bytes of records that are not whole, or whose keys may still come.
    var held: Ref<PartialFrame>?
    /// Where the decrypted bytes stand on the wire.
    var offsets = CarrierOffsets()
    /// Since when bytes wait for keys; `nil` where none do.
    var waitsSince: Timestamp?
    /// Where on the wire the bytes begin that are passed over in search of a frame.
    var skippedFrom: UInt64 = 0
    /// What the budget was told that `offsets` holds.
    private var accounted = 0

    /// Tells the budget what is held now.
    mutating func account(_ budget: MemoryBudget) {
      let now = offsets.memory
      budget.held += now - accounted
      accounted = now
    }

    /// The same with another copy of `held`, for which the budget was told nothing.
    func copy(held: Ref<PartialFrame>?) -> Way {
      var copy = self
      (copy.held, copy.accounted, copy.waitsSince) = (held, 0, nil)
      return copy
    }

    /// Frees what it holds beside `held`.
    mutating func clear(_ budget: MemoryBudget) {
      offsets.clear()
      budget.held -= accounted
      accounted = 0
    }
  }

  let connection: TLSConnection
  /// The number of the side that was taken for the client when TLS began.
  let client: Int
  /// The directions, by the number of the side that sends.
  var ways: InlineArray<2, Way> = [Way(), Way()]
  /// Whether bytes of a direction wait for keys.
  var isWaiting: Bool { ways[0].waitsSince != nil || ways[1].waitsSince != nil }
  /// Decrypted bytes.
  var plaintextBytes: UInt64 = 0
  /// Bytes of records that were not read.
  var unread = TLSUnreadBytes()
  /// Why the first record that was not read was not.
  var unreadReason: TLSUnread?

  init(_ connection: TLSConnection, client: Int) {
    self.connection = connection
    self.client = client
  }

  /// Bytes that a reader takes without what it holds: itself, and the 792 that were measured of a `TLSConnection` (200,000 of them), with
  /// what `malloc` adds.
  static var cost: Int { MemoryLayout<TLSReader>.stride + 832 }

  /// The direction as `TLSConnection` counts it.
  func direction(_ side: FlowSide) -> Int { side.number == client ? 0 : 1 }
}
