/// One interface of a capture.
package struct CaptureInterface: Equatable, Sendable {
  /// Position in the capture's list, from 0, across all sections of a file.
  package var index: Int
  /// The name, where the capture knows it. It comes from the file and may hold any character.
  package var name: String?
  /// The `LINKTYPE_` value of its packets.
  package var linkType: UInt16
  /// The most bytes the capture kept of a packet; 0 means no limit.
  package var snapLength: UInt32
  /// The unit of its timestamps.
  package var resolution: TimestampResolution

  /// An interface of its parts.
  package init(
    index: Int, name: String?, linkType: UInt16, snapLength: UInt32, resolution: TimestampResolution
  ) {
    self.index = index
    self.name = name
    self.linkType = linkType
    self.snapLength = snapLength
    self.resolution = resolution
  }
}
