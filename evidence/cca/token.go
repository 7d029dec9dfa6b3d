package cca

import (
	"bytes"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/internal/dcbor"
)

// maxToken is far more than a token is.
const maxToken = 1 << 20

// The two collections, each with the one encoding of what stands around its
// tokens. Nobody signs that, so nothing else is read.
var collections = []struct{ start, between string }{
	{"\xd9\x01\x8f\xa2\x19\xac\xca", "\x19\xac\xd1"},                                 // 399({44234: platform, 44241: realm})
	{"\xd9\x03\x8b\xa2\x19\xac\xca\x82\x19\x01\x07", "\x19\xac\xd1\x82\x19\x01\x07"}, // 907({44234: [263, platform], 44241: [263, realm]})
}

// token is a token whose signatures weren't checked yet.
type token struct {
	platform, realm sign1
	p               platform
	r               realm
}

func parse(b []byte) (*token, error) {
	if len(b) > maxToken {
		return nil, evidence.Refuse(evidence.Malformed, "got %d bytes, want at most %d", len(b), maxToken)
	}
	platformToken, realmToken, err := split(b)
	if err != nil {
		return nil, err
	}
	t := &token{}
	if t.platform, err = readSign1("platform", platformToken); err != nil {
		return nil, err
	}
	if t.realm, err = readSign1("realm", realmToken); err != nil {
		return nil, err
	}
	if err := t.p.read(t.platform.payload); err != nil {
		return nil, err
	}
	return t, t.r.read(t.realm.payload, t.p.Profile)
}

// split takes a collection apart.
func split(b []byte) (platform, realm []byte, err error) {
	for _, c := range collections {
		rest, ok := bytes.CutPrefix(b, []byte(c.start))
		if !ok {
			continue
		}
		if platform, rest, err = takeBytes("platform token", rest); err != nil {
			return nil, nil, err
		}
		if rest, ok = bytes.CutPrefix(rest, []byte(c.between)); !ok {
			return nil, nil, evidence.Refuse(evidence.Malformed, "want the realm token (44241) behind the platform token")
		}
		if realm, rest, err = takeBytes("realm token", rest); err != nil {
			return nil, nil, err
		}
		if len(rest) != 0 {
			return nil, nil, evidence.Refuse(evidence.Trailing, "%d bytes follow the collection", len(rest))
		}
		return platform, realm, nil
	}
	return nil, nil, evidence.Refuse(evidence.Unsupported, "want a collection of a platform (44234) and a realm token (44241) under tag 399 or 907")
}

// unmarshal reads a claims set with exactly the claims of into. Firmware writes
// claims in orders of its own; all else is the shortest encoding.
func unmarshal(name string, payload []byte, into any) error {
	sorted, err := dcbor.Canonical(payload)
	if err == nil && len(sorted) != len(payload) {
		return evidence.Refuse(evidence.Malformed, "%s claims: want the shortest encoding", name)
	}
	if err == nil {
		err = dcbor.Unmarshal(sorted, into)
	}
	if err != nil {
		return evidence.Refuse(evidence.Malformed, "%s claims: %v", name, err)
	}
	return nil
}
