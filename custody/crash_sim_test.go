package custody

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk/disktest"
)

// told is what a program was told about keys and numbers.
type told struct {
	numbers map[string]bool // host id and number, given out
	host    joulebox.ID     // the key that is there for sure; zero if none
	rotated bool            // a rotation was begun since
}

func newTold() *told { return &told{numbers: map[string]bool{}} }

func simVault(d *disktest.Sim) *vault {
	return &vault{fs: d, base: "/state/keys/host", here: machine{mark("machine", "sim"), mark("boot", "1")}, owner: os.Geteuid()}
}

// give takes a number and fails if it was given out before.
func (a *told) give(k *Key) error {
	n, err := k.Next(context.Background())
	if err != nil {
		return err
	}
	number := fmt.Sprint(k.HostID(), n)
	if a.numbers[number] {
		return fmt.Errorf("BUG: %s was given out twice", number)
	}
	a.numbers[number] = true
	return nil
}

// life is one process that uses the key, and goes on after failures if told to.
func (a *told) life(d *disktest.Sim, numbers int, goOn bool) error {
	k, _, err := simVault(d).ensure(len(a.numbers) > 0)
	if err != nil {
		return err
	}
	defer k.Close()
	a.host, a.rotated = k.HostID(), false
	for range numbers {
		if err := a.give(k); err != nil && (!goOn || err.Error()[:3] == "BUG") {
			return err
		}
	}
	return nil
}

func (a *told) rotation(d *disktest.Sim) error {
	a.rotated = true
	k, err := simVault(d).rotate()
	if err != nil {
		return err
	}
	defer k.Close()
	a.host, a.rotated = k.HostID(), false
	return a.give(k)
}

// check uses what a crash left: the key must be the one that was there, unless a
// rotation was under way, and must give out new numbers only.
func (a *told) check(d *disktest.Sim) error {
	v := simVault(d)
	k, made, err := v.ensure(len(a.numbers) > 0)
	var lost *LostError
	if a.rotated && errors.As(err, &lost) {
		k, err = v.rotate()
	}
	if err != nil {
		return err
	}
	if a.rotated && k.Check() != nil {
		k.Close()
		if k, err = v.rotate(); err != nil {
			return err
		}
	}
	defer k.Close()
	if !a.host.IsZero() && !a.rotated && (made || k.HostID() != a.host) {
		return fmt.Errorf("made %t: got host %v, want %v", made, k.HostID(), a.host)
	}
	for range 5 {
		if err := a.give(k); err != nil {
			return err
		}
	}
	return nil
}

// swept checks that the next rotation removes what crashes left half made.
func swept(d *disktest.Sim) error {
	k, err := simVault(d).rotate()
	if err != nil {
		return err
	}
	k.Close()
	names, err := d.List("/state/keys")
	for _, name := range names {
		if strings.Contains(name, unfinished) {
			return fmt.Errorf("%s was left behind", name)
		}
	}
	return err
}

// clone is for a disk of which there are several versions.
func (a *told) clone() *told { return &told{maps.Clone(a.numbers), a.host, a.rotated} }

// TestStopAtEachCall stops the program at every call that it makes while a key is
// made, used and rotated.
func TestStopAtEachCall(t *testing.T) {
	scenario := func(a *told, d *disktest.Sim) error {
		return errors.Join(a.life(d, 5, false), a.life(d, 1, false), a.rotation(d), a.life(d, 4, false))
	}
	whole, a := disktest.New(), newTold()
	if err := scenario(a, whole); err != nil {
		t.Fatal(err)
	}
	if len(a.numbers) != 11 || whole.Calls() < 100 {
		t.Fatalf("got %d numbers in %d calls, want 11", len(a.numbers), whole.Calls())
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= whole.Calls(); n++ {
		d, a := disktest.New(), newTold()
		d.Inject(disktest.PowerOff(n))
		_ = scenario(a, d)
		killed := d.Kill()
		if err := errors.Join(a.clone().check(killed), swept(killed)); err != nil {
			t.Fatalf("killed at call %d: %v", n, err)
		}
		for cut := range 10 {
			if err := a.clone().check(d.Cut(random)); err != nil {
				t.Fatalf("power cut %d at call %d: %v", cut, n, err)
			}
		}
	}
}

// TestCrashUponCrash goes on after each crash on what it left.
func TestCrashUponCrash(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for seed := range uint64(rounds) {
		random := rand.New(rand.NewPCG(seed, 7))
		d, a := disktest.New(), newTold()
		for crash := range 8 {
			if random.IntN(2) == 0 {
				d.Inject(disktest.PowerOff(1 + random.IntN(70)))
			} else {
				d.Inject(disktest.PowerOffAt([]string{"sync", "syncdir"}[random.IntN(2)], 1+random.IntN(8)))
			}
			if random.IntN(8) == 0 && !a.host.IsZero() {
				_ = a.rotation(d)
			} else {
				_ = a.life(d, 1+random.IntN(20), false)
			}
			if random.IntN(2) == 0 {
				d = d.Kill()
			} else {
				d = d.Cut(random)
			}
			if err := a.check(d); err != nil {
				t.Fatalf("seed %d, crash %d: %v", seed, crash, err)
			}
			a.rotated = false
			if k, err := simVault(d).openKey(); err == nil {
				a.host = k.HostID()
				k.Close()
			}
		}
	}
}

// TestOneFailure has each call fail once in a program that goes on.
func TestOneFailure(t *testing.T) {
	whole := disktest.New()
	if err := newTold().life(whole, 40, true); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for n := 1; n <= whole.Calls(); n++ {
		for _, why := range []error{syscall.EIO, syscall.ENOSPC} {
			d, a := disktest.New(), newTold()
			d.Inject(disktest.Once(n, why))
			if err := a.life(d, 40, true); err != nil && !errors.Is(err, why) {
				t.Fatalf("%v at call %d: got %v", why, n, err)
			}
			d.Inject(nil)
			for _, after := range []*disktest.Sim{d, d.Kill(), d.Cut(random)} {
				if err := a.clone().check(after); err != nil {
					t.Fatalf("%v at call %d: %v", why, n, err)
				}
			}
		}
	}
}

// TestUnreadableSlot loses the newer slot, as a disk may, and goes on beyond it.
func TestUnreadableSlot(t *testing.T) {
	for slot := range 2 {
		d, a := disktest.New(), newTold()
		if err := a.life(d, 600, false); err != nil {
			t.Fatal(err)
		}
		f := must(d.Open("/state/keys/host/sequence", os.O_RDWR))(t)
		if _, err := f.WriteAt([]byte("xx"), int64(slot)*slotStride+100); err != nil {
			t.Fatal(err)
		}
		if err := a.check(d); err != nil {
			t.Fatal(err)
		}
	}
}
