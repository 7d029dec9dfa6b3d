package disktest

import (
	"math/rand/v2"

	"github.com/joulebox/joulebox/internal/disk"
)

// sector is the least that a disk writes at once.
const sector = 512

// Kill is the disk after the program was killed: nothing is lost, no one holds a
// lock, and nothing fails any more.
func (s *Sim) Kill() *Sim {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := copier{to: &Sim{nodes: s.nodes}, seen: map[*node]*node{}}
	c.to.root = c.copy(s.root)
	for _, n := range s.names {
		c.to.names = append(c.to.names, &nameChange{c.copy(n.from), c.copy(n.to), n.fromName, n.toName, c.copy(n.what)})
	}
	return c.to
}

type copier struct {
	to   *Sim
	seen map[*node]*node
}

func (c *copier) copy(n *node) *node {
	if n == nil || c.seen[n] != nil {
		return c.seen[n]
	}
	m := &node{number: n.number, mode: n.mode, links: n.links, data: n.data, kept: n.kept, holders: map[*file]disk.LockKind{}}
	m.writes = append(m.writes, n.writes...)
	c.seen[n] = m
	m.entries, m.durable = c.names(n.entries), c.names(n.durable)
	return m
}

func (c *copier) names(from map[string]*node) map[string]*node {
	if from == nil {
		return nil
	}
	to := map[string]*node{}
	for name, n := range from {
		to[name] = c.copy(n)
	}
	return to
}

// Cut is the disk after a power cut: of what wasn't synced, a random part is
// there. Names and data are kept or lost apart; each sector of a write is.
func (s *Sim) Cut(random *rand.Rand) *Sim {
	after := s.Kill()
	// Some cuts take everything, some nothing, most a part.
	odds := []float64{0, 0.5, 0.9, 1}[random.IntN(4)]
	keep := func() bool { return random.Float64() < odds }
	for _, c := range after.names {
		if keep() {
			c.settle()
		}
	}
	after.names = nil
	after.root.powerUp(keep, map[*node]bool{})
	return after
}

// powerUp makes what is on the disk what programs see.
func (n *node) powerUp(keep func() bool, seen map[*node]bool) {
	if seen[n] {
		n.links++
		return
	}
	seen[n], n.links = true, 1
	for _, w := range n.writes {
		n.kept = w.tear(n.kept, keep)
	}
	n.data, n.writes = n.kept, nil
	if n.entries == nil {
		return
	}
	n.entries = map[string]*node{}
	for name, child := range n.durable {
		n.entries[name] = child
		child.powerUp(keep, seen)
	}
}

// tear applies a part of a write.
func (w write) tear(data []byte, keep func() bool) []byte {
	if w.cut {
		if keep() {
			return w.apply(data)
		}
		return data
	}
	for done := int64(0); done < int64(len(w.bytes)); {
		n := min(sector-(w.at+done)%sector, int64(len(w.bytes))-done)
		if keep() {
			data = write{at: w.at + done, bytes: w.bytes[done:][:n]}.apply(data)
		}
		done += n
	}
	return data
}

// PowerOff has every call from the nth on fail, as if the program had been
// stopped there; take Kill or Cut of the disk afterwards.
func PowerOff(n int) Fault {
	return func(c Call) error {
		if c.Number >= n {
			return ErrPower
		}
		return nil
	}
}

// PowerOffAt is PowerOff from the nth call of one kind on.
func PowerOffAt(op string, n int) Fault {
	return func(c Call) error {
		if c.Op == op {
			n--
		}
		if n <= 0 {
			return ErrPower
		}
		return nil
	}
}

// Once has the nth call fail and no other.
func Once(n int, err error) Fault {
	return func(c Call) error {
		if c.Number == n {
			return err
		}
		return nil
	}
}

var _ disk.FS = (*Sim)(nil)
