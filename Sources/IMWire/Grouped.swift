/// `1234567` as `1,234,567`.
package func grouped(_ value: UInt64) -> String {
  let digits = String(value)
  var result = ""
  for (i, digit) in digits.enumerated() {
    if i > 0, (digits.count - i) % 3 == 0 { result.append(",") }
    result.append(digit)
  }
  return result
}
