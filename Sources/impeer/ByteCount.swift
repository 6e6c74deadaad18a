import IMCommandLine

/// A number of bytes on the command line: 64m is 64 MiB.
struct ByteCount: OptionValue, Equatable {
  var bytes: Int

  init(_ bytes: Int) { self.bytes = bytes }

  init?(word: String) {
    let factors: [Character: Int] = ["k": 1 << 10, "m": 1 << 20, "g": 1 << 30]
    let factor = word.last.flatMap { factors[$0] }
    guard let number = Int(factor == nil ? word[...] : word.dropLast()), number >= 0, number <= 1 << 40 else {
      return nil
    }
    bytes = number * (factor ?? 1)
  }

  var word: String? {
    for (letter, shift) in [("g", 30), ("m", 20), ("k", 10)] where bytes > 0 && bytes % (1 << shift) == 0 {
      return "\(bytes >> shift)\(letter)"
    }
    return "\(bytes)"
  }

  static var expected: String { "a number of bytes such as 64m" }
}

/// How much is kept for one user on the command line: letters, and their bytes after a colon.
struct MailboxSize: OptionValue, Equatable {
  var letters = 10_000
  var bytes = ByteCount(64 << 20)

  init() {}

  init?(word: String) {
    let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let letters = Int(first), letters >= 0, letters <= 1 << 30 else { return nil }
    self.letters = letters
    guard parts.count == 2 else { return }
    guard let bytes = ByteCount(word: String(parts[1])) else { return nil }
    self.bytes = bytes
  }

  var word: String? { "\(letters):\(bytes.word ?? "")" }
  static var expected: String { "a number of letters and a number of bytes, separated by a colon, such as 10000:64m" }
}
