package host

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/joulebox/joulebox/grant"
)

// messages are one of each kind, empty.
func messages() map[kind]message {
	return map[kind]message{
		kindSetup: &setup{}, kindRun: &order{}, kindAnswer: &reply{}, kindReady: &ready{}, kindRefused: &refusal{},
		kindFault: &fault{}, kindCall: &call{}, kindExit: &ending{}, kindStdin: &empty{},
	}
}

func samples() []message {
	return []message{
		&setup{Version: 1, Metered: true, Grants: fullGrants(), Hidden: []string{"/a", ""}, Roots: []handedRoot{{"/", "/srv"}}, Tolls: [4]uint64{1, 2, 3, 4},
			Memory: 1 << 30, Parent: 7, Image: []byte("{}"), Sizes: []uint64{0, 1 << 40}},
		&order{Number: 3, Entry: "run", Args: []string{"a", "b"}, Env: []string{"A=1"}, Terminal: true, Stdin: stdinSteady, Salt: make([]byte, 32),
			Secrets: []string{"TOKEN"}, Units: 5, Wall: time.Second},
		&reply{Code: 1}, &reply{Data: []byte("answer")},
		&ready{[]mechanism{{"seccomp", "", "x"}}},
		&refusal{"memory", "too little", 1<<64 - 1, 2, 1},
		&fault{"text"},
		&call{Ask: askEgress, Name: []byte("a:1"), Data: []byte("GET"), Most: 10},
		&ending{Cause: 1, Code: 2, Trap: "x", Trace: []string{"a", "b"}, Fuel: 9, Usage: [6]uint64{1, 2, 3, 4, 5, 6}, Probing: []string{probeEnergy},
			Denials: []Denial{{"no", "storage.read"}}},
		&empty{},
	}
}

func TestMessagesComeBack(t *testing.T) {
	for _, m := range samples() {
		b, err := encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(m).Elem()).Interface().(message)
		if err := decode(b, got); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%T: got %+v, %v, want %+v", m, got, err, m)
		}
		for cut := range b {
			if err := decode(b[:cut], reflect.New(reflect.TypeOf(m).Elem()).Interface().(message)); err == nil {
				t.Errorf("%T: the first %d of %d bytes are a message", m, cut, len(b))
			}
		}
		if err := decode(append(b, 0), got); err == nil {
			t.Errorf("%T: a byte after the end is let through", m)
		}
	}
}

// fullGrants have every field set, whichever there are.
func fullGrants() (s grant.Set) {
	fill(reflect.ValueOf(&s).Elem())
	return s
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetUint(7)
	}
}

// FuzzMessage: what is read writes the same bytes again, and nothing else is read.
func FuzzMessage(f *testing.F) {
	for k := range messages() {
		f.Add(byte(k), []byte{})
		for _, m := range samples() {
			if b, err := encode(m); err == nil {
				f.Add(byte(k), b)
			}
		}
	}
	f.Add(byte(kindRun), bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, k byte, b []byte) {
		m := messages()[kind(k)]
		if m == nil || decode(b, m) != nil {
			return
		}
		again, err := encode(m)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%T: %x came back as %x, %v", m, b, again, err)
		}
	})
}

// FuzzEnding: whatever is let through adds up.
func FuzzEnding(f *testing.F) {
	for _, m := range samples() {
		if b, err := encode(m); err == nil {
			f.Add(b, uint64(10), uint64(1<<20))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, units, memory uint64) {
		var e ending
		if decode(b, &e) != nil {
			return
		}
		l := Limits{Units: units, Vector: 2, Memory: memory, Wall: time.Second}
		if e.check(known{limits: l, metered: true, wall: time.Second}) != nil {
			return
		}
		if e.Fuel > units || e.SIMD*l.Vector > e.Fuel || e.Peak > memory || e.Taken != 0 {
			t.Errorf("let through: %+v", e)
		}
		if x := exitOf(e.engine()); !x.Outcome.Valid() {
			t.Errorf("%+v makes %+v", e, x)
		}
	})
}
