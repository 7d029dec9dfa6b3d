package host

import (
	"context"
	"fmt"
	"sync"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/hostcall"
)

// KV is a key-value store behind a unit's kv grant (§5.4).
type KV interface {
	// Get gives a value, or false. The caller doesn't change the value.
	Get(ctx context.Context, key []byte) ([]byte, bool, error)
	// Put keeps copies of key and value.
	Put(ctx context.Context, key, value []byte) error
}

// Caps of a MemoryKV.
const (
	MaxKVEntries = 1 << 16
	MaxKVBytes   = 16 << 20 // keys and values together
)

// MemoryKV is a store that lives as long as the run. It is safe for concurrent
// use.
type MemoryKV struct {
	mu      sync.Mutex
	entries map[string][]byte
	bytes   int
}

// NewMemoryKV makes an empty store.
func NewMemoryKV() *MemoryKV { return &MemoryKV{entries: map[string][]byte{}} }

// Get gives a value, or false.
func (m *MemoryKV) Get(_ context.Context, key []byte) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.entries[string(key)]
	return v, ok, nil
}

// Put keeps a value, or says that the store is full.
func (m *MemoryKV) Put(_ context.Context, key, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, ok := m.entries[string(key)]
	bytes := m.bytes + len(value) - len(old)
	if !ok {
		bytes += len(key)
	}
	if bytes > MaxKVBytes || !ok && len(m.entries) >= MaxKVEntries {
		return fmt.Errorf("kv: full at %d entries of %d bytes: %w", len(m.entries), m.bytes, hostcall.TooLarge)
	}
	m.entries[string(key)] = append([]byte(nil), value...)
	m.bytes = bytes
	return nil
}

func (b *Broker) mayKV(dir grant.Dir, key []byte) error {
	d := b.enforcer.MayKV(dir, key)
	if d.Allowed {
		return nil
	}
	b.deny(d)
	return hostcall.Denied
}

func (b *Broker) kvGet(ctx context.Context, key []byte) ([]byte, error) {
	if err := b.mayKV(grant.Get, key); err != nil {
		return nil, err
	}
	v, ok, err := b.config.KV.Get(ctx, key)
	if err == nil && !ok {
		err = hostcall.NotFound
	}
	return v, err
}

func (b *Broker) kvPut(ctx context.Context, key, value []byte) error {
	if err := b.mayKV(grant.Put, key); err != nil {
		return err
	}
	return b.config.KV.Put(ctx, key, value)
}
