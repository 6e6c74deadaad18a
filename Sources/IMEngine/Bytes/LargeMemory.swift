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
}
