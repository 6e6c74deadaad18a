import CCrypto

/// The state of one direction at one place of its stream: its keys and the number of the next record. It serves bytes that arrive after
/// the direction has gone on without them.
package final class TLSSavedSide {
  // SAFETY: one side, allocated and initialized from `init` to `deinit`.
  fileprivate let side: UnsafeMutablePointer<TLSSide>

  fileprivate init(_ state: TLSSide) {
    side = .allocate(capacity: 1)
    side.initialize(to: state)
    // A context of libcrypto belongs to the direction itself.
    side.pointee.slot = CipherSlot()
    side.pointee.isUndecided = false
  }

  deinit {
    side.deinitialize(count: 1)
    OPENSSL_cleanse(side, MemoryLayout<TLSSide>.stride)
    side.deallocate()
  }

  /// Bytes of memory that one takes, with what `malloc` adds.
  package static var cost: Int { MemoryLayout<TLSSide>.stride + 48 }
}

extension TLSConnection {
  /// A copy of the state of `direction`.
  package func saveSide(direction: Int) -> TLSSavedSide { TLSSavedSide(sides[direction & 1]) }

  /// Exchanges the state of `direction` with the saved one.
  package func exchangeSide(_ saved: TLSSavedSide, direction: Int) {
    swap(&sides[direction & 1], &saved.side.pointee)
  }
}
