import Glibc

/// Memory for tables that are read at random places.
///
/// From `page` bytes on it asks the kernel for pages of that size: a table of many megabytes in pages of 4 KiB has more of
/// them than the processor remembers the places of, and each access would look its page up first.
enum LargeMemory {
  /// Bytes of a large page on x86-64, and on arm64 with pages of 4 KiB.
  static var page: Int { 1 << 21 }

  /// `byteCount` bytes that begin at a cache line; `deallocate()` gives them back.
  static func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer {
    guard byteCount >= page else { return .allocate(byteCount: byteCount, alignment: 64) }
    let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: page)
    // Where the kernel has none, it stays as it is.
    madvise(memory, byteCount & ~(page - 1), MADV_HUGEPAGE)
    return memory
  }

  /// Addresses for a table that grows in place. Memory comes as they are touched.
  struct Reservation {
    /// Where they begin, at a large page or at a page of the kernel's.
    let start: UnsafeMutableRawPointer
    let byteCount: Int
    /// Whether the kernel gave them; else they are the allocator's.
    fileprivate let isMapped: Bool
  }

  /// Addresses for `byteCount` bytes, or for as many halves of it as there are.
  static func reserve(_ byteCount: Int) -> Reservation {
    var count = byteCount
    while count > page {
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
      if let start = mmap(nil, count, PROT_READ | PROT_WRITE, flags, -1, 0), start != MAP_FAILED {
        madvise(start, count, MADV_HUGEPAGE)
        return Reservation(start: start, byteCount: count, isMapped: true)
      }
      count /= 2
    }
    return Reservation(start: .allocate(byteCount: count, alignment: 64), byteCount: count, isMapped: false)
  }

  /// `byteCount` zeros: pages that are never written take no memory. `nil` where there are no addresses for so many.
  static func zeros(_ byteCount: Int) -> Reservation? {
    let reservation = reserve(byteCount)
    guard reservation.byteCount >= byteCount else {
      release(reservation)
      return nil
    }
    if !reservation.isMapped { reservation.start.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount) }
    return reservation
  }

  /// Gives a reservation back.
  static func release(_ reservation: Reservation) {
    if reservation.isMapped {
      munmap(reservation.start, reservation.byteCount)
    } else {
      reservation.start.deallocate()
    }
  }
}
