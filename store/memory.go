package store

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/joulebox/joulebox"
)

// Memory is a store that is gone when the process ends: for tests, and for
// embedders that keep records elsewhere. The zero Memory is empty and ready.
type Memory struct {
	mu      sync.RWMutex
	objects map[joulebox.ID][]byte
	records []Record
	closed  bool
}

// memoryStart is the first offset, so that zero stays "the beginning".
const memoryStart Offset = 1

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory { return new(Memory) }

// Close makes every later call fail with ErrClosed.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *Memory) usable(ctx context.Context) error {
	if m.closed {
		return ErrClosed
	}
	return ctx.Err()
}

// Put implements Objects.
func (m *Memory) Put(ctx context.Context, data []byte) (joulebox.ID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return joulebox.ID{}, err
	}
	if m.objects == nil {
		m.objects = map[joulebox.ID][]byte{}
	}
	id := joulebox.Sum(data)
	if _, ok := m.objects[id]; !ok {
		m.objects[id] = slices.Clone(data)
	}
	return id, nil
}

// Get implements Objects.
func (m *Memory) Get(ctx context.Context, id joulebox.ID) ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	data, ok := m.objects[id]
	if !ok {
		return nil, objectNotFound(id)
	}
	return append([]byte{}, data...), nil
}

// Has implements Objects.
func (m *Memory) Has(ctx context.Context, id joulebox.ID) (bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, ok := m.objects[id]
	return ok, m.usable(ctx)
}

// Append implements Log.
func (m *Memory) Append(ctx context.Context, data []byte, keys ...joulebox.ID) (Offset, error) {
	keys, err := checkRecord(data, keys)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	r := Record{Offset: m.end(), Keys: keys, Data: append([]byte{}, data...)}
	r.Next = r.Offset + Offset(len(data)) + 1
	m.records = append(m.records, r)
	return r.Offset, nil
}

func (m *Memory) end() Offset {
	if n := len(m.records); n > 0 {
		return m.records[n-1].Next
	}
	return memoryStart
}

// Records implements Log.
func (m *Memory) Records(ctx context.Context, from Offset) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		at := from
		if at == 0 {
			at = memoryStart
		}
		for {
			r, ok, err := m.at(ctx, at)
			if err != nil {
				yield(Record{}, err)
			}
			if !ok || !yield(r, nil) {
				return
			}
			at = r.Next
		}
	}
}

// at is a copy of the record at an offset; false at the end.
func (m *Memory) at(ctx context.Context, at Offset) (Record, bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return Record{}, false, err
	}
	i, ok := slices.BinarySearchFunc(m.records, at, func(r Record, o Offset) int { return int(r.Offset - o) })
	switch {
	case ok:
		return m.records[i].clone(), true, nil
	case at == m.end():
		return Record{}, false, nil
	}
	return Record{}, false, notARecord(at)
}

// Recent implements Log.
func (m *Memory) Recent(ctx context.Context) iter.Seq2[Record, error] {
	m.mu.RLock()
	seen := m.records
	m.mu.RUnlock()
	return m.yield(ctx, func() []Record {
		newest := slices.Clone(seen)
		slices.Reverse(newest)
		return newest
	})
}

// Resolve implements Index.
func (m *Memory) Resolve(ctx context.Context, prefix string) (joulebox.ID, error) {
	r, err := parsePrefix(prefix)
	if err != nil {
		return joulebox.ID{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return joulebox.ID{}, err
	}
	var found matches
	for _, rec := range m.records {
		for _, k := range rec.Keys {
			if r.contains(k) && !found.add(k) {
				return found.resolve(prefix)
			}
		}
	}
	return found.resolve(prefix)
}

// Find implements Index.
func (m *Memory) Find(ctx context.Context, key joulebox.ID) iter.Seq2[Record, error] {
	return m.yield(ctx, func() (found []Record) {
		m.mu.RLock()
		defer m.mu.RUnlock()
		for _, r := range m.records {
			if slices.Contains(r.Keys, key) {
				found = append(found, r)
			}
		}
		return found
	})
}

func (m *Memory) yield(ctx context.Context, records func() []Record) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, r := range records() {
			m.mu.RLock()
			err := m.usable(ctx)
			m.mu.RUnlock()
			if err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(r.clone(), nil) {
				return
			}
		}
	}
}

func (r Record) clone() Record {
	r.Keys = slices.Clone(r.Keys)
	r.Data = append([]byte{}, r.Data...)
	return r
}
