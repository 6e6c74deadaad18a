import Glibc

/// Whether two captures differ by more than chance explains. Connections are the observations, not messages: those of one connection have
/// its delay and its fate in common.
///
/// Every metric that is judged is a share of what a connection has: of its messages those that were lost, of its packets those that were
/// retransmitted, of its round trips those above a percentile of all. The test is a permutation test: as often as the two captures'
/// connections, dealt anew at random, differ as much, so often chance would have made the difference. It asks nothing of the
/// distribution. What is compared is the difference of the two shares in standard errors, with the connections as clusters, so captures
/// whose connections vary differently are no problem.
///
/// Source: E. Chung and J. P. Romano, "Exact and asymptotically robust permutation tests", Annals of Statistics 41 (2013).
package enum Chance {
  /// How seldom chance alone makes a difference that is marked: once in a thousand comparisons is promised, and the test is run at half
  /// of that.
  package static let level = 0.0005

  /// What a connection, or a group of them, has of a share: how many of how many.
  package struct Observation: Sendable {
    /// How many it has of those that count, and of all.
    package let hits: Double, trials: Double

    /// So many of so many.
    package init(hits: Double, trials: Double) { (self.hits, self.trials) = (hits, trials) }
  }

  /// How often the connections are dealt anew.
  private static let deals = 9_999
  /// The most deals that may differ as much.
  private static var mostAlike: Int { Int(level * Double(deals + 1)) - 1 }

  /// Whether the share is another one here than there; `nil` where there are too few observations to tell, whatever they are.
  ///
  /// Deterministic: the same observations have the same answer. Seldom more than a few deals are needed where nothing differs; 9,999 of
  /// 512 observations take some 30 ms.
  package static func differs(_ here: [Observation], from there: [Observation]) -> Bool? {
    let (one, other) = (here.filter { $0.trials > 0 }, there.filter { $0.trials > 0 })
    guard canTell(one.count, other.count) else { return nil }
    // The fewer ones are dealt; what is left is the others.
    let (few, many) = one.count <= other.count ? (one, other) : (other, one)
    var moments: [Moments] = []
    var total = Moments()
    for observation in few + many {
      let moment = Moments(observation)
      moments.append(moment)
      total.add(moment)
    }
    var dealt = Moments()
    for i in 0..<few.count { dealt.add(moments[i]) }
    // Equal ones count, however they were rounded.
    let seen = distance(dealt, few.count, total, moments.count) * (1 - 1e-9)
    guard seen > 0 else { return false }
    var random: UInt64 = 0x9e37_79b9_7f4a_7c15
    var alike = 0
    for _ in 0..<deals {
      var sum = Moments()
      for i in 0..<few.count {
        let place = i + Int(next(&random, below: UInt64(moments.count - i)))
        moments.swapAt(i, place)
        sum.add(moments[i])
      }
      if distance(sum, few.count, total, moments.count) >= seen {
        alike += 1
        if alike > mostAlike { return false }
      }
    }
    return true
  }

  /// Whether there are so many ways to deal the observations that the rarest ones are rarer than `level`.
  private static func canTell(_ one: Int, _ other: Int) -> Bool {
    guard one > 1, other > 1 else { return false }
    let (n, k) = (Double(one + other), Double(one))
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) >= log(2 / level)
  }

  /// Sums over observations from which a share and its standard error follow.
  private struct Moments {
    var hits = 0.0, trials = 0.0
    private var hitsSquared = 0.0, product = 0.0, trialsSquared = 0.0

    init() {}

    init(_ observation: Observation) {
      (hits, trials) = (observation.hits, observation.trials)
      hitsSquared = hits * hits
      product = hits * trials
      trialsSquared = trials * trials
    }

    @inline(__always)
    mutating func add(_ other: Moments) {
      hits += other.hits
      trials += other.trials
      hitsSquared += other.hitsSquared
      product += other.product
      trialsSquared += other.trialsSquared
    }

    func without(_ part: Moments) -> Moments {
      var rest = self
      rest.hits -= part.hits
      rest.trials -= part.trials
      rest.hitsSquared -= part.hitsSquared
      rest.product -= part.product
      rest.trialsSquared -= part.trialsSquared
      return rest
    }

    var share: Double { hits / trials }
    /// The square of the share's standard error, with `count` observations as clusters.
    func variance(_ count: Int) -> Double {
      let (p, n) = (share, Double(count))
      let squares = hitsSquared - 2 * p * product + p * p * trialsSquared
      // What rounding leaves of observations that are all alike.
      let isNothing = squares <= 1e-12 * trialsSquared
      return isNothing ? 0 : squares / (trials * trials) * n / (n - 1)
    }
  }

  /// How many standard errors lie between the shares of `part`, of `count` observations, and of the others of `total`.
  @inline(__always)
  private static func distance(_ part: Moments, _ count: Int, _ total: Moments, _ all: Int) -> Double {
    let rest = total.without(part)
    let difference = abs(part.share - rest.share)
    if difference < 1e-12 { return 0 }
    let variance = part.variance(count) + rest.variance(all - count)
    return variance > 0 ? difference / variance.squareRoot() : .infinity
  }

  /// SplitMix64: the next number, below `bound`, which is below 2³².
  @inline(__always)
  private static func next(_ state: inout UInt64, below bound: UInt64) -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return (((mixed ^ mixed >> 31) >> 32) &* bound) >> 32
  }
}
