import IMTestSupport
import IMWire

@testable import IMEngine

/// Short hands for single connections whose messages are numbered texts.
enum Scene {
  /// A moment, in milliseconds from the scene's beginning.
  static func ms(_ value: Int64) -> Timestamp { Timestamp(milliseconds: 1_700_000_000_000 + value) }

  /// The message with that number.
  static func text(_ number: UInt32) -> [UInt8] { TJPFrameBuilder(text: "text \(number)", sequence: number).bytes }

  /// The packets of one conversation.
  static func talk(initial: (UInt32, UInt32) = (1_000, 5_000), _ steps: (inout ConversationBuilder) -> Void)
    -> [TimedPacket]
  {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080), initial: initial)
    steps(&talk)
    return talk.packets
  }
}

extension Run {
  /// The numbers of the messages, in the order in which they came out.
  var sequences: [UInt64?] { frames.map(\.sequence) }
}
