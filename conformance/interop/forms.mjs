// Canonical forms and content addresses (§3, §4): JSON in and out by RFC 8785,
// CBOR by RFC 8949 §4.2.1, BLAKE3 ids, Ed25519. Everything here refuses rather
// than repairs: what doesn't come back as the same bytes was not canonical.
import canonicalize from 'canonicalize'
import * as cbor from 'cborg'
import { blake3 } from '@noble/hashes/blake3.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { ed25519 } from '@noble/curves/ed25519.js'

export class Refused extends Error {}
export const refuse = (why) => { throw new Refused(why) }
export const need = (ok, why) => ok || refuse(why)

export const utf8 = (s) => new TextEncoder().encode(s)
export const hex = (b) => Buffer.from(b).toString('hex')
export const same = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)) === 0
export const jcs = (v) => utf8(canonicalize(v))
export const digest = (bytes) => blake3(bytes)
export const id = (bytes) => 'b3:' + Buffer.from(digest(bytes)).toString('base64url')
export const sha256hex = (bytes) => hex(sha256(bytes))

export function fromBase64url (text, what) {
  need(typeof text === 'string', `${what} is not text`)
  const bytes = Buffer.from(text, 'base64url')
  need(bytes.toString('base64url') === text, `${what} is not canonical base64url`)
  return new Uint8Array(bytes)
}

export function fromHex (text, size, what) {
  need(typeof text === 'string' && new RegExp(`^[0-9a-f]{${2 * size}}$`).test(text), `${what} is not ${size} bytes of lower-case hex`)
  return new Uint8Array(Buffer.from(text, 'hex'))
}

export const isID = (v) => typeof v === 'string' && /^b3:[A-Za-z0-9_-]{43}$/.test(v) &&
  Buffer.from(v.slice(3), 'base64url').toString('base64url') === v.slice(3)
export const idBytes = (v) => new Uint8Array(Buffer.from(v.slice(3), 'base64url'))

// JSON.parse forgets duplicate names and how a number was written, so both are
// looked for in the text: its strings must be as many as those that came out of
// it, and its numbers must be plain integers.
export function parseJSON (text) {
  const value = JSON.parse(text)
  const strings = /"(?:[^"\\]|\\.)*"/g
  need(text.match(strings)?.length === canonicalize(value).match(strings)?.length, 'a duplicate member name')
  for (const n of text.replace(strings, '""').match(/[-+.\deE]*\d[-+.\deE]*/g) ?? []) need(/^(0|[1-9]\d*)$/.test(n), `the number ${n}`)
  plain(value)
  return value
}

function plain (v) {
  if (v === null) refuse('a null')
  if (typeof v === 'number') need(Number.isSafeInteger(v) && v >= 0, `the number ${v}`)
  if (typeof v === 'string') need(v.isWellFormed(), 'a lone surrogate')
  if (typeof v === 'object') for (const k of Object.keys(v)) { plain(k); plain(v[k]) }
}

// members holds an object to a closed set: required names, then optional ones.
export function members (v, what, required, optional = []) {
  need(v !== null && typeof v === 'object' && !Array.isArray(v), `${what} is not an object`)
  for (const k of required) need(Object.hasOwn(v, k), `${what} lacks ${k}`)
  for (const k of Object.keys(v)) need(required.includes(k) || optional.includes(k), `${what} has an unknown member ${k}`)
}

const strictCBOR = { strict: true, allowIndefinite: false, rejectDuplicateMapKeys: true, allowUndefined: false, allowInfinity: false, allowNaN: false, useMaps: true }

export function parseCBOR (bytes, what) {
  const value = cbor.decode(bytes, strictCBOR)
  need(same(cbor.encode(value), bytes), `${what} is not deterministic CBOR`)
  return value
}

export function mapMembers (m, what, required, optional = []) {
  need(m instanceof Map, `${what} is not a map`)
  for (const k of required) need(m.has(k), `${what} lacks ${k}`)
  for (const k of m.keys()) need(required.includes(k) || optional.includes(k), `${what} has an unknown member ${k}`)
}

// openSign1 checks a COSE_Sign1 of exactly this form: tag 18 or none, protected
// {1: -8}, nothing unprotected, payload attached.
export function openSign1 (bytes, key, what) {
  const protectedHeader = Uint8Array.of(0xa1, 0x01, 0x27)
  const body = bytes[0] === 0xd2 ? bytes.subarray(1) : bytes
  const parts = parseCBOR(body, what)
  need(Array.isArray(parts) && parts.length === 4, `${what} is not a COSE_Sign1`)
  const [header, unprotected, payload, signature] = parts
  need(header instanceof Uint8Array && same(header, protectedHeader), `${what}: protected header`)
  need(unprotected instanceof Map && unprotected.size === 0, `${what}: unprotected header`)
  need(payload instanceof Uint8Array && signature instanceof Uint8Array, `${what}: payload or signature`)
  signed(key, cbor.encode(['Signature1', header, new Uint8Array(0), payload]), signature, what)
  return payload
}

export function signed (key, message, signature, what) {
  let ok = false
  try { ok = ed25519.verify(signature, message, key, { zip215: false }) } catch { /* malformed is invalid */ }
  need(ok, `${what}: the signature doesn't hold`)
}
