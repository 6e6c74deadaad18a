/// What is browsed, as it was named.
package struct BrowsedSource: Equatable, Sendable {
  /// The files: one store, or captures.
  package var files: [String]
  /// Whether it is a store, which holds what captures held.
  package var isStore: Bool
  /// The interface of a live capture; `nil` where it is files.
  package var interface: String?
  /// Options of the command line with which captures are decoded, to be repeated in the command that prints the same.
  package var options: [String]
  /// The capture filter; `nil` without one.
  package var captureFilter: String?
  /// The named fields of its protocols that name a topic.
  package var topicFields = ["topic"]
  /// The captures that a store was made of; empty while that is not known.
  package var captures: [String] = []

  /// A source of its parts.
  package init(files: [String], isStore: Bool, options: [String] = []) {
    self.files = files
    self.isStore = isStore
    self.options = options
  }

  /// The name of the first file, without its folder, or of the interface.
  var fileName: String { interface ?? files.first.map { String($0.split(separator: "/").last ?? "") } ?? "" }

  /// What the title calls it.
  var title: String { interface == nil && files.count > 1 ? "\(fileName) and \(files.count - 1) more" : fileName }

  /// The capture filter as words of a command line: the last ones.
  var filterWords: [String] { captureFilter.map { [$0] } ?? [] }
}

/// What a live capture has counted.
package struct LiveCounts: Equatable, Sendable {
  /// Packets that were captured; those that the kernel dropped, `nil` where it does not tell.
  package var packets: UInt64, dropped: UInt64?

  /// Counts of their parts.
  package init(packets: UInt64, dropped: UInt64?) {
    self.packets = packets
    self.dropped = dropped
  }
}

/// How far a store is that is being written.
package struct LoadProgress: Equatable, Sendable {
  /// Whether messages come as they are sent, with fates that may change.
  package var isLive = false
  /// What the capture has counted; `nil` where it is not this program's.
  package var capture: LiveCounts?
  /// Whether captures are still being read.
  package var isLoading = false
  /// The share of them that was read, in percent; `nil` where that is not known.
  package var percent: Int?
  /// What was wrong with them.
  package var error: String?
  /// What of them was not decoded, and what to do about it; sentences without a period.
  package var unread: [String] = []

  /// Nothing is being read.
  package init() {}
}
