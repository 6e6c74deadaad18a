import Foundation
import Testing

/// MQTT 3.1.1 and 5 against tshark: every control packet, its number, and every property with its value.
@Suite struct MQTTTruthTests {
  /// A property's value, as both sides write it.
  private enum Value: Decodable, Equatable {
    case number(UInt64), text(String), pair([String]), none

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(UInt64.self) {
        self = .number(number)
      } else if let text = try? container.decode(String.self) {
        self = .text(text)
      } else {
        self = (try? container.decode([String].self)).map { .pair($0) } ?? .none
      }
    }
  }

  private struct Property: Decodable, Equatable {
    var tag: UInt64
    var value: Value

    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      tag = try container.decode(UInt64.self)
      value = try container.decode(Value.self)
    }

    init(_ element: Frame.Element) { (tag, value) = (element.tag, element.value ?? .none) }
  }

  private struct Truth: Decodable {
    struct Message: Decodable {
      var timeUs: Int
      var dir: String
      var name: String
      var length: Int
      var id: UInt64?
      var properties: [Property]?
    }
    var messages: [Message]
  }

  private struct Frame: Decodable {
    struct Element: Decodable {
      var tag: UInt64
      var value: Value?
    }
    var ts: Int
    var dir: String
    var type: String
    var len: Int
    var seq: UInt64?
    var elements: [Element]?
  }

  @Test(arguments: ["mqtt-mosquitto.pcap", "mqtt5-mosquitto.pcap"]) func everyMessage(_ name: String) throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let truth = try decoder.decode(
      Truth.self, from: Data(contentsOf: Command.folder.appending(path: "Samples/\(name).truth.json")))
    let result = try Command.run(["-q", "-vA", "--format", "json", "-r", "Samples/\(name)"])
    var frames = try result.output.split(separator: "\n").map { try decoder.decode(Frame.self, from: Data($0.utf8)) }
    // Bytes are hexadecimal here; tshark shows them as they are.
    frames = frames.map { frame in
      var frame = frame
      frame.elements = frame.elements?.map { element in
        guard element.tag == 0x09, case .text(let hex) = element.value else { return element }
        return Frame.Element(tag: element.tag, value: .text(Self.text(hex)))
      }
      return frame
    }
    #expect(frames.count == truth.messages.count)
    for (frame, message) in zip(frames, truth.messages) {
      #expect(
        [frame.type, frame.dir, "\(frame.ts)", "\(frame.len)", "\(frame.seq ?? 0)"]
          == [message.name, message.dir, "\(message.timeUs)", "\(message.length)", "\(message.id ?? 0)"])
      #expect((frame.elements ?? []).map(Property.init) == message.properties ?? [])
    }
  }

  private static func text(_ hex: String) -> String {
    var text = ""
    var rest = Substring(hex)
    while let byte = UInt8(rest.prefix(2), radix: 16) {
      text.unicodeScalars.append(Unicode.Scalar(byte))
      rest = rest.dropFirst(2)
    }
    return text
  }
}
