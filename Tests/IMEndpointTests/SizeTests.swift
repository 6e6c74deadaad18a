import Foundation
import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

/// What frames cost beside the same messages in JSON: everything an app would put there, and nothing more.
@Suite struct SizeTests {
  /// A message as compact JSON, with the names a JSON protocol would have, and its length in front as WebSocket has it.
  private static func json(_ message: Message, _ number: Int) -> Int {
    var object: [String: Any] = [
      "version": "1.0", "type": "message", "sequence": number, "timestamp": 1_700_000_000 + number, "session": 51_234,
    ]
    object["to"] = message.recipient
    func media(_ kind: String, _ media: MessageContent.Media) {
      object["content"] = kind
      object["data"] = Data(media.bytes).base64EncodedString()
      object["name"] = media.name
      object["mediaType"] = media.mediaType
      object["width"] = media.dimensions?.width
      object["height"] = media.dimensions?.height
      object["duration"] = media.duration
    }
    switch message.content {
    case .text(let text): (object["content"], object["text"]) = ("text", text)
    case .image(let it): media("image", it)
    case .audio(let it): media("audio", it)
    case .location(let place):
      object["content"] = "location"
      (object["latitude"], object["longitude"]) = (Double(place.latitude) / 1e7, Double(place.longitude) / 1e7)
      object["name"] = place.name
    case .typing(let isTyping): (object["content"], object["typing"]) = ("typing", isTyping)
    default: object["content"] = "other"
    }
    let count = (try? JSONSerialization.data(withJSONObject: object, options: [.withoutEscapingSlashes]))?.count ?? 0
    return count + (count < 126 ? 2 : count < 65_536 ? 4 : 10) + 4
  }

  /// The message's frame.
  private static func frame(_ message: Message) -> Int {
    let body = message.encoded
    return FrameHeader.byteCount + (Deflate.compressed(body)?.count ?? body.count)
  }

  @Test func aConversationTakesThirtyPercentLessThanJSON() {
    let lines = [
      "ok", "Where are you?", "On the train, in the tunnel. I am there in ten minutes.", "Fine, I wait at the exit.",
      "好的，我在地铁里，马上到。", "Did you read what Maria wrote about Saturday? She wants to know who brings what.",
    ]
    var noise = TestGenerator(5)
    let photo = (0..<12_000).map { _ in UInt8(truncatingIfNeeded: noise.next()) }
    var messages: [Message] = (0..<100).flatMap { (round: Int) -> [Message] in
      lines.map { Message(.text($0), to: "bob") } + [Message(.typing(round % 2 == 0), to: "bob")]
    }
    messages += (0..<4).map { index in
      Message(
        .image(
          .init(photo, name: "IMG_\(index).jpg", mediaType: "image/jpeg", dimensions: .init(width: 1024, height: 768))),
        to: "bob")
    }
    messages.append(
      Message(.location(.init(latitude: 311_234_567, longitude: 1_214_567_890, name: "Exit 3")), to: "bob"))
    let (texts, rest) = (messages.prefix(700), messages.dropFirst(700))
    func saving(_ messages: some Collection<Message>) -> Double {
      let json = messages.enumerated().reduce(0) { $0 + Self.json($1.element, $1.offset) }
      return 1 - Double(messages.reduce(0) { $0 + Self.frame($1) }) / Double(json)
    }
    print("fewer bytes than JSON: text \(saving(texts)), media \(saving(rest))")
    #expect(saving(texts) >= 0.30)
    // Base64 alone is a quarter.
    #expect(saving(rest) >= 0.25)
  }
}
