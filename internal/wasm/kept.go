package wasm

import (
	"slices"
	"sync"
)

// moduleKey names a loaded module.
type moduleKey struct {
	entry   entryKey
	metered bool
}

// What an Engine keeps loaded for the next Compile of the same image.
const (
	mostKept      = 32
	mostKeptBytes = 256 << 20 // of modules and their machine code
)

// keptModules are the modules that an Engine holds itself. Those that were used
// longest ago go first. The zero value is ready.
type keptModules struct {
	mu      sync.Mutex
	closed  bool
	modules map[moduleKey]*Module
	order   []moduleKey // of modules, oldest use first
	bytes   int64       // of modules
	flights map[moduleKey]*sync.Mutex
}

// find finds a loaded module and holds it for the caller.
func (k *keptModules) find(key moduleKey) *Module {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.modules[key]
	if m != nil {
		m.hold()
		k.touch(key)
	}
	return m
}

// touch moves a key to the young end of the order. The lock is held.
func (k *keptModules) touch(key moduleKey) {
	if i := slices.Index(k.order, key); i >= 0 {
		k.order = slices.Delete(k.order, i, i+1)
	}
	k.order = append(k.order, key)
}

// add holds a module for the next Compile.
func (k *keptModules) add(key moduleKey, m *Module) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return // the caller's hold is the only one
	}
	if k.modules == nil {
		k.modules = map[moduleKey]*Module{}
	}
	if k.modules[key] != nil {
		k.drop(key)
	}
	m.hold()
	k.modules[key] = m
	k.bytes += m.size
	k.touch(key)
	for len(k.order) > mostKept || (k.bytes > mostKeptBytes && len(k.order) > 1) {
		k.drop(k.order[0])
	}
}

// drop gives a module up. The lock is held.
func (k *keptModules) drop(key moduleKey) {
	m := k.modules[key]
	delete(k.modules, key)
	k.order = slices.DeleteFunc(k.order, func(o moduleKey) bool { return o == key })
	k.bytes -= m.size
	m.release()
}

func (k *keptModules) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	for key := range k.modules {
		k.drop(key)
	}
}

// alone lets one caller at a time make a module; it returns the unlock.
func (k *keptModules) alone(key moduleKey) func() {
	k.mu.Lock()
	flight := k.flights[key]
	if flight == nil {
		if k.flights == nil {
			k.flights = map[moduleKey]*sync.Mutex{}
		}
		flight = &sync.Mutex{}
		k.flights[key] = flight
	}
	k.mu.Unlock()
	flight.Lock()
	return func() {
		flight.Unlock()
		k.mu.Lock()
		delete(k.flights, key)
		k.mu.Unlock()
	}
}
