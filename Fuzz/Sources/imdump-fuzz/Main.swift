import Glibc

@_silgen_name("LLVMFuzzerRunDriver")
func LLVMFuzzerRunDriver(
  _ argc: UnsafeMutablePointer<Int32>, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ target: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// What is fuzzed: a name, and what is done with one input. A trap, a report of the address sanitizer, a time-out and
/// memory beyond the limits are failures; so is a difference from a model, which calls `fail`.
struct Target: Sendable {
  let name: String
  let run: @Sendable (UnsafeRawBufferPointer) -> Void
}

let targets: [Target] =
  captureTargets + engineTargets + partTargets + yamlTargets + inferenceTargets + servingTargets + commandLineTargets
  + endpointTargets
  + storeTargets + tlsTargets + contentTargets + shippingTargets

/// The one that this process runs. Written once, before the first input.
nonisolated(unsafe) private var current: Target?

/// Ends the process as a crash that libFuzzer keeps the input of.
func fail(_ what: String) -> Never {
  write("fuzz: \(what)\n")
  abort()
}

/// `imdump-fuzz seeds SAMPLES FOLDER` writes a corpus for each target; `imdump-fuzz list` names them; `imdump-fuzz
/// TARGET [libFuzzer's options]` runs one.
@main
struct Fuzz {
  static func main() {
    let words = CommandLine.arguments
    guard words.count > 1 else { return help() }
    switch words[1] {
    case "list": for target in targets { print(target.name) }
    case "seeds" where words.count == 4: writeSeeds(from: words[2], to: words[3])
    case let name:
      guard let target = targets.first(where: { $0.name == name }) else { return help() }
      current = target
      var count = CommandLine.argc - 1
      var rest = CommandLine.unsafeArgv + 1
      let status = LLVMFuzzerRunDriver(&count, &rest) { bytes, count in
        current?.run(UnsafeRawBufferPointer(start: bytes, count: count))
        return 0
      }
      exit(status)
    }
  }

  static func help() {
    write("imdump-fuzz list | seeds SAMPLES FOLDER | TARGET [options of libFuzzer]\n")
    exit(64)
  }
}

/// Reads an input from its front; what is not there is zero.
struct Script {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isEmpty: Bool { position >= bytes.count }
  var left: Int { max(0, bytes.count - position) }

  mutating func byte() -> UInt8 {
    defer { position += 1 }
    return position < bytes.count ? bytes[position] : 0
  }

  mutating func u16() -> Int { Int(byte()) << 8 | Int(byte()) }

  mutating func u32() -> UInt32 { UInt32(u16()) << 16 | UInt32(u16()) }

  /// The next `count` bytes, or what is left of them.
  mutating func take(_ count: Int) -> [UInt8] {
    let end = min(bytes.count, position + max(0, count))
    defer { position = end }
    return position < end ? [UInt8](bytes[position..<end]) : []
  }
}

/// Writes to standard error.
private func write(_ text: String) { _ = Glibc.write(STDERR_FILENO, text, text.utf8.count) }
