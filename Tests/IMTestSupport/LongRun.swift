internal import Foundation

/// `IMDUMP_LONG=1` makes the tests that can go on for ever go on for long: `Scripts/check --long`.
package enum LongRun {
  /// Whether it is wanted.
  package static let isWanted = ProcessInfo.processInfo.environment["IMDUMP_LONG"] == "1"
}
