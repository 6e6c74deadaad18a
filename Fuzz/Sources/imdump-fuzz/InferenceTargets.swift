@testable import IMInference
@testable import IMProfile

/// What is guessed of protocols from bytes that nobody trusts.
let inferenceTargets = [Target(name: "inference", run: inference)]

/// Two connections of drawn bytes, cut into segments at drawn places, with holes. Whatever is guessed of them is a profile that
/// compiles; and what is guessed twice is the same.
@Sendable private func inference(_ input: UnsafeRawBufferPointer) {
  guard input.count >= 8 else { return }
  let bytes = [UInt8](input.dropFirst(4))
  let step = 1 + Int(input[0]) % 90
  let hole = Int(input[1])
  var samples: [StreamSample] = []
  // The bytes several times, so that short inputs have enough frames.
  for index in 0..<4 {
    var content: [UInt8] = []
    while content.count < 2_000 { content += bytes }
    let starts = stride(from: 0, to: content.count, by: step).enumerated().map {
      SegmentStart(offset: $0.element, packet: UInt64($0.offset * 4 + index))
    }
    let middle = min(content.count, 300 + hole)
    samples.append(
      StreamSample(
        connection: index / 2, direction: index % 2, isFromStart: input[2] & 1 == 0, bytes: content,
        runs: input[2] & 2 == 0 ? [0..<content.count] : [0..<middle, middle..<content.count], starts: starts))
  }
  guard let guess = GuessedProtocol(samples, seconds: 1_700_000_000...1_700_000_100),
    ProfileSkeleton.refusal(guess) == nil
  else { return }
  for proof in ProfileSkeleton.proofs(guess) {
    let text = ProfileSkeleton.text(guess, name: "guess", ports: [1], notes: [], proof: proof, outcome: nil)
    do throws(ProfileError) { _ = try ProfileCompiler.compile(text, source: "guess.yaml") } catch {
      fail("the skeleton does not compile: \(error)\n\(text)")
    }
  }
}
