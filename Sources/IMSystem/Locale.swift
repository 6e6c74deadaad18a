import Glibc

/// Whether the locale of the environment has UTF-8, as setlocale(3) finds it.
package func localeIsUTF8() -> Bool {
  for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
    guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else { continue }
    let lower = value.lowercased()
    return lower.contains("utf-8") || lower.contains("utf8")
  }
  return false
}
