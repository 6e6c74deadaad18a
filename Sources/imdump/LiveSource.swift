import IMCommandLine
import IMPipeline
import IMRun
import IMSystem

/// Where packets come from: files, or an interface.
struct LiveSource: OptionGroup {
  var source = SourceOptions()

  static var table: [Option<Self>] {
    [
      .value("-i <interface>", \.input.interface, "Capture on this interface; 'any' is all of them."),
      .group(\.source),
      .value("-s <length>", \.input.snapLength, "Capture at most this many bytes of each packet; 0 means all."),
      .value("-B <KiB>", \.input.bufferKiB, "Size of the kernel's capture buffer, in KiB."),
      .flag("-p", \.input.isPromiscuous, is: false, "Do not put the interface into promiscuous mode."),
      .flag(
        "--wait-interface", \.input.waitsForInterface,
        "Wait for the interface to appear, and again whenever it disappears."),
      .value(
        "-Z <user>", \.input.sandbox.user,
        "If started as root, switch to this user once everything is open. Live captures default to tcpdump, or nobody."),
    ]
  }

  /// What was chosen so far.
  var input: InputOptions {
    get { source.input }
    set { source.input = newValue }
  }

  /// The interface of `-i`, with the operands as a capture filter; without one, files as `SourceOptions.files` has them.
  func filesOrInterface() throws(UsageError) -> InputOptions {
    guard input.interface != nil else { return try source.files() }
    guard input.files.isEmpty, !(source.operands.first.map(isCaptureFile) ?? false) else {
      throw UsageError(message: "give -i or a file, not both")
    }
    return try source.filtered(by: source.operands)
  }
}
