import IMCommandLine
import IMEndpoint

/// One figure of racing that is to be another: `--racing NAME=NUMBER`, for experiments.
struct RacingFigure: OptionValue, Equatable {
  /// The metrics by name; times are in milliseconds.
  enum Name: String, CaseIterable {
    case minimum
    case factor
    case margin
    case warm
    case warmth
    case spacing
    case abandon
    case budget
    case connection
    case limit
    case retransmission
    case queue
    case acknowledgments
    case thin
  }

  var name: Name
  var number: Double

  init?(word: String) {
    let parts = word.split(separator: "=")
    guard parts.count == 2, let name = Name(rawValue: String(parts[0])), let number = Double(parts[1]),
      (0...1e9).contains(number)
    else { return nil }
    self.name = name
    self.number = number
  }

  var word: String? { nil }
  static var expected: String {
    "NAME=NUMBER, with a name of " + Name.allCases.map(\.rawValue).joined(separator: ", ")
  }

  func apply(to policy: inout RacingPolicy) {
    let time = Duration.nanoseconds(Int64(number * 1e6))
    switch name {
    case .minimum: policy.minimum = time
    case .factor: policy.factor = number
    case .margin: policy.margin = time
    case .warm: policy.warmConnections = Int(number)
    case .warmth: policy.warmth = time
    case .spacing: policy.longestSpacing = time
    case .abandon: policy.abandon = time
    case .budget: policy.resendsPerAcknowledgment = number
    case .connection: policy.resendsPerConnection = number
    case .limit: policy.resendLimit = number
    case .retransmission: policy.retransmissionLimit = number == 0 ? nil : time
    case .queue: policy.queueFactor = number
    case .thin: policy.retransmitsLinearly = number > 0
    case .acknowledgments: policy.acknowledgmentConnections = Int(number)
    }
  }
}
