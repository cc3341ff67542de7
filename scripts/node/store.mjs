// An opened Node root: opening and recovery, admission, reading, posting lists.

import fs from 'node:fs'
import path from 'node:path'
import { COMPACTION, INDEXES, MARKER, ROW, decodeList, decodeRow, encodeList, encodeRow, keyOfPath, listPath } from './layout.mjs'
import { cut, facts, glyph, matches } from './records.mjs'

/** A page packs whole records; the longest valid record fits in one. */
const PAGE = 33 << 20

export class NodeStore {
  #dir
  #log
  #arena
  #rows = []
  #ids = new Map()
  #page = { from: 0, bytes: Buffer.alloc(0) }
  #lists = new Map() // path -> { kind, texts, ids, checked }

  /** Opens a root that is there. */
  static open(dir) {
    if (readMarker(dir) !== MARKER) throw new Error(`${dir}: no Node root`)
    return new NodeStore(dir)
  }

  /** Makes a root, or finishes one whose making was interrupted. */
  static create(dir) {
    fs.mkdirSync(dir, { recursive: true })
    const found = readMarker(dir)
    if (found !== MARKER) {
      const others = fs.readdirSync(dir).filter((name) => name !== 'store-format')
      if (!MARKER.startsWith(found) || others.length > 0) throw new Error(`${dir}: another thing than a root`)
      writeSynced(path.join(dir, 'store-format'), MARKER)
      syncDir(dir)
    }
    return new NodeStore(dir)
  }

  constructor(dir) {
    this.#dir = dir
    this.#lock()
    try {
      const left = COMPACTION.filter((name) => fs.existsSync(this.#at(name)))
      if (left.length > 0) throw new Error(`${dir}: a compaction was interrupted: there is ${left[0]}`)
      this.#log = this.#truth('record-log')
      this.#arena = this.#truth('records')
      syncDir(dir)
      this.#recover()
    } catch (error) {
      this.#unlock()
      throw error
    }
  }

  get position() { return this.#rows.length }
  get rows() { return this.#rows.map((row, i) => ({ id: i + 1, ...row })) }

  /** Closes the root: the lists, the files, and the sentinel at the very end. */
  close() {
    for (const [where, list] of this.#lists) this.#publish(where, list)
    fs.closeSync(this.#log)
    fs.closeSync(this.#arena)
    this.#unlock()
  }

  /** Admits every record of a stream in one batch. */
  admit(stream) {
    const rows = []
    const bodies = []
    const seen = new Map()
    let end = this.#end()
    for (const [hash, bytes] of cut(stream)) {
      if (this.#ids.has(hash) || seen.has(hash)) continue
      const row = { hash, offset: end, length: bytes.length }
      seen.set(hash, row)
      rows.push(row)
      bodies.push(bytes)
      end += bytes.length
    }
    if (rows.length === 0) return 0
    writeAll(this.#arena, Buffer.concat(bodies), this.#end())
    fs.fsyncSync(this.#arena) // no row before its bytes are durable
    writeAll(this.#log, Buffer.concat(rows.map(encodeRow)), this.position * ROW)
    fs.fsyncSync(this.#log)
    rows.forEach((row) => this.#adopt(row))
    return rows.length
  }

  /** The bytes of one record. */
  load(id) {
    const row = this.#rows[id - 1]
    if (row === undefined) throw new Error(`no record #${id}`)
    const { from, bytes } = this.#page
    if (row.offset < from || row.offset + row.length > from + bytes.length) this.#turnTo(id)
    const start = row.offset - this.#page.from
    return this.#page.bytes.subarray(start, start + row.length)
  }

  /** The ids of the records on the list of a key, by list or by scan. */
  find(kind, texts) {
    const where = listPath(kind, texts)
    const list = (where && this.#lists.get(where)) ?? this.#stored(where) ?? { ids: [], checked: 0 }
    for (let id = list.checked + 1; id <= this.position; id++) {
      if (matches(facts(this.load(id)), kind, texts)) list.ids.push(id)
    }
    list.checked = this.position
    if (where) this.#lists.set(where, list)
    return list.ids
  }

  /** Every stored list that this root's layout can read. */
  *stored() {
    const base = this.#at(INDEXES)
    if (!fs.existsSync(base)) return
    for (const entry of fs.readdirSync(base, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const where = path.relative(base, path.join(entry.parentPath ?? entry.path, entry.name)).split(path.sep).join('/')
      const key = keyOfPath(where)
      yield { path: where, key, list: key && this.#stored(where) }
    }
  }

  #at(name) { return path.join(this.#dir, name) }

  #end() {
    const last = this.#rows.at(-1)
    return last ? last.offset + last.length : 0
  }

  #lock() {
    const sentinel = path.resolve(this.#at('node-lock'))
    try {
      writeSynced(sentinel, `${process.pid}\n`, 'wx')
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      throw new Error(`${sentinel} is there: the root is open, or its owner died; delete it only when no process has the root open`)
    }
  }

  #unlock() { fs.unlinkSync(this.#at('node-lock')) }

  #truth(name) {
    const file = fs.openSync(this.#at(name), fs.constants.O_RDWR | fs.constants.O_CREAT)
    fs.fsyncSync(file)
    return file
  }

  #recover() {
    const size = fs.fstatSync(this.#log).size
    const whole = size - (size % ROW)
    if (whole !== size) {
      fs.ftruncateSync(this.#log, whole)
      fs.fsyncSync(this.#log)
    }
    const log = readAt(this.#log, 0, whole)
    for (let i = 0; i * ROW < whole; i++) this.#adopt(decodeRow(log.subarray(i * ROW, (i + 1) * ROW), i, this.#end()))
    if (this.#end() > fs.fstatSync(this.#arena).size) throw new Error('records is shorter than record-log says')
    for (const { id, hash } of this.rows) {
      if (glyph(this.load(id)) !== hash) throw new Error(`record #${id} is not the one of its row`)
    }
    for (const name of fs.readdirSync(this.#dir)) {
      if (name.startsWith('indexes-') && name !== INDEXES) fs.rmSync(this.#at(name), { recursive: true })
    }
  }

  #adopt(row) {
    if (this.#ids.has(row.hash)) throw new Error(`record-log: ${row.hash} twice`)
    this.#rows.push(row)
    this.#ids.set(row.hash, this.#rows.length)
  }

  #turnTo(id) {
    const from = this.#rows[id - 1].offset
    let to = from
    for (let i = id - 1; i < this.#rows.length && this.#rows[i].offset + this.#rows[i].length - from <= PAGE; i++) {
      to = this.#rows[i].offset + this.#rows[i].length
    }
    this.#page = { from, bytes: readAt(this.#arena, from, to - from) }
  }

  #stored(where) {
    if (!where) return null
    const file = this.#at(`${INDEXES}/${where}`)
    const info = fs.statSync(file, { throwIfNoEntry: false })
    if (!info || info.size > 8 * (this.position + 1)) return null
    return decodeList(fs.readFileSync(file), this.position)
  }

  #publish(where, list) {
    const file = this.#at(`${INDEXES}/${where}`)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    writeSynced(file + '.lace-tmp', encodeList(list))
    fs.renameSync(file + '.lace-tmp', file)
    syncDir(path.dirname(file))
  }
}

/** The marker of a root, and at most one byte more. */
function readMarker(dir) {
  let file
  try {
    file = fs.openSync(path.join(dir, 'store-format'), 'r')
  } catch (error) {
    if (error.code === 'ENOENT') return ''
    throw error
  }
  const bytes = Buffer.alloc(MARKER.length + 1)
  const n = fs.readSync(file, bytes, 0, bytes.length, 0)
  fs.closeSync(file)
  return bytes.toString('latin1', 0, n)
}

function readAt(file, from, length) {
  const bytes = Buffer.alloc(length)
  for (let done = 0; done < length; ) {
    const n = fs.readSync(file, bytes, done, length - done, from + done)
    if (n === 0) throw new Error(`the file ends at ${from + done}, ${length - done} bytes early`)
    done += n
  }
  return bytes
}

function writeAll(file, bytes, at) {
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(file, bytes, done, bytes.length - done, at + done)
}

function writeSynced(name, bytes, flags = 'w') {
  const file = fs.openSync(name, flags)
  writeAll(file, Buffer.from(bytes), 0)
  fs.fsyncSync(file)
  fs.closeSync(file)
}

function syncDir(dir) {
  if (process.platform === 'win32') return // the system has no such call
  const file = fs.openSync(dir, 'r')
  fs.fsyncSync(file)
  fs.closeSync(file)
}
