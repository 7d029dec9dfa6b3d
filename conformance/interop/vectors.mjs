// Holds the verifier itself to the public bundle vectors: whole bundles that a
// third program made. Each is judged under the key that its file says signed it.
//
//   node vectors.mjs FOLDER
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ed25519 } from '@noble/curves/ed25519.js'
import { fromHex } from './forms.mjs'
import { verify } from './verify.mjs'

const folder = process.argv[2]
const files = readdirSync(folder).filter((f) => f.endsWith('.json'))
for (const file of files) {
  const { bundle, steps } = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  const key = ed25519.getPublicKey(fromHex(steps.secret_seed_hex, 32, 'the seed'))
  console.log(`${file}: accepted (${verify(JSON.stringify(bundle), key).join('; ')})`)
}
if (files.length < 6) throw new Error(`${files.length} vectors found, want 6 at least`)
