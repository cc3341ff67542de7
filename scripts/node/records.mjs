// Cutting a stream into records, and what a posting list asks of a record.

const GLYPH = Buffer.from('🖧: ', 'utf8')
const GLYPH_LINE = GLYPH.length + 48 + 1
const LF = 0x0a

/** The typed hash on the glyph line that begins at an offset. */
export function glyph(bytes, at = 0) {
  const line = bytes.subarray(at, at + GLYPH_LINE)
  if (line.length < GLYPH_LINE || !line.subarray(0, GLYPH.length).equals(GLYPH) || line[GLYPH_LINE - 1] !== LF) {
    throw new Error(`no record at byte ${at}`)
  }
  return line.toString('latin1', GLYPH.length, GLYPH_LINE - 1)
}

/**
 * Reads the head of the record at an offset: its headers in order, and where
 * its data lies. The Plex and the Blob that it carries begin with glyph lines
 * of their own, which are no headers.
 */
export function head(bytes, at = 0) {
  const hash = glyph(bytes, at)
  const headers = []
  let from = at + GLYPH_LINE
  for (;;) {
    const end = bytes.indexOf(LF, from)
    if (end < 0) throw new Error(`the record at byte ${at} has no end`)
    const line = bytes.toString('utf8', from, end)
    from = end + 1
    if (line === '') break
    const colon = line.indexOf(': ')
    if (colon <= 0) throw new Error(`the record at byte ${at} has the line ${JSON.stringify(line)}`)
    headers.push([line.slice(0, colon), line.slice(colon + 2)])
  }
  const [name, text] = headers.pop()
  if (name !== 'Data-Length') throw new Error(`the record at byte ${at} ends its headers with ${name}`)
  const length = Number(text)
  if (from + length > bytes.length) throw new Error(`the record at byte ${at} is cut off`)
  return { hash, headers: headers.filter(([n]) => n !== '🖧'), dataLength: length, end: from + length }
}

/** Cuts a buffer into records: [hash, bytes] each. */
export function* cut(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const { hash, end } = head(bytes, at)
    yield [hash, bytes.subarray(at, end)]
    at = end
  }
}

const MARKS = new Set(['Mark', 'Signature', 'Seal-Sig'])
const VERIFIERS = new Set(['By', 'Signed-By', 'Seal-By'])
const STRUCTURE = new Set(['Group', 'App', 'Name', 'TAI', 'By'])
const TARGET = /^[BPS]\.[0-9A-Z_a-z~]{43}\.H3$/

/** The fields and links of one record. */
export function facts(bytes) {
  const { hash, headers, dataLength } = head(bytes)
  const fields = [[':Type', hash[0]], [':Length', String(dataLength)]]
  const links = []
  const sealed = hash[0] === 'S'
  headers.forEach(([name, value], i) => {
    if (sealed && i < 2) {
      if (MARKS.has(name)) return
      if (VERIFIERS.has(name)) name = 'By'
    }
    fields.push([name, value])
    const space = value.lastIndexOf(' ')
    const target = value.slice(space + 1)
    if (!STRUCTURE.has(name) && TARGET.test(target)) links.push([name, space < 0 ? '' : value.slice(0, space), target])
  })
  return { fields, links }
}

/** Whether a record is on the list of a key. */
export function matches({ fields, links }, kind, [a, b]) {
  switch (kind) {
    case 'field-presence': return fields.some(([name]) => name === a)
    case 'field-exact': return fields.some(([name, value]) => name === a && value === b)
    case 'field-prefix': return fields.some(([name, value]) => name === a && Buffer.from(value).subarray(0, Buffer.byteLength(b)).equals(Buffer.from(b)))
    case 'record-link-target': return links.some(([, , target]) => target === a)
    case 'record-link-name-data': return links.some(([name, data]) => name === a && data === b)
  }
  throw new Error(`no kind ${kind}`)
}
