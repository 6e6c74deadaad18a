-- From here on, the code is the same for every profile, and works by the table above. Wireshark 4.0 and later.

-- Bit operations. Lua 5.2 has a library for them; 5.4 has operators, which 5.2 cannot even parse.
local library = rawget(_G, "bit32") or rawget(_G, "bit")
local band, bxor, rshift
if library then
  band = function(a, b) return library.band(a, b) % 4294967296 end
  bxor, rshift = library.bxor, library.rshift
else
  band = load("return function(a, b) return a & b end")()
  bxor = load("return function(a, b) return a ~ b end")()
  rshift = load("return function(a, n) return a >> n end")()
end

local name = profile.filter
local proto = Proto(name, profile.description)

-- Fields ----------------------------------------------------------------------------------------------------------------

local typeNames, tagNames = {}, {}
for value, kind in pairs(profile.types) do typeNames[value] = kind.name end
for value, kind in pairs(profile.variant or {}) do typeNames[value] = kind.name end
for tag, text in pairs(profile.tags) do tagNames[tag] = text end

local F = {
  bytes = ProtoField.uint32(name .. ".len", "Body bytes"),
  acknowledges = ProtoField.uint64(name .. ".ack_of", "Acknowledges"),
  keepAlive = ProtoField.uint64(name .. ".keep_alive", "Keep-alive"),
  identity = ProtoField.string(name .. ".identity", "Client's name"),
  subject = ProtoField.string(name .. ".subject", "Subject"),
  part = ProtoField.bytes(name .. ".part", "Bytes of the body"),
  raw = ProtoField.bytes(name .. ".body", "Body"),
  skipped = ProtoField.bytes(name .. ".skipped", "Not a frame"),
  check = ProtoField.string(name .. ".checksum.status", "Checksum status"),
  count = ProtoField.uint32(name .. ".tlv.count", "Elements"),
  tag = ProtoField.uint32(name .. ".tlv.tag", "Tag", base.HEX, tagNames),
  length = ProtoField.uint32(name .. ".tlv.len", "Length"),
  value = ProtoField.bytes(name .. ".tlv.value", "Value"),
}
-- Fields of the header, and those that a body may have instead. Numbers of up to 32 bits are Lua numbers, longer ones are UInt64.
local header, wide, texts = {}, { sequence = true, status = true, keepAlive = true, answered = true }, {}
for i, field in ipairs(profile.fields) do
  local path = name .. "." .. field.key
  if field.key == "type" then
    header[i] = ProtoField.uint32(path, field.name, base.HEX_DEC, typeNames)
  elseif field.bcd then
    header[i] = ProtoField.string(path, field.name)
    texts[field.key] = true
  elseif field.size <= 4 then
    header[i] = ProtoField.uint32(path, field.name, field.hex and base.HEX or base.DEC)
  else
    header[i] = ProtoField.uint64(path, field.name, field.hex and base.HEX or base.DEC)
  end
  F[field.key] = F[field.key] or header[i]
  wide[field.key] = field.size > 4 and field.key ~= "type"
end
F.answered = F.acknowledges
F.sequence = F.sequence or ProtoField.uint64(name .. ".sequence", "Sequence")
F.status = F.status or ProtoField.uint64(name .. ".status", "Status")

local E = {
  short = ProtoExpert.new(name .. ".malformed", "The body does not match its type", expert.group.MALFORMED, expert.severity.WARN),
  list = ProtoExpert.new(name .. ".tlv.bad", "The elements do not fill their list", expert.group.MALFORMED, expert.severity.WARN),
  deep = ProtoExpert.new(name .. ".tlv.deep", "Lists are nested deeper than the protocol allows", expert.group.PROTOCOL, expert.severity.NOTE),
  twice = ProtoExpert.new(name .. ".tlv.twice", "A tag occurs twice in one list", expert.group.PROTOCOL, expert.severity.NOTE),
  sum = ProtoExpert.new(name .. ".checksum.bad", "The checksum is wrong", expert.group.CHECKSUM, expert.severity.ERROR),
  unknown = ProtoExpert.new(name .. ".type.unknown", "A type that is not in the profile", expert.group.UNDECODED, expert.severity.NOTE),
  skipped = ProtoExpert.new(name .. ".skipped.bytes", "Bytes that are not a frame", expert.group.MALFORMED, expert.severity.WARN),
  closed = ProtoExpert.new(name .. ".unread", "The body is encrypted, or not the zlib that its header says", expert.group.UNDECODED, expert.severity.NOTE),
}

local all, seen = {}, {}
for _, field in pairs(F) do if not seen[field] then seen[field] = true; all[#all + 1] = field end end
for _, field in ipairs(header) do if not seen[field] then seen[field] = true; all[#all + 1] = field end end
proto.fields = all
local experts = {}
for _, one in pairs(E) do experts[#experts + 1] = one end
proto.experts = experts

-- Preferences -----------------------------------------------------------------------------------------------------------

proto.prefs.ports = Pref.range("TCP ports", profile.ports, "Decode connections on these ports", 65535)
proto.prefs.check = Pref.bool("Verify checksums", true, "Verify checksums of bodies of up to 1 MiB")

local ports = DissectorTable.get("tcp.port")
local registered = ""
local function register()
  local wanted = tostring(proto.prefs.ports)
  if wanted == registered then return end
  if registered ~= "" then ports:remove(registered, proto) end
  if wanted ~= "" then ports:add(wanted, proto) end
  registered = wanted
end
function proto.prefs_changed() register() end

-- Numbers ---------------------------------------------------------------------------------------------------------------

-- Reads a field whose offset counts from `at`; the caller has checked that its bytes exist.
local function read(field, tvb, at)
  local range = tvb(at + field.offset, field.size)
  if field.size <= 4 then
    local value = field.little and range:le_uint() or range:uint()
    return band(math.floor(value / 2 ^ field.shift), field.mask[1])
  end
  local value = field.little and range:le_uint64() or range:uint64()
  value = value:rshift(field.shift):band(UInt64(field.mask[1], field.mask[2]))
  return field.mask[2] == 0 and value:lower() or value
end

-- A big-endian number of one to eight bytes.
local function number(tvb, at, count)
  if count <= 4 then return tvb(at, count):uint() end
  return tvb(at, count):uint64()
end

local function plain(value) return type(value) == "number" and value or value:tonumber() end
local function long(value) return type(value) == "number" and UInt64(value) or value end

-- The digits of a binary-coded decimal number; an invalid digit counts as 0.
local function digits(bytes)
  local text = bytes:tohex():gsub("%X", "0"):gsub("[A-Fa-f]", "0"):gsub("^0+", "")
  return text == "" and "0" or text
end

-- Checksums of a string, by the algorithm's name ------------------------------------------------------------------------

-- A CRC that processes the least significant bit first.
local function reflected(polynomial, start, last)
  local sums
  return function(text)
    if not sums then
      sums = {}
      for i = 0, 255 do
        local c = i
        for _ = 1, 8 do c = c % 2 == 1 and bxor(rshift(c, 1), polynomial) % 4294967296 or rshift(c, 1) end
        sums[i] = c
      end
    end
    local c = start
    for i = 1, #text do c = bxor(sums[bxor(c, text:byte(i)) % 256], rshift(c, 8)) % 4294967296 end
    return bxor(c, last) % 4294967296
  end
end

-- A 16-bit CRC that processes the most significant bit first.
local function forward(polynomial, start)
  return function(text)
    local c = start
    for i = 1, #text do
      c = bxor(c, text:byte(i) * 256)
      for _ = 1, 8 do c = c >= 32768 and bxor(c * 2 % 65536, polynomial) or c * 2 end
    end
    return c
  end
end

local function added(modulus)
  return function(text)
    local sum = 0
    for i = 1, #text do sum = (sum + text:byte(i)) % modulus end
    return sum
  end
end

-- Two sums, the second one over the values of the first, over little-endian units of `width` bytes.
local function fletcher(width, modulus, start, factor)
  return function(text)
    local a, b = start, 0
    for i = 1, #text, width do
      a = (a + text:byte(i) + (width > 1 and i < #text and text:byte(i + 1) * 256 or 0)) % modulus
      b = (b + a) % modulus
    end
    return b * factor + a
  end
end

local checksums = {
  ["crc32"] = reflected(0xEDB88320, 0xFFFFFFFF, 0xFFFFFFFF),
  ["crc32c"] = reflected(0x82F63B78, 0xFFFFFFFF, 0xFFFFFFFF),
  ["crc16-arc"] = reflected(0xA001, 0, 0),
  ["crc16-modbus"] = reflected(0xA001, 0xFFFF, 0),
  ["crc16-x25"] = reflected(0x8408, 0xFFFF, 0xFFFF),
  ["crc16-kermit"] = reflected(0x8408, 0, 0),
  ["crc16-ccitt-false"] = forward(0x1021, 0xFFFF),
  ["crc16-xmodem"] = forward(0x1021, 0),
  ["adler32"] = fletcher(1, 65521, 1, 65536),
  ["fletcher16"] = fletcher(1, 255, 0, 256),
  ["fletcher32"] = fletcher(2, 65535, 0, 65536),
  ["sum8"] = added(256), ["sum16"] = added(65536), ["sum32"] = added(4294967296),
  ["xor"] = function(text)
    local sum = 0
    for i = 1, #text do sum = bxor(sum, text:byte(i)) end
    return sum
  end,
}

local function swapped(sum, width)
  local result = 0
  for _ = 1, width do
    result = result * 256 + sum % 256
    sum = math.floor(sum / 256)
  end
  return result
end

-- "be" and "le": correct in that byte order; "none": no body; "unchecked": not verified. `one` is a frame: see
-- `measure`.
local function checksum(one)
  local rule, tvb, at = profile.checksum, one.tvb, one.at
  if not rule then return nil end
  local stop = at + one.total - profile.trailer
  local place = rule.trailer and stop or at
  local stated = plain(read(rule.field, tvb, place))
  local from = rule.from and math.min(stop, at + rule.from) or at + one.head
  if rule.emptyIsZero and from == stop then return stated == 0 and "none" or "bad" end
  if not proto.prefs.check or stop - from > 1048576 then return "unchecked" end
  local text = stop > from and tvb:raw(from, stop - from) or ""
  local hole, width = place + rule.field.offset, rule.field.size
  if not rule.trailer and rule.from and hole < stop and hole + width > from then
    -- If a checksum covers itself, its own bytes count as zeros.
    local first = math.max(from, hole)
    local last = math.min(stop, hole + width)
    text = text:sub(1, first - from) .. ("\0"):rep(last - first) .. text:sub(last - from + 1)
  end
  local sum = checksums[rule.algorithm](text)
  if sum == stated then return "be" end
  if rule.either and swapped(sum, width) == stated then return "le" end
  return "bad"
end

-- Framing: lengths of the header and of the frame -----------------------------------------------------------------------

local function matches(bytes, tvb, at)
  for _, one in ipairs(bytes) do
    if band(tvb(at + one[1], 1):uint(), one[2]) ~= one[3] then return false end
  end
  return true
end

local lengths = {}

function lengths.field(tvb, at)
  local size = plain(read(profile.length.field, tvb, at)) + profile.length.add
  if size < 0 or size > profile.length.maximum then return nil end
  return profile.header, profile.header + size
end

-- A varint: seven bits per byte, the least significant first, at most four bytes. If its last byte is missing, asks for one more.
function lengths.varint(tvb, at, available)
  local size, factor, position = 0, 1, profile.length.offset
  for _ = 1, 4 do
    if position >= available then return position + 1, nil end
    local byte = tvb(at + position, 1):uint()
    size = size + byte % 128 * factor
    factor, position = factor * 128, position + 1
    if byte < 128 then
      if size > profile.length.maximum then return nil end
      return position, position + size + profile.length.add
    end
  end
  return nil
end

-- The frame at `at`: `tvb` and `at` are its position, `head` and `total` the lengths of its header and of the whole frame,
-- `value` and `kind` its type. Without `total`, `head` bytes are needed to continue; nothing is returned if it is not a frame.
local function measure(tvb, at, available, types)
  if available < profile.header then return { head = profile.header } end
  if not matches(profile.fixed, tvb, at) then return nil end
  local head, total = lengths[profile.length.rule](tvb, at, available)
  if not head then return nil end
  if not total then return { head = head } end
  local value = read(profile.type, tvb, at)
  local kind = types[value]
  if kind then
    if not matches(kind.fixed, tvb, at) then return nil end
    local size = total - head
    if size < kind.minimum or kind.maximum and size > kind.maximum then return nil end
  elseif profile.closed or total - head < profile.trailer then
    return nil
  end
  return { tvb = tvb, at = at, head = head, total = total, value = value, kind = kind, header = tvb, first = at }
end

-- A frame between two delimiters: `content` is everything between them, escapes included. Returns nothing if it is not a frame.
local function unwrap(tvb, at, content)
  local framing = profile.framing
  local one = { tvb = tvb, at = at, total = #content }
  if framing.escape and content:find(string.char(framing.escape), 1, true) then
    local bytes, i = {}, 1
    while i <= #content do
      local byte = content:byte(i)
      if byte == framing.escape then
        i = i + 1
        local written = content:byte(i)
        if not written then return nil end
        byte = framing.replaces and framing.replaces[written] or not framing.replaces and bxor(written, framing.mask)
        if not byte then return nil end
      end
      bytes[#bytes + 1] = string.char(byte)
      i = i + 1
    end
    content = table.concat(bytes)
    one.tvb, one.at, one.total = ByteArray.new(content, true):tvb("Without escapes"), 0, #content
  end
  if one.total < profile.header + profile.trailer then return nil end
  -- Offsets of fields refer to the header without its optional parts.
  local head, plainHeader, cut = profile.header, content:sub(1, one.total), 0
  one.parts, one.session = {}, nil
  for _, part in ipairs(framing.parts) do
    if plain(read(part.when, one.tvb, one.at)) ~= 0 then
      one.isRaw = one.isRaw or part.raw
      one.session = part.session or one.session
      if part.count > 0 then
        plainHeader = plainHeader:sub(1, part.at) .. plainHeader:sub(part.at + part.count + 1)
        one.parts[#one.parts + 1] = { part.at, part.count }
        head = head + part.count
      end
    end
  end
  one.head = head
  local size = one.total - head
  if size < profile.trailer or size - profile.trailer > profile.length.maximum then return nil end
  one.header, one.first = one.tvb, one.at
  if #one.parts > 0 then one.header, one.first = ByteArray.new(plainHeader, true):tvb("Header without parts"), 0 end
  if not matches(profile.fixed, one.header, one.first) then return nil end
  if profile.length.field then
    local said = plain(read(profile.length.field, one.header, one.first)) + profile.length.add
    if profile.length.countsHeader then said = said - (head - profile.header) end
    if said ~= size then return nil end
  end
  one.value = read(profile.type, one.header, one.first)
  one.kind = profile.types[one.value]
  if one.kind then
    if not matches(one.kind.fixed, one.header, one.first) then return nil end
    one.isShort = not one.isRaw and (size < one.kind.minimum or one.kind.maximum and size > one.kind.maximum)
  elseif profile.closed then
    return nil
  end
  return one
end

-- The position on the wire of a field of the header without parts.
local function place(one, field)
  local offset = field.offset
  for _, part in ipairs(one.parts or {}) do if offset >= part[1] then offset = offset + part[2] end end
  return one.tvb(one.at + offset, field.size)
end

-- Elements --------------------------------------------------------------------------------------------------------------

local list = profile.tlv

-- The lengths of an element's header and value; if the header is truncated, the number of bytes that it needs.
local function element(tvb, at, stop)
  local head = list.header
  if stop - at < head then return nil end
  if list.optional and band(tvb(at + list.optional[1], 1):uint(), list.optional[2]) ~= 0 then
    head = head + list.optional[3]
    if stop - at < head then return nil end
  end
  local size = plain(read(list.length, tvb, at)) - (list.all and head or 0)
  if size < 0 or size > stop - at - head then return nil end
  return head, size
end

-- A value as text, by its tag's type; nothing if it does not match.
local typed = {}
function typed.unsigned(range, size, little)
  if size < 1 or size > 8 then return nil end
  if size <= 4 then return little and range:le_uint() or range:uint() end
  return little and range:le_uint64() or range:uint64()
end
function typed.signed(range, size, little)
  if size < 1 or size > 8 then return nil end
  if size <= 4 then return little and range:le_int() or range:int() end
  return little and range:le_int64() or range:int64()
end
function typed.text(range) return '"' .. range:string(ENC_UTF_8) .. '"' end
local function date(seconds) return os.date("!%Y-%m-%d %H:%M:%S", seconds) end
typed["time"] = function(range, size, little)
  return (size == 4 or size == 8) and date(plain(typed.unsigned(range, size, little))) or nil
end
typed["time-ms"] = function(range, size, little)
  if size ~= 8 then return nil end
  local milliseconds = plain(typed.unsigned(range, size, little))
  return date(math.floor(milliseconds / 1000)) .. string.format(".%03d", milliseconds % 1000)
end
typed["time-1900"] = function(range, size, little)
  return size == 4 and date(typed.unsigned(range, size, little) - 2208988800) or nil
end
function typed.address(range, size)
  if size == 6 or size == 18 then range, size = range(2), size - 2 end
  return size == 4 and range:ipv4() or size == 16 and range:ipv6() or nil
end
function typed.bcd(range) return (range:bytes():tohex()) end

local function said(tag, range, size)
  local kind = list.types[tag]
  if not kind or not typed[kind[1]] then
    local text = range(0, math.min(size, 80)):raw()
    return not kind and not text:find("[^%g ]") and '"' .. text .. '"' or nil
  end
  local ok, words = pcall(typed[kind[1]], range, size, kind[2])
  return ok and words and tostring(words) or nil
end

-- A varint: seven bits per byte, the least significant first, at most four bytes. Returns the number and its end.
local function varint(tvb, at, stop)
  local value, factor = 0, 1
  for i = at, math.min(at + 4, stop) - 1 do
    local byte = tvb(i, 1):uint()
    value, factor = value + byte % 128 * factor, factor * 128
    if byte < 128 then return value, i + 1 end
  end
  return nil
end

-- An element whose tag determines the format of its value: the tag, the value's start and end, and the start of the next element.
local function behindLength(tvb, at, stop)
  local first = at + list.length.size
  if first > stop then return nil end
  local size = plain(read(list.length, tvb, at))
  if size > stop - first then return nil end
  return first, first + size
end

local function formed(tvb, at, stop)
  local first = at + list.header
  if first > stop then return nil end
  local tag = plain(read(list.tag, tvb, at))
  local form = list.forms[tag]
  if not form then return nil end
  if form[1] == "integer" then
    if stop - first < form[2] then return nil end
    return tag, first, first + form[2]
  elseif form[1] == "varint" then
    local _, last = varint(tvb, first, stop)
    if not last then return nil end
    return tag, first, last
  elseif form[1] == "pair" then
    local _, middle = behindLength(tvb, first, stop)
    if not middle then return nil end
    local _, last = behindLength(tvb, middle, stop)
    if not last then return nil end
    return tag, first, last
  end
  local from, last = behindLength(tvb, first, stop)
  if not from then return nil end
  return tag, from, last
end

-- Whether elements fill the range from `at` to `stop` exactly.
local function fills(tvb, at, stop)
  if not list.forms then return true end
  while at < stop do
    local tag, _, last = formed(tvb, at, stop)
    if not tag then return false end
    at = last
  end
  return true
end

local function walkFormed(tvb, at, stop, tree, state)
  while at < stop do
    local tag, first, last = formed(tvb, at, stop)
    if not tag then
      tree:add_proto_expert_info(E.list)
      return
    end
    state.count = state.count + 1
    local item = tree:add(proto, tvb(at, last - at))
    item:set_text(string.format("%s (0x%X), %d bytes", tagNames[tag] or "Element", tag, last - first))
    item:add(F.tag, tvb(at, list.header), tag)
    if list.sensitive[tag] then
      item:append_text(" (not shown)")
    elseif last > first then
      item:add(F.value, tvb(first, last - first))
    end
    at = last
  end
end

local function padding(count) return list.padding > 1 and -count % list.padding or 0 end

-- Whether the bytes are a list up to their end: some senders use such a tag for other content.
local function isList(tvb, at, stop)
  for _ = 1, 256 do
    if at >= stop then return true end
    local head, size = element(tvb, at, stop)
    if not head then return false end
    at = math.min(stop, at + head + size + padding(head + size))
  end
  return true
end

local function walk(tvb, at, stop, tree, depth, state)
  local tags = {}
  while at < stop do
    local head, size = element(tvb, at, stop)
    if not head then
      tree:add_proto_expert_info(E.list)
      return
    end
    if state.count == 65536 then
      tree:add_proto_expert_info(E.list, "More elements than the limit")
      state.isFull = true
      return
    end
    state.count = state.count + 1
    local tag = plain(read(list.tag, tvb, at))
    local item = tree:add(proto, tvb(at, head + size))
    item:set_text(string.format("%s (0x%X), %d bytes", tagNames[tag] or "Element", tag, size))
    item:add(F.tag, tvb(at + list.tag.offset, list.tag.size), tag)
    item:add(F.length, tvb(at + list.length.offset, list.length.size), size)
    if tags[tag] and not list.repeats then item:add_proto_expert_info(E.twice) end
    tags[tag] = true
    local first = at + head
    local nests = list.nested[tag] and (list.single or isList(tvb, first, first + size))
    if nests and depth >= list.depth then item:add_proto_expert_info(E.deep) end
    if nests and depth < 16 then
      walk(tvb, first, first + size, item, depth + 1, state)
      if state.isFull then return end
    elseif list.sensitive[tag] then
      item:append_text(" (not shown)")
    elseif size > 0 then
      item:add(F.value, tvb(first, size))
      local words = said(tag, tvb(first, size), size)
      if words then item:append_text(": " .. words) end
    end
    at = math.min(stop, first + size + padding(head + size))
  end
end

-- Steps: each reads the body from `at` and returns its end, or nothing if the body does not match -----------------------

local registers = {
  identity = function(tree, range) tree:add(F.identity, range) end,
  subject = function(tree, range) tree:add(F.subject, range) end,
}

local function isText(tvb, at, count)
  return not (count > 0 and tvb:raw(at, math.min(count, 256)):find("[\0-\31\127]"))
end

local function put(step, tvb, at, tree, message)
  local into, range = step.into, tvb(at, step.count)
  local value = number(tvb, at, step.count)
  if step.order == "little" then value = step.count <= 4 and range:le_uint() or range:le_uint64() end
  if step.order == "bcd" then value = tonumber(digits(range:bytes())) end
  if into == "bits" then
    message.bits = value
    return
  end
  if into == "sequence" then message.sequence = value end
  if texts[into] then
    tree:add(F[into], range, tostring(value))
  else
    tree:add(F[into], range, wide[into] and long(value) or plain(value) % 4294967296)
  end
end

local steps = {}

function steps.skip(step, tvb, at, stop, tree)
  if stop - at < step.count then return nil end
  if step.count == 0 then return at end
  tree:add(F.part, tvb(at, step.count))
  return at + step.count
end

function steps.load(step, tvb, at, stop, tree, message)
  if stop - at < step.count then return nil end
  put(step, tvb, at, tree, message)
  return at + step.count
end

function steps.text(step, tvb, at, stop, tree)
  if stop - at < step.count then return nil end
  local size = number(tvb, at, step.count)
  at = at + step.count
  if size > stop - at or size < (step.minimum or 0) or not isText(tvb, at, size) then return nil end
  if registers[step.into] and size > 0 then registers[step.into](tree, tvb(at, size)) end
  return at + size
end

function steps.string(step, tvb, at, stop, tree)
  local room = math.min(step.count, stop - at)
  if room <= 0 then return nil end
  local zero = tvb:raw(at, room):find("\0", 1, true)
  if not zero then return nil end
  if registers[step.into] and zero > 1 then registers[step.into](tree, tvb(at, zero - 1)) end
  return at + zero
end

function steps.bytes(step, tvb, at, stop, tree)
  if stop - at < step.count then return nil end
  local size = number(tvb, at, step.count)
  at = at + step.count
  if size > stop - at then return nil end
  if size > 0 then tree:add(F.part, tvb(at, size)) end
  return at + size
end

function steps.expect(step, tvb, at, stop, tree)
  for _, one in ipairs(step.bytes) do
    local count = #one / 2
    if stop - at >= count and tvb(at, count):bytes():tohex() == one then
      tree:add(F.part, tvb(at, count))
      return at + count
    end
  end
  return nil
end

function steps.refuse(step, tvb, at, stop)
  if stop - at >= step.count and plain(number(tvb, at, step.count)) == step.value then return nil end
  return at
end

function steps.list(step, tvb, at, stop, tree, message)
  local size, first
  if step.count == 0 then
    size, first = varint(tvb, at, stop)
  elseif stop - at >= step.count then
    size, first = number(tvb, at, step.count), at + step.count
  end
  if not size or size > stop - first or not fills(tvb, first, first + size) then return nil end
  message.lists = message.lists or {}
  message.lists[#message.lists + 1] = { first, first + size }
  return first + size
end

function steps.each(step, tvb, at, stop, tree, message)
  if stop <= at or (stop - at) % step.count ~= 0 then return nil end
  for i = at, stop - step.count, step.count do put(step, tvb, i, tree, message) end
  return stop
end

function steps.close(step, tvb, at, stop) return at == stop and at or nil end

-- Runs a type's steps. Returns the start of its list, if there is one, and whether the body matches.
local function run(one, at, stop, tree, message)
  local tvb, kind, skipped = one.tvb, one.kind, false
  for _, step in ipairs(kind.steps) do
    if step.op == "tlv" and not skipped then return at, true end
    if step.op == "end" then
      if at == stop then return at, true end
    elseif step.op == "unless" or step.op == "when" then
      local is
      if step.bits then is = band(plain(message.bits or 0), step.bits[1]) == step.bits[2] else is = matches(step.fixed, one.header, one.first) end
      -- If there are two conditions, both must hold.
      skipped = skipped or is == (step.op == "unless")
    elseif skipped then
      skipped = false
    else
      at = steps[step.op](step, tvb, at, stop, tree, message)
      if not at then return nil, false end
    end
  end
  return nil, true
end

-- One frame -------------------------------------------------------------------------------------------------------------

-- The readable body, and the position of the list in it: inflated if the header says so and the body really is zlib.
local function open(one, at, count, tree)
  local packing, locking = profile.compression, profile.encryption
  if locking and plain(read(locking.field, one.header, one.first)) >= locking.from then
    tree:add_proto_expert_info(E.closed)
    return nil
  end
  if packing and plain(read(packing.field, one.header, one.first)) == packing.value then
    local isZlib = count >= 2 and one.tvb(at, 1):uint() == 0x78 and one.tvb(at, 2):uint() % 31 == 0
    if isZlib then
      local body = one.tvb(at, count)
      local ok, inflated = pcall(function() return body:uncompress_zlib("Inflated body") end)
      if not ok then ok, inflated = pcall(function() return body:uncompress("Inflated body") end) end
      if ok and inflated then
        local whole = inflated:tvb()
        return whole, 0, whole:len()
      end
    end
    tree:add_proto_expert_info(E.closed)
  end
  return one.tvb, at, at + count
end

-- A field of the header. Hidden fields are left out, and an optional part of the header may have the session elsewhere.
local function show(one, field, proto_field, tree, message)
  if field.hidden then return end
  local source, range = field, nil
  if field.key == "session" and one.session then
    source = one.session
    range = one.tvb(one.at + source.offset, source.size)
  else
    range = place(one, field)
  end
  local value
  if field.bcd then
    value = digits(range:bytes())
  else
    value = field == source and read(field, one.header, one.first) or read(source, one.tvb, one.at)
    if wide[field.key] then value = long(value) end
  end
  local item = tree:add(proto_field, range, value)
  if field.key == "sequence" then message.sequence = value end
  if field.key == "type" and not one.kind then item:add_proto_expert_info(E.unknown) end
end

-- Shows one frame, and returns its text for the packet list. `range` has its bytes on the wire, including delimiters.
local function dissect(one, range, tree)
  local tvb, at, kind = one.tvb, one.at, one.kind
  local stop = at + one.total - profile.trailer
  local first, count = at + one.head, stop - at - one.head
  local title = kind and kind.name or "type_" .. tostring(one.value)
  local root = tree:add(proto, range)
  root:append_text(", " .. title)
  local message = {}
  for i, field in ipairs(profile.fields) do show(one, field, header[i], root, message) end
  root:add(F.bytes, count):set_generated()
  local status = checksum(one)
  if status then
    local item = root:add(F.check, status)
    item:set_generated()
    if status == "bad" then item:add_proto_expert_info(E.sum) end
  end
  local isRead, hasList = one.isRaw, kind and kind.tlv or not kind and profile.unknownTLV
  if one.isRaw then
    hasList = false
    if count > 0 then root:add(F.raw, tvb(first, count)) end
  end
  if one.isShort then
    root:add_proto_expert_info(E.short)
    isRead, first = true, nil
  elseif kind and #kind.steps > 0 and not isRead then
    local from, fits = run(one, first, stop, root, message)
    first, isRead = from, true
    if not fits then root:add_proto_expert_info(E.short) end
  end
  local answers = profile.acknowledgment
  if answers and kind and kind.role == "acknowledgment" and count == answers.count then
    local named = read(answers.field, tvb, at + one.head)
    root:add(F.acknowledges, tvb(at + one.head + answers.field.offset, answers.field.size), long(named))
  end
  if message.lists then
    local state = { count = 0 }
    for _, place in ipairs(message.lists) do
      if list.forms then
        walkFormed(tvb, place[1], place[2], root, state)
      else
        walk(tvb, place[1], place[2], root, 0, state)
      end
    end
    if state.count > 0 then root:add(F.count, state.count):set_generated() end
    message.elements = state.count
    first = nil
  end
  if list and hasList and count > 0 and first then
    local body, from, last = open(one, first, stop - first, root)
    if body then
      local state = { count = 0 }
      walk(body, from, last, root, 0, state)
      if state.count > 0 then root:add(F.count, state.count):set_generated() end
      message.elements = state.count
    end
  elseif count > 0 and not isRead then
    root:add(F.raw, tvb(at + one.head, count))
  end
  local info = title
  if message.sequence then info = info .. " seq " .. tostring(message.sequence) end
  info = info .. " len " .. count
  if message.elements and message.elements > 0 then info = info .. " tlv " .. message.elements end
  return info
end

-- One connection --------------------------------------------------------------------------------------------------------

-- The next position from `at` on where a frame may begin, by the magic number; the end if there is none.
local function resume(tvb, at, stop)
  if #profile.fixed == 0 then return stop end
  local last = profile.fixed[#profile.fixed][1]
  for i = at, stop - last - 1 do if matches(profile.fixed, tvb, i) then return i end end
  return math.max(at, stop - last)
end

local function skip(tvb, at, next, tree)
  tree:add(proto, tvb(at, next - at)):add(F.skipped, tvb(at, next - at)):add_proto_expert_info(E.skipped)
  return next
end

-- The variant of the protocol that a connection uses, as set by one of its messages. `nothing` accepts any call.
local stream = Field.new("tcp.stream")
local speaks = {}
local nothing = {}
setmetatable(nothing, { __index = function() return function() return nothing end end })

-- Gives `one` its meaning in its connection's variant; a message that sets the variant is examined itself.
local function choose(one, connection)
  if not (one.kind and one.kind.tells) then return end
  local first, last = one.at + one.head, one.at + one.total - profile.trailer
  local types = profile.types
  one.kind = profile.types[one.value]
  local _, fits = run(one, first, last, nothing, {})
  if not fits then
    one.kind = profile.variant[one.value]
    _, fits = run(one, first, last, nothing, {})
    if fits then types = profile.variant end
  end
  one.kind = types[one.value]
  if connection then speaks[connection] = types end
end

-- The frames of a stream, by the kind of framing. Each function returns the text of what it has shown.
local streams = {}

function streams.length(tvb, pinfo, tree)
  local stop, at, infos = tvb:len(), 0, {}
  local connection = profile.variant and stream() and stream().value
  while at < stop do
    local one = measure(tvb, at, stop - at, connection and speaks[connection] or profile.types)
    if one and one.total and one.total <= stop - at and profile.variant then choose(one, connection) end
    if not one then
      at = skip(tvb, at, resume(tvb, at + 1, stop), tree)
    elseif not one.total or one.total > stop - at then
      -- The rest of the frame if its length is known, otherwise whatever comes next.
      pinfo.desegment_offset = at
      pinfo.desegment_len = one.total and one.total - (stop - at) or DESEGMENT_ONE_MORE_SEGMENT
      break
    else
      infos[#infos + 1] = dissect(one, tvb(at, one.total), tree)
      at = at + one.total
    end
  end
  return infos
end

function streams.delimited(tvb, pinfo, tree)
  local stop, at, infos = tvb:len(), 0, {}
  local text, delimiter = tvb:raw(), string.char(profile.framing.delimiter)
  while at < stop do
    local from = at
    while from < stop and text:sub(from + 1, from + 1) == delimiter do from = from + 1 end
    local close = text:find(delimiter, from + 1, true)
    if not close then
      -- A delimiter that ends a frame may also begin the next one.
      pinfo.desegment_offset = math.max(at, from - 1)
      pinfo.desegment_len = DESEGMENT_ONE_MORE_SEGMENT
      break
    end
    local one = unwrap(tvb, from, text:sub(from + 1, close - 1))
    if one then
      infos[#infos + 1] = dissect(one, tvb(at, close - at), tree)
    else
      skip(tvb, at, close, tree)
    end
    at = close
  end
  return infos
end

function proto.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol = profile.label
  local infos = streams[profile.framing.kind](tvb, pinfo, tree)
  if #infos > 0 then pinfo.cols.info = table.concat(infos, " | ") end
  return tvb:len()
end

-- Whether a connection on any port begins with this protocol: only a magic number of at least 16 bits is sufficient evidence.
if profile.magicBits >= 16 and profile.framing.kind == "length" then
  proto:register_heuristic("tcp", function(tvb, pinfo, tree)
    if tvb:len() < profile.header or not measure(tvb, 0, tvb:len(), profile.types) then return false end
    pinfo.conversation = proto
    proto.dissector(tvb, pinfo, tree)
    return true
  end)
end

register()
