/// A word as a shell takes it: quoted where it has to be.
package func shellWord(_ word: String) -> String {
  let isPlain =
    !word.isEmpty
    && word.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        || "-_./:=,+@%".utf8.contains(byte)
    }
  if isPlain { return word }
  // By Unicode scalars: a quote ends the shell's word even if a combining mark follows it.
  return "'" + word.unicodeScalars.reduce(into: "") { $0 += $1 == "'" ? "'\\''" : String($1) } + "'"
}
