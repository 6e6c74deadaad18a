/// The 64 bits of FNV-1a over `bytes`: tells texts and files apart where nobody chooses them to collide.
package func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt64 {
  // Other rooms call it for sequences of any kind, each byte of which would take several calls.
  bytes.withContiguousStorageIfAvailable { fold($0) } ?? fold(bytes)
}

private func fold(_ bytes: some Sequence<UInt8>) -> UInt64 {
  bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
}
