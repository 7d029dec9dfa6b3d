package rewrite

// The functions that a metered module imports, in this order after the guest's own.
const (
	hookTick = iota
	hookOverflow
	hookGrow
	hookTableGrow
	hooks
)

// MeterModule is the module that a metered guest imports its hooks from.
const MeterModule = "joulebox.meter"

// The names that a metered module exports.
const (
	FuelGlobal    = "joulebox.fuel"
	SIMDGlobal    = "joulebox.simd"
	StackGlobal   = "joulebox.stack"
	StartFunction = "joulebox.start"

	// HiddenGlobal and a global's index are the name of a mutable global of numbers
	// that the guest doesn't export itself: it is a part of the guest's state.
	HiddenGlobal = "joulebox.global."
)

var hookNames = [hooks]string{"tick", "overflow", "grow", "table_grow"}

var hookTypes = [hooks]FuncType{
	hookTick:      {[]ValType{I64}, []ValType{I64}},
	hookOverflow:  {},
	hookGrow:      {[]ValType{I32}, nil},
	hookTableGrow: {[]ValType{I32, I32}, nil},
}

// output collects a metered module. Function indices in it are new ones: the
// guest's imports keep theirs, the hooks follow, then the guest's functions,
// then those that the rewriter adds.
type output struct {
	m       *module
	types   []FuncType
	typeOf  map[string]uint32
	funcs   []uint32 // types of the defined functions
	code    enc      // bodies, each with its size
	exports func(f uint32) uint32
	inTable func(f uint32) uint32 // what a table or a reference holds in f's place
	simd    bool
	refs    []uint32          // functions that the hidden globals refer to
	refOf   map[uint32]uint32 // their places in refs
}

func newOutput(m *module) *output {
	o := &output{m: m, typeOf: map[string]uint32{}, simd: m.usesV128, refOf: map[uint32]uint32{}}
	o.exports, o.inTable = o.fn, o.fn
	for i, t := range m.types {
		o.types = append(o.types, t)
		if k := t.key(); !has(o.typeOf, k) {
			o.typeOf[k] = uint32(i)
		}
	}
	return o
}

func has(m map[string]uint32, k string) bool { _, ok := m[k]; return ok }

// key spells a type as a map key.
func (t FuncType) key() string {
	b := make([]byte, 0, len(t.Params)+len(t.Results)+1)
	for _, p := range t.Params {
		b = append(b, byte(p))
	}
	b = append(b, 0)
	for _, r := range t.Results {
		b = append(b, byte(r))
	}
	return string(b)
}

// typeIndex is the index of a type, added if the module has none like it.
func (o *output) typeIndex(t FuncType) uint32 {
	k := t.key()
	if i, ok := o.typeOf[k]; ok {
		return i
	}
	i := uint32(len(o.types))
	o.types = append(o.types, t)
	o.typeOf[k] = i
	return i
}

// hook is the new index of a hook.
func (o *output) hook(h int) uint32 { return uint32(o.m.importedFuncs + h) }

// fn is the new index of the guest's function f.
func (o *output) fn(f uint32) uint32 {
	if int(f) < o.m.importedFuncs {
		return f
	}
	return f + hooks
}

// nextFunc is the index that the next function gets.
func (o *output) nextFunc() uint32 {
	return uint32(o.m.importedFuncs + hooks + len(o.funcs))
}

// addFunc appends a function; body holds its locals and instructions.
func (o *output) addFunc(typ uint32, body []byte) uint32 {
	i := o.nextFunc()
	o.funcs = append(o.funcs, typ)
	o.code.u32(uint32(len(body)))
	o.code.bytes(body)
	return i
}

// The metering globals come after the guest's.
func (o *output) fuel() uint32      { return uint32(len(o.m.globals)) }
func (o *output) stack() uint32     { return uint32(len(o.m.globals)) + 1 }
func (o *output) simdCount() uint32 { return uint32(len(o.m.globals)) + 2 }
func (o *output) extraGlobals() int {
	if o.simd {
		return 3
	}
	return 2
}

// refGlobal is a hidden global that holds a reference to a function, given by its
// new index. It stands in for ref.func: an engine may make a new reference at each
// execution of that and keep them all, which is memory that no cap covers.
func (o *output) refGlobal(f uint32) uint32 {
	k, ok := o.refOf[f]
	if !ok {
		k = uint32(len(o.refs))
		o.refOf[f] = k
		o.refs = append(o.refs, f)
	}
	return uint32(len(o.m.globals)+o.extraGlobals()) + k
}

// blockOf is the raw type of a block without parameters that leaves results.
func (o *output) blockOf(results []ValType) uint32 {
	switch len(results) {
	case 0:
		return rawEmpty
	case 1:
		return uint32(results[0])
	}
	return rawType + o.typeIndex(FuncType{nil, results})
}
