package cli

import (
	"fmt"
	"strings"
)

// part is how much of one part of the standard is there (§9). The page that is
// made of these is held to them by a test.
type part struct {
	name, clause, class, there, missing string
}

// The classes of §9, and one for what isn't there at all.
const (
	solid       = "Solid"
	engineering = "Engineering"
	absent      = "Absent"
)

var parts = []part{
	{"Content addressing, canonical forms", "§3, §4", solid, "BLAKE3 ids, strict RFC 8785 and core deterministic CBOR; published vectors and fuzzing", "nothing"},
	{"Capability grants, deny by default", "§5", solid, "all eight members, the pure Enforcer, the required tier with its reasons", "executors for browser, display and inference, and for exec of WASM units: a grant that names them is declined"},
	{"Energy receipt (JCR-1)", "§6", solid, "made, sealed, opened, verified; wrong combinations can't be built and are refused when read", "nothing in the form"},
	{"Energy figures", "§6.2, §6.3", engineering, "Cpu measured through powercap, the kernel's power events or amd_energy where one can be read, divided between runs in one ledger that adds up; else Cpu and Simd estimated from counted work, by constants or by this host's signed calibration; meters of GPUs; tested on simulated counters and made trees", "a run on a machine with counters or a GPU; executors for accelerators; attribution below the whole machine by anything but CPU time; counters on systems other than Linux"},
	{"Attestation, Ed25519 over JCS", "§7.1 to §7.3", solid, "made, sealed, verified; the bundle with every check, offline", "nothing"},
	{"Key custody", "§7.4", engineering, "a key file that only its user can read; sequence numbers never repeat; copies are noticed", "TPM, HSM and agent"},
	{"Anti-evasion", "§7.5", engineering, "clock, randomness, names and environment are the grant's; denied reaching about is recorded as probing", "normalised timing"},
	{"S0 Bare, S1 Capability", "§2.2", engineering, "trusted WASM, ended from outside at its bounds; trusted native programs in a partition", "nothing below a partition for native programs"},
	{"S2 Sandbox", "§2.2", engineering, "instruction metering, memory cap, wall and CPU time, every capability brokered; WASI preview 1 and the sandbox interface; a jailed host process without key, meter, store or network", "warm host processes outside of the agent server"},
	{"S3 Partition", "§2.2", engineering, "native programs in namespaces, a view made of the grants, control groups, Landlock, a list of system calls; every execve decided by content; a network of its own that carries what is granted; images; as root and as an ordinary user", "key-value store, logging"},
	{"S4 Unikernel, S5 MicroVM", "§2.2", absent, "", "everything: such a request is declined"},
	{"TEE evidence, verification", "§7.6", solid, "AMD SEV-SNP, Intel TDX, NVIDIA's GPU tokens and Arm CCA, offline, down to the vendors' roots where there are any, with revocation lists and Intel's statements; by themselves and in bundles; real reports, every byte changed, independent verifiers, fuzzing; collateral fetched by a command of its own, tried against a server on this machine", "real tokens of Arm CCA; a root for NVIDIA's keys"},
	{"S6 Confidential", "§7.6", absent, "bundles at S6 are verified with their evidence", "generation of evidence: such a request is declined"},
	{"S7 Sovereign", "§7.7", absent, "the form and the audit chain", "everything else: such a request is declined"},
	{"EAT", "§7.8", solid, "both directions, with every bundle", "nothing"},
	{"Replay journal", "§8", engineering, "recorded at S2 when asked for; its root is in the attestation; replayed from the bundle alone to the same states", "tiers other than S2"},
	{"Agent server (MCP)", "§11", engineering, "tools that run code under a policy and return the verified record, over stdio and HTTP", "the build tool"},
	{"Build ledger", "§12", engineering, "builds whose steps hand on by content, each verified before it is recorded; chained receipts and signed heads; SLSA provenance in DSSE", "the build tool of the agent server; outputs of several files"},
	{"Durable run records", "§13", absent, "the record: its chain, signed heads, what may follow what, clones and double resumption; verified offline", "runs that are suspended and resumed: no host suspends anything yet"},
	{"Environment manifest", "§14", engineering, "ingestion with every refusal named and placed, the canonical form, its address, signing and verifying, drift by member; published vectors and fuzzing", "a run in a manifest's environment; features are identity only"},
	{"Warm pools", "§15", engineering, "the books of a pool, balanced at every instant; the agent server's host processes are on them, idle energy in the claiming run's receipt", "pools on disk, `joulebox pool`, claims by environment"},
	{"Fleet records", "§16", engineering, "the tree, the signed record, proofs of membership and of growth; fan-out that goes on after a crash and runs no item twice that has a record; verified offline; published vectors", "fan-out over several machines"},
}

// readinessPage is docs/READINESS.md.
func readinessPage() string {
	var b strings.Builder
	b.WriteString("# Readiness\n\nHow much of each part of the standard is there (§9). Made by `joulebox doctor --readiness`;\n" +
		"a test holds this page to the program. Nothing is advertised beyond it.\n\n| Part | Clause | Class | There | Missing |\n|---|---|---|---|---|\n")
	for _, p := range parts {
		there := p.there
		if there == "" {
			there = "nothing"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", p.name, p.clause, p.class, there, p.missing)
	}
	return b.String()
}
