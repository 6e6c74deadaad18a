import CCrypto
import IMWire

/// Which keys and numbers may open a record (rules 3 to 8 of the way back; of a record in its place the first number of each key).
extension TLSConnection {
  /// Numbers that are tried of each key before many of one are, and all of a handshake's.
  private static let fewNumbers = 64
  /// The maximum number of KeyUpdates before the first record of a connection that began before the capture.
  private static let updatesBeforeCapture = 16
  /// The work limit for trying them.
  private static let workOfUpdated = 16_384

  /// What became of a record.
  enum Attempt {
    case opened(OpenedRecord)
    /// A secret or a hello is missing that may come.
    case missing(TLSUnread)
    case failed(TLSUnread)
  }

  /// A record that is tried, and what may be spent on it.
  struct Trial {
    let bytes: UnsafeRawBufferPointer
    let record: UnsafeRawBufferPointer
    let direction: Int
    let context: TLSContext
    /// Whether more than 64 numbers may be tried: something supports that a record ends where this one does.
    let hasEvidence: Bool
    /// Whether any key was there.
    var hadKeys = false
    /// Whether a bound ended a search.
    var isLimited = false
    /// Whether fewer numbers were tried than may be.
    var isCut = false

    var type: UInt8 { record[0] }
    var count: Int { record.count - TLSRecord.headerCount }
    /// What one opening of it costs, in tries.
    var weight: Int32 { 1 + Int32(truncatingIfNeeded: record.count >> 10) }
  }

  /// Tries what may open `record`, likeliest first. The keys that do become those of the direction, with the number after the record's.
  func attempt(
    _ bytes: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ direction: Int, _ time: Timestamp,
    hasEvidence: Bool,
    _ context: TLSContext
  ) -> Attempt {
    let side = sides + (direction & 1)
    var trial = Trial(
      bytes: bytes, record: record, direction: direction & 1, context: context, hasEvidence: hasEvidence)
    defer { side.pointee.hasCandidates = trial.hadKeys }
    if let keys = side.pointee.keys {
      if side.pointee.gap > 0 || side.pointee.tries > 0, let opened = tryCurrent(keys, &trial) {
        return .opened(opened)
      }
      if keys.isTLS13 {
        if let opened = tryLater(keys, &trial) { return .opened(opened) }
      } else if side.pointee.hasNewerHellos, let opened = try12(&trial) {
        return .opened(opened)
      }
      return .failed(trial.isLimited ? .limit : renegotiation?.missing ?? .tag)
    }
    if isTLS12 { return attempt12(&trial, time) }
    // Only application data is encrypted in TLS 1.3.
    guard record[0] == 23 else { return .missing(.noServerHello) }
    if facts.isVersionChosen, provedSuite == nil, TLSSuites.suite(facts.suite) == nil { return .failed(.suite) }
    if hasClientHello {
      switch attempt13(&trial) {
      case .missing(.noKey) where facts.offersEncryptedHello && !facts.isFoundByTrial:
        break
      case let result: return result
      }
    }
    return tryUnclaimed13(&trial, time)
  }

  // MARK: TLS 1.3

  private func attempt13(_ trial: inout Trial) -> Attempt {
    let side = sides + trial.direction
    let isServer = role(trial.direction) == 1
    var isHandshakeKnown = true
    if side.pointee.epoch == .none {
      let kind: KeyTable.Kind = isServer ? .serverHandshake : .clientHandshake
      isHandshakeKnown = hasSecret(kind, trial.context)
      if let opened = trySecrets(kind, .handshake, limit: Self.fewNumbers, &trial) { return .opened(opened) }
      if !isServer, facts.offersEarlyData, !side.pointee.isEarlyOver {
        switch facts.isEarlyDataAccepted {
        case false:
          // Neither the early secret nor that of the handshake: what the server could not read either.
          if isHandshakeKnown, side.pointee.gap == 0 || !side.pointee.isLost { return .failed(.earlyRejected) }
        case nil where !side.pointee.isGivenUp && !sides[1 - trial.direction].isLost:
          return .missing(.noServerHello)
        case nil where hasSecret(.early, trial.context):
          // The server's answer is missing; the client's next messages decide.
          facts.isEarlyDataAccepted = endsEarlyData(&trial)
          if facts.isEarlyDataAccepted == false { return .failed(.earlyRejected) }
          if facts.isEarlyDataAccepted == nil, !side.pointee.isGivenUp { return .missing(.noServerHello) }
          if let opened = trySecrets(.early, .early, &trial) { return .opened(opened) }
        default:
          if let opened = trySecrets(.early, .early, &trial) { return .opened(opened) }
          if !hasSecret(.early, trial.context) { isHandshakeKnown = false }
        }
      }
    }
    // The handshake's last record is read before that of the next epoch, unless bytes are missing.
    let kind: KeyTable.Kind = isServer ? .serverTraffic : .clientTraffic
    let isTrafficKnown = hasSecret(kind, trial.context)
    if side.pointee.epoch != .none || side.pointee.gap > 0 || side.pointee.hasMissed || !isHandshakeKnown,
      let opened = tryTraffic(isServer, &trial)
    {
      return .opened(opened)
    }
    if !isHandshakeKnown || !isTrafficKnown {
      // A master secret: the connection is of TLS 1.2.
      return .missing(!facts.isVersionChosen && hasSecret(.master, trial.context) ? .noServerHello : .noKey)
    }
    return .failed(trial.isLimited ? .limit : .tag)
  }

  /// Whether early data, to which the current record belongs, was accepted: only then does the client end it with a message before its handshake
  /// continues. `nil` while the client's next flight is missing.
  private func endsEarlyData(_ trial: inout Trial) -> Bool? {
    let bytes = trial.bytes
    var at = trial.record.count
    // The last record before the handshake, which has the message if there is one, and its number if nothing is missing.
    var last = trial.record
    var number: UInt64 = 0
    while at + TLSRecord.headerCount <= bytes.count, TLSRecord.isPossible(bytes, at) {
      let end = at + TLSRecord.headerCount + TLSRecord.header(bytes, at).count
      guard end <= bytes.count else { return nil }
      let record = UnsafeRawBufferPointer(rebasing: bytes[at..<end])
      at = end
      switch record[0] {
      // A second ClientHello: the server sent a HelloRetryRequest.
      case 22: return false
      case 23: break
      default: continue
      }
      if opensFirst(.clientHandshake, record, &trial) { return isEndOfEarlyData(last, number, &trial) }
      guard sides[trial.direction].credit > 0 else { return nil }
      last = record
      number += 1
    }
    return nil
  }

  /// Whether a secret of the connection opens a record as the first one of its epoch.
  private func opensFirst(_ kind: KeyTable.Kind, _ record: UnsafeRawBufferPointer, _ trial: inout Trial) -> Bool {
    let keys = trial.context.keys
    var slot = withUnsafeBytes(of: clientRandom) { $0.baseAddress.map { keys.first(kind, $0) } ?? -1 }
    while slot >= 0 {
      let secret = keys.secret(slot)
      for suite in provedSuite.map({ [$0] }) ?? TLSSuites.ofSecret(count: secret.count)
      where suite.hash.count == secret.count && pay(1, &trial) {
        if trial.context.tryOpen(TLSDerivation.keys13(suite, Bytes48(secret)), 0, record) != nil { return true }
      }
      slot = keys.following(slot)
    }
    return false
  }

  /// Whether a record of early data holds EndOfEarlyData; `nil` if no early secret opens it with `number`, or with one of the first numbers.
  private func isEndOfEarlyData(_ record: UnsafeRawBufferPointer, _ number: UInt64, _ trial: inout Trial) -> Bool? {
    let context = trial.context
    let keys = context.keys
    var slot = withUnsafeBytes(of: clientRandom) { $0.baseAddress.map { keys.first(.early, $0) } ?? -1 }
    while slot >= 0 {
      let secret = keys.secret(slot)
      for suite in provedSuite.map({ [$0] }) ?? TLSSuites.ofSecret(count: secret.count)
      where suite.hash.count == secret.count {
        let early = TLSDerivation.keys13(suite, Bytes48(secret))
        for candidate in [number] + (0..<UInt64(Self.fewNumbers)) where pay(1, &trial) {
          guard let opened = context.tryOpen(early, candidate, record) else { continue }
          return opened.type == 22 && opened.count == 4
            && context.scratch.load(fromByteOffset: opened.start, as: UInt8.self) == 5
        }
      }
      slot = keys.following(slot)
    }
    return nil
  }

  private func tryTraffic(_ isServer: Bool, _ trial: inout Trial) -> OpenedRecord? {
    let side = sides + trial.direction
    let first: KeyTable.Kind = isServer ? .serverTraffic : .clientTraffic
    let updated: KeyTable.Kind = isServer ? .serverUpdated : .clientUpdated
    // Few numbers of all secrets, then the further ones.
    for limit in [Self.fewNumbers, Int.max] {
      trial.isCut = false
      if let opened = trySecrets(first, .traffic, limit: limit, &trial) { return opened }
      // Nothing is missing: the first record of the epoch.
      guard side.pointee.gap > 0 || side.pointee.hasMissed else { return nil }
      if let opened = trySecrets(updated, .traffic, limit: limit, &trial) { return opened }
      if limit == Self.fewNumbers,
        let opened = trySecrets(first, .traffic, generations: generations(side), limit: limit, &trial)
      {
        return opened
      }
      guard trial.isCut else { return nil }
    }
    return nil
  }

  /// KeyUpdates that may have been missed.
  private func generations(_ side: UnsafeMutablePointer<TLSSide>) -> Int { side.pointee.gap == .max ? 64 : 3 }

  /// With keys of TLS 1.3 that do not open the record: the epochs after theirs.
  private func tryLater(_ keys: TLSKeys, _ trial: inout Trial) -> OpenedRecord? {
    let side = sides + trial.direction
    let isServer = role(trial.direction) == 1
    if side.pointee.epoch == .traffic {
      var later = keys
      for _ in 0..<generations(side) {
        later = TLSDerivation.updated(later)
        if let opened = tryKeys(later, .traffic, from: 0, &trial) { return opened }
        if side.pointee.credit <= 0 { break }
      }
      return trySecrets(isServer ? .serverUpdated : .clientUpdated, .traffic, &trial)
    }
    if side.pointee.epoch == .early,
      let opened = trySecrets(.clientHandshake, .handshake, limit: Self.fewNumbers, &trial)
    {
      return opened
    }
    // Other secrets of the same name have been tried with the epoch's first record.
    return tryTraffic(isServer, &trial)
  }

  private func hasSecret(_ kind: KeyTable.Kind, _ context: TLSContext) -> Bool {
    withUnsafeBytes(of: clientRandom) { random in random.baseAddress.map { context.keys.first(kind, $0) >= 0 } ?? false
    }
  }

  /// Tries the secrets of one name; with `generations` their KeyUpdates instead of themselves.
  private func trySecrets(
    _ kind: KeyTable.Kind, _ epoch: TLSSide.Epoch, generations: Int = 0, limit: Int = .max, _ trial: inout Trial
  ) -> OpenedRecord? {
    let keys = trial.context.keys
    var slot = withUnsafeBytes(of: clientRandom) { $0.baseAddress.map { keys.first(kind, $0) } ?? -1 }
    var count = 0
    while slot >= 0 {
      count += 1
      // There may be many KeyUpdates.
      if count > 4, sides[trial.direction].credit <= 0 { return nil }
      let secret = keys.secret(slot)
      if let opened = trySecret(secret, epoch, generations: generations, limit: limit, &trial) { return opened }
      slot = keys.following(slot)
    }
    return nil
  }

  private func trySecret(
    _ secret: UnsafeRawBufferPointer, _ epoch: TLSSide.Epoch, generations: Int, limit: Int, _ trial: inout Trial
  ) -> OpenedRecord? {
    for suite in provedSuite.map({ [$0] }) ?? TLSSuites.ofSecret(count: secret.count)
    where suite.hash.count == secret.count {
      var keys = TLSDerivation.keys13(suite, Bytes48(secret))
      if generations == 0 {
        if let opened = tryKeys(keys, epoch, from: 0, limit: limit, &trial) { return opened }
        continue
      }
      for _ in 0..<generations {
        keys = TLSDerivation.updated(keys)
        if let opened = tryKeys(keys, epoch, from: 0, limit: limit, &trial) { return opened }
        if sides[trial.direction].credit <= 0 { break }
      }
    }
    return nil
  }

  // MARK: TLS 1.2

  private func attempt12(_ trial: inout Trial, _ time: Timestamp) -> Attempt {
    guard facts.version == 0x0303, let suite = TLSSuites.suite(facts.suite), suite.number >> 8 != 0x13 else {
      return .failed(.suite)
    }
    guard hasServerHello else { return .missing(.noServerHello) }
    if hasClientHello {
      if let opened = try12(&trial) { return .opened(opened) }
      switch renegotiation?.missing {
      // The other direction may still bring the hello; in its own direction, it has been lost.
      case .noServerHello: return isServer(trial) ? .failed(.noServerHello) : .missing(.noServerHello)
      case .noHello:
        let mayCome = isServer(trial) && !sides[trial.direction].isGivenUp && !sides[1 - trial.direction].isLost
        return mayCome ? .missing(.noHello) : tryUnclaimed12(suite, &trial, time)
      default: return trial.hadKeys ? .failed(trial.isLimited ? .limit : .tag) : .missing(.noKey)
      }
    }
    return tryUnclaimed12(suite, &trial, time)
  }

  private func isServer(_ trial: Trial) -> Bool { role(trial.direction) == 1 }

  /// The keys of the newest hellos; if the connection renegotiates, those of any pair of its newest hellos.
  private func try12(_ trial: inout Trial) -> OpenedRecord? {
    guard hasServerHello, hasClientHello else { return nil }
    let server = TLSRenegotiation.ServerHello(random: serverRandom, suite: facts.suite, order: order)
    let side = sides + trial.direction
    if let renegotiation, side.pointee.credit > 0, !side.pointee.isGivenUp || hasNews(side, trial.context) {
      for server in renegotiation.servers.reversed() {
        for client in renegotiation.clients.reversed() {
          guard let opened = tryPair(client, server, limit: Self.fewNumbers, &trial) else { continue }
          if server.random.words == serverRandom.words { side.pointee.hasNewerHellos = false }
          return opened
        }
      }
    }
    guard let opened = tryPair(clientRandom, server, limit: .max, &trial) else { return nil }
    side.pointee.hasNewerHellos = false
    return opened
  }

  /// The keys of one ClientHello and one ServerHello.
  private func tryPair(
    _ client: Bytes32, _ server: TLSRenegotiation.ServerHello, limit: Int, _ trial: inout Trial
  ) -> OpenedRecord? {
    guard let suite = TLSSuites.suite(server.suite) else { return nil }
    let keys = trial.context.keys
    var slot = withUnsafeBytes(of: client) { $0.baseAddress.map { keys.first(.master, $0) } ?? -1 }
    while slot >= 0 {
      if let master = keys.secret(slot).baseAddress {
        let derived = TLSDerivation.keys12(
          suite, master: master, clientRandom: client, serverRandom: server.random, isServer: isServer(trial),
          order: server.order)
        if let opened = tryKeys(derived, .traffic, from: 0, limit: limit, &trial) { return opened }
      }
      slot = keys.following(slot)
    }
    return nil
  }

  /// Rule 8: with a ServerHello and no ClientHello, each secret by the first record.
  private func tryUnclaimed12(_ suite: TLSSuite, _ trial: inout Trial, _ time: Timestamp) -> Attempt {
    let side = sides + trial.direction
    let context = trial.context
    guard side.pointee.trialGeneration != context.keys.generation else {
      return .missing(side.pointee.isTrialLimited ? .limit : .noHello)
    }
    let left = min(context.trialsLeft(at: time), 65_536)
    var tried = 0
    var looked = 0
    while looked < context.keys.count, tried < left, looked < 1 << 20 {
      let slot = context.keys.slot(back: looked)
      looked += 1
      guard context.keys.kind(slot) == KeyTable.Kind.master.rawValue, !context.keys.isClaimed(slot),
        let master = context.keys.secret(slot).baseAddress
      else { continue }
      tried += 1
      let random = Bytes32(context.keys.random(slot))
      let keys = TLSDerivation.keys12(
        suite, master: master, clientRandom: random, serverRandom: serverRandom, isServer: role(trial.direction) == 1,
        order: order)
      side.pointee.credit = max(side.pointee.credit, 64 * trial.weight)
      if let opened = tryKeys(keys, .traffic, from: 0, limit: 16, &trial) {
        finishTrial(tried + looked / 64, context)
        found(random, context)
        return .opened(opened)
      }
    }
    finishTrial(tried + looked / 64, context)
    if tried < left { side.pointee.trialGeneration = context.keys.generation }
    side.pointee.isTrialLimited = tried >= left || looked < context.keys.count
    guard side.pointee.isTrialLimited else { return .missing(.noHello) }
    context.counters.limitedSearches += 1
    return .missing(.limit)
  }

  // MARK: rule 7

  private func finishTrial(_ count: Int, _ context: TLSContext) {
    context.spendTrials(count)
    context.counters.triedSecrets += UInt64(count)
  }

  /// A secret fits: its random is the connection's.
  private func found(_ random: Bytes32, _ context: TLSContext) {
    // The random of a renegotiation is not the connection's first one.
    if renegotiation != nil { return addRenegotiated(client: random, context) }
    setClientRandom(random, context)
    facts.isFoundByTrial = true
    context.counters.foundByTrial += 1
  }

  /// The secrets of TLS 1.3 that no connection uses, newest first: AES-GCM without its number, then the others by their first numbers.
  private func tryUnclaimed13(_ trial: inout Trial, _ time: Timestamp) -> Attempt {
    let side = sides + trial.direction
    let context = trial.context
    guard trial.hasEvidence, side.pointee.trialGeneration != context.keys.generation else {
      return .missing(side.pointee.isTrialLimited ? .limit : .noHello)
    }
    let left = context.trialsLeft(at: time)
    guard left > 0 else {
      // The next minute may bring more: the records after this one are attempted as well.
      trial.hadKeys = true
      return .missing(.limit)
    }
    var spent = 0
    defer { finishTrial(spent, context) }
    var looked = 0
    // Those that are tried by number afterwards.
    var others: [Int32] = []
    let most = sidesAreCertain ? 256 : 512
    let suite = provedSuite
    while looked < context.keys.count, spent < min(left, 65_536), looked < 1 << 20 {
      let slot = context.keys.slot(back: looked)
      looked += 1
      if looked & 63 == 0 { spent += 1 }
      guard fits(slot, trial.direction, context) else { continue }
      let secret = context.keys.secret(slot)
      if secret.count == 32, others.count < most, suite?.cipher != .gcm { others.append(slot) }
      for suite in suite.map({ [$0] }) ?? TLSSuites.ofSecret(count: secret.count)
      where suite.cipher == .gcm && suite.hash.count == secret.count {
        spent += 1
        let keys = TLSDerivation.keys13(suite, Bytes48(secret))
        guard let sequence = context.number(keys, trial.record), sequence < 1 << 48,
          let opened = context.tryOpen(keys, sequence, trial.record)
        else { continue }
        found(slot, keys, sequence, trial.direction, context)
        return .opened(opened)
      }
    }
    side.pointee.isTrialLimited = looked < context.keys.count
    // The first numbers of all, then the further ones.
    for numbers in [0..<UInt64(16), 16..<256, 256..<4_096] {
      if numbers.lowerBound > 0, side.pointee.gap == 0, !side.pointee.hasMissed { break }
      for slot in others {
        let secret = context.keys.secret(slot)
        for suite in suite.map({ [$0] }) ?? TLSSuites.ofSecret(count: secret.count)
        where suite.cipher != .gcm && suite.hash.count == secret.count {
          guard spent < left else {
            context.counters.limitedSearches += 1
            trial.hadKeys = true
            return .missing(.limit)
          }
          spent += 1 + (numbers.count >> 4)
          let keys = TLSDerivation.keys13(suite, Bytes48(secret))
          guard let (opened, sequence) = tryNumbers(keys, numbers, trial.record, context) else { continue }
          found(slot, keys, sequence, trial.direction, context)
          return .opened(opened)
        }
      }
    }
    if let opened = tryUpdated(&trial, &spent, left: left) { return .opened(opened) }
    side.pointee.trialGeneration = context.keys.generation
    guard side.pointee.isTrialLimited else { return .missing(.noHello) }
    context.counters.limitedSearches += 1
    return .missing(.limit)
  }

  /// Tries KeyUpdates before the first captured record, from libraries that do not log their secrets: the generations after the first secrets, newest
  /// secrets first. Once for each direction.
  private func tryUpdated(_ trial: inout Trial, _ spent: inout Int, left: Int) -> OpenedRecord? {
    let side = sides + trial.direction
    let context = trial.context
    guard side.pointee.gap > 0 || side.pointee.hasMissed, !side.pointee.hasTriedUpdated else { return nil }
    side.pointee.hasTriedUpdated = true
    let most = min(left, spent + Self.workOfUpdated)
    // The keys of each secret and suite that may fit, advanced by one KeyUpdate in each round of the loop below.
    var later: [(slot: Int32, keys: TLSKeys)] = []
    var looked = 0
    while looked < context.keys.count, looked < 1 << 16, later.count < 1_024 {
      let slot = context.keys.slot(back: looked)
      looked += 1
      guard fits(slot, trial.direction, context) else { continue }
      let kind = KeyTable.Kind(rawValue: context.keys.kind(slot))
      guard kind == .clientTraffic || kind == .serverTraffic else { continue }
      let secret = context.keys.secret(slot)
      for suite in provedSuite.map({ [$0] }) ?? TLSSuites.ofSecret(count: secret.count)
      where suite.hash.count == secret.count { later.append((slot, TLSDerivation.keys13(suite, Bytes48(secret)))) }
    }
    spent += looked >> 6
    for _ in 0..<Self.updatesBeforeCapture {
      for i in later.indices {
        let isGCM = later[i].keys.suite.cipher == .gcm
        spent += isGCM ? 4 : 20
        guard spent < most else { return nil }
        later[i].keys = TLSDerivation.updated(later[i].keys)
        let keys = later[i].keys
        if isGCM {
          guard let sequence = context.number(keys, trial.record), sequence < 1 << 48,
            let opened = context.tryOpen(keys, sequence, trial.record)
          else { continue }
          found(later[i].slot, keys, sequence, trial.direction, context)
          return opened
        }
        guard let (opened, sequence) = tryNumbers(keys, 0..<256, trial.record, context) else { continue }
        found(later[i].slot, keys, sequence, trial.direction, context)
        return opened
      }
    }
    return nil
  }

  /// Whether a secret may be one of this direction.
  private func fits(_ slot: Int32, _ direction: Int, _ context: TLSContext) -> Bool {
    if context.keys.isClaimed(slot) { return false }
    switch KeyTable.Kind(rawValue: context.keys.kind(slot)) {
    case .clientHandshake, .clientTraffic, .clientUpdated: return role(direction) == 0 || !sidesAreCertain
    case .serverHandshake, .serverTraffic, .serverUpdated: return role(direction) == 1 || !sidesAreCertain
    default: return false
    }
  }

  private func found(_ slot: Int32, _ keys: TLSKeys, _ sequence: UInt64, _ direction: Int, _ context: TLSContext) {
    let kind = KeyTable.Kind(rawValue: context.keys.kind(slot))
    let isServer = kind == .serverHandshake || kind == .serverTraffic || kind == .serverUpdated
    if !sidesAreCertain, (role(direction) == 1) != isServer { isSwapped.toggle() }
    sidesAreCertain = true
    found(Bytes32(context.keys.random(slot)), context)
    let isHandshake = kind == .serverHandshake || kind == .clientHandshake
    install(keys, isHandshake ? .handshake : .traffic, sequence, direction, context)
  }

  // MARK: keys and numbers

  /// The keys of a record that was opened become those of its direction.
  private func install(
    _ keys: TLSKeys, _ epoch: TLSSide.Epoch, _ sequence: UInt64, _ direction: Int, _ context: TLSContext
  ) {
    let side = sides + direction
    if side.pointee.isLost { context.counters.recoveries += 1 }
    if side.pointee.keys?.key.words.0 == keys.key.words.0, side.pointee.keys?.iv.words.0 == keys.iv.words.0 {
      side.pointee.sequence = sequence &+ 1
    } else {
      side.pointee.install(keys, epoch, sequence: sequence &+ 1)
      side.pointee.forgetHandshake()
    }
    side.pointee.isLost = false
    if keys.isTLS13 {
      if provedSuite == nil {
        provedSuite = keys.suite
        revision &+= 1
      }
      facts.version = 0x0304
      facts.isVersionChosen = true
      if facts.suite == 0 { facts.suite = keys.suite.number }
    }
  }

  /// The direction's own keys, from the next number.
  private func tryCurrent(_ keys: TLSKeys, _ trial: inout Trial) -> OpenedRecord? {
    let side = sides + trial.direction
    // What was tried with the records before this one needs no second try: their numbers grow with them.
    let skipped = UInt64(side.pointee.searched) + UInt64(side.pointee.chain)
    return tryKeys(keys, side.pointee.epoch, from: side.pointee.sequence &+ skipped, skipped: Int(skipped), &trial)
  }

  /// Tries `keys` with the numbers that may be: the gap says how many. Those that open the record are installed.
  private func tryKeys(
    _ keys: TLSKeys, _ epoch: TLSSide.Epoch, from: UInt64, skipped: Int = 0, limit: Int = .max, _ trial: inout Trial
  ) -> OpenedRecord? {
    trial.hadKeys = true
    let side = sides + trial.direction
    let context = trial.context
    guard keys.allows(type: trial.type, count: trial.count) else { return nil }
    var most = min(limit, max(1, side.pointee.numberCount(keys)))
    // A direction that began late, or keys that are new: a few numbers cost little.
    if side.pointee.keys == nil, side.pointee.hasMissed { most = min(limit, max(most, Self.fewNumbers)) }
    if limit < side.pointee.numberCount(keys) {
      trial.isCut = trial.isCut || keys.suite.cipher != .gcm || !keys.isTLS13
    }
    if most == 1, skipped == 0 {
      context.counters.tries += 1
      guard let opened = context.tryOpen(keys, from, trial.record) else { return nil }
      install(keys, epoch, from, trial.direction, context)
      return opened
    }
    guard pay(trial.weight, &trial) else { return nil }
    if keys.isTLS13, keys.suite.cipher == .gcm {
      guard let sequence = context.number(keys, trial.record), sequence < 1 << 48, pay(trial.weight, &trial),
        let opened = context.tryOpen(keys, sequence, trial.record)
      else { return nil }
      install(keys, epoch, sequence, trial.direction, context)
      return opened
    }
    if keys.suite.explicitNonceCount > 0, !keys.isTLS13 {
      let nonce = trial.record.loadUnaligned(fromByteOffset: 5, as: UInt64.self).bigEndian
      // The nonce is the number, or keeps its distance from it.
      for sequence in [side.pointee.hasNonce ? nonce &- side.pointee.nonceDistance : .max, nonce]
      where sequence < 1 << 48 && pay(trial.weight, &trial) {
        guard let opened = context.tryOpen(keys, sequence, trial.record) else { continue }
        install(keys, epoch, sequence, trial.direction, context)
        return opened
      }
    }
    guard skipped < most else { return nil }
    let isCheap = keys.isTLS13
    let cost = isCheap ? 1 : trial.weight
    let affordable = min(
      Int(max(0, side.pointee.credit) / cost), Int(max(0, TLSSide.longestSearch - side.pointee.tries) / cost))
    var numbers = min(most - skipped, affordable)
    if !trial.hasEvidence { numbers = min(numbers, Self.fewNumbers) }
    if numbers < most - skipped { trial.isLimited = true }
    guard numbers > 0, from < 1 << 48 else { return nil }
    let found = tryNumbers(keys, from..<from + UInt64(numbers), trial.record, context)
    let made = found.map { Int($0.1 - from) + 1 } ?? numbers
    let total = Int32(truncatingIfNeeded: made) &* cost
    side.pointee.credit -= total
    side.pointee.tries += total
    context.counters.tries += UInt64(made)
    guard var (opened, sequence) = found else {
      if trial.hasEvidence, skipped > 0 || from == side.pointee.sequence, side.pointee.keys != nil,
        keys.key.words.0 == side.pointee.keys?.key.words.0
      {
        side.pointee.searched = side.pointee.searched &+ UInt32(numbers)
      }
      return nil
    }
    // Of a tag of 8 bytes one chance in 2^64 for each try; after many, the next record has to agree where it is there.
    if made > 1_000, keys.suite.tagCount == 8 {
      if let next = following(trial), context.tryOpen(keys, sequence &+ 1, next) == nil { return nil }
      guard let again = context.tryOpen(keys, sequence, trial.record) else { return nil }
      opened = again
    }
    sequence = min(sequence, 1 << 48)
    install(keys, epoch, sequence, trial.direction, context)
    return opened
  }

  /// The record after the one in hand, when it is there.
  private func following(_ trial: Trial) -> UnsafeRawBufferPointer? {
    guard let start = trial.record.baseAddress, let base = trial.bytes.baseAddress else { return nil }
    let at = start - base + trial.record.count
    guard at >= 0, at + 5 <= trial.bytes.count, TLSRecord.isPossible(trial.bytes, at) else { return nil }
    let end = at + 5 + TLSRecord.header(trial.bytes, at).count
    return end <= trial.bytes.count ? UnsafeRawBufferPointer(rebasing: trial.bytes[at..<end]) : nil
  }

  /// Pays for a try; `false` when the credit does not suffice.
  private func pay(_ cost: Int32, _ trial: inout Trial) -> Bool {
    let side = sides + trial.direction
    guard side.pointee.credit >= cost else {
      trial.isLimited = true
      return false
    }
    side.pointee.credit -= cost
    trial.context.counters.tries += 1
    return true
  }

  /// The first of the numbers with which `keys` open the record.
  private func tryNumbers(
    _ keys: TLSKeys, _ numbers: Range<UInt64>, _ record: UnsafeRawBufferPointer, _ context: TLSContext
  ) -> (OpenedRecord, UInt64)? {
    guard let main = context.pool.single(keys.suite.kind, keys.key) else { return nil }
    if keys.isTLS13 {
      let kind: CipherKind =
        keys.suite.cipher == .chaCha ? .chaChaBlock : keys.suite.keyCount == 32 ? .ecb256 : .ecb128
      guard let block = context.pool.single(kind, keys.key, isEncrypting: true) else { return nil }
      for sequence in numbers where context.mayHave(block, keys, sequence, record) {
        if let opened = context.open(main, keys, sequence, record) { return (opened, sequence) }
      }
      return nil
    }
    for sequence in numbers {
      if let opened = context.open(main, keys, sequence, record) { return (opened, sequence) }
    }
    return nil
  }
}
