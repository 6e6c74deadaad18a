@testable import IMBrowser
@testable import IMStore
import IMTestSupport
import IMWire
import Testing

/// The command that `!` shows in `imdump browse` prints what is shown: it is run.
@Suite struct BrowseCommandTests {
  /// The words of a command line, as a shell reads it.
  private static func words(_ line: String) -> [String] {
    var words: [String] = []
    var word = ""
    var (isQuoted, isWord, isEscaped) = (false, false, false)
    for character in line {
      if isEscaped {
        word.append(character)
        isEscaped = false
      } else if character == "\\", !isQuoted {
        (isEscaped, isWord) = (true, true)
      } else if character == "'" {
        (isQuoted, isWord) = (!isQuoted, true)
      } else if character == " ", !isQuoted {
        if isWord { words.append(word) }
        (word, isWord) = ("", false)
      } else {
        word.append(character)
        isWord = true
      }
    }
    return isWord ? words + [word] : words
  }

  private static func run(_ line: String, _ options: [String]) throws -> [[String: Any]] {
    var words = words(line)
    #expect(words.removeFirst() == "imdump")
    return try Store.objects(words + ["--json"] + options)
  }

  private static func browser(_ store: Store, isStore: Bool, _ sample: String) -> Browser {
    var source = BrowsedSource(files: isStore ? [store.path] : [Samples.path(sample)], isStore: isStore)
    if isStore { source.captures = [Samples.path(sample)] }
    return Browser(source, zone: .utc)
  }

  @Test(
    arguments: ["tjp-weak-network.pcap", "goim-room.pcap", "smpp-gateway.pcap", "diameter-charging.pcap"],
    [true, false])
  func messagesAreThoseOfTheList(_ sample: String, _ isStore: Bool) throws {
    let store = try Store(sample)
    let reader = try StoreReader(store.path)
    let sessions = try reader.sessions()
    let kinds = ProblemNames.all.indices.map { ProblemNames.kind($0) } + [.all, [.unanswered, .damaged], []]
    for kind in kinds {
      for session in [nil] + sessions.prefix(2).map({ Optional($0) }) where session.map({ $0.name != nil }) ?? true {
        var browser = Self.browser(store, isStore: isStore, sample)
        browser.screen = .messages
        browser.session = session
        var page = PageChoice(session: session?.id)
        page.problems = kind
        browser.messages.open(PageRequest.Choice(page))
        let line = browser.equivalentCommand
        let shown = try reader.messages(after: 0, page, count: 100_000)
        // The number of the packet and the place in its stream tell messages apart.
        let found = try Self.run(line, ["-q"].filter { _ in !isStore })
        #expect(found.count == shown.count, "\(line)")
        let times = found.map { isStore ? $0["time_us"] as? Int ?? 0 : ($0["ts"] as? [Int])?.first ?? 0 }
        #expect(times.sorted() == shown.map { Int($0.time.microseconds) }.sorted(), "\(line)")
      }
    }
  }

  @Test func sessionsAreThoseOfTheList() throws {
    let store = try Store("tjp-weak-network.pcap")
    let sessions = try StoreReader(store.path).sessions()
    for filter in ["", "49147", "192.0.2 tjp", "state:recon", "!state:open", "nobody", "it's"] {
      for sort in SessionSort.allCases {
        var browser = Self.browser(store, isStore: true, "tjp-weak-network.pcap")
        var request = browser.sessionSignal.value
        request.order.filter = filter
        request.order.sort = sort
        browser.sessionSignal = CombinedSignal(request, quiet: .milliseconds(20), patience: .milliseconds(40))
        let shown = try #require(request.order.arrange(sessions)).map { Int($0.id) }
        let line = browser.equivalentCommand
        #expect(try Self.run(line, []).compactMap { $0["id"] as? Int } == shown, "\(sort) \(line)")
      }
    }
  }
}
