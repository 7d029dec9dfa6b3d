// Verifies joulebox bundles with other libraries, in another language, written
// from the standard and the bundle's description alone.
//
//   node verify.mjs --key HEX [--challenge BASE64URL] BUNDLE...
//
// Prints one line a bundle and exits with 0 when all are accepted.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import {
  Refused, digest, fromBase64url, fromHex, id, idBytes, isID, jcs, mapMembers, members,
  need, openSign1, parseCBOR, parseJSON, same, sha256hex, signed
} from './forms.mjs'

const TIERS = ['S0', 'S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7']
const CLASSES = ['Cpu', 'Simd', 'Gpu', 'Npu', 'Tpu', 'Lpu', 'Photonic', 'Quantum']
const BUDGETS = ['energy_budget_uj', 'cpu_time_ms', 'memory_bytes']
const TAMPERING = ['grant_mutation', 'image_mutation', 'vm_escape', 'privilege_escalation', 'out_of_allocation_write', 'journal_mismatch']
const PROFILE = 'https://transaction.science/sandbox/eat/v1'
const USAGE = ['instructions', 'cpu_us', 'wall_us', 'peak_memory_bytes', 'io_reads', 'io_read_bytes', 'io_writes', 'io_written_bytes',
  'io_denied', 'connections', 'connections_denied', 'execs', 'execs_denied', 'idle_uj']

// verify throws Refused, or returns what it could not check.
export function verify (text, key, challenge) {
  const b = parseJSON(text)
  members(b, 'bundle', ['schema', 'unit', 'receipt', 'attestation', 'seal', 'eat', 'result'], ['image', 'manifest', 'journal', 'evidence'])
  need(b.schema === 'joulebox.bundle/1', 'the bundle\'s schema')
  const unit = readUnit(b.unit)
  need(challenge === undefined || b.unit.challenge === challenge, 'the challenge is not the one asked for')
  const attestation = readAttestation(b, unit, key)
  const receipt = readReceipt(b, unit, attestation.core, key)
  readResult(b.result, attestation.core)
  readEAT(b, unit, receipt, attestation, key)
  if (b.image) need(id(jcs(b.image)) === b.unit.image_id, 'image_id is not the image\'s')
  return unknowns(b, attestation.core)
}

function readUnit (u) {
  members(u, 'unit', ['schema', 'image_id', 'entrypoint', 'grants'], ['placement', 'manifest', 'challenge'])
  need(u.schema === 'sandbox.unit/1', 'the unit\'s schema')
  need(isID(u.image_id), 'unit.image_id')
  need(Array.isArray(u.entrypoint) && u.entrypoint.length > 0 && u.entrypoint.every((s) => typeof s === 'string'), 'unit.entrypoint')
  readGrants(u.grants)
  if ('challenge' in u) {
    const n = fromBase64url(u.challenge, 'unit.challenge').length
    need(n >= 8 && n <= 64, 'unit.challenge is not of 8 to 64 bytes')
  }
  return { id: id(jcs(u)), grantsID: id(jcs(u.grants)), tier: requiredTier(u) }
}

function readGrants (g) {
  members(g, 'grants', ['compute', 'storage', 'network', 'kv', 'host', 'process', 'browser', 'display'])
  members(g.compute, 'compute', ['devices', ...BUDGETS])
  members(g.storage, 'storage', ['read', 'write', 'delete'], ['max_iops', 'max_read_bps'])
  members(g.network, 'network', ['outbound', 'inbound'])
  members(g.kv, 'kv', ['read', 'write', 'prefixes'])
  members(g.host, 'host', ['logging', 'clock', 'random', 'inference'])
  members(g.process, 'process', ['exec', 'programs', 'max_processes'], ['allow_hashes', 'deny_hashes'])
  members(g.browser, 'browser', ['enabled', 'origins', 'headless'])
  members(g.display, 'display', ['enabled', 'vnc', 'max_width', 'max_height'])
  const devices = g.compute.devices
  need(devices[0] === 'Cpu' && same2(devices, CLASSES.filter((c) => devices.includes(c))), 'compute.devices are not a set in order')
  for (const k of BUDGETS) need(g.compute[k] > 0, `compute.${k} is zero`)
}

const same2 = (a, b) => JSON.stringify(a) === JSON.stringify(b)

// The lowest tier that satisfies the request: the highest of these rows. A unit
// is a WASM module unless the bundle carries an image object.
function requiredTier (u) {
  const g = u.grants
  const p = u.placement ?? { trusted: false, contention: 'none', passthrough: [], confidential: false }
  members(p, 'placement', ['trusted', 'contention', 'passthrough', 'confidential'], ['boundary', 'locality'])
  const touchesHost = g.storage.read.length + g.storage.write.length + g.storage.delete.length + g.network.outbound.length > 0 ||
    g.network.inbound || g.kv.read || g.kv.write || Object.values(g.host).some(Boolean)
  const rows = [
    [true, p.trusted ? 0 : 2],
    [p.trusted && touchesHost, 1],
    [g.compute.devices.some((c) => c !== 'Cpu' && c !== 'Simd') || g.process.exec || g.browser.enabled || g.display.enabled, 2],
    [p.contention === 'sensitive' && !counts(g.storage), 3],
    [p.boundary === 'machine', 4],
    [p.boundary === 'kernel' || p.passthrough.length > 0, 5],
    [p.confidential, 6],
    [p.locality !== undefined, 7]
  ]
  return Math.max(...rows.filter(([holds]) => holds).map(([, tier]) => tier))
}

const counts = (s) => s.max_iops !== undefined && s.max_read_bps !== undefined

function readAttestation (b, unit, key) {
  const a = b.attestation
  members(a, 'attestation', ['result_id', 'unit_id', 'image_id', 'grants_id', 'tier', 'devices', 'receipt_id', 'outcome', 'host_id', 'started_at_us', 'finished_at_us'],
    ['energy_model', 'journal_root', 'tee', 'locality', 'audit_prev', 'probing'])
  const bytes = jcs(a)
  members(b.seal, 'seal', ['content_sha256_hex', 'signature_hex', 'public_key_hex'])
  need(b.seal.content_sha256_hex === sha256hex(bytes), 'seal.content_sha256_hex')
  need(same(fromHex(b.seal.public_key_hex, 32, 'seal.public_key_hex'), key), 'the seal is by another key than the trusted one')
  need(a.unit_id === unit.id, 'attestation.unit_id is not the unit\'s')
  need(a.image_id === b.unit.image_id, 'attestation.image_id is not the unit\'s')
  need(a.grants_id === unit.grantsID, 'attestation.grants_id is not the grants\'')
  need(a.host_id === id(key), 'attestation.host_id is not the key\'s')
  need(a.started_at_us <= a.finished_at_us, 'the run ended before it began')
  const tier = TIERS.indexOf(a.tier)
  need(tier >= 0, 'attestation.tier')
  // An image object says that the unit is not a module; native code needs S1 or S3.
  const floor = b.image ? Math.max(unit.tier, b.unit.placement?.trusted ? 1 : 3) : unit.tier
  need(tier === floor || (tier === 3 && floor < 3), `tier ${a.tier} is not S${floor}, which the request requires`)
  need((tier >= 6) === ('tee' in a), 'tee belongs to S6 and above')
  need((tier === 7) === ('locality' in a && 'audit_prev' in a), 'locality and audit_prev belong to S7')
  readOutcome(a.outcome, b.result)
  signed(key, bytes, fromHex(b.seal.signature_hex, 64, 'seal.signature_hex'), 'attestation')
  return { core: a, id: id(bytes) }
}

function readOutcome (o, result) {
  if (o === 'Completed') return need(result.exit_code === 0 || result.cause === 'suspended', 'Completed with another exit code than 0')
  if (o === 'Failed') return need(result.exit_code !== 0, 'Failed with exit code 0')
  members(o, 'outcome', ['Terminated'])
  members(o.Terminated, 'outcome.Terminated', ['breach'])
  need(!TAMPERING.includes(o.Terminated.breach), `the run is invalid: ${o.Terminated.breach}`)
  need(BUDGETS.includes(o.Terminated.breach), 'outcome.Terminated.breach')
  need(!('exit_code' in result), 'a breach has no exit code')
}

function readReceipt (b, unit, attestation, key) {
  const payload = openSign1(fromBase64url(b.receipt, 'receipt'), key, 'receipt')
  const r = parseCBOR(payload, 'receipt core')
  mapMembers(r, 'receipt', ['tier', 'nonce', 'total', 'devices', 'unit_id', 'sequence', 'jc_receipt'])
  need(r.get('jc_receipt') === 'sandbox/1', 'the receipt\'s profile')
  need(r.get('unit_id') === unit.id && r.get('tier') === attestation.tier, 'the receipt is for another unit or tier')
  need(r.get('nonce').length === 16, 'the receipt\'s nonce')
  const devices = r.get('devices')
  const classes = devices.map((d) => d.get('class'))
  need(classes.length > 0 && same2(classes, CLASSES.filter((c) => classes.includes(c))), 'the receipt\'s devices are not a set in order')
  need(classes.every((c) => b.unit.grants.compute.devices.includes(c)), 'a device that was not granted')
  need(same2(classes, attestation.devices.map((d) => d.class)), 'the attestation names other devices than the receipt')
  for (const d of attestation.devices) members(d, 'device', ['class', 'model', 'driver'])
  devices.forEach(readEnergy)
  readTotal(r.get('total'), devices)
  const receiptID = id(payload)
  need(attestation.receipt_id === receiptID, 'attestation.receipt_id is not the receipt\'s')
  return receiptID
}

function readEnergy (d) {
  mapMembers(d, 'device', ['class', 'provenance', 'estimated_uj'], ['measured_uj'])
  const provenance = d.get('provenance')
  need(['HwShunt', 'ModelBased', 'Estimator'].includes(provenance), 'provenance')
  need(provenance !== 'HwShunt' || d.has('measured_uj'), 'HwShunt without a measured figure')
  need(provenance !== 'Estimator' || !d.has('measured_uj'), 'Estimator with a measured figure')
}

function readTotal (total, devices) {
  mapMembers(total, 'total', ['estimated_uj'], ['measured_uj'])
  const sum = (k) => devices.reduce((n, d) => n + BigInt(d.get(k)), 0n)
  need(BigInt(total.get('estimated_uj')) === sum('estimated_uj'), 'total.estimated_uj is not the sum')
  need(total.has('measured_uj') === devices.every((d) => d.has('measured_uj')), 'total.measured_uj without one of each device')
  if (total.has('measured_uj')) need(BigInt(total.get('measured_uj')) === sum('measured_uj'), 'total.measured_uj is not the sum')
}

function readResult (r, attestation) {
  members(r, 'result', ['stdin_b3', 'stdout_b3', 'stderr_b3', 'usage'], ['exit_code', 'signal', 'cause'])
  for (const k of ['stdin_b3', 'stdout_b3', 'stderr_b3']) need(isID(r[k]), `result.${k}`)
  members(r.usage, 'usage', [], USAGE)
  for (const k of Object.keys(r.usage)) need(r.usage[k] > 0, `usage.${k} is zero`)
  need(!('exit_code' in r && 'signal' in r), 'exit_code and signal at once')
  need(attestation.result_id === id(jcs(r)), 'attestation.result_id is not the result\'s')
}

function readEAT (b, unit, receiptID, attestation, key) {
  let bytes = fromBase64url(b.eat, 'eat')
  if (bytes[0] === 0xd8 && bytes[1] === 61) bytes = bytes.subarray(2)
  const claims = parseCBOR(openSign1(bytes, key, 'eat'), 'eat claims')
  const [iat, nonce, ueid, profile, measurements, reference] = [6, 10, 256, 265, 273, -70001]
  mapMembers(claims, 'eat', [iat, nonce, ueid, profile, measurements, reference])
  need(claims.get(iat) === Math.floor(attestation.core.finished_at_us / 1e6), 'eat: iat')
  need(same(claims.get(nonce), digest(Buffer.concat([idBytes(unit.id), idBytes(receiptID)]))), 'eat: nonce')
  need(same(claims.get(ueid), Buffer.concat([Uint8Array.of(1), digest(key)])), 'eat: ueid')
  need(claims.get(profile) === PROFILE, 'eat: profile')
  const list = claims.get(measurements)
  need(list.length === 1 && list[0].length === 2 && list[0][0] === 60, 'eat: measurements')
  const measured = parseCBOR(list[0][1], 'eat measurement')
  mapMembers(measured, 'eat measurement', ['image_id', 'grants_id'])
  need(measured.get('image_id') === b.unit.image_id && measured.get('grants_id') === unit.grantsID, 'eat: measurement')
  const ref = claims.get(reference)
  mapMembers(ref, 'eat reference', ['tier', 'receipt_id', 'attestation_id'])
  need(ref.get('tier') === attestation.core.tier && ref.get('receipt_id') === receiptID && ref.get('attestation_id') === attestation.id, 'eat: reference')
}

function unknowns (b, a) {
  const list = []
  if (TIERS.indexOf(a.tier) < 6) list.push(`tier ${a.tier} asserted by the host`)
  if (TIERS.indexOf(a.tier) >= 6) list.push('evidence not checked')
  if ('journal_root' in a) list.push('journal not checked')
  if ('manifest' in b.unit) list.push('manifest not checked')
  return list
}

function main (args) {
  const take = (name) => { const i = args.indexOf(name); return i < 0 ? undefined : args.splice(i, 2)[1] }
  const key = fromHex(take('--key'), 32, '--key')
  const challenge = take('--challenge')
  let bad = 0
  for (const file of args) {
    try {
      console.log(`${file}: accepted (${verify(readFileSync(file, 'utf8'), key, challenge).join('; ')})`)
    } catch (e) {
      bad++
      console.log(`${file}: refused: ${e instanceof Refused ? e.message : e}`)
    }
  }
  process.exitCode = bad > 0 || args.length === 0 ? 1 : 0
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) main(process.argv.slice(2))
