/// Numbers as they are printed, in tables that stand in the program.
public enum Digits {
  /// All numbers of two digits.
  @inlinable static var pairs: StaticString {
    """
    0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
    5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899
    """
  }

  /// All octets of an IPv4 address with the dot behind them, four bytes each.
  @inlinable static var octets: StaticString {
    """
    0.  1.  2.  3.  4.  5.  6.  7.  8.  9.  10. 11. 12. 13. 14. 15. 16. 17. 18. 19. 20. 21. 22. 23. 24. \
    25. 26. 27. 28. 29. 30. 31. 32. 33. 34. 35. 36. 37. 38. 39. 40. 41. 42. 43. 44. 45. 46. 47. 48. 49. \
    50. 51. 52. 53. 54. 55. 56. 57. 58. 59. 60. 61. 62. 63. 64. 65. 66. 67. 68. 69. 70. 71. 72. 73. 74. \
    75. 76. 77. 78. 79. 80. 81. 82. 83. 84. 85. 86. 87. 88. 89. 90. 91. 92. 93. 94. 95. 96. 97. 98. 99. \
    100.101.102.103.104.105.106.107.108.109.110.111.112.113.114.115.116.117.118.119.120.121.122.123.124.\
    125.126.127.128.129.130.131.132.133.134.135.136.137.138.139.140.141.142.143.144.145.146.147.148.149.\
    150.151.152.153.154.155.156.157.158.159.160.161.162.163.164.165.166.167.168.169.170.171.172.173.174.\
    175.176.177.178.179.180.181.182.183.184.185.186.187.188.189.190.191.192.193.194.195.196.197.198.199.\
    200.201.202.203.204.205.206.207.208.209.210.211.212.213.214.215.216.217.218.219.220.221.222.223.224.\
    225.226.227.228.229.230.231.232.233.234.235.236.237.238.239.240.241.242.243.244.245.246.247.248.249.\
    250.251.252.253.254.255.
    """
  }

  // Each of these puts text at `to`, where there is room, and gives its end.

  /// Two digits of a number below 100.
  @inlinable @inline(__always)
  public static func pair(_ value: UInt32, _ to: UnsafeMutableRawPointer) {
    let pair = UnsafeRawPointer(pairs.utf8Start).loadUnaligned(
      fromByteOffset: Int(truncatingIfNeeded: value &* 2), as: UInt16.self)
    to.storeBytes(of: pair, as: UInt16.self)
  }

  /// Four digits of a number below 10,000.
  @inlinable @inline(__always)
  public static func four(_ value: UInt32, _ to: UnsafeMutableRawPointer) {
    let high = value / 100
    pair(high, to)
    pair(value &- high &* 100, to + 2)
  }

  /// Six digits of a number below 1,000,000.
  @inlinable @inline(__always)
  public static func six(_ value: UInt32, _ to: UnsafeMutableRawPointer) {
    let high = value / 10_000
    pair(high, to)
    four(value &- high &* 10_000, to + 2)
  }

  /// A number in decimal: up to 20 bytes.
  @inlinable @inline(__always)
  public static func number(_ value: UInt64, _ to: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    if value >= 10 { return long(value, to) }
    to.storeBytes(of: 48 &+ UInt8(truncatingIfNeeded: value), as: UInt8.self)
    return to + 1
  }

  /// The same of a number with a sign: up to 20 bytes.
  package static func signed(_ value: Int64, _ to: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    if value >= 0 { return number(value.magnitude, to) }
    to.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
    return number(value.magnitude, to + 1)
  }

  @usableFromInline @inline(never)
  static func long(_ value: UInt64, _ to: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    if value < 100_000_000 { return upToEight(UInt32(truncatingIfNeeded: value), to) }
    let high = value / 100_000_000
    let low = UInt32(truncatingIfNeeded: value &- high &* 100_000_000)
    let end = high < 100_000_000 ? upToEight(UInt32(truncatingIfNeeded: high), to) : long(high, to)
    four(low / 10_000, end)
    four(low % 10_000, end + 4)
    return end + 8
  }

  @inline(__always)
  private static func upToEight(_ value: UInt32, _ to: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    if value < 10_000 { return upToFour(value, to) }
    let high = value / 10_000
    let end = upToFour(high, to)
    four(value &- high &* 10_000, end)
    return end + 4
  }

  @inline(__always)
  private static func upToFour(_ value: UInt32, _ to: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    if value < 100 { return upToTwo(value, to) }
    let high = value / 100
    let end = upToTwo(high, to)
    pair(value &- high &* 100, end)
    return end + 2
  }

  @inline(__always)
  private static func upToTwo(_ value: UInt32, _ to: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    if value >= 10 {
      pair(value, to)
      return to + 2
    }
    to.storeBytes(of: 48 &+ UInt8(truncatingIfNeeded: value), as: UInt8.self)
    return to + 1
  }

  /// `value` thousandths with three decimals, without trailing zeros but one: up to 24 bytes.
  @inline(never)
  public static func thousandths(_ value: Int64, _ to: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    var to = to
    if value < 0 {
      to.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
      to += 1
    }
    let magnitude = value.magnitude
    let whole = magnitude / 1_000
    to = number(whole, to)
    let part = UInt32(truncatingIfNeeded: magnitude &- whole &* 1_000)
    let high = part / 10
    let last = part &- high &* 10
    to.storeBytes(of: UInt8(ascii: "."), as: UInt8.self)
    pair(high, to + 1)
    to.storeBytes(of: 48 &+ UInt8(truncatingIfNeeded: last), toByteOffset: 3, as: UInt8.self)
    return to + (last != 0 ? 4 : high % 10 != 0 ? 3 : 2)
  }

  /// An IPv4 address: up to 15 bytes, and 16 are touched.
  @inlinable @inline(__always)
  public static func v4(_ address: UInt32, _ to: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    // Four bytes are stored for every octet, and the last dot is taken back.
    var to = to
    var left = address
    for _ in 0..<4 {
      let octet = Int(truncatingIfNeeded: left &>> 24)
      let text = UnsafeRawPointer(octets.utf8Start).loadUnaligned(fromByteOffset: 4 &* octet, as: UInt32.self)
      to.storeBytes(of: text, as: UInt32.self)
      to += 2 &+ (octet >= 10 ? 1 : 0) &+ (octet >= 100 ? 1 : 0)
      left = left &<< 8
    }
    return to - 1
  }
}
