import Glibc

/// Whether two measurements differ by more than chance explains, at a level of one in a thousand: with some twenty figures
/// side by side, a false mark stands in one comparison of fifty.
package enum Chance {
  /// How seldom chance alone may make a difference that is marked.
  package static let level = 0.001
  /// The standard deviations that belong to `level`, both sides together.
  private static let deviations = 3.2905

  /// Whether `hits` of `trials` are another share here than there.
  ///
  /// Fisher's exact test, two-sided, where a cell of the table is expected to have fewer than ten; else the test of two
  /// proportions with pooled variance. No verdict, and so `false`, without trials on either side.
  package static func differs(_ hits: UInt64, of trials: UInt64, from otherHits: UInt64, of otherTrials: UInt64) -> Bool
  {
    guard trials > 0, otherTrials > 0, hits <= trials, otherHits <= otherTrials else { return false }
    let (n, m) = (Double(trials), Double(otherTrials))
    let (all, sum) = (n + m, Double(hits) + Double(otherHits))
    guard sum > 0, sum < all else { return false }
    if min(n, m) * min(sum, all - sum) / all < 10 {
      // The rarer of the two outcomes, whose table has few places.
      let isRare = sum <= all - sum
      return exact(
        isRare ? hits : trials - hits, trials, isRare ? otherHits : otherTrials - otherHits, otherTrials) < level
    }
    let pooled = sum / all
    let spread = (pooled * (1 - pooled) * (1 / n + 1 / m)).squareRoot()
    return abs(Double(hits) / n - Double(otherHits) / m) > deviations * spread
  }

  /// The probability of a table at least as unlikely as this one, its margins given.
  private static func exact(_ hits: UInt64, _ trials: UInt64, _ otherHits: UInt64, _ otherTrials: UInt64) -> Double {
    let sum = hits + otherHits
    let least = sum > otherTrials ? sum - otherTrials : 0, most = min(sum, trials)
    let whole = choices(Double(trials + otherTrials), Double(sum))
    func logarithm(_ k: UInt64) -> Double {
      choices(Double(trials), Double(k)) + choices(Double(otherTrials), Double(sum - k)) - whole
    }
    // Equal ones count, however they were rounded.
    let seen = logarithm(hits) + 1e-7
    var total = 0.0
    var k = least
    while k <= most {
      let this = logarithm(k)
      if this <= seen { total += exp(this) }
      if k == most { break }
      k += 1
    }
    return total
  }

  /// The logarithm of n over k.
  private static func choices(_ n: Double, _ k: Double) -> Double {
    lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
  }

  /// Between which percentiles of the samples the true percentile lies, as the ranks of ordered samples tell, whatever their
  /// distribution; `nil` where there are too few samples to tell.
  package static func bounds(_ percent: Double, samples: UInt64) -> (lower: Double, upper: Double)? {
    guard samples > 0 else { return nil }
    let (n, share) = (Double(samples), percent / 100)
    let width = deviations * (n * share * (1 - share)).squareRoot()
    let (lower, upper) = (n * share - width, n * share + width + 1)
    guard lower >= 1, upper <= n else { return nil }
    return (lower / n * 100, upper / n * 100)
  }

  /// Whether the percentile is another one: where the true one lies here and there do not overlap.
  package static func differs(_ percent: Double, _ one: RTTRecorder, from other: RTTRecorder) -> Bool {
    guard let here = bounds(percent, samples: one.count), let there = bounds(percent, samples: other.count),
      let hereLow = one.percentile(here.lower), let hereHigh = one.percentile(here.upper),
      let thereLow = other.percentile(there.lower), let thereHigh = other.percentile(there.upper)
    else { return false }
    return hereHigh < thereLow || thereHigh < hereLow
  }
}
