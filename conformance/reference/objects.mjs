// Works out the vectors of the object classes from the standard's and our own
// preimages alone, with other libraries than joulebox: what each hash is taken over
// is written out here by hand.
//
//   node objects.mjs FOLDER        writes c6.json, c7.json, c9.json and c10.json
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { blake3 } from '@noble/hashes/blake3.js'
import canonicalize from 'canonicalize'

const utf8 = (s) => new TextEncoder().encode(s)
const join_ = (...parts) => Uint8Array.from(parts.flatMap((p) => [...p]))
const id = (digest) => 'b3:' + Buffer.from(digest).toString('base64url')
const raw = (text) => Buffer.from(text.slice(3), 'base64url')
const hash = (...parts) => blake3(join_(...parts))
const named = (name) => id(hash(utf8(name)))
const zero = id(new Uint8Array(32))

function c6() {
  const unit = named('unit'), grants = named('grants')
  const run = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex').toString('base64url')
  const snapshot = { fs: named('fs'), memory: named('memory'), manifest: named('manifest') }
  const bare = { fs: named('fs 2'), manifest: named('manifest') }
  let head = hash(utf8('sandbox.run-record/1'), raw(unit), raw(grants))
  const genesis = id(head)
  const segments = [
    { type: 'Started', run },
    { type: 'Executed', attestation_id: named('first') },
    { type: 'Suspended', snapshot },
    { type: 'Resumed', snapshot, idle_uj: 0 },
    { type: 'Executed', attestation_id: named('second') },
    { type: 'Suspended', snapshot: bare },
    { type: 'Resumed', snapshot: bare, idle_uj: 9007199254740991 },
  ].map((segment) => {
    const text = canonicalize(segment)
    head = hash(utf8('sandbox.run-record/1'), head, utf8(text))
    return { text, head: id(head) }
  })
  const t = canonicalize
  const refused = [
    ['a second start', 1, t({ type: 'Started', run: Buffer.alloc(16, 9).toString('base64url') })],
    ['no start', 0, t({ type: 'Executed', attestation_id: named('first') })],
    ['a start without a run', 0, t({ type: 'Started' })],
    ['a run of fifteen bytes', 0, t({ type: 'Started', run: Buffer.alloc(15, 9).toString('base64url') })],
    ['an origin without its snapshot', 0, t({ type: 'Started', run, origin: named('x') })],
    ['suspended before it ran', 1, t({ type: 'Suspended', snapshot })],
    ['resumed before it was suspended', 2, t({ type: 'Resumed', snapshot, idle_uj: 1 })],
    ['ran while it was parked', 3, t({ type: 'Executed', attestation_id: named('x') })],
    ['another file system', 3, t({ type: 'Resumed', snapshot: { ...snapshot, fs: named('x') }, idle_uj: 1 })],
    ['a drifted environment', 3, t({ type: 'Resumed', snapshot: { ...snapshot, manifest: named('x') }, idle_uj: 1 })],
    ['no memory where there was one', 3, t({ type: 'Resumed', snapshot: { fs: snapshot.fs, manifest: snapshot.manifest }, idle_uj: 1 })],
    ['resumed twice', 4, t({ type: 'Resumed', snapshot, idle_uj: 1 })],
    ['an attestation twice', 4, t({ type: 'Executed', attestation_id: named('first') })],
    ['no idle energy', 3, t({ type: 'Resumed', snapshot })],
    ['idle energy beyond 2^53-1', 3, '{"idle_uj":9007199254740992,"snapshot":' + t(snapshot) + ',"type":"Resumed"}'],
    ['a snapshot without an environment', 2, t({ type: 'Suspended', snapshot: { fs: named('x') } })],
    ['another kind', 1, t({ type: 'Paused' })],
    ['another member', 1, t({ type: 'Executed', attestation_id: named('x'), at: 1 })],
  ].map(([why, after, text]) => ({ why, after, text }))
  return { class: 'C6', unit, grants, genesis, segments, refused }
}

function c7() {
  const empty = { schema: 'sandbox.env-manifest/1', pinned: false, features: [], containerEnv: {}, mounts: [] }
  const digest = '@sha256:' + '0a'.repeat(32)
  const accepted = [
    ['the smallest', '{"image":"debian:13"}', { ...empty, image: 'debian:13' }, []],
    ['pinned', `{"image":"debian:13${digest}"}`, { ...empty, image: 'debian:13' + digest, pinned: true }, []],
    ['a digest of another kind pins nothing', '{"image":"a@sha512:' + 'ab'.repeat(64) + '"}', { ...empty, image: 'a@sha512:' + 'ab'.repeat(64) }, []],
    ['a variable unpins', `{"image":"a${digest}","containerEnv":{"H":"\${localEnv:HOME}"}}`, { ...empty, image: 'a' + digest, containerEnv: { H: '${localEnv:HOME}' } }, ['${localEnv:HOME}']],
    ['what an editor wants, and the network, is left out', '{"name":"x","customizations":{"z":1.5},"forwardPorts":[1],"appPort":2,"image":"a"}', { ...empty, image: 'a' }, []],
    ['comments, a trailing comma, a byte order mark, CRLF', '\ufeff{ // one\r\n"image":"a", /* two */ "remoteUser":"me",\r\n}', { ...empty, image: 'a', remoteUser: 'me' }, []],
    ['comment marks in a string are text', '{"image":"a","containerEnv":{"U":"http://x/*y*/ // z"}}', { ...empty, image: 'a', containerEnv: { U: 'http://x/*y*/ // z' } }, []],
    ['features sort by UTF-16 code units', '{"image":"a","features":{"\ufb33":{},"\u{1f600}":{"n":3,"on":false,"v":"1"},"a":{}}}', { ...empty, image: 'a', features: [{ id: 'a', options: {} }, { id: '\u{1f600}', options: { n: 3, on: false, v: '1' } }, { id: '\ufb33', options: {} }] }, []],
    ['both forms of a mount', '{"image":"a","mounts":["type=bind,src=/s,dst=/z,ro",{"type":"volume","source":"v","target":"/b"},"type=tmpfs,target=/a"]}', { ...empty, image: 'a', mounts: [{ source: '', target: '/a', kind: 'tmpfs' }, { source: 'v', target: '/b', kind: 'volume' }, { source: '/s', target: '/z', kind: 'bind', readonly: true }] }, []],
  ].map(([why, input, manifest, variables]) => {
    const core = canonicalize(manifest)
    return { why, input, core, address: id(hash(utf8(core))), variables }
  })
  const names = ['build', 'dockerFile', 'dockerComposeFile', 'initializeCommand', 'onCreateCommand', 'updateContentCommand', 'postCreateCommand', 'postStartCommand', 'postAttachCommand', 'runArgs', 'privileged', 'capAdd', 'securityOpt', 'remoteEnv', 'containerUser', 'workspaceFolder', 'init', 'gpuPassthrough', 'Image', 'runArgs ', '__proto__']
  const refused = names.map((name) => ({ why: name, input: `{"image":"a",${JSON.stringify(name)}:null}`, fields: [name] }))
  refused.push(
    { why: 'a name that is spelled with an escape', input: '{"image":"a","\\u0070rivileged":true}', fields: ['privileged'] },
    { why: 'all at once, each in its place', input: '{"image":"a",\n "build":{}, "features":null,\n "containerEnv":{"A":1}}', fields: ['build', 'features', 'containerEnv.A'], places: ['2:2', '2:14', '3:18'] },
    { why: 'no image', input: '{}', fields: ['image'] },
    { why: 'an empty image', input: '{"image":""}', fields: ['image'] },
    { why: 'a doubled name', input: '{"image":"a","image":"b"}', fields: ['image'] },
    { why: 'a doubled name within', input: '{"image":"a","containerEnv":{"A":"1","A":"2"}}', fields: ['containerEnv.A'] },
    { why: 'a mount without a target', input: '{"image":"a","mounts":["source=v,type=volume"]}', fields: ['mounts[0]'] },
    { why: 'an option of a mount that would be dropped', input: '{"image":"a","mounts":["target=/t,consistency=cached"]}', fields: ['mounts[0].consistency'] },
    { why: 'not an object', input: '"image"', fields: [''] },
    { why: 'two documents', input: '{"image":"a"}{"image":"b"}', fields: [''] },
    { why: 'a comment that is not closed', input: '{"image":"a"} /*', fields: [''] },
    { why: 'a leading comma', input: '{,"image":"a"}', fields: [''] },
  )
  return { class: 'C7', accepted, refused }
}

function c9() {
  const python = named('python'), node = named('node')
  const books = { drawn: 0, claimed: 0, overhead: 0, pending: 0, slots: 0 }
  const idle = {}
  const entries = [
    { kind: 'warmed', slot: 0, environment: python }, { kind: 'warmed', slot: 1, environment: node }, { kind: 'accrued', slot: 0, uj: 700 },
    { kind: 'accrued', slot: 1, uj: 40 }, { kind: 'accrued', slot: 0, uj: 5 }, { kind: 'claimed', slot: 0, environment: python },
    { kind: 'warmed', slot: 2, environment: python }, { kind: 'evicted', slot: 1 }, { kind: 'accrued', slot: 2, uj: 1 },
  ].map((e) => {
    switch (e.kind) {
      case 'warmed': idle[e.slot] = 0; books.slots++; break
      case 'accrued': idle[e.slot] += e.uj; books.drawn += e.uj; books.pending += e.uj; break
      case 'claimed': books.claimed += idle[e.slot]; books.pending -= idle[e.slot]; books.slots--; break
      case 'evicted': books.overhead += idle[e.slot]; books.pending -= idle[e.slot]; books.slots--; break
    }
    return { text: canonicalize(e), ...books }
  })
  const refused = [
    ['another environment', 2, { kind: 'claimed', slot: 0, environment: node }], ['a slot that was claimed', 6, { kind: 'claimed', slot: 0, environment: python }],
    ['a slot that was evicted', 8, { kind: 'accrued', slot: 1, uj: 1 }], ['a slot that never was', 1, { kind: 'evicted', slot: 7 }],
    ['a name that was used', 2, { kind: 'warmed', slot: 0, environment: python }], ['a name that is skipped', 2, { kind: 'warmed', slot: 3, environment: python }],
    ['no environment', 0, { kind: 'warmed', slot: 0 }], ['nothing drawn', 1, { kind: 'accrued', slot: 0 }], ['another kind', 1, { kind: 'lent', slot: 0 }],
  ].map(([why, after, entry]) => ({ why, after, text: canonicalize(entry) }))
  return { class: 'C9', entries, refused }
}

function c10() {
  const leaves = [...Array(11).keys()].map((n) => {
    const text = canonicalize({ item: named('item ' + n), attestation: named('attestation ' + n) })
    return { text, hash: id(hash([0], utf8(text))) }
  })
  const node = (l, r) => hash([1], l, r)
  const split = (n) => { let k = 1; while (k * 2 < n) k *= 2; return k }
  const root = (list) => (list.length === 1 ? list[0] : node(root(list.slice(0, split(list.length))), root(list.slice(split(list.length)))))
  const path = (i, list) => {
    if (list.length === 1) return []
    const k = split(list.length)
    return i < k ? [...path(i, list.slice(0, k)), root(list.slice(k))] : [...path(i - k, list.slice(k)), root(list.slice(0, k))]
  }
  const digests = leaves.map((l) => raw(l.hash))
  const records = digests.map((_, i) => ({ count: i + 1, root: id(root(digests.slice(0, i + 1))) }))
  const proofs = []
  for (const count of [1, 2, 3, 7, 8, 11]) for (let index = 0; index < count; index++) proofs.push({ index, count, path: path(index, digests.slice(0, count)).map(id) })
  const p = (index, count) => proofs.find((x) => x.index === index && x.count === count)
  const refused = [
    ['a foreign leaf', 3, { ...p(4, 11) }, 11], ['another place', 4, { ...p(4, 11), index: 5 }, 11], ['another size', 4, { ...p(4, 11), count: 12 }, 11],
    ['the record of another size', 4, p(4, 11), 8], ['a hash too many', 4, { ...p(4, 11), path: [...p(4, 11).path, zero] }, 11], ['a hash too few', 4, { ...p(4, 11), path: p(4, 11).path.slice(1) }, 11],
    ['hashes out of order', 4, { ...p(4, 11), path: [...p(4, 11).path].reverse() }, 11], ['a place beyond the fleet', 4, { ...p(4, 11), index: 11 }, 11],
    ['a doubled last leaf', 2, { index: 3, count: 4, path: [leaves[2].hash, id(node(digests[0], digests[1]))] }, 3],
  ].map(([why, leaf, proof, record]) => ({ why, leaf, proof, record }))
  return { class: 'C10', leaves, records, proofs, refused }
}

const folder = process.argv[2]
for (const make of [c6, c7, c9, c10]) {
  const v = make()
  writeFileSync(join(folder, v.class.toLowerCase() + '.json'), JSON.stringify(v, null, 1) + '\n')
}
