import IMTestSupport
import Testing

@testable import IMBrowser

/// Names beside ids.
@Suite struct NameBookTests {
  /// 10,000 ids are looked up in 100 batches, each once, and those that have no name are not asked for again.
  @Test func eachIdIsLookedUpOnce() {
    let ids = (0..<10_000).map { "\($0)" }
    var book = NameRegistry()
    var looked: [String] = []
    var batches = 0
    // What is on the screen is wanted with every frame.
    for turn in 0..<400 {
      book.want(ids)
      book.want(Array(ids[turn * 20..<turn * 20 + 40]))
      guard let request = book.nextRequest() else { continue }
      #expect(request.ids.count <= NameRegistry.batchCount)
      let other = book.nextRequest()
      #expect(other == nil)
      batches += 1
      looked += request.ids
      let names = Dictionary(
        request.ids.compactMap { id in id.utf8.last == UInt8(ascii: "7") ? nil : (id, "name \(id)") }
      ) { first, _ in first }
      let taken = [book.accept(request, names), book.accept(request, names)]
      #expect(taken == [true, false])
    }
    #expect(batches == 100 && looked.count == 10_000 && Set(looked) == Set(ids))
    for id in ids { #expect(book.name(of: id) == (id.utf8.last == UInt8(ascii: "7") ? nil : "name \(id)")) }
  }

  /// Names that are there before the others of their batch are shown, and the batch is still on its way.
  @Test func namesThatAreThereDoNotWait() {
    var book = NameRegistry()
    book.want(["a", "b", "c"])
    let request = book.nextRequest() ?? NameRequest(ids: [])
    #expect(request.ids == ["a", "b", "c"])
    let taken = book.accept(request, ["b": "bob"], isLast: false)
    #expect(taken && book.name(of: "b") == "bob" && book.name(of: "a") == nil)
    let early = book.nextRequest()
    #expect(early == nil)
    let last = book.accept(request, ["a": "alice", "b": "bob"])
    #expect(last && book.name(of: "a") == "alice" && book.name(of: "b") == "bob" && book.name(of: "c") == nil)
    // Each was asked for.
    book.want(["a", "b", "c"])
    let again = book.nextRequest()
    #expect(again == nil)
  }

  /// What is on the screen is looked up before what was wanted earlier.
  @Test func whatIsSeenComesFirst() {
    var book = NameRegistry()
    book.want((0..<500).map { "\($0)" })
    book.want(["a", "b"])
    let request = book.nextRequest()
    #expect(request?.ids.prefix(3) == ["a", "b", "0"])
  }

  /// Any order of calls, against a dictionary and a set.
  @Test func anyOrder() {
    var random = SeededRandom(31)
    for _ in 0..<200 {
      var book = NameRegistry()
      var known: [String: String?] = [:]
      var wanted: Set<String> = []
      var open: NameRequest?
      for _ in 0..<100 {
        switch random.next() % 4 {
        case 0, 1:
          let ids = (0..<Int(random.next() % 60)).map { _ in "\(random.next() % 500)" }
          book.want(ids)
          wanted.formUnion(ids)
        case 2:
          let request = book.nextRequest()
          #expect(open == nil || request == nil)
          if let request {
            #expect(Set(request.ids).count == request.ids.count)
            #expect(request.ids.allSatisfy { known[$0] == nil && wanted.contains($0) })
            open = request
          } else if open == nil {
            #expect(wanted.allSatisfy { known[$0] != nil })
          }
        default:
          guard let request = open else { continue }
          open = nil
          if random.once(in: 5) {
            book.fail(request)
            for id in request.ids { known[id] = .some(nil) }
          } else {
            var names: [String: String] = [:]
            for id in request.ids where random.once(in: 2) { names[id] = "of \(id)" }
            let isTaken = book.accept(request, names)
            #expect(isTaken)
            for id in request.ids { known[id] = .some(names[id]) }
          }
        }
        #expect(wanted.allSatisfy { book.name(of: $0) == (known[$0] ?? nil) })
      }
    }
  }
}
