package mcp

import (
	"encoding/json/jsontext"
	"strings"
)

// kind is what a plain argument holds.
type kind int

const (
	flagKind   kind = iota // a boolean
	numberKind             // an unsigned integer
	textsKind              // a list of strings
)

// field is one grant of §5 as a plain argument.
type field struct {
	name   string // of the argument: "storage_read"
	member string // of the grant set: "storage.read"
	kind   kind
	about  string
}

// grantFields are every member of §5, in its order. kv stands for both
// directions at once and has no member of its own.
var grantFields = []field{
	{"devices", "compute.devices", textsKind, "device classes that the unit may use; Cpu always is, Simd allows vector instructions"},
	{"energy_budget_uj", "compute.energy_budget_uj", numberKind, "the unit is ended past this many microjoules"},
	{"cpu_time_ms", "compute.cpu_time_ms", numberKind, "the unit is ended past this many milliseconds of wall or CPU time"},
	{"memory_bytes", "compute.memory_bytes", numberKind, "the unit is ended when its memory grows past this"},
	{"storage_read", "storage.read", textsKind, "globs of paths it may read: * is one level, /** the tree below"},
	{"storage_write", "storage.write", textsKind, "globs it may write; doesn't imply read"},
	{"storage_delete", "storage.delete", textsKind, "globs it may delete or rename away"},
	{"max_iops", "storage.max_iops", numberKind, "storage operations a second"},
	{"max_read_bps", "storage.max_read_bps", numberKind, "bytes read a second"},
	{"network_outbound", "network.outbound", textsKind, "host:port endpoints it may connect to"},
	{"network_inbound", "network.inbound", flagKind, "accept connections"},
	{"kv", "", flagKind, "read and write a key-value store, empty and private to the run"},
	{"kv_read", "kv.read", flagKind, "read it only"},
	{"kv_write", "kv.write", flagKind, "write it only"},
	{"kv_prefixes", "kv.prefixes", textsKind, "narrow kv to keys that begin with one of these"},
	{"logging", "host.logging", flagKind, "write log lines, which come back with the result"},
	{"clock", "host.clock", flagKind, "read the time; else every clock reads a constant"},
	{"random", "host.random", flagKind, "draw randomness"},
	{"inference", "host.inference", flagKind, "call the host's model"},
	{"exec", "process.exec", flagKind, "start programs"},
	{"programs", "process.programs", textsKind, "programs it may start by path or glob; advisory, hashes bind"},
	{"allow_hashes", "process.allow_hashes", textsKind, "b3: addresses of the only executables it may start"},
	{"deny_hashes", "process.deny_hashes", textsKind, "b3: addresses of executables it may never start"},
	{"max_processes", "process.max_processes", numberKind, "programs at once"},
	{"browser", "browser.enabled", flagKind, "drive a browser"},
	{"browser_origins", "browser.origins", textsKind, "origins it may visit"},
	{"browser_headless", "browser.headless", flagKind, "draw on no screen"},
	{"display", "display.enabled", flagKind, "have a framebuffer"},
	{"display_vnc", "display.vnc", flagKind, "export it"},
	{"display_max_width", "display.max_width", numberKind, "pixels"},
	{"display_max_height", "display.max_height", numberKind, "pixels"},
}

func fieldNamed(name string) (field, bool) {
	for _, f := range grantFields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// asArguments rewrites the grant set's member names, and the flags of the command
// line, as the arguments that a caller of a tool knows.
var asArguments = func() *strings.Replacer {
	pairs := []string{
		"--simd", `devices ["Cpu","Simd"]`, "--memory", "memory_bytes", "--entry", "entry",
		"joulebox explain shows", "explain_grants shows",
	}
	for _, f := range grantFields {
		if f.member != "" {
			pairs = append(pairs, f.member, f.name)
		}
	}
	return strings.NewReplacer(pairs...)
}()

// nested makes the grant set, as people write one, of the arguments that are set.
// Each has been read as its kind before.
func nested(values map[string]jsontext.Value) jsontext.Value {
	groups := map[string][]string{}
	var order []string
	add := func(member string, v jsontext.Value) {
		group, name, _ := strings.Cut(member, ".")
		if groups[group] == nil {
			order = append(order, group)
		}
		groups[group] = append(groups[group], quoted(name)+":"+string(v))
	}
	for _, f := range grantFields {
		v, set := values[f.name]
		switch {
		case !set || f.name == "kv":
		case f.name == "kv_prefixes":
			add(f.member, jsontext.Value(prefixTexts(v)))
		default:
			add(f.member, v)
		}
	}
	parts := make([]string, len(order))
	for i, group := range order {
		parts[i] = quoted(group) + ":{" + strings.Join(groups[group], ",") + "}"
	}
	return jsontext.Value("{" + strings.Join(parts, ",") + "}")
}
