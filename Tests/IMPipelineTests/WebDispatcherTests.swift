import Foundation
import IMOutput
import Testing

@testable import IMPipeline

/// Connections to the metrics by a clock of the test's own: who waits, who is answered, who goes.
@Suite struct WebDeskTests {
  private static let ask = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
  private static let openAsk = "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text\r\n\r\n"

  private func text(_ body: String) -> HTTPResponse {
    [UInt8](body.utf8).withUnsafeBytes { HTTPResponse(.ok, "text/plain", $0) }
  }

  private func say(_ words: String, _ desk: inout WebDispatcher, from index: Int, at now: Double) {
    let bytes = [UInt8](words.utf8)
    desk.received(bytes.span, from: index, at: now)
  }

  private func phases(_ desk: WebDispatcher) -> [WebConnection.Phase] { desk.clients.map(\.connection.phase) }

  /// What a client will get.
  private func unsent(_ desk: WebDispatcher, _ index: Int) -> String {
    String(decoding: desk.clients[index].connection.unsent, as: UTF8.self)
  }

  /// Sends all that a client is to get.
  private func flush(_ desk: inout WebDispatcher, _ index: Int, at now: Double) {
    let count = desk.clients[index].connection.unsent.count
    let isAll = desk.clients[index].connection.sent(count, at: now)
    #expect(isAll)
  }

  // MARK: Places

  @Test func theOldestThatHasNotAskedGoes() {
    var desk = WebDispatcher()
    for number in 0..<16 { desk.take(Int32(number), at: 0) }
    for index in [0, 1, 3] { say(Self.ask, &desk, from: index, at: 0) }
    say("GET /metr", &desk, from: 2, at: 0)
    desk.take(16, at: 1)
    #expect(desk.takeOver() == [2])
    desk.take(17, at: 1)
    #expect(desk.takeOver() == [4])
    #expect(desk.clients.map(\.descriptor) == [0, 1, 3] + Array(5...17))
  }

  @Test func whereAllHaveAskedOneThatIsAnsweredGoes() {
    var desk = WebDispatcher()
    for number in 0..<16 {
      desk.take(Int32(number), at: 0)
      say(number == 5 ? "GET / HTTP/1.0\r\n\r\n" : Self.ask, &desk, from: number, at: 0)
    }
    flush(&desk, 5, at: 0)
    desk.take(16, at: 0)
    #expect(desk.takeOver() == [5])
    say(Self.ask, &desk, from: 15, at: 0)
    desk.take(17, at: 0)
    #expect(desk.takeOver() == [0], "else the oldest")
    #expect(desk.clients.count == 16)
  }

  // MARK: Texts

  @Test func oneTextASecondAndDialect() {
    var desk = WebDispatcher()
    for number in 0..<6 { desk.take(Int32(number), at: 0) }
    say(Self.ask, &desk, from: 0, at: 10)
    #expect(desk.takeWanted() == 1)
    // The capture has been asked, and has not written yet.
    say(Self.ask, &desk, from: 1, at: 10.5)
    #expect(desk.takeWanted() == 0)
    say(Self.openAsk, &desk, from: 2, at: 10.5)
    #expect(desk.takeWanted() == 2)
    desk.publish(text("a"), .prometheus, at: 11)
    #expect(unsent(desk, 0).hasSuffix("\r\n\r\na") && unsent(desk, 1) == unsent(desk, 0))
    #expect(desk.clients[2].connection.phase == .waiting(.openMetrics))
    // The text is new for a second.
    say(Self.ask, &desk, from: 3, at: 11.999)
    #expect(unsent(desk, 3).hasSuffix("\r\n\r\na"))
    #expect(desk.takeWanted() == 0)
    say(Self.ask, &desk, from: 4, at: 12)
    #expect(unsent(desk, 4) == "")
    #expect(desk.takeWanted() == 1)
    desk.publish(text("b"), .prometheus, at: 12)
    #expect(unsent(desk, 4).hasSuffix("\r\n\r\nb"))
  }

  @Test func headHasTheLengthAndNoBody() {
    var desk = WebDispatcher()
    for (number, request) in ["HEAD /metrics", "HEAD /no", "HEAD /metrics"].enumerated() {
      desk.take(Int32(number), at: 0)
      let end = number == 2 ? "\r\nHost x" : "\r\n\r\n"
      say("\(request) HTTP/1.0\(end)", &desk, from: number, at: 0)
    }
    desk.publish(text("four"), .prometheus, at: 0)
    for (index, (status, length)) in [(200, 4), (404, 10), (400, 12)].enumerated() {
      let answer = unsent(desk, index)
      #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.hasSuffix("\r\n\r\n"), "\(answer)")
      #expect(answer.contains("\r\nContent-Length: \(length)\r\n"), "\(answer)")
    }
  }

  // MARK: Time

  @Test func aConnectionHasTenSeconds() {
    var desk = WebDispatcher()
    desk.take(1, at: 100)
    // However busy it is.
    for (step, byte) in "GET /metrics HT".enumerated() { say(String(byte), &desk, from: 0, at: 100 + Double(step) / 2) }
    #expect(desk.nextEnd == 110)
    desk.expire(at: 109.9)
    #expect(desk.takeOver() == [])
    desk.expire(at: 110)
    #expect(desk.takeOver() == [1])
    #expect(desk.nextEnd == .infinity)
  }

  @Test func aCaptureThatHangsIsTold() {
    var desk = WebDispatcher()
    desk.take(1, at: 0)
    say(Self.ask, &desk, from: 0, at: 2)
    #expect(desk.nextEnd == 7)
    desk.expire(at: 6.9)
    #expect(unsent(desk, 0) == "")
    desk.expire(at: 7)
    #expect(unsent(desk, 0).hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
    // The text that comes at last is not sent behind it.
    desk.publish(text("late"), .prometheus, at: 7)
    #expect(unsent(desk, 0).hasPrefix("HTTP/1.1 503 "))
    #expect(desk.nextEnd == 10)
  }

  @Test func whoAsksLateIsToldWhenItsTimeIsOver() {
    var desk = WebDispatcher()
    desk.take(1, at: 0)
    say(Self.ask, &desk, from: 0, at: 9)
    desk.expire(at: 10)
    #expect(unsent(desk, 0).hasPrefix("HTTP/1.1 503 "))
    flush(&desk, 0, at: 10)
    desk.expire(at: 10)
    #expect(desk.takeOver() == [1])
  }

  @Test func whoDoesNotReadIsNotWaitedFor() {
    var desk = WebDispatcher()
    desk.take(1, at: 0)
    say(Self.ask, &desk, from: 0, at: 1)
    desk.publish(text("long"), .prometheus, at: 1)
    let isAll = desk.clients[0].connection.sent(3, at: 9)
    #expect(!isAll)
    #expect(phases(desk) == [.answering])
    desk.expire(at: 10)
    #expect(desk.takeOver() == [1])
  }

  // MARK: The end of a connection

  @Test func whatFollowsIsReadForAWhile() {
    var desk = WebDispatcher()
    for number in 0..<3 {
      desk.take(Int32(number), at: 0)
      say("nonsense\r", &desk, from: number, at: 0)
      flush(&desk, number, at: 0)
    }
    #expect(phases(desk) == [.lingering, .lingering, .lingering])
    desk.clients[0].connection.inputEnded()
    #expect(desk.takeOver() == [0], "its end is the end")
    let block = [UInt8](repeating: 0x78, count: 1 << 20)
    for _ in 0..<4 {
      #expect(desk.clients[0].connection.wantsInput)
      desk.received(block.span, from: 0, at: 0)
    }
    #expect(desk.takeOver() == [1], "4 MiB are enough")
    desk.expire(at: 1.9)
    #expect(phases(desk) == [.lingering])
    desk.expire(at: 2)
    #expect(desk.takeOver() == [2], "two seconds are enough")
  }

  @Test func aRequestBeforeTheEndIsAnswered() {
    var desk = WebDispatcher()
    for number in 0..<3 { desk.take(Int32(number), at: 0) }
    say(Self.ask, &desk, from: 0, at: 0)
    say("GET /metrics HTTP/1.1\r\nHost: x\r\n", &desk, from: 1, at: 0)
    for index in 0..<3 { desk.clients[index].connection.inputEnded() }
    #expect(desk.takeOver() == [2], "who has said nothing gets nothing")
    #expect(unsent(desk, 1).hasPrefix("HTTP/1.1 400 "), "a piece of a request is none")
    #expect(!desk.clients[0].connection.wantsInput, "else its end would be read again and again")
    desk.publish(text("x"), .prometheus, at: 0)
    #expect(unsent(desk, 0).hasPrefix("HTTP/1.1 200 "))
    flush(&desk, 0, at: 0)
    #expect(desk.takeOver() == [0])
  }

  @Test func theSecondRequestIsNotRead() {
    var desk = WebDispatcher()
    desk.take(1, at: 0)
    say(Self.ask + "GET / HTTP/1.1\r\n\r\n", &desk, from: 0, at: 0)
    say("\u{0}\u{0}", &desk, from: 0, at: 0)
    #expect(phases(desk) == [.waiting(.prometheus)])
    desk.publish(text("x"), .prometheus, at: 0)
    flush(&desk, 0, at: 0)
    say(Self.ask, &desk, from: 0, at: 0)
    #expect(phases(desk) == [.lingering])
    #expect(unsent(desk, 0) == "")
  }
}
