import IMCommandLine
import Testing

/// Which words set what.
@Suite struct ReadTests {
  @Test(arguments: [
    ["-rA", "-c3"], ["-r", "A", "-c", "3"], ["-c3", "-rA"], ["-r", "A", "-c", "1", "-c", "3"], ["-c3r", "-rA"],
  ])
  func valuesAreJoinedOrTheNextWord(_ words: [String]) throws {
    guard words != ["-c3r", "-rA"] else {
      #expect(refusal("-c3r")?.message.contains("'3r' is invalid for '-c <count>'") == true)
      return
    }
    guard case .run(let command as Fetch) = tool(words) else { throw ValueError("\(tool(words))") }
    #expect(command.common.files == ["A"])
    #expect(command.common.limit == 3)
  }

  @Test func lettersStandInOneWord() {
    #expect(command(Fetch.self, "-vvq")?.common.verbosity == 2)
    #expect(command(Fetch.self, "-vqr", "A")?.common.files == ["A"])
    #expect(command(Fetch.self, "-vqrA")?.common.files == ["A"])
    #expect(command(Fetch.self, "-vrvq")?.common.files == ["vq"])
    #expect(command(Fetch.self, "-v", "-v", "x", "-v")?.common.verbosity == 3)
    #expect(command(Fetch.self, "-K")?.common.verifies == false)
  }

  @Test func aJoinedValueIsWhateverFollowsTheLetter() {
    #expect(command(Fetch.self, "-rtype == data")?.common.files == ["type == data"])
    #expect(command(Fetch.self, "-r=A")?.common.files == ["=A"])
    #expect(command(Fetch.self, "-r-x")?.common.files == ["-x"])
    #expect(command(Fetch.self, "-r--")?.common.files == ["--"])
    #expect(command(Fetch.self, "-r", "")?.common.files == [""])
  }

  @Test func longNames() {
    #expect(command(Fetch.self, "--colour", "green")?.colour == .green)
    #expect(command(Fetch.self, "--colour=green")?.colour == .green)
    #expect(command(Fetch.self, "--folder=a=b")?.folder == "a=b")
    #expect(command(Fetch.self, "--folder=--x")?.folder == "--x")
    #expect(command(Fetch.self, "--no-checks")?.common.verifies == false)
    #expect(command(Fetch.self, "--port", "1", "--port=2")?.ports == [1, 2])
    #expect(command(Fetch.self, "--size", "3K")?.size == 3_072)
    #expect(command(Fetch.self, "--secret")?.secret == true)
    #expect(command(Fetch.self, "-j8")?.jobs == 8)
    #expect(command(Fetch.self, "--jobs", "8")?.jobs == 8)
  }

  @Test func operandsAndTheEndOfOptions() {
    #expect(command(Fetch.self, "a", "-v", "-", "b")?.words == ["a", "-", "b"])
    #expect(
      command(Fetch.self, "-v", "--", "-v", "--colour", "--", "count")?.words == ["-v", "--colour", "--", "count"])
    #expect(command(Fetch.self, "-r", "-")?.common.files == ["-"])
    #expect(command(Fetch.self, "")?.words == [""])
    #expect(command(Fetch.self, "--", "--help")?.words == ["--help"])
    #expect(command(Count.self, "count", "n", "-r", "a", "b", "-rc", "d")?.files == ["b", "d"])
    #expect(command(Count.self, "count", "n", "-r", "a", "b")?.name == "n")
  }

  @Test func wordsLeadToCommands() {
    #expect(command(Fetch.self) != nil)
    #expect(command(Fetch.self, "fetch", "x")?.words == ["x"])
    #expect(command(Count.Twice.self, "count", "twice")?.run() == 2)
    // Behind an option or `--` a command's name is a word like others.
    #expect(command(Fetch.self, "-v", "count")?.words == ["count"])
    #expect(command(Fetch.self, "--", "count")?.words == ["count"])
    #expect(command(Fetch.self, "what", "count")?.words == ["what", "count"])
    #expect(command(Lists.Show.self, "lists", "show") != nil)
  }

  @Test(arguments: [
    (["--help"], "tool"), (["-h"], "tool"), (["help"], "tool"), (["help", "count"], "tool count"),
    (["help", "count", "twice"], "tool count twice"), (["count", "--help"], "tool count"), (["lists"], "tool lists"),
    (["help", "--help"], "tool"), (["-vh"], "tool"), (["fetch", "-h"], "tool"),
    (["lists", "show", "-h"], "tool lists show"),
    // Help wins over what is wrong.
    (["--nope", "--help"], "tool"), (["count", "-c", "x", "-h"], "tool count"),
    (["lists", "nope", "-h"], "tool lists"),
    (["-r", "--help"], "tool"),
  ])
  func helpOf(_ words: [String], _ usage: String) {
    guard case .help(let text) = tool(words) else {
      Issue.record("\(words): \(tool(words))")
      return
    }
    #expect(text.contains("USAGE: \(usage)"))
  }

  @Test func versionOf() {
    for words in [["--version"], ["count", "--version"], ["-v", "--nope", "--version"], ["--version", "--help"]] {
      guard case .version("tool 1.2") = tool(words) else {
        Issue.record("\(words): \(tool(words))")
        continue
      }
    }
    #expect(command(Fetch.self, "--", "--version")?.words == ["--version"])
  }

  /// An accent behind a dash or an equals sign makes another character of both, and changes nothing here.
  @Test func bytesAreCompared() {
    #expect(command(Fetch.self, "--folder=\u{301}x")?.folder == "\u{301}x")
    #expect(command(Fetch.self, "-r\u{301}x")?.common.files == ["\u{301}x"])
    #expect(command(Fetch.self, "-\u{301}x")?.words == nil)
    #expect(refusal("-\u{301}x")?.message.hasPrefix("unknown option") == true)
    #expect(refusal("--\u{301}colour", "red")?.message.hasPrefix("unknown option") == true)
    #expect(refusal("-v\u{301}")?.message.hasPrefix("unknown option") == true)
  }
}
