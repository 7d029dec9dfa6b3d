package rewrite

// cleanLocal makes a local canonical.
func (w *fast) cleanLocal(local uint32, s nanShape) {
	w.e.cleanLocal(s, w.local(local))
}

// cleanStack makes operands canonical; what lies above the deepest of them is
// put aside meanwhile.
func (w *fast) cleanStack(types []ValType, ds []dirt) {
	first := 0
	for !ds[first].isDirty() {
		first++
	}
	var aside []uint32
	used := map[ValType]int{}
	for k := len(ds) - 1; k > first; k-- {
		t := types[k]
		used[t]++
		l := w.temp(t, used[t]) // the zeroth is for cleanTop
		w.e.op1(opLocalSet, l)
		aside = append(aside, l)
	}
	for k := first; k < len(ds); k++ {
		if k > first {
			w.e.op1(opLocalGet, aside[len(ds)-1-k])
		}
		if ds[k].isDirty() {
			w.e.cleanTop(ds[k].shape(), w.temp(types[k], 0))
		}
	}
}

// elseArm opens the other arm of an if that has none.
func (w *fast) elseArm() { w.e.op(opElse) }
