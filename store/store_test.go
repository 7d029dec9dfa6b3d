package store_test

import (
	"testing"

	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		return func(t *testing.T) (store.Store, bool) { return store.NewMemory(), false }
	})
}

func TestDir(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		dir := t.TempDir()
		return func(t *testing.T) (store.Store, bool) {
			s, err := store.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			return s, true
		}
	})
}

// TestDirOfSmallSegments has most records behind an index file.
func TestDirOfSmallSegments(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		dir := t.TempDir()
		return func(t *testing.T) (store.Store, bool) {
			s, err := store.OpenSmall(dir, 4<<10)
			if err != nil {
				t.Fatal(err)
			}
			return s, true
		}
	})
}
