import IMCommandLine
import Testing

/// What is said of command lines that are wrong.
@Suite struct RefusalTests {
  /// Words, and the message.
  static let cases: [([String], String)] = [
    // Options that there are not; long names are never abbreviated.
    (["--frob"], "unknown option '--frob'"),
    (["--frob=3"], "unknown option '--frob'"),
    (["--colou", "red"], "unknown option '--colou'; did you mean '--colour'?"),
    (["--color", "red"], "unknown option '--color'; did you mean '--colour'?"),
    (["--oclour", "red"], "unknown option '--oclour'; did you mean '--colour'?"),
    (["--po"], "unknown option '--po'; did you mean '--port'?"),
    (["--secre"], "unknown option '--secre'"),
    (["--vrsion"], "unknown option '--vrsion'; did you mean '--version'?"),
    (["-vk"], "unknown option '-k' in '-vk'"),
    (["-k"], "unknown option '-k'"),
    (["-colour", "red"], "the value 'olour' is invalid for '-c <count>': expected a whole number, 0 or greater"),
    (["-folder=x"], "unknown option '-folder=x'; did you mean '--folder'?"),
    (["--=x"], "unknown option '--=x'"),
    (["-=x"], "unknown option '-=' in '-=x'"),
    (["-é"], "unknown option '-é'"),
    (["count", "--colour", "red"], "unknown option '--colour'"),
    (["lists", "--help=1"], "'--help' takes no value, but '1' was given"),
    // Values that are missing, and those that nobody asked for.
    (["-r"], "missing value for '-r <file>'"),
    (["-vr"], "missing value for '-r <file>'"),
    (["--colour"], "missing value for '--colour <colour>'"),
    (["--colour="], "missing value for '--colour <colour>'"),
    (["-j"], "missing value for '--jobs <count>'"),
    (["-c", "-1"], "missing value for '-c <count>': '-1' begins with a dash; if it is the value, write '-c-1'"),
    (
      ["--folder", "--port"],
      "missing value for '--folder <folder>': '--port' begins with a dash; if it is the value, write '--folder=--port'"
    ),
    (["-r", "--", "x"], "missing value for '-r <file>': '--' begins with a dash; if it is the value, write '-r--'"),
    (["--no-checks=1"], "'--no-checks' takes no value, but '1' was given"),
    (["--help=1"], "'--help' takes no value, but '1' was given"),
    (["-q=3"], "'-q' takes no value, but '3' was given"),
    // Values that are wrong.
    (["--colour", "pink"], "the value 'pink' is invalid for '--colour <colour>': expected one of red, green or blue"),
    (["-c", "x"], "the value 'x' is invalid for '-c <count>': expected a whole number, 0 or greater"),
    (["-c", ""], "the value '' is invalid for '-c <count>': expected a whole number, 0 or greater"),
    (["-c-1"], "the value '-1' is invalid for '-c <count>': expected a whole number, 0 or greater"),
    (
      ["-c", "18446744073709551616"],
      "the value '18446744073709551616' is invalid for '-c <count>': expected a whole number, 0 or greater"
    ),
    (["-c", "٣"], "the value '٣' is invalid for '-c <count>': expected a whole number, 0 or greater"),
    (["--port", "65536"], "the value '65536' is invalid for '--port <port>': expected a number from 0 to 65535"),
    (["--jobs=9"], "the value '9' is invalid for '--jobs <count>': expected a number from 1 to 8"),
    (["--home-port", "0"], "the value '0' is invalid for '--home-port <port>': expected a number from 1 to 65535"),
    (["--size", "3"], "the value '3' is invalid for '--size <size>': expected a number with K behind it"),
    (["paint", "pink"], "the value 'pink' is invalid for '<colour>': expected one of red, green or blue"),
    // Operands.
    (["count"], "missing argument '<name>'"),
    (["paint", "red", "blue"], "unexpected argument 'blue'"),
    (["count", "twice", "x"], "unexpected argument 'x'"),
    (["count", "n", "-qv"], "-q and -v contradict each other"),
    // Subcommands; a near miss is not taken for an operand.
    (["coun", "x"], "unknown subcommand 'coun'; did you mean 'count'?"),
    (["piant"], "unknown subcommand 'piant'; did you mean 'paint'?"),
    (["hlep"], "unknown subcommand 'hlep'; did you mean 'help'?"),
    (["count", "twic"], "unknown subcommand 'twic'; did you mean 'twice'?"),
    (["lists", "all"], "unknown subcommand 'all'; expected show"),
    (["lists", "-v"], "unknown option '-v'"),
    (["help", "nope"], "unknown subcommand 'nope'; expected count, lists or paint"),
    (["help", "lists", "sho"], "unknown subcommand 'sho'; did you mean 'show'?"),
    (["help", "paint", "red"], "unexpected argument 'red'"),
    (["help", "--versio"], "unknown option '--versio'; did you mean '--version'?"),
  ]

  @Test(arguments: cases)
  func says(_ words: [String], _ message: String) {
    guard case .refusal(let refusal) = tool(words) else {
      Issue.record("\(words) is not refused")
      return
    }
    #expect(refusal.message == message)
  }

  /// `fetch` is hidden, and so is no suggestion; words that are far from every name are operands.
  @Test(arguments: ["fetc", "x", "co2", "recounts", "es", "st", "4", "-"])
  func otherFirstWordsAreOperands(_ word: String) {
    #expect(command(Fetch.self, word)?.words == [word])
  }

  @Test func aRefusalEndsWithTheWayToHelp() {
    #expect(
      refusal("--colour", "pink")?.text == """
        the value 'pink' is invalid for '--colour <colour>': expected one of red, green or blue
        Help:  --colour <colour>  In which colour, of which there are three, if one counts them one by one. \
        (values: red, green, blue; default: red)
        Usage: tool [<options>] [<word> ...]
          See 'tool --help' for more information.
        """)
    #expect(
      refusal("coun")?.text == """
        unknown subcommand 'coun'; did you mean 'count'?
        Usage: tool [<options>] [<word> ...]
               tool <subcommand>
          See 'tool --help' for more information.
        """)
    #expect(
      refusal("count")?.text == """
        missing argument '<name>'
        Help:  <name>  Under this name.
        Usage: tool count <name> [-r <file>] [-c <count>] [-v] [-q] [--no-checks]
                          <file> ...
          See 'tool count --help' for more information.
        """)
    #expect(refusal("lists", "show", "x")?.help == "tool lists show --help")
  }

  /// Whatever stands in a word: a message has one line, and nothing in it moves a terminal's cursor or turns its text.
  @Test func controlCharactersAreEscaped() {
    let bad = "\u{1b}[31m\n\r\t\u{7f}\u{9b}2J\u{202e}\u{200b}\u{feff}\u{0}"
    let shown = #"\x1b[31m\x0a\x0d\x09\x7f\xc2\x9b2J\xe2\x80\xae\xe2\x80\x8b\xef\xbb\xbf\x00"#
    for words in [
      ["--\(bad)"], ["--x\(bad)=3"], ["-c", bad], ["-q=\(bad)"], ["help", bad], ["paint", "red", bad],
      ["-c", "-\(bad)"],
    ] {
      guard case .refusal(let refusal) = tool(words) else {
        Issue.record("\(words) is not refused")
        continue
      }
      #expect(refusal.message.contains(shown))
      for scalar in refusal.message.unicodeScalars {
        #expect(scalar.value >= 32 && !(0x7f..<0xa0).contains(scalar.value) && scalar.value != 0x202e)
      }
    }
  }

  @Test func longWordsAreCut() throws {
    let text = try #require(refusal("--" + String(repeating: "x", count: 100_000))).text
    #expect(text.count < 500)
    #expect(text.contains("xxx…'"))
  }
}
