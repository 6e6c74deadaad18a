import IMWire

/// Moments as text: ISO 8601 in UTC.
package enum FieldTime {
  /// The moment so many seconds after 1970.
  package static func text(_ seconds: Int64) -> String {
    func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let day = seconds.dividingFloored(by: 86_400)
    let (second, minute, hour) = { ($0 % 60, $0 / 60 % 60, $0 / 3_600) }(seconds - day * 86_400)
    // Days since 1 March of year 0, so that a leap day is the last of its year.
    let shifted = day + 719_468
    let era = shifted.dividingFloored(by: 146_097)
    let ofEra = shifted - era * 146_097
    let yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * ofYear + 2) / 153
    let year = yearOfEra + era * 400 + (month < 10 ? 0 : 1)
    let date = "\(year)-\(two(month < 10 ? month + 3 : month - 9))-\(two(ofYear - (153 * month + 2) / 5 + 1))"
    return "\(date)T\(two(hour)):\(two(minute)):\(two(second))Z"
  }
}

/// Addresses as text.
enum FieldAddress {
  static func v4(_ bytes: ArraySlice<UInt8>) -> String { bytes.map { "\($0)" }.joined(separator: ".") }

  /// 16 bytes, as RFC 5952 writes them.
  static func v6(_ bytes: ArraySlice<UInt8>) -> String {
    let high = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let low = bytes.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return "\(IPAddress(v6High: high, v6Low: low))"
  }
}

extension Int64 {
  fileprivate func dividingFloored(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
