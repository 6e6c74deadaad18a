import Foundation
import IMEngine
import Testing

@testable import IMProfile

/// The built-in profiles are kept compiled: what is kept is what their YAML says.
///
/// `IMDUMP_RECORD=1 swift test --filter CompiledProfileTests` writes the files anew; build again then.
@Suite struct CompiledProfileTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Sources/IMProfile/Profiles")

  @Test(arguments: BuiltInProfiles.names) func sameAsTheYAML(_ name: String) throws {
    let text = try #require(BuiltInProfiles.text(name))
    let made = try ProfileCompiler.compiled(text, source: name)
    let file = Self.folder.appending(path: "\(name).compiled")
    if ProcessInfo.processInfo.environment["IMDUMP_RECORD"] == "1" { try Data(made.bytes).write(to: file) }
    #expect(try [UInt8](Data(contentsOf: file)) == made.bytes)
    var read = try #require(CompiledProfile(made.bytes))
    // Every part of it, as it prints itself; the hash is searched for only once.
    #expect(read.draft.hash != nil)
    read.draft.hash = nil
    #expect("\(read.draft)" == "\(made.draft)")
    #expect(read.name == made.name && read.version == made.version && read.ports == made.ports)
    #expect(read.typeNames == made.typeNames && read.tagNames == made.tagNames)
    #expect(read.sensitiveTags == made.sensitiveTags && read.checksumName == made.checksumName)
  }

  /// Bytes that were not written so give nothing, and never a trap.
  @Test func otherBytes() throws {
    let text = try #require(BuiltInProfiles.text("mqtt"))
    let bytes = try ProfileCompiler.compiled(text, source: "mqtt").bytes
    for count in 0..<bytes.count { #expect(CompiledProfile([UInt8](bytes[..<count])) == nil) }
    #expect(CompiledProfile(bytes + [0]) == nil)
  }
}
