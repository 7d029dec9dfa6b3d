package rewrite

// Scan decodes and validates a module: WebAssembly 2.0, which is to say mutable
// globals, sign extension, saturating truncation, multiple values, bulk memory,
// reference types and fixed-width vectors. Anything else, and anything beyond
// lim, is refused with an *Error. It takes time linear in the module, memory in
// proportion to it, and never recurses.
func Scan(b []byte, lim Limits) (*Info, error) {
	m, err := decodeModule(b, lim, false, nil)
	if err != nil {
		return nil, err
	}
	return m.info(), nil
}

func decodeModule(b []byte, lim Limits, internal bool, onBody func(*module, uint32, *code)) (m *module, err error) {
	defer catch(&err)
	m = &module{b: b, lim: lim, start: -1, dataCount: -1, internal: internal}
	each := func(f uint32, c *code) {
		if onBody != nil {
			onBody(m, f, c)
		}
	}
	m.decode(each)
	return m, nil
}
