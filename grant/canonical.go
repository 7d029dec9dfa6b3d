package grant

import (
	"encoding"
	"encoding/json/jsontext"
	"strconv"

	"github.com/joulebox/joulebox/internal/jcs"
)

// canonical is jcs.Marshal(s), which a test holds it to. A run's grants are made
// canonical before it and again after it (§7.5), so it's worth a writer of its own:
// members in the order of their names, each with the comma that follows it.
func (s Set) canonical() ([]byte, error) {
	w := writer{b: append(make([]byte, 0, 768), '{'), ok: true}
	w.object("browser", func() {
		w.flag("enabled", s.Browser.Enabled)
		w.flag("headless", s.Browser.Headless)
		texts(&w, "origins", s.Browser.Origins)
	})
	w.object("compute", func() {
		w.number("cpu_time_ms", s.Compute.CPUTimeMS)
		marshalers(&w, "devices", s.Compute.Devices)
		w.number("energy_budget_uj", uint64(s.Compute.EnergyBudgetUJ))
		w.number("memory_bytes", s.Compute.MemoryBytes)
	})
	w.object("display", func() {
		w.flag("enabled", s.Display.Enabled)
		w.number("max_height", uint64(s.Display.MaxHeight))
		w.number("max_width", uint64(s.Display.MaxWidth))
		w.flag("vnc", s.Display.VNC)
	})
	w.object("host", func() {
		w.flag("clock", s.Host.Clock)
		w.flag("inference", s.Host.Inference)
		w.flag("logging", s.Host.Logging)
		w.flag("random", s.Host.Random)
	})
	w.object("kv", func() {
		marshalers(&w, "prefixes", s.KV.Prefixes)
		w.flag("read", s.KV.Read)
		w.flag("write", s.KV.Write)
	})
	w.object("network", func() {
		w.flag("inbound", s.Network.Inbound)
		texts(&w, "outbound", s.Network.Outbound)
	})
	w.object("process", func() { s.Process.write(&w) })
	w.object("storage", func() { s.Storage.write(&w) })
	if !w.ok {
		return jcs.Marshal(s) // which says what is wrong
	}
	w.b[len(w.b)-1] = '}'
	return w.b, nil
}

func (p *Process) write(w *writer) {
	if len(p.AllowHashes) > 0 {
		marshalers(w, "allow_hashes", p.AllowHashes)
	}
	if len(p.DenyHashes) > 0 {
		marshalers(w, "deny_hashes", p.DenyHashes)
	}
	w.flag("exec", p.Exec)
	w.number("max_processes", uint64(p.MaxProcesses))
	texts(w, "programs", p.Programs)
}

func (s *Storage) write(w *writer) {
	texts(w, "delete", s.Delete)
	if s.MaxIOPS != nil {
		w.number("max_iops", *s.MaxIOPS)
	}
	if s.MaxReadBPS != nil {
		w.number("max_read_bps", *s.MaxReadBPS)
	}
	texts(w, "read", s.Read)
	texts(w, "write", s.Write)
}

// writer writes canonical members. ok is false once something had no such form.
type writer struct {
	b  []byte
	ok bool
}

func (w *writer) name(name string) { w.b = append(append(append(w.b, '"'), name...), '"', ':') }

// end puts a closing bracket in place of the last comma, if there is one.
func (w *writer) end(bracket byte) {
	if last := len(w.b) - 1; w.b[last] == ',' {
		w.b = w.b[:last]
	}
	w.b = append(w.b, bracket, ',')
}

func (w *writer) object(name string, members func()) {
	w.name(name)
	w.b = append(w.b, '{')
	members()
	w.end('}')
}

func (w *writer) flag(name string, v bool) {
	w.name(name)
	w.b = append(strconv.AppendBool(w.b, v), ',')
}

func (w *writer) number(name string, n uint64) {
	w.name(name)
	w.b = append(strconv.AppendUint(w.b, n, 10), ',')
	w.ok = w.ok && n <= MaxInteger
}

// quote writes a string in its shortest form (RFC 8785 §3.2.2.2).
func (w *writer) quote(text []byte) {
	quoted, err := jsontext.AppendQuote(w.b, text)
	if err != nil {
		w.ok = false
		return
	}
	w.b = append(quoted, ',')
}

func texts(w *writer, name string, list []string) {
	w.name(name)
	w.b = append(w.b, '[')
	for _, t := range list {
		w.quote([]byte(t))
	}
	w.end(']')
}

func marshalers[T encoding.TextMarshaler](w *writer, name string, list []T) {
	w.name(name)
	w.b = append(w.b, '[')
	for _, v := range list {
		text, err := v.MarshalText()
		if err != nil {
			w.ok = false
			return
		}
		w.quote(text)
	}
	w.end(']')
}
