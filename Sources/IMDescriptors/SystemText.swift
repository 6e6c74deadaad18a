import Glibc

/// The system's text for an error number, in the form for the inside of a sentence.
package func systemText(_ number: Int32) -> String {
  guard let text = strerror(number) else { return "error \(number)" }
  let words = String(cString: text)
  return words.prefix(1).lowercased() + words.dropFirst()
}
