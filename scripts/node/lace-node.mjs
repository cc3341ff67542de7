// A small command line over the Node layout, for the tests of the Go code.
//
//   create DIR             make a root
//   admit DIR              admit the records on stdin; making nothing
//   export DIR             write every record to stdout
//   rows DIR               a line for each row: id, hash, offset, length
//   find DIR KIND TEXT...  the ids of a key, one a line; stores its list
//   lists DIR              every stored list: path, checked through, ids
//   hold DIR               keep the root open until stdin ends
//   abandon DIR            open it and die without closing it

import fs from 'node:fs'
import { NodeStore } from './store.mjs'

const commands = {
  create(store) {},
  admit(store) { print(`admitted ${store.admit(fs.readFileSync(0))}`) },
  export(store) { for (const { id } of store.rows) write(store.load(id)) },
  rows(store) { for (const r of store.rows) print(`${r.id} ${r.hash} ${r.offset} ${r.length}`) },
  find(store, kind, ...texts) { for (const id of store.find(kind, texts)) print(String(id)) },
  lists(store) {
    for (const { path, list } of store.stored()) print(list ? `${path} ${list.checked} ${list.ids.join(',')}` : `${path} unusable`)
  },
  hold(store) {
    print('open')
    fs.readFileSync(0)
  },
  abandon() { process.exit(0) },
}

function write(bytes) {
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(1, bytes, done)
}

function print(line) { write(Buffer.from(line + '\n')) }

const [name, dir, ...rest] = process.argv.slice(2)
if (!Object.hasOwn(commands, name) || dir === undefined) {
  console.error(`lace-node: want one of ${Object.keys(commands).join(', ')}, and a directory`)
  process.exit(2)
}
try {
  const store = name === 'create' ? NodeStore.create(dir) : NodeStore.open(dir)
  try {
    commands[name](store, ...rest)
  } finally {
    store.close()
  }
} catch (error) {
  console.error(`lace-node: ${error.message}`)
  process.exit(1)
}
