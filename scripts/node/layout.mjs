// The byte layouts of a Node root (seed 002), and nothing else:
//
//   store-format   the marker
//   node-lock      the pid of the owner in decimal, LF; there while it is open
//   record-log     rows of 64 bytes: hash text 48, offset u64, length u64
//   records        the records, one directly behind the other
//   indexes-v2/    posting lists: u64 ids, then u64 checked through
//
// Integers are little-endian. This program shares nothing with the Go code: it
// is here so that two implementations of one specification can be compared.

export const MARKER = 'lace-node-filesystem-shaped-store/4\n'
export const INDEXES = 'indexes-v2'
export const ROW = 64
export const HASH = 48

/** The names that an interrupted compaction leaves. */
export const COMPACTION = ['compaction-plan', 'compaction-state', 'compaction-journal']
  .flatMap((name) => [name, name + '.lace-tmp'])
  .concat('record-log.lace-tmp')

const HASH_TEXT = /^[BPS]\.[0-9A-Z_a-z~]{43}\.H3$/

export function encodeRow({ hash, offset, length }) {
  const row = Buffer.alloc(ROW)
  row.write(hash, 0, HASH, 'latin1')
  row.writeBigUInt64LE(BigInt(offset), HASH)
  row.writeBigUInt64LE(BigInt(length), HASH + 8)
  return row
}

/** Decodes the row at an index, which must follow the end of the one before. */
export function decodeRow(row, index, end) {
  const hash = row.toString('latin1', 0, HASH)
  const offset = safe(row.readBigUInt64LE(HASH))
  const length = safe(row.readBigUInt64LE(HASH + 8))
  if (!HASH_TEXT.test(hash) || offset !== end || length === 0) {
    throw new Error(`record-log: row ${index} is ${JSON.stringify(hash)} at ${offset}, ${length} bytes; the one before ends at ${end}`)
  }
  return { hash, offset, length }
}

function safe(n) {
  if (n > BigInt(Number.MAX_SAFE_INTEGER)) throw new Error(`${n} is beyond what this host counts exactly`)
  return Number(n)
}

/** Encodes a posting list: the ids, and how far records were examined. */
export function encodeList({ ids, checked }) {
  const out = Buffer.alloc(8 * (ids.length + 1))
  ids.forEach((id, i) => out.writeBigUInt64LE(BigInt(id), 8 * i))
  out.writeBigUInt64LE(BigInt(checked), 8 * ids.length)
  return out
}

/** Decodes a posting list of a root with that many records, or returns null. */
export function decodeList(bytes, records) {
  if (bytes.length === 0 || bytes.length % 8 !== 0 || bytes.length > 8 * (records + 1)) return null
  const all = []
  for (let i = 0; i < bytes.length; i += 8) all.push(Number(bytes.readBigUInt64LE(i)))
  const checked = all.pop()
  const sorted = all.every((id, i) => id > (i === 0 ? 0 : all[i - 1]) && id <= checked)
  return sorted && checked <= records ? { ids: all, checked } : null
}

/** The kinds of keys, and how many texts each is made of. */
export const KINDS = {
  'field-presence': 1,
  'field-exact': 2,
  'field-prefix': 2,
  'record-link-target': 1,
  'record-link-name-data': 2,
}

const encodeText = (text) => 'x' + Buffer.from(text, 'utf8').toString('hex')

/** The path of a key's list below the index directory, or null if too long. */
export function listPath(kind, texts) {
  if (KINDS[kind] !== texts.length) throw new Error(`${kind} takes ${KINDS[kind]} texts`)
  const parts = texts.map(encodeText)
  parts[parts.length - 1] += '.ids'
  const path = [kind, ...parts].join('/')
  const temporary = path + '.lace-tmp'
  return temporary.split('/').every((part) => part.length <= 255) && temporary.length <= 1024 ? path : null
}

/** The key of a list path: the only spelling that listPath would give it. */
export function keyOfPath(path) {
  const [kind, ...parts] = path.split('/')
  if (!(kind in KINDS) || parts.length !== KINDS[kind] || !path.endsWith('.ids')) return null
  parts[parts.length - 1] = parts[parts.length - 1].slice(0, -'.ids'.length)
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    const texts = parts.map((part) => decoder.decode(Buffer.from(part.slice(1), 'hex')))
    return listPath(kind, texts) === path ? { kind, texts } : null
  } catch {
    return null // no UTF-8
  }
}
