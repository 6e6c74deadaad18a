/// What a store is made of, beside its messages.
package struct StoreOptions: Sendable {
  /// The captures that it is of, in the order in which they are read.
  package var captures: [Capture]
  /// Who writes it, with a version.
  package var writer: String
  /// Sessions whose round trips are kept for their percentile, at most: 1 KB each as a rule, 5 KB at most. Others have none.
  package var sessionLimit: Int

  /// Whether it is read while it is written, for hours: it has its indexes from the start, and every batch brings the sums up
  /// to date.
  package var isLive = false
  /// Whether somebody looks at it while it is written: sums are written once more early on.
  package var isWatched = false
  /// Whether it has what users write, where the profile does not hide that.
  package var keepsPayload = false
  /// Bytes of the file at which its oldest messages are removed; `nil` for no limit.
  package var maximumBytes: UInt64?

  /// A capture.
  package struct Capture: Equatable, Sendable {
    /// Its path.
    package var path: String
    /// Bytes of its file; `nil` where that is not known, as of a pipe.
    package var byteCount: UInt64?

    /// A capture with its size.
    package init(path: String, byteCount: UInt64? = nil) { (self.path, self.byteCount) = (path, byteCount) }
  }

  /// Options of their parts.
  package init(captures: [Capture], writer: String, sessionLimit: Int = 65_536) {
    self.captures = captures
    self.writer = writer
    self.sessionLimit = sessionLimit
  }
}
