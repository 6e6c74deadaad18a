import Glibc
@testable import IMCapture
import IMWire

/// Capture files of every form, through the reader that the command uses.
let captureTargets = [
  Target(name: "pcap") { readCapture($0, magic: [0xd4, 0xc3, 0xb2, 0xa1]) },
  Target(name: "pcapng") { readCapture($0, magic: [0x0a, 0x0d, 0x0d, 0x0a]) },
  Target(name: "gzip") { readCapture($0, magic: [0x1f, 0x8b, 0x08]) },
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
