package mcp

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
)

// pair is a member of a JSON object whose members keep their order.
type pair struct {
	name  string
	value any
}

// object is a JSON object in the order in which it was written: what an agent
// reads first comes first.
type object []pair

// MarshalJSONTo writes the members in order.
func (o object) MarshalJSONTo(e *jsontext.Encoder) error {
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, p := range o {
		if err := e.WriteToken(jsontext.String(p.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(e, p.value); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndObject)
}

// schema is an object at the top and nothing else: no oneOf, anyOf or allOf, with
// which some clients drop the whole tool. What one property can't say, its
// description does.
func schema(properties object, required ...string) jsontext.Value {
	s := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		s = append(s, pair{"required", required})
	}
	b, err := json.Marshal(append(s, pair{"additionalProperties", false}))
	if err != nil {
		panic("BUG(joulebox): schema: " + err.Error())
	}
	return b
}

func textOf(about string) object { return object{{"type", "string"}, {"description", about}} }
func flagOf(about string) object { return object{{"type", "boolean"}, {"description", about}} }

func numberOf(about string, least, most uint64) object {
	o := object{{"type", "integer"}, {"minimum", least}}
	if most > 0 {
		o = append(o, pair{"maximum", most})
	}
	return append(o, pair{"description", about})
}

func textsOf(about string) object {
	return object{{"type", "array"}, {"items", object{{"type", "string"}}}, {"description", about}}
}

// ungranted ends the description of what the policy doesn't hold.
const ungranted = "not granted here"

// grantProperties describe every grant, with the policy's ceilings in them.
func (p Policy) grantProperties() (props object) {
	for _, f := range grantFields {
		props = append(props, pair{f.name, p.property(f)})
	}
	return props
}

func (p Policy) property(f field) object {
	if !p.grantable(f.name) {
		switch f.kind {
		case flagKind:
			return object{{"type", "boolean"}, {"enum", []bool{false}}, {"description", ungranted}}
		case textsKind:
			return object{{"type", "array"}, {"items", object{{"type", "string"}}}, {"maxItems", 0}, {"description", ungranted}}
		}
		return object{{"type", "integer"}, {"minimum", 0}, {"maximum", 0}, {"description", ungranted}}
	}
	switch f.kind {
	case numberKind:
		least, most, unset := p.bounds(f.name)
		about := f.about
		if unset > 0 {
			about += fmt.Sprintf("; unset: %d", unset)
		}
		return numberOf(about, least, most)
	case textsKind:
		return p.list(f)
	}
	return flagOf(f.about)
}

// bounds are the least and the most of a number, and what it is when unset.
func (p Policy) bounds(name string) (least, most, unset uint64) {
	m, d := p.Max, p.budgets()
	ceiling := func(v *uint64) (uint64, uint64, uint64) {
		if v == nil {
			return 0, grant.MaxInteger, 0
		}
		return 0, *v, *v
	}
	switch name {
	case "energy_budget_uj":
		return 1, uint64(m.Compute.EnergyBudgetUJ), uint64(d.EnergyBudgetUJ)
	case "cpu_time_ms":
		return 1, m.Compute.CPUTimeMS, d.CPUTimeMS
	case "memory_bytes":
		return 1, m.Compute.MemoryBytes, d.MemoryBytes
	case "max_iops":
		return ceiling(m.Storage.MaxIOPS)
	case "max_read_bps":
		return ceiling(m.Storage.MaxReadBPS)
	case "max_processes":
		return 0, uint64(m.Process.MaxProcesses), 0
	case "display_max_width":
		return 0, uint64(m.Display.MaxWidth), 0
	case "display_max_height":
		return 0, uint64(m.Display.MaxHeight), 0
	}
	return 0, grant.MaxInteger, 0
}

// list says what the operator lets a list hold: as an enum where the entries are
// whole, in words where they are patterns.
func (p Policy) list(f field) object {
	m := p.Max
	item, about := object{{"type", "string"}}, f.about
	switch f.name {
	case "devices":
		item = append(item, pair{"enum", classNames(m.Compute.Devices)})
	case "network_outbound":
		item = append(item, pair{"enum", m.Network.Outbound})
	case "browser_origins":
		item = append(item, pair{"enum", m.Browser.Origins})
	case "allow_hashes":
		if len(m.Process.AllowHashes) > 0 {
			item = append(item, pair{"enum", m.Process.AllowHashes})
		}
	case "storage_read":
		about += within1(m.Storage.Read)
	case "storage_write":
		about += within1(m.Storage.Write)
	case "storage_delete":
		about += within1(m.Storage.Delete)
	case "programs":
		about += within1(m.Process.Programs)
	case "kv_prefixes":
		if len(m.KV.Prefixes) > 0 {
			about += "; required, and each begins with " + prefixList(m.KV.Prefixes)
		}
	}
	return object{{"type", "array"}, {"items", item}, {"description", about}}
}

func within1(allowed []string) string { return "; within " + strings.Join(allowed, ", ") }

func classNames(list []joulebox.DeviceClass) []string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.String()
	}
	return names
}

// runProperties are what both run tools take beside the program and the grants.
func (p Policy) runProperties() object {
	return object{
		{"args", textsOf("the program's arguments, its own name not counted")},
		{"env", object{{"type", "object"}, {"additionalProperties", object{{"type", "string"}}}, {"description", "its variables; it has no others"}}},
		{"stdin", textOf("its standard input, as text")},
		{"stdin_base64", textOf("its standard input, as base64")},
		{"sensitive", flagOf("neighbours must not observe the unit through shared devices: needs tier S3, or both I/O ceilings")},
		{"challenge", textOf("a verifier's freshness value, 8 to 64 bytes in unpadded base64url, bound into the record")},
		{"max_output_bytes", numberOf(fmt.Sprintf("of each stream in the result, head and tail; unset: %d", min(defaultOutput, p.Output)), 0, uint64(p.Output))},
	}
}

func (s *Server) wasmSchema() jsontext.Value {
	p := s.config.Policy
	where := "a module file in a directory that the operator opened; none is open here"
	if len(p.Modules) > 0 {
		where = "instead: a module file beneath " + strings.Join(p.Modules, ", ")
	}
	return schema(slices.Concat(object{
		{"wat", textOf("the module in WebAssembly text: (module (func (export \"run\") (result i32) (i32.const 42)))")},
		{"wasm_base64", textOf("instead: the module's bytes in base64")},
		{"path", textOf(where)},
		{"entry", textOf("the export to call; unset: run, a function () -> i32, else _start of a WASI command")},
	}, p.runProperties(), p.grantProperties(), s.sessionProperty()))
}
