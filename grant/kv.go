package grant

import "fmt"

// Dir is the direction of a key-value access (§5.4).
type Dir uint8

// The directions.
const (
	Get Dir = iota
	Put
)

var dirNames = [...]string{"read", "write"}

// String is the member's name in the grant.
func (d Dir) String() string {
	if int(d) < len(dirNames) {
		return dirNames[d]
	}
	return fmt.Sprintf("direction %d", uint8(d))
}

func kvReasons(list []Prefix) []string {
	reasons := make([]string, len(list))
	for i, p := range list {
		reasons[i] = fmt.Sprintf("kv.prefixes[%d] %q", i, string(p))
	}
	return reasons
}

// MayKV answers whether a key may be read or written (§5.4): the direction must
// be granted, and a prefix must match unless there are none.
func (e *Enforcer) MayKV(dir Dir, key []byte) Decision {
	granted := [...]bool{e.kv.Read, e.kv.Write}
	switch {
	case int(dir) >= len(granted):
		return deny("", "%v is no direction", dir)
	case !granted[dir]:
		return deny(fmt.Sprintf("kv.%v: true", dir), "kv.%v is false", dir)
	case len(e.kv.Prefixes) == 0:
		return allow("kv without prefixes: the whole keyspace")
	}
	for i, p := range e.kv.Prefixes {
		if len(key) >= len(p) && string(key[:len(p)]) == string(p) {
			return allow(e.kvReasons[i])
		}
	}
	return deny(fmt.Sprintf("kv.prefixes: %q", key), "no prefix of kv.prefixes begins the key %q", key)
}
