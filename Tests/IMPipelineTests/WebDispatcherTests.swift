import Foundation
import IMOutput
import Testing

@testable import IMPipeline
@testable import IMWeb

/// Connections to the metrics by a clock of the test's own: who waits, who is answered, who goes.
@Suite struct WebDispatcherTests {
  private static let ask = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
  private static let openAsk = "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text\r\n\r\n"

  private func text(_ body: String) -> HTTPResponse {
    [UInt8](body.utf8).withUnsafeBytes { HTTPResponse(.ok, "text/plain", $0) }
  }

  private func say(_ words: String, _ dispatcher: inout WebDispatcher, from index: Int, at now: Double) {
    let bytes = [UInt8](words.utf8)
    dispatcher.received(bytes.span, from: index, at: now)
  }

  private func phases(_ dispatcher: WebDispatcher) -> [WebConnection.Phase] {
    dispatcher.clients.map(\.connection.phase)
  }

  /// What a client will get.
  private func unsent(_ dispatcher: WebDispatcher, _ index: Int) -> String {
    String(decoding: dispatcher.clients[index].connection.unsent, as: UTF8.self)
  }

  /// Sends all that a client is to get.
  private func flush(_ dispatcher: inout WebDispatcher, _ index: Int, at now: Double) {
    let count = dispatcher.clients[index].connection.unsent.count
    let isAll = dispatcher.clients[index].connection.sent(count, at: now)
    #expect(isAll)
  }

  // MARK: Places

  @Test func theOldestThatHasNotAskedGoes() {
    var dispatcher = WebDispatcher()
    for number in 0..<16 { dispatcher.take(Int32(number), at: 0) }
    for index in [0, 1, 3] { say(Self.ask, &dispatcher, from: index, at: 0) }
    say("GET /metr", &dispatcher, from: 2, at: 0)
    dispatcher.take(16, at: 1)
    #expect(dispatcher.takeOver() == [2])
    dispatcher.take(17, at: 1)
    #expect(dispatcher.takeOver() == [4])
    #expect(dispatcher.clients.map(\.descriptor) == [0, 1, 3] + Array(5...17))
  }

  @Test func whereAllHaveAskedOneThatIsAnsweredGoes() {
    var dispatcher = WebDispatcher()
    for number in 0..<16 {
      dispatcher.take(Int32(number), at: 0)
      say(number == 5 ? "GET / HTTP/1.0\r\n\r\n" : Self.ask, &dispatcher, from: number, at: 0)
    }
    flush(&dispatcher, 5, at: 0)
    dispatcher.take(16, at: 0)
    #expect(dispatcher.takeOver() == [5])
    say(Self.ask, &dispatcher, from: 15, at: 0)
    dispatcher.take(17, at: 0)
    #expect(dispatcher.takeOver() == [0], "else the oldest")
    #expect(dispatcher.clients.count == 16)
  }

  // MARK: Texts

  @Test func oneTextASecondAndDialect() {
    var dispatcher = WebDispatcher()
    for number in 0..<6 { dispatcher.take(Int32(number), at: 0) }
    say(Self.ask, &dispatcher, from: 0, at: 10)
    #expect(dispatcher.takeWanted() == 1)
    // The capture has been asked, and has not written yet.
    say(Self.ask, &dispatcher, from: 1, at: 10.5)
    #expect(dispatcher.takeWanted() == 0)
    say(Self.openAsk, &dispatcher, from: 2, at: 10.5)
    #expect(dispatcher.takeWanted() == 2)
    dispatcher.publish(text("a"), .prometheus, at: 11)
    #expect(unsent(dispatcher, 0).hasSuffix("\r\n\r\na") && unsent(dispatcher, 1) == unsent(dispatcher, 0))
    #expect(dispatcher.clients[2].connection.phase == .waiting(.openMetrics))
    // The text is new for a second.
    say(Self.ask, &dispatcher, from: 3, at: 11.999)
    #expect(unsent(dispatcher, 3).hasSuffix("\r\n\r\na"))
    #expect(dispatcher.takeWanted() == 0)
    say(Self.ask, &dispatcher, from: 4, at: 12)
    #expect(unsent(dispatcher, 4) == "")
    #expect(dispatcher.takeWanted() == 1)
    dispatcher.publish(text("b"), .prometheus, at: 12)
    #expect(unsent(dispatcher, 4).hasSuffix("\r\n\r\nb"))
  }

  @Test func headHasTheLengthAndNoBody() {
    var dispatcher = WebDispatcher()
    for (number, request) in ["HEAD /metrics", "HEAD /no", "HEAD /metrics"].enumerated() {
      dispatcher.take(Int32(number), at: 0)
      let end = number == 2 ? "\r\nHost x" : "\r\n\r\n"
      say("\(request) HTTP/1.0\(end)", &dispatcher, from: number, at: 0)
    }
    dispatcher.publish(text("four"), .prometheus, at: 0)
    for (index, (status, length)) in [(200, 4), (404, 10), (400, 12)].enumerated() {
      let answer = unsent(dispatcher, index)
      #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.hasSuffix("\r\n\r\n"), "\(answer)")
      #expect(answer.contains("\r\nContent-Length: \(length)\r\n"), "\(answer)")
    }
  }

  // MARK: Time

  @Test func aConnectionHasTenSeconds() {
    var dispatcher = WebDispatcher()
    dispatcher.take(1, at: 100)
    // However busy it is.
    for (step, byte) in "GET /metrics HT".enumerated() {
      say(String(byte), &dispatcher, from: 0, at: 100 + Double(step) / 2)
    }
    #expect(dispatcher.nextEnd == 110)
    dispatcher.expire(at: 109.9)
    #expect(dispatcher.takeOver() == [])
    dispatcher.expire(at: 110)
    #expect(dispatcher.takeOver() == [1])
    #expect(dispatcher.nextEnd == .infinity)
  }

  @Test func aCaptureThatHangsIsTold() {
    var dispatcher = WebDispatcher()
    dispatcher.take(1, at: 0)
    say(Self.ask, &dispatcher, from: 0, at: 2)
    #expect(dispatcher.nextEnd == 7)
    dispatcher.expire(at: 6.9)
    #expect(unsent(dispatcher, 0) == "")
    dispatcher.expire(at: 7)
    #expect(unsent(dispatcher, 0).hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
    // The text that comes at last is not sent behind it.
    dispatcher.publish(text("late"), .prometheus, at: 7)
    #expect(unsent(dispatcher, 0).hasPrefix("HTTP/1.1 503 "))
    #expect(dispatcher.nextEnd == 10)
  }

  @Test func whoAsksLateIsToldWhenItsTimeIsOver() {
    var dispatcher = WebDispatcher()
    dispatcher.take(1, at: 0)
    say(Self.ask, &dispatcher, from: 0, at: 9)
    dispatcher.expire(at: 10)
    #expect(unsent(dispatcher, 0).hasPrefix("HTTP/1.1 503 "))
    flush(&dispatcher, 0, at: 10)
    dispatcher.expire(at: 10)
    #expect(dispatcher.takeOver() == [1])
  }

  @Test func whoDoesNotReadIsNotWaitedFor() {
    var dispatcher = WebDispatcher()
    dispatcher.take(1, at: 0)
    say(Self.ask, &dispatcher, from: 0, at: 1)
    dispatcher.publish(text("long"), .prometheus, at: 1)
    let isAll = dispatcher.clients[0].connection.sent(3, at: 9)
    #expect(!isAll)
    #expect(phases(dispatcher) == [.answering])
    dispatcher.expire(at: 10)
    #expect(dispatcher.takeOver() == [1])
  }

  // MARK: The end of a connection

  @Test func whatFollowsIsReadForAWhile() {
    var dispatcher = WebDispatcher()
    for number in 0..<3 {
      dispatcher.take(Int32(number), at: 0)
      say("nonsense\r", &dispatcher, from: number, at: 0)
      flush(&dispatcher, number, at: 0)
    }
    #expect(phases(dispatcher) == [.lingering, .lingering, .lingering])
    dispatcher.clients[0].connection.inputEnded()
    #expect(dispatcher.takeOver() == [0], "its end is the end")
    let block = [UInt8](repeating: 0x78, count: 1 << 20)
    for _ in 0..<4 {
      #expect(dispatcher.clients[0].connection.wantsInput)
      dispatcher.received(block.span, from: 0, at: 0)
    }
    #expect(dispatcher.takeOver() == [1], "4 MiB are enough")
    dispatcher.expire(at: 1.9)
    #expect(phases(dispatcher) == [.lingering])
    dispatcher.expire(at: 2)
    #expect(dispatcher.takeOver() == [2], "two seconds are enough")
  }

  @Test func aRequestBeforeTheEndIsAnswered() {
    var dispatcher = WebDispatcher()
    for number in 0..<3 { dispatcher.take(Int32(number), at: 0) }
    say(Self.ask, &dispatcher, from: 0, at: 0)
    say("GET /metrics HTTP/1.1\r\nHost: x\r\n", &dispatcher, from: 1, at: 0)
    for index in 0..<3 { dispatcher.clients[index].connection.inputEnded() }
    #expect(dispatcher.takeOver() == [2], "who has said nothing gets nothing")
    #expect(unsent(dispatcher, 1).hasPrefix("HTTP/1.1 400 "), "a piece of a request is none")
    #expect(!dispatcher.clients[0].connection.wantsInput, "else its end would be read again and again")
    dispatcher.publish(text("x"), .prometheus, at: 0)
    #expect(unsent(dispatcher, 0).hasPrefix("HTTP/1.1 200 "))
    flush(&dispatcher, 0, at: 0)
    #expect(dispatcher.takeOver() == [0])
  }

  @Test func theSecondRequestIsNotRead() {
    var dispatcher = WebDispatcher()
    dispatcher.take(1, at: 0)
    say(Self.ask + "GET / HTTP/1.1\r\n\r\n", &dispatcher, from: 0, at: 0)
    say("\u{0}\u{0}", &dispatcher, from: 0, at: 0)
    #expect(phases(dispatcher) == [.waiting(.prometheus)])
    dispatcher.publish(text("x"), .prometheus, at: 0)
    flush(&dispatcher, 0, at: 0)
    say(Self.ask, &dispatcher, from: 0, at: 0)
    #expect(phases(dispatcher) == [.lingering])
    #expect(unsent(dispatcher, 0) == "")
  }
}
