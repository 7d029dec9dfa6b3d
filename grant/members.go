package grant

import "github.com/joulebox/joulebox"

// set describes the eight members of §5 to the reader.
func (r *reader) set(root *node) Set {
	var s Set
	object := func(members map[string]member) member {
		return member{read: func(n *node, field string) { r.object(n, field, members) }}
	}
	r.object(root, "", map[string]member{
		"compute": object(r.compute(&s.Compute)),
		"storage": object(r.storage(&s.Storage)),
		"network": object(map[string]member{
			"outbound": r.texts(&s.Network.Outbound, endpointWords),
			"inbound":  r.flag(&s.Network.Inbound),
		}),
		"kv": object(map[string]member{
			"read":     r.flag(&s.KV.Read),
			"write":    r.flag(&s.KV.Write),
			"prefixes": r.prefixes(&s.KV.Prefixes),
		}),
		"host": object(map[string]member{
			"logging":   r.flag(&s.Host.Logging),
			"clock":     r.flag(&s.Host.Clock),
			"random":    r.flag(&s.Host.Random),
			"inference": r.flag(&s.Host.Inference),
		}),
		"process": object(map[string]member{
			"exec":          r.flag(&s.Process.Exec),
			"programs":      r.texts(&s.Process.Programs, globWords),
			"allow_hashes":  r.hashes(&s.Process.AllowHashes),
			"deny_hashes":   r.hashes(&s.Process.DenyHashes),
			"max_processes": r.maxProcesses(&s.Process.MaxProcesses),
		}),
		"browser": object(map[string]member{
			"enabled":  r.flag(&s.Browser.Enabled),
			"origins":  r.texts(&s.Browser.Origins, originWords),
			"headless": r.flag(&s.Browser.Headless),
		}),
		"display": object(map[string]member{
			"enabled":    r.flag(&s.Display.Enabled),
			"vnc":        r.flag(&s.Display.VNC),
			"max_width":  r.uint32(&s.Display.MaxWidth),
			"max_height": r.uint32(&s.Display.MaxHeight),
		}),
	})
	return s
}

func (r *reader) compute(c *Compute) map[string]member {
	return map[string]member{
		"devices":          r.devices(&c.Devices),
		"energy_budget_uj": r.budget((*uint64)(&c.EnergyBudgetUJ), ParseEnergy),
		"cpu_time_ms":      r.budget(&c.CPUTimeMS, ParseTime),
		"memory_bytes":     r.budget(&c.MemoryBytes, ParseBytes),
	}
}

func (r *reader) storage(s *Storage) map[string]member {
	return map[string]member{
		"read":         r.texts(&s.Read, globWords),
		"write":        r.texts(&s.Write, globWords),
		"delete":       r.texts(&s.Delete, globWords),
		"max_iops":     r.ceiling(&s.MaxIOPS, nil),
		"max_read_bps": r.ceiling(&s.MaxReadBPS, ParseBytes),
	}
}

// devices are a set, for which the signed form has one order.
func (r *reader) devices(to *[]joulebox.DeviceClass) member {
	list := r.list(false, func(n *node, field string) {
		if !r.want(n, field, kindString) {
			return
		}
		c, err := joulebox.ParseDeviceClass(n.text)
		if err != nil {
			r.fail(n, field, "%v", err)
			return
		}
		*to = append(*to, c)
	})
	return member{read: func(n *node, field string) {
		before := len(r.errs)
		if list.read(n, field); !r.human && len(r.errs) == before {
			r.errs.devices(*to)
		}
	}}
}

func (r *reader) maxProcesses(to *uint32) member {
	m := r.uint32(to)
	return member{read: func(n *node, field string) {
		r.maxSet = true
		m.read(n, field)
	}}
}

// prefixes are base64url; a person may write {text: "user/"} instead.
func (r *reader) prefixes(to *[]Prefix) member {
	return r.list(false, func(n *node, field string) {
		if r.human && n.kind == kindObject {
			r.object(n, field, map[string]member{"text": {read: func(t *node, at string) {
				if r.want(t, at, kindString) {
					*to = append(*to, Prefix(t.text))
				}
			}}})
			return
		}
		if !r.want(n, field, kindString) {
			return
		}
		p, err := parsePrefix(n.text)
		if err != nil {
			r.fail(n, field, "%v%s", err, textHint(r.human, n.text))
			return
		}
		*to = append(*to, p)
	})
}

var (
	globWords     = words{strictly(ParseGlob), one(normalGlob)}
	endpointWords = words{strictly(ParseEndpoint), expandEndpoint}
	originWords   = words{strictly(ParseOrigin), one(normalOrigin)}
)

// strictly fits a parser to the reader, which keeps the text.
func strictly[T any](parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		_, err := parse(s)
		return err
	}
}

// one fits a function for one entry to the reader, which takes expansions.
func one(f func(string) (string, error)) func(string) ([]string, error) {
	return func(s string) ([]string, error) {
		v, err := f(s)
		return []string{v}, err
	}
}
