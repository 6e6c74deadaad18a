import CSQLite

/// One row of a statement that stands on it. Columns count from 0. Nothing of it may be used after the statement's next step.
struct Row {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) { self.handle = handle }

  /// The value of a column, as it is stored.
  subscript(column: Int32) -> StoreRows.Value {
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, column))
    case SQLITE_TEXT:
      let start = sqlite3_column_text(handle, column)
      return .text(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    case SQLITE_BLOB:
      let start = sqlite3_column_blob(handle, column)
      return .blob(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    default: return .null
    }
  }

  /// A whole number; `nil` where there is none.
  func number(_ column: Int32) -> Int64? {
    if case .integer(let value) = self[column] { value } else { nil }
  }

  /// The most that is counted, and seconds from 1970 that a time lies away, at most: what a store says may be any number, and sums and
  /// differences of these have room.
  static let mostCounted: Int64 = 1 << 48, mostSeconds: Int64 = 9_000_000_000

  /// What is counted: not less than 0, and not more than anything is; `nil` where there is none.
  func counted(_ column: Int32) -> Int64? { number(column).map { min(max($0, 0), Self.mostCounted) } }

  /// Seconds, as far as a `Timestamp` reaches; `nil` where there are none.
  func seconds(_ column: Int32) -> Int64? {
    number(column).map { min(max($0, -Self.mostSeconds), Self.mostSeconds) }
  }

  /// Microseconds, of a time or between two, as far as a `Timestamp` reaches; `nil` where there are none.
  func microseconds(_ column: Int32) -> Int64? { number(column).map(Self.microseconds) }

  /// The same of a number.
  static func microseconds(_ value: Int64) -> Int64 {
    min(max(value, -mostSeconds * 1_000_000), mostSeconds * 1_000_000)
  }

  /// Text; `nil` where there is none.
  func text(_ column: Int32) -> String? {
    if case .text(let bytes) = self[column] { String(decoding: bytes, as: UTF8.self) } else { nil }
  }
}
