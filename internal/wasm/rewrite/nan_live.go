package rewrite

import "slices"

// liveness finds, for each label, which floats are still read after it: only
// those need to agree where ways meet. It walks backwards until the heads of
// loops no longer change.
type liveness struct {
	c      *code
	bit    []int32  // by local: its bit, or -1
	joinOf []int32  // by instruction, for those that open, split or close a block: its join
	at     []bitset // by join: what is live at its label
	now    bitset
	frames []liveFrame
	change bool
}

type liveFrame struct {
	join   int32
	loop   bool
	after  bitset
	orElse bitset // live where the else arm begins; nil if there is none
}

type bitset []uint64

func (b bitset) has(i int32) bool { return b[i>>6]>>(i&63)&1 != 0 }
func (b bitset) set(i int32)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) clear(i int32)    { b[i>>6] &^= 1 << (i & 63) }

func (b bitset) or(x bitset) {
	for k := range b {
		b[k] |= x[k]
	}
}

// compute fills l.at for the locals of the list. It reports whether that took few
// walks.
func (l *liveness) compute(c *code, locals []uint32) bool {
	l.c = c
	l.bit = slices.Repeat([]int32{-1}, len(c.locals))
	for i, x := range locals {
		l.bit[x] = int32(i)
	}
	words := (len(locals) + 63) / 64
	l.match(words)
	l.now = make(bitset, words)
	for range mostWalks {
		l.change = false
		clear(l.now)
		l.frames = append(l.frames[:0], liveFrame{after: make(bitset, words)})
		for k := len(c.ins) - 2; k >= 0; k-- { // the last one ends the function
			l.step(k)
		}
		if !l.change {
			return true
		}
	}
	return false
}

// match numbers the blocks in the order that they open in; the body's is 0.
func (l *liveness) match(words int) {
	l.joinOf = slices.Grow(l.joinOf[:0], len(l.c.ins))[:len(l.c.ins)]
	l.at = append(l.at[:0], make(bitset, words))
	var open []int32
	for k := range l.c.ins {
		switch l.c.ins[k].op {
		case opBlock, opLoop, opIf:
			l.joinOf[k] = int32(len(l.at))
			open = append(open, int32(k))
			l.at = append(l.at, make(bitset, words))
		case opElse:
			l.joinOf[k] = l.joinOf[open[len(open)-1]]
		case opEnd:
			if n := len(open); n > 0 {
				l.joinOf[k] = open[n-1] // for now the opener, which step turns into its join
				open = open[:n-1]
			}
		}
	}
}

func (l *liveness) label(n uint32) bitset {
	return l.at[l.frames[len(l.frames)-1-int(n)].join]
}

func (l *liveness) step(k int) {
	in := &l.c.ins[k]
	switch in.op {
	case opLocalGet:
		if b := l.bit[in.a]; b >= 0 {
			l.now.set(b)
		}
	case opLocalSet, opLocalTee:
		if b := l.bit[in.a]; b >= 0 {
			l.now.clear(b)
		}
	case opBr:
		copy(l.now, l.label(in.a))
	case opBrIf:
		l.now.or(l.label(in.a))
	case opBrTable:
		clear(l.now)
		for _, x := range l.c.labels[in.a : in.a+in.b] {
			l.now.or(l.label(x))
		}
	case opReturn, opUnreachable:
		clear(l.now)
	case opEnd:
		l.enterEnd(l.joinOf[k])
	case opElse:
		fr := &l.frames[len(l.frames)-1]
		fr.orElse = slices.Clone(l.now)
		copy(l.now, fr.after)
	case opBlock, opLoop, opIf:
		l.leaveStart(in.op)
	}
}

// enterEnd stands behind a block, whose opener is the instruction k.
func (l *liveness) enterEnd(k int32) {
	fr := liveFrame{join: l.joinOf[k], loop: l.c.ins[k].op == opLoop, after: slices.Clone(l.now)}
	if !fr.loop {
		copy(l.at[fr.join], l.now)
	}
	l.frames = append(l.frames, fr)
}

func (l *liveness) leaveStart(op opcode) {
	fr := l.frames[len(l.frames)-1]
	l.frames = l.frames[:len(l.frames)-1]
	switch {
	case op == opLoop:
		if !slices.Equal(l.at[fr.join], l.now) {
			copy(l.at[fr.join], l.now)
			l.change = true
		}
	case op == opIf && fr.orElse != nil:
		l.now.or(fr.orElse)
	case op == opIf:
		l.now.or(fr.after)
	}
}
