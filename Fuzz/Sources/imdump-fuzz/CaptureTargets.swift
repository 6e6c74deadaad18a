import Glibc
@testable import IMCapture
@testable import IMTLS
@testable import IMDescriptors
import IMWire

/// Capture files of every form, through the reader that the command uses.
let captureTargets = [
  Target(name: "pcap") { readCapture($0, magic: [0xd4, 0xc3, 0xb2, 0xa1]) },
  Target(name: "pcapng") { readCapture($0, magic: [0x0a, 0x0d, 0x0d, 0x0a]) },
  Target(name: "gzip") { readCapture($0, magic: [0x1f, 0x8b, 0x08]) },
  Target(name: "merge", run: mergeCaptures),
  Target(name: "secrets", run: secretsBlocks),
]

/// A file in memory, the same one for every input; its name is gone as soon as it is open.
private let file: Int32 = {
  let name = "/dev/shm/imdump-fuzz-\(getpid())"
  let file = open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
  unlink(name)
  return file
}()
private let path = "/proc/self/fd/\(file)"

/// Reads `bytes`, whose first ones are `magic` in two of three inputs, as a capture.
private func readCapture(_ bytes: UnsafeRawBufferPointer, magic: [UInt8]) {
  ftruncate(file, 0)
  guard let start = bytes.baseAddress, pwrite(file, start, bytes.count, 0) == bytes.count else { return }
  if bytes.count >= magic.count, bytes[bytes.count - 1] % 3 > 0 { pwrite(file, magic, magic.count, 0) }
  var number: UInt64 = 0
  do throws(CaptureError) {
    let source = try CaptureFile(path: path)
    var isMore = true
    while isMore {
      isMore = try source.nextBatch { bytes, records in
        for index in records.indices {
          let record = records[index]
          if Int(record.offset) + Int(record.capturedLength) + PacketRecord.slack > bytes.byteCount {
            fail("a packet outside its batch")
          }
          if record.number <= number { fail("packets out of order") }
          number = record.number
        }
      }
    }
  } catch {
    // What is wrong is told with its place, and a source that has failed gives nothing more.
    if let offset = error.offset, offset > 1 << 40 { fail("an error at \(offset)") }
  }
}

/// Decryption secrets blocks in a pcapng file: a byte for the form of each, two for its length, its text. Blocks that say the truth are
/// handed on as they are, in their order; those of other secrets are not; a length that is a lie ends the file.
@Sendable private func secretsBlocks(_ input: UnsafeRawBufferPointer) {
  var script = Script(input)
  let isSwapped = script.byte() & 1 == 1
  func number(_ value: Int) -> [UInt8] {
    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    return isSwapped ? bytes.reversed() : bytes
  }
  func block(_ type: Int, _ body: [UInt8]) -> [UInt8] {
    let padded = body + [UInt8](repeating: 0, count: -body.count & 3)
    return number(type) + number(padded.count + 12) + padded + number(padded.count + 12)
  }
  let version: [UInt8] = isSwapped ? [0, 1, 0, 0] : [1, 0, 0, 0]
  var bytes = block(0x0a0d_0d0a, number(0x1a2b_3c4d) + version + [UInt8](repeating: 0xff, count: 8))
  var expected: [[UInt8]] = []
  var isTrue = true
  while !script.isEmpty {
    let form = script.byte()
    let text = script.take(script.u16() & 0x3ff)
    switch form & 7 {
    case 0: bytes += block(10, number(0x5747_4b4c) + number(text.count) + text)
    case 1:
      // Another length than its own.
      let length = Int(form >> 3) << 27 | text.count &+ Int(form >> 3)
      bytes += block(10, number(0x544c_534b) + number(length) + text)
      let padded = text.count + (-text.count & 3)
      if isTrue, length <= padded {
        expected.append([UInt8]((text + [0, 0, 0]).prefix(length)))
      } else {
        isTrue = false
      }
    case 2:
      bytes += block(10, [UInt8](text.prefix(7)))
      isTrue = false
    case 3:
      bytes += text
      isTrue = false
    default:
      bytes += block(10, number(0x544c_534b) + number(text.count) + text)
      if isTrue { expected.append(text) }
    }
  }
  ftruncate(file, 0)
  guard pwrite(file, bytes, bytes.count, 0) == bytes.count else { return }
  var found: [[UInt8]] = []
  let table = KeyTable(byteLimit: 0)
  var parser = KeyLogParser()
  let handler = SecretsHandler { text in
    // A copy of its own, so that a read past its end is seen.
    let text = [UInt8](text)
    found.append(text)
    text.withUnsafeBytes { parser.take($0, into: table) }
    parser.finish(isWhole: true, into: table)
  }
  do throws(CaptureError) {
    let source = try CaptureFile(path: path, secrets: handler)
    while try source.nextBatch({ _, _ in }) {}
  } catch {
    if isTrue { fail("\(error)") }
  }
  if found.count < expected.count || Array(found.prefix(expected.count)) != expected {
    fail("\(found.count) secrets, and there are \(expected.count)")
  }
}

/// Files in memory for a merge.
private let files: [Int32] = (0..<4).map { index in
  let name = "/dev/shm/imdump-fuzz-\(getpid())-\(index)"
  let file = open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
  unlink(name)
  return file
}

/// Merges up to four files: a byte for the options, and for each file one for its form and two for its length. Files that begin with a
/// good header have the bytes as their records.
@Sendable private func mergeCaptures(_ bytes: UnsafeRawBufferPointer) {
  var script = Script(bytes)
  let options = script.byte()
  var paths: [String] = []
  for file in files where !script.isEmpty {
    let form = script.byte()
    let content = script.take(script.u16() & 0x7ff)
    let header: [UInt8] =
      form & 3 == 0 ? [] : [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]
    let all = header + content
    ftruncate(file, 0)
    guard pwrite(file, all, all.count, 0) == all.count else { return }
    paths.append("/proc/self/fd/\(file)")
  }
  let source = MergedCapture(
    paths: paths, order: options & 1 == 0 ? .time : .given, filter: options & 2 == 0 ? nil : "tcp",
    steps: ReadingSteps(bytes: options & 4 == 0 ? 65_536 : 64, packets: options & 8 == 0 ? 4_096 : 3))
  var numbers = [UInt64](repeating: 0, count: 4)
  var count: UInt64 = 0
  do throws(CaptureError) {
    while try source.nextBatch({ bytes, records in
      let offsets = source.packetOffsets
      if (source.batchOffset == nil) == offsets.isEmpty { fail("a batch without a place, or with two") }
      if !offsets.isEmpty, offsets.count != records.count {
        fail("\(offsets.count) places of \(records.count) packets")
      }
      for i in records.indices {
        let record = records[i]
        if Int(record.offset) + Int(record.capturedLength) + PacketRecord.slack > bytes.byteCount {
          fail("a packet outside its batch")
        }
        if Int(record.interface) >= source.interfaces.count { fail("a packet of no interface") }
        let file = Int(PacketNumber.file(record.number)), number = PacketNumber.inFile(record.number)
        if file >= paths.count || number <= numbers[file] { fail("packets of a file out of order") }
        numbers[file] = number
        count += 1
      }
    }) {}
  } catch {
    fail("a merge throws \(error)")
  }
  if count != source.statistics.delivered { fail("\(count) packets, and \(source.statistics.delivered) told") }
}
