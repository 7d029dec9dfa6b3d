package grant

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

// fillRandom gives every field of a set a value, so that a member that comes later
// can't be forgotten by the writer.
func fillRandom(v reflect.Value, r *rand.Rand) {
	texts := []string{"", "/a b", "a\"\\\x01\n", "é\u2028😀", "\x7f", "host:443", "\xff"}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillRandom(v.Field(i), r)
		}
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Uint64, reflect.Uint32:
		n := []uint64{0, 7, 1<<32 - 1, MaxInteger, MaxInteger + 1}[r.IntN(5)]
		if v.Kind() == reflect.Uint32 {
			n &= 1<<32 - 1
		}
		v.SetUint(n)
	case reflect.Uint8: // a class
		v.SetUint(uint64(r.IntN(len(joulebox.DeviceClasses()) + 1)))
	case reflect.Int:
		v.SetInt(int64(r.IntN(len(joulebox.DeviceClasses()) + 1)))
	case reflect.String:
		v.SetString(texts[r.IntN(len(texts)-1+r.IntN(2))])
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(r.IntN(256)))
		}
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillRandom(v.Elem(), r)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			fillRandom(v.Index(i), r)
		}
	default:
		panic(v.Kind())
	}
}

// The writer of grants says what the general one says, of any set and of no set.
func TestCanonicalIsTheGeneralForm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	written, refused := 0, 0
	for range 20_000 {
		var s Set
		fillRandom(reflect.ValueOf(&s).Elem(), r)
		want, wantErr := jcs.Marshal(s)
		got, err := s.canonical()
		if (err == nil) != (wantErr == nil) || !bytes.Equal(got, want) {
			t.Fatalf("%+v\ngot  %s, %v\nwant %s, %v", s, got, err, want, wantErr)
		}
		if err == nil {
			written++
		} else {
			refused++
		}
	}
	if written < 100 || refused < 100 {
		t.Errorf("%d sets were written and %d refused: the test looks at one side", written, refused)
	}
}
