internal import Foundation

/// `IMDUMP_LONG=1` makes the tests that can go on for ever go on for long: `Scripts/check --long`.
package enum LongRun {
  /// Whether it is wanted.
  package static let isWanted = ProcessInfo.processInfo.environment["IMDUMP_LONG"] == "1"

  /// `count`; in a long run `all`.
  package static func times(_ count: Int, of all: Int) -> Int { isWanted ? all : count }

  /// Every third of `items`, from the first on; in a long run all.
  package static func some<Items: RandomAccessCollection>(_ items: Items) -> [Items.Element] {
    items.enumerated().filter { isWanted || $0.offset % 3 == 0 }.map(\.element)
  }
}
