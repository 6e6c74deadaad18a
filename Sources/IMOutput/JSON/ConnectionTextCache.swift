import IMEngine
import IMWire

/// What lines of JSON say of a connection, by its serial number: `,"conn":7,"client":"10.0.0.5:52344",…,"profile":"tjp"`.
///
/// Frames of many connections take turns, so the last one's text is seldom the next one's. It is for connections over IPv4
/// that nothing carries beside TCP, as nearly all are; the others are described each time.
///
///     byte   0       4            6            8       12      16    17      18
///           +-------+------------+------------+-------+-------+-----+-------+------
///           |serial | client port|server port |client |server |plan | count | text
///           +-------+------------+------------+-------+-------+-----+-------+------
struct ConnectionTextCache: ~Copyable {
  /// Bytes of a place, the most places, and the longest text.
  private static var width: Int { 128 }
  private static var maximumCount: Int { 16_384 }
  private static var maximumText: Int { width - 18 }
  /// The longest name of a profile with which every text fits: the rest has 97 bytes at most.
  static var maximumName: Int { maximumText - 97 }

  private var places: UnsafeMutableRawPointer
  private var count = 256

  /// An empty cache; it grows with the connections, up to 2 MB.
  init() { places = Self.places(count) }

  deinit { places.deallocate() }

  private static func places(_ count: Int) -> UnsafeMutableRawPointer {
    // A pen reads some bytes behind the last text.
    let places = UnsafeMutableRawPointer.allocate(byteCount: width * count + Pen.slack, alignment: width)
    places.initializeMemory(as: UInt8.self, repeating: 0, count: width * count + Pen.slack)
    return places
  }

  @inline(never)
  private mutating func grow(_ serial: UInt32) {
    while count < Self.maximumCount, Int(serial) >= count { count *= 2 }
    places.deallocate()
    places = Self.places(count)
  }

  /// Whether the connection's text can be here, where its profile's name is short enough.
  @inline(__always)
  static func holds(_ info: ConnectionInfo) -> Bool {
    !info.client.address.isIPv6 && !info.server.address.isIPv6 && info.carriers.rawValue == 0
  }

  /// Where the text of a connection of which `holds` is true stands, and its length; `name` is its profile's.
  @inline(__always)
  mutating func text(_ info: ConnectionInfo, _ name: Piece) -> (start: UnsafeRawPointer, count: Int) {
    if Int(info.serial) >= count, count < Self.maximumCount { grow(info.serial) }
    let place = places + (Int(info.serial) & (count &- 1)) &* Self.width
    let client = UInt32(truncatingIfNeeded: info.client.address.low)
    let server = UInt32(truncatingIfNeeded: info.server.address.low)
    if place.load(as: UInt32.self) != info.serial || place.load(fromByteOffset: 4, as: UInt16.self) != info.client.port
      || place.load(fromByteOffset: 6, as: UInt16.self) != info.server.port
      || place.load(fromByteOffset: 8, as: UInt32.self) != client
      || place.load(fromByteOffset: 12, as: UInt32.self) != server
      || place.load(fromByteOffset: 16, as: UInt8.self) != info.plan
    {
      Self.describe(info, client, server, name, place)
    }
    return (UnsafeRawPointer(place + 18), Int(place.load(fromByteOffset: 17, as: UInt8.self)))
  }

  @inline(never)
  private static func describe(
    _ info: ConnectionInfo, _ client: UInt32, _ server: UInt32, _ name: Piece, _ place: UnsafeMutableRawPointer
  ) {
    place.storeBytes(of: info.serial, as: UInt32.self)
    place.storeBytes(of: info.client.port, toByteOffset: 4, as: UInt16.self)
    place.storeBytes(of: info.server.port, toByteOffset: 6, as: UInt16.self)
    place.storeBytes(of: client, toByteOffset: 8, as: UInt32.self)
    place.storeBytes(of: server, toByteOffset: 12, as: UInt32.self)
    place.storeBytes(of: info.plan, toByteOffset: 16, as: UInt8.self)
    // Nothing here touches more than it appends, but for an address, which a port follows.
    var pen = Pen(to: place + 18)
    pen.literal(",\"conn\":")
    pen.number(UInt64(info.serial))
    pen.literal(",\"client\":\"")
    pen.to = Digits.v4(client, pen.to)
    pen.byte(UInt8(ascii: ":"))
    pen.number(UInt64(info.client.port))
    pen.literal("\",\"server\":\"")
    pen.to = Digits.v4(server, pen.to)
    pen.byte(UInt8(ascii: ":"))
    pen.number(UInt64(info.server.port))
    pen.literal("\",\"profile\":\"")
    pen.raw(name.bytes)
    pen.byte(UInt8(ascii: "\""))
    place.storeBytes(of: UInt8(truncatingIfNeeded: pen.to - (place + 18)), toByteOffset: 17, as: UInt8.self)
  }
}
