import IMOutput

/// Text as the store's full-text index has it, and queries for it.
///
/// SQLite's tokenizer takes a run of Chinese, Japanese or Korean characters for one word, so that nothing inside of it would be
/// found. Here each such run is written as the pairs of its neighbours and its last character, which are words of their own:
///
///     今晚上吃什么 ok   →   今晚 晚上 上吃 吃什 什么 么 ok
///
/// Two characters are then one word, more of them are words that follow each other, and one is the beginning of a word.
/// Upper and lower case, and accents, do not matter: the tokenizer sees to that.
package enum SearchText {
  /// Bytes of a message's text that are kept and indexed, at most, as in documents; what is longer is cut.
  package static let maximumText = JSONLines.maximumText

  /// Whether a character is of a script that is written without spaces: Han, kana, hangul, bopomofo, and what belongs to them.
  private static func isDense(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1100...0x11ff, 0x2e80...0x2fdf, 0x3005...0x3007, 0x3021...0x3029, 0x3031...0x3035, 0x3038...0x303c,
      0x3041...0x318f, 0x31a0...0x31bf, 0x31f0...0x31ff, 0x3400...0x4dbf, 0x4e00...0x9fff, 0xa960...0xa97f,
      0xac00...0xd7ff, 0xf900...0xfaff, 0xff66...0xff9f, 0x1b000...0x1b16f, 0x20000...0x323af:
      true
    default: false
    }
  }

  /// Whether a character belongs to a word.
  private static func isOfWord(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isAlphabetic || scalar.properties.numericType != nil
      || scalar.properties.generalCategory == .nonspacingMark
  }

  /// A stretch of text: a word that is written with letters, or a run of characters without spaces.
  private enum Stretch: Equatable {
    case word(String)
    case run([Unicode.Scalar])
  }

  private static func stretches(_ text: some StringProtocol) -> [Stretch] {
    var stretches: [Stretch] = []
    var word = String.UnicodeScalarView()
    var run: [Unicode.Scalar] = []
    func end() {
      if !word.isEmpty { stretches.append(.word(String(word))) }
      if !run.isEmpty { stretches.append(.run(run)) }
      word.removeAll()
      run.removeAll()
    }
    for scalar in text.unicodeScalars {
      if isDense(scalar) {
        if !word.isEmpty { end() }
        run.append(scalar)
      } else if isOfWord(scalar) {
        if !run.isEmpty { end() }
        word.append(scalar)
      } else {
        end()
      }
    }
    end()
    return stretches
  }

  /// The pairs of a run, and its last character.
  private static func words(_ run: [Unicode.Scalar]) -> [String] {
    run.indices.map { i in
      var word = String.UnicodeScalarView()
      word.append(run[i])
      if i + 1 < run.count { word.append(run[i + 1]) }
      return String(word)
    }
  }

  /// The columns of `message_text` that are indexed as one text, in the order in which `indexed` takes them.
  static let columns = "topic, text, other_text"

  /// The texts of a message as they go into the index.
  static func indexed(_ texts: [String?]) -> String { indexed(texts.compactMap(\.self).joined(separator: " ")) }

  /// The same of a row that has `columns` from `column` on.
  static func indexed(_ row: Row, from column: Int32) -> String {
    indexed((column..<column + 3).map { row.text($0) })
  }

  /// `text` as it goes into the index.
  package static func indexed(_ text: String) -> String {
    stretches(text).flatMap { stretch in
      switch stretch {
      case .word(let word): [word]
      case .run(let run): words(run)
      }
    }.joined(separator: " ")
  }

  /// The query, in the language of FTS5, for texts that hold all of `text`'s parts between spaces, each as it stands there;
  /// `nil` where it has neither a letter nor a digit. A part's last word may go on in the text.
  ///
  /// Nothing of `text` is read as an operator.
  package static func query(_ text: String) -> String? {
    let phrases = text.split(whereSeparator: \.isWhitespace).compactMap { part in
      let stretches = stretches(part)
      let words = stretches.enumerated().flatMap { i, stretch in
        switch stretch {
        case .word(let word): return [word]
        case .run(let run):
          // The last character of a run is a word only where the run ends in the text, too.
          let all = Self.words(run)
          return i + 1 < stretches.count || all.count == 1 ? all : all.dropLast()
        }
      }
      return words.isEmpty ? nil : "\"\(words.joined(separator: " "))\" *"
    }
    return phrases.isEmpty ? nil : phrases.joined(separator: " ")
  }
}
