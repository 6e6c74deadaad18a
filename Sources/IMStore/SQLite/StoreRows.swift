/// The rows of a statement, one at a time.
package struct StoreRows: ~Copyable {
  /// What a column of a row holds. Text and bytes are borrowed until the next row.
  package enum Value {
    /// Nothing.
    case null
    /// A whole number.
    case integer(Int64)
    /// A number with a fraction.
    case real(Double)
    /// Text, which may hold any bytes.
    case text(UnsafeRawBufferPointer)
    /// Bytes.
    case blob(UnsafeRawBufferPointer)
  }

  private var statement: Statement
  /// The names of the columns.
  package let columns: [String]

  init(_ statement: consuming Statement) {
    columns = statement.columns
    self.statement = statement
  }

  /// Goes to the next row; false behind the last one.
  package mutating func next() throws(StoreError) -> Bool { try statement.step() }

  /// What the row has in a column, from 0.
  package subscript(column: Int) -> Value { statement.row[Int32(column)] }
}
