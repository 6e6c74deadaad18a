import Glibc
import IMCapture
import IMDescriptors
import IMOutput
import IMRun
import IMSystem

/// `libpcap 1.10.3`.
var captureVersion: String {
  let words = captureLibrary.split(separator: " ")
  return words.firstIndex(of: "version").flatMap { $0 + 1 < words.count ? "libpcap \(words[$0 + 1])" : nil }
    ?? captureLibrary
}

/// What a capture on the chosen interface, or on the one that imdump would choose, finds; and how it would end.
func captureFindings(_ input: InputOptions) -> ([Finding], ExitStatus) {
  let devices: [CaptureDevice]
  do throws(CaptureError) { devices = try captureDevices() } catch {
    return ([.problem("interfaces", error.message)], ExitStatus(error))
  }
  var findings = [interfacesFinding(devices)]
  guard let name = input.interface ?? defaultInterface() else {
    findings.append(
      .problem(
        "capture", "no interface is up but the loopback", advice: "name one with -i, such as -i lo; -D lists them"))
    return (findings, .noInput)
  }
  let options = input.live
  do throws(CaptureError) {
    let probe = try CaptureProbe(name, options)
    let times = probe.hasNanoseconds ? "nanosecond" : "microsecond"
    let text = "\(name) opens: \(probe.linkType), \(times) timestamps"
    findings.append(probe.warning.map { .note("capture", "\(text); \($0)") } ?? .ok("capture", text))
    findings += ringFinding(name, probe.ringSize, asked: Int(options.bufferSize)).map { [$0] } ?? []
    return (findings, .success)
  } catch {
    findings.append(.problem("capture", "\(name): \(error.message)"))
    return (findings, ExitStatus(error))
  }
}

/// Whether the ring buffer of `name` is as large as it was asked to be; `nil` where it has none.
func ringFinding(_ name: String, _ size: Int?, asked: Int) -> Finding? {
  guard let size else { return nil }
  let text = "\(name) has a ring buffer of \(mebibytes(size))"
  // libpcap rounds to whole blocks.
  guard size < asked - asked / 8 else { return .ok("ring", text) }
  return .note(
    "ring", "\(text); \(mebibytes(asked)) were requested, but the kernel has no memory for them",
    advice: "bursts drop packets sooner; free memory, or request less with -B")
}

/// `16 MiB`, or KiB below 2 MiB.
private func mebibytes(_ bytes: Int) -> String { bytes >= 2 << 20 ? "\(bytes >> 20) MiB" : "\(bytes >> 10) KiB" }

/// The interfaces that are up, with their addresses.
private func interfacesFinding(_ devices: [CaptureDevice]) -> Finding {
  let up = devices.filter { $0.isUp && $0.name != "any" && !$0.name.hasPrefix("bluetooth") }
  guard !up.isEmpty else { return .problem("interfaces", "none is up", advice: "ip link set dev NAME up") }
  let told = up.prefix(8).map { device in
    ([device.name] + device.addresses.prefix(2).map { "\($0)" } + (device.isRunning ? [] : ["no carrier"]))
      .joined(separator: " ")
  }
  return .ok("interfaces", told.joined(separator: ", ") + (up.count > 8 ? ", and \(up.count - 8) more" : ""))
}
