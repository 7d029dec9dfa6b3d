// Changes every byte of every member of a bundle, one at a time, and fails when
// the verifier accepts one of the changed bundles. Also drops each member, adds
// one, and flips each boolean.
//
//   node mutate.mjs --key HEX BUNDLE...
import { readFileSync } from 'node:fs'
import { fromHex } from './forms.mjs'
import { verify } from './verify.mjs'

// Another character of the same kind, so that a refusal is never about syntax alone.
function other (c) {
  if (/[0-9]/.test(c)) return c === '9' ? '8' : String(Number(c) + 1)
  if (/[a-z]/.test(c)) return c === 'z' ? 'y' : String.fromCharCode(c.charCodeAt(0) + 1)
  if (/[A-Z]/.test(c)) return c === 'Z' ? 'Y' : String.fromCharCode(c.charCodeAt(0) + 1)
  return c === '-' ? '_' : '-'
}

function * changedText (s) {
  for (let i = 0; i < s.length; i++) yield s.slice(0, i) + other(s[i]) + s.slice(i + 1)
}

function * changedValue (v) {
  if (typeof v === 'string') yield * changedText(v)
  else if (typeof v === 'number') { for (const t of changedText(String(v))) yield Number(t) } else if (typeof v === 'boolean') yield !v
}

// Every bundle that differs from the given one in one place, made in place.
function * mutations (root, node = root, path = '') {
  for (const name of Object.keys(node)) {
    const value = node[name]
    const at = `${path}/${name}`
    for (const changed of changedValue(value)) {
      node[name] = changed
      yield `${at} = ${JSON.stringify(changed)}`
    }
    node[name] = value
    if (!Array.isArray(node)) {
      delete node[name]
      // Whether an image object belongs there can't be seen without it.
      if (at !== '/image') yield `${at} dropped`
      for (const renamed of changedText(name)) {
        if (renamed in node) continue
        node[renamed] = value
        yield `${at} renamed ${renamed}`
        delete node[renamed]
      }
      node[name] = value
    }
    if (typeof value === 'object') yield * mutations(root, value, at)
  }
  if (Array.isArray(node)) {
    node.push('more'); yield `${path} longer`; node.pop()
  } else {
    node.more = 'more'; yield `${path}/more added`; delete node.more
  }
}

const args = process.argv.slice(2)
if (args.shift() !== '--key') throw new Error('usage: mutate.mjs --key HEX BUNDLE...')
const key = fromHex(args.shift(), 32, '--key')
let accepted = 0
for (const file of args) {
  const bundle = JSON.parse(readFileSync(file, 'utf8'))
  verify(JSON.stringify(bundle), key) // or nothing would be proven below
  let tried = 0
  for (const what of mutations(bundle)) {
    tried++
    try { verify(JSON.stringify(bundle), key) } catch { continue }
    accepted++
    console.log(`${file}: accepted with ${what}`)
  }
  console.log(`${file}: ${tried} changes tried`)
  if (tried < 1000) throw new Error('too few changes to prove anything')
}
process.exitCode = accepted > 0 || args.length === 0 ? 1 : 0
