package rewrite

// nameSection keeps the names of the guest's functions, which trap messages
// show, under their new indices. Other names, and a name section that isn't
// well-formed (which the standard says to ignore), are left out.
func (o *output) nameSection(e *enc) {
	names, err := o.functionNames()
	if err != nil || len(names) == 0 {
		return
	}
	var sub, sec enc
	sub.u32(uint32(len(names)))
	for _, n := range names {
		sub.u32(o.fn(n.f))
		sub.bytes(o.m.b[n.start:n.end])
	}
	sec.name("name")
	sec.section(1, sub.b)
	e.section(secCustom, sec.b)
}

// funcName is a function and where its name stands, with the length before it.
type funcName struct {
	f uint32
	span
}

func (o *output) functionNames() (names []funcName, err error) {
	defer catch(&err)
	r := reader{b: o.m.b, pos: o.m.names.start, end: o.m.names.end}
	for r.left() > 0 {
		id := r.byte("name subsection")
		s := r.window(r.u32("name subsection"), "name subsection")
		if id != 1 {
			continue
		}
		n := s.count("function name count", 2, len(o.m.funcs))
		for range n {
			at := s.pos
			f := s.u32("function index")
			if int(f) >= len(o.m.funcs) || len(names) > 0 && f <= names[len(names)-1].f {
				fail(at, "function names: out of order")
			}
			start := s.pos
			s.name("function name")
			names = append(names, funcName{f, span{start, s.pos}})
		}
	}
	return names, nil
}
