package dcbor

import "bytes"

// differ says what a value did not write again. The bytes are both strict, so the
// first item that differs is where they part; a key that only the value writes is
// named as missing.
func differ(b, again []byte) error {
	at := 0
	for at < len(b) && at < len(again) && b[at] == again[at] {
		at++
	}
	if key := missingKey(b, again); key != "" {
		return fail(at, "missing map key %s; add it", key)
	}
	return fail(at, "an item here is not written again as it was read: a key is missing or has a value that is always left out")
}

// missingKey is the first key of the outermost map that only again has.
func missingKey(b, again []byte) string {
	have, want := keys(b), keys(again)
	for _, k := range want {
		found := false
		for _, h := range have {
			found = found || bytes.Equal(h, k)
		}
		if !found {
			return Show(k)
		}
	}
	return ""
}
