import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct RingBufferTests {
  @Test(arguments: 0..<30)
  func `bytes come out as they went in, however they wrap`(seed: UInt64) {
    var random = Draw(seed)
    var pool = BufferPool(idleLimit: 1 << 16)
    var ring = RingBuffer(limit: 4_096)
    var model: [UInt8] = []
    var next: UInt8 = 0
    for _ in 0..<3_000 {
      switch random.next(4) {
      case 0, 1:
        let count = random.next(600)
        let fits = count <= 4_096 - model.count
        let hasRoom = ring.reserve(count, from: &pool)
        #expect(hasRoom == fits)
        guard fits else { break }
        let written = ring.withFreeRoom { first, second in
          #expect(first.count + second.count >= count)
          for i in 0..<count {
            if i < first.count { first[i] = next } else { second[i - first.count] = next }
            model.append(next)
            next &+= 1
          }
          return count
        }
        #expect(written == count)
      case 2:
        let count = random.next(model.count + 1)
        ring.consume(count)
        model.removeFirst(count)
      default: ring.settle(&pool)
      }
      let count = ring.count
      #expect(count == model.count)
      if random.next(3) == 0 {
        ring.straighten(&pool)
        let bytes = ring.withBytes { Array($0) }
        #expect(bytes == model)
      } else {
        let bytes = ring.withBytes { Array($0) }
        #expect(bytes == Array(model.prefix(bytes.count)))
      }
    }
    ring.consume(.max)
    ring.settle(&pool)
    #expect(pool.lentBytes == 0)
  }

  @Test func `an idle connection holds no storage, and one with little left holds little`() {
    var pool = BufferPool()
    var ring = RingBuffer(limit: 1 << 20)
    #expect(ring.capacity == 0)
    let hasRoom = ring.reserve(65_536, from: &pool)
    #expect(hasRoom)
    _ = ring.withFreeRoom { _, _ in 20 }
    ring.settle(&pool)
    #expect(ring.capacity == BufferPool.smallest && pool.lentBytes == BufferPool.smallest)
    ring.consume(20)
    ring.settle(&pool)
    #expect(ring.capacity == 0 && pool.lentBytes == 0)
  }

  @Test func `the pool keeps no more than it may for the next`() {
    var pool = BufferPool(idleLimit: 100_000)
    var pieces: [Storage] = []
    for _ in 0..<10 { pieces.append(pool.take(32_768)) }
    for piece in pieces { pool.recycle(piece) }
    #expect(pool.idleBytes == 3 * 32_768 && pool.lentBytes == 0)
  }

  @Test func `a message longer than the ring makes it grow with its bytes, not ahead of them`() {
    var pool = BufferPool()
    var ring = RingBuffer(limit: 1 << 24)
    for step in 1...160 {
      let hasRoom = ring.reserve(65_536, from: &pool)
      #expect(hasRoom)
      _ = ring.withFreeRoom { first, _ in min(first.count, 65_536) }
      #expect(ring.capacity <= max(65_536, 4 * ring.count), "after \(step) reads")
    }
    #expect(ring.count == 160 * 65_536)
    let hasRoom = ring.reserve(1 << 23, from: &pool)
    #expect(!hasRoom)
  }
}

extension Array<UInt8> {
  init(_ bytes: RawSpan) { self = bytes.withUnsafeBytes { Array($0) } }
}
