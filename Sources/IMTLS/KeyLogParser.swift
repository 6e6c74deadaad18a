/// Takes a key log (RFC 9850) in chunks of any size and hands its lines to a table. Memory is bounded whatever the lines are.
package struct KeyLogParser {
  /// Lines that brought a new secret.
  package private(set) var kept: UInt64 = 0
  /// Lines whose secret the table had.
  package private(set) var duplicates: UInt64 = 0
  /// Lines of labels that are of no use here.
  package private(set) var foreign: UInt64 = 0
  /// Lines that are no lines of a key log, or are too long.
  package private(set) var malformed: UInt64 = 0

  package init() {}

  /// Takes the next bytes of the log.
  package mutating func take(_ bytes: UnsafeRawBufferPointer, into table: KeyTable) {}

  /// The log ended. A last line without its end is taken when the log `isWhole`, and left out when it may have been cut.
  package mutating func finish(isWhole: Bool, into table: KeyTable) {}

  /// The log begins anew: it was cut or replaced.
  package mutating func restart() {}
}
