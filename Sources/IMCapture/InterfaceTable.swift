/// The interfaces of several files in one list, in which equal ones are one.
struct InterfaceTable {
  private struct Key: Hashable {
    var name: String?
    var linkType: UInt16
    var snapLength: UInt32
    var resolution: TimestampResolution
  }

  /// The list.
  private(set) var interfaces: [CaptureInterface] = []
  private var places: [Key: UInt16] = [:]

  /// The index in the list of an interface of a file. Beyond 65,535 interfaces, all others share the last index.
  mutating func index(of interface: CaptureInterface) -> UInt16 {
    let key = Key(
      name: interface.name, linkType: interface.linkType, snapLength: interface.snapLength,
      resolution: interface.resolution)
    if let place = places[key] { return place }
    let place = UInt16(clamping: interfaces.count)
    guard interfaces.count <= Int(UInt16.max) else { return place }
    var own = interface
    own.index = Int(place)
    interfaces.append(own)
    places[key] = place
    return place
  }
}
