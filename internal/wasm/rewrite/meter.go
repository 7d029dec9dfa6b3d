package rewrite

import "fmt"

// Version changes whenever the rewriting of any module changes: it belongs in
// every key that a metered module is cached under.
const Version = 4

// Options are what Meter is told. The zero value means the defaults.
type Options struct {
	Limits     *Limits // nil: DefaultLimits
	SIMDWeight int64   // units of a vector instruction; 0: 1
}

// Meter scans a module and returns it metered; see the package's comment for
// what that means.
func Meter(b []byte, opt Options) ([]byte, *Info, error) {
	m, g, info, err := prepare(b, &opt)
	if err != nil {
		return nil, nil, err
	}
	out := newOutput(m)
	out.fast(g, opt.SIMDWeight)
	if n := len(out.refs); n > m.lim.Globals {
		return nil, nil, &Error{Limit: true, Msg: fmt.Sprintf("ref.func names %d functions, want at most %d", n, m.lim.Globals)}
	}
	info.References += uint64(len(out.refs))
	return out.bytes(), info, nil
}

// prepare fills the options in, scans the module and draws its call graph.
func prepare(b []byte, opt *Options) (*module, *graph, *Info, error) {
	lim := DefaultLimits()
	if opt.Limits != nil {
		lim = *opt.Limits
	}
	opt.SIMDWeight = max(opt.SIMDWeight, 1)
	var g *graph
	m, err := decodeModule(b, lim, false, func(m *module, f uint32, c *code) {
		if g == nil {
			g = newGraph(m, opt.SIMDWeight)
		}
		g.add(f, c)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	if g == nil { // it has no function of its own
		g = newGraph(m, opt.SIMDWeight)
	}
	g.finish()
	info := m.info()
	info.StaticStackWords = g.chainWords()
	if info.StaticStackWords > uint64(lim.ChainWords) {
		return nil, nil, nil, &Error{Limit: true, Msg: fmt.Sprintf("calls nest %d words deep without any recursion, want at most %d", info.StaticStackWords, lim.ChainWords)}
	}
	return m, g, info, nil
}

// fast writes all functions the fast way.
func (o *output) fast(g *graph, weight int64) {
	w := &fast{o: o, g: g, ps: g.plans(), weight: weight}
	x := &wrappers{w: w}
	x.plan()
	o.m.eachBody(w.body)
	for _, write := range x.order {
		write()
	}
}

// eachBody validates all bodies again, which is cheaper than keeping what the
// first pass found of them.
func (m *module) eachBody(do func(f uint32, c *code)) {
	c := &code{m: m}
	for k, b := range m.bodies {
		f := uint32(m.importedFuncs + k)
		c.validate(f, reader{b: m.b, pos: b.start, end: b.end})
		do(f, c)
	}
}
