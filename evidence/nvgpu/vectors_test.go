package nvgpu

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/evidencetest"
	"github.com/joulebox/joulebox/evidence/internal/jose"
	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "05-tee"

type gpuCase struct {
	Case     string
	Nonce    vectors.Hex
	VerifyAt int64 `json:"verify_at_unix"`
	Iat, Exp int64
	Kid, Ver string
	GPUs     uint32
	Overall  *bool
	Device0  map[string]jsontext.Value `json:"device0_claims"`
}

type expected struct {
	Cases     []gpuCase
	Negatives []struct {
		Name, EAT, JWKS, Clock, Overall, Devices, Drop string
		Nonce                                          vectors.Hex
	} `json:"negatives_to_build"`
}

func loadExpected(t testing.TB) (e expected) {
	t.Helper()
	vectors.Load(t, group, "gpu/expected.json", &e)
	return e
}

func read(t testing.TB, name string) []byte { return vectors.Read(t, group, "gpu/"+name) }

// good is a case under a policy that states all of it.
func (c gpuCase) good(t testing.TB) evidencetest.Good {
	t.Helper()
	return evidencetest.Good{
		Name: c.Case, Report: read(t, c.Case+"/eat.json"), Collateral: evidence.Collateral{JWKS: read(t, c.Case+"/jwks.json")},
		Policy: evidence.Policy{Now: time.Unix(c.VerifyAt, 0), ReportData: evidence.Hex(c.Nonce), NvidiaGPU: evidence.NvidiaGPUPolicy{GPUs: c.GPUs}},
	}
}

// signed are the cases whose keys are here, the failed one among them or not.
func signed(t testing.TB, failed bool) (all []gpuCase) {
	t.Helper()
	for _, c := range loadExpected(t).Cases {
		if c.Overall != nil && *c.Overall != failed {
			all = append(all, c)
		}
	}
	return all
}

func TestVectorsSuite(t *testing.T) {
	var goods []evidencetest.Good
	for _, c := range signed(t, false) {
		goods = append(goods, c.good(t))
	}
	vectors.AtLeast(t, "bundles of NVIDIA's service", len(goods), 2)
	evidencetest.Suite(t, Verifier{}, goods)
}

func TestVectorsClaims(t *testing.T) {
	for _, c := range append(signed(t, false), signed(t, true)...) {
		g := c.good(t)
		a := Verifier{}.Verify(g.Report, g.Collateral, g.Policy)
		if a.Claims == nil {
			t.Fatal(c.Case, a.Err())
		}
		if got := a.Claims.ReportData; !bytes.Equal(got, c.Nonce) {
			t.Errorf("%s: nonce: got %s, want %x", c.Case, got, []byte(c.Nonce))
		}
		for vector, ours := range map[string]string{"hwmodel": "hwmodel", "ueid": "ueid", "oemid": "oemid", "dbgstat": "dbgstat", "measres": "measres",
			"x-nvidia-gpu-driver-version": "driver", "x-nvidia-gpu-vbios-version": "vbios"} {
			var want string
			if v := c.Device0[vector]; v != nil {
				if err := json.Unmarshal(v, &want); err != nil {
					t.Fatal(err)
				}
			}
			if got := a.Claims.Details["GPU-0."+ours]; got != want {
				t.Errorf("%s: %s: got %q, want %q", c.Case, vector, got, want)
			}
		}
		tokens, err := parse(g.Report)
		if err != nil {
			t.Fatal(err)
		}
		d, err := readDevice("GPU-0", tokens.device["GPU-0"].Payload)
		if err != nil || len(d.all) != len(c.Device0) || tokens.overall.KeyID != c.Kid || len(tokens.names) != int(c.GPUs) || a.Claims.Details["version"] != c.Ver {
			t.Errorf("%s: got %d claims, key %s, %d devices, version %s, %v", c.Case, len(d.all), tokens.overall.KeyID, len(tokens.names), a.Claims.Details["version"], err)
		}
	}
}

// A bundle that says of itself that something failed is genuine and refused.
func TestVectorsFailed(t *testing.T) {
	all := signed(t, true)
	for _, c := range all {
		g := c.good(t)
		a := Verifier{}.Verify(g.Report, g.Collateral, g.Policy)
		evidencetest.Want(t, c.Case, a, bundle.Invalid, evidence.Result)
		for _, k := range a.Checks {
			t.Logf("%s: %-10s %-5s %s", c.Case, k.Name, k.Status, k.Detail)
			genuine := slices.Contains([]string{"form", "keys", "signature", "claims", "validity", "nonce"}, k.Name)
			if genuine && k.Status != bundle.Pass {
				t.Errorf("%s: %s: got %s: %s", c.Case, k.Name, k.Status, k.Detail)
			}
		}
	}
	vectors.AtLeast(t, "bundles that the service refused", len(all), 1)
}

// A bundle whose keys nobody kept is refused; its claims are read.
func TestVectorsUnknownKey(t *testing.T) {
	judged := 0
	for _, c := range loadExpected(t).Cases {
		if c.Overall != nil {
			continue
		}
		judged++
		for _, other := range signed(t, false) {
			g := other.good(t)
			evidencetest.Want(t, c.Case, Verifier{}.Verify(read(t, c.Case+"/eat.json"), g.Collateral, g.Policy), bundle.Invalid, evidence.KeyMismatch)
		}
		tokens, err := parse(read(t, c.Case+"/eat.json"))
		if err != nil {
			t.Fatal(c.Case, err)
		}
		o, err := readOverall(tokens.overall.Payload)
		if err != nil || o.submodules(tokens) != nil {
			t.Errorf("%s: got %v, %v", c.Case, err, o.submodules(tokens))
		}
		for _, name := range tokens.names {
			d, err := readDevice(name, tokens.device[name].Payload)
			if err == nil {
				err = d.acceptable(&o, &evidence.NvidiaGPUPolicy{})
			}
			if err != nil {
				t.Errorf("%s: %s: %v", c.Case, name, err)
			}
		}
	}
	vectors.AtLeast(t, "bundles without keys", judged, 1)
}

// pairs takes a bundle apart as plain JSON.
func pairs(t testing.TB, src []byte) (overall string, devices map[string]string) {
	t.Helper()
	var parts [2]jsontext.Value
	var first [2]string
	if json.Unmarshal(src, &parts) != nil || json.Unmarshal(parts[0], &first) != nil || json.Unmarshal(parts[1], &devices) != nil {
		t.Fatal("no bundle")
	}
	return first[1], devices
}

func join(t testing.TB, overall string, devices map[string]string) []byte {
	t.Helper()
	b, err := json.Marshal([]any{[]string{"JWT", overall}, devices}, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reheaded is a token under another header, its signature made again by remake.
func reheaded(token, alg string, remake func(signed string, signature []byte) []byte) string {
	parts := strings.Split(token, ".")
	head, _ := base64.RawURLEncoding.DecodeString(parts[0])
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	head = bytes.Replace(head, []byte(`"ES384"`), []byte(`"`+alg+`"`), 1)
	signedText := base64.RawURLEncoding.EncodeToString(head) + "." + parts[1]
	return signedText + "." + base64.RawURLEncoding.EncodeToString(remake(signedText, signature))
}

// builders make what the listed negatives describe.
var builders = map[string]struct {
	build  func(t *testing.T, token string, key *ecdsa.PublicKey) string
	reason evidence.Reason
}{
	"header alg rewritten to none, signature emptied": {func(t *testing.T, token string, _ *ecdsa.PublicKey) string {
		return reheaded(token, "none", func(string, []byte) []byte { return nil })
	}, evidence.Algorithm},
	"header alg rewritten to HS384, MAC keyed with the public key bytes": {func(t *testing.T, token string, key *ecdsa.PublicKey) string {
		return reheaded(token, "HS384", func(signed string, _ []byte) []byte {
			b, err := key.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			mac := hmac.New(sha512.New384, b)
			mac.Write([]byte(signed))
			return mac.Sum(nil)
		})
	}, evidence.Algorithm},
	"header alg ES256 kept with ES384 signature": {func(t *testing.T, token string, _ *ecdsa.PublicKey) string {
		return reheaded(token, "ES256", func(_ string, s []byte) []byte { return s })
	}, evidence.Algorithm},
	"signature re-encoded as DER": {func(t *testing.T, token string, _ *ecdsa.PublicKey) string {
		return reheaded(token, "ES384", func(_ string, s []byte) []byte {
			der, err := asn1.Marshal([]*big.Int{new(big.Int).SetBytes(s[:48]), new(big.Int).SetBytes(s[48:])})
			if err != nil {
				t.Fatal(err)
			}
			return der
		})
	}, evidence.Malformed},
	"payload bit flipped": {func(t *testing.T, token string, _ *ecdsa.PublicKey) string {
		parts := strings.Split(token, ".")
		b, _ := base64.RawURLEncoding.DecodeString(parts[1])
		b[10] ^= 1
		parts[1] = base64.RawURLEncoding.EncodeToString(b)
		return strings.Join(parts, ".")
	}, evidence.Signature},
	"base64url with padding": {func(t *testing.T, token string, _ *ecdsa.PublicKey) string { return token + "=" }, evidence.Malformed},
	"iss rewritten": {func(t *testing.T, token string, _ *ecdsa.PublicKey) string {
		parts := strings.Split(token, ".")
		b, _ := base64.RawURLEncoding.DecodeString(parts[1])
		b = bytes.Replace(b, []byte("nras.attestation"), []byte("nras.attestatiom"), 1)
		parts[1] = base64.RawURLEncoding.EncodeToString(b)
		return strings.Join(parts, ".")
	}, evidence.Signature},
}

func TestVectorsNegatives(t *testing.T) {
	e := loadExpected(t)
	byName := map[string]gpuCase{}
	for _, c := range e.Cases {
		byName[c.Case] = c
	}
	for _, n := range e.Negatives {
		c := byName[n.EAT+n.Overall]
		g := c.good(t)
		want := evidence.Reason("")
		if n.JWKS != "" {
			g.Collateral.JWKS = read(t, n.JWKS+"/jwks.json")
		}
		overall, devices := pairs(t, g.Report)
		switch {
		case n.Nonce != nil:
			g.Policy.ReportData, want = evidence.Hex(n.Nonce), evidence.Nonce
		case n.Clock != "":
			at := map[string]int64{"exp+1": c.Exp + 1, "exp": c.Exp, "nbf-3600": c.Iat - 3600}[n.Clock]
			g.Policy.Now, want = time.Unix(at, 0), map[bool]evidence.Reason{true: evidence.NotYetValid, false: evidence.Expired}[at < c.Iat]
			if at == 0 {
				t.Errorf("%s: nothing here knows the clock %q", n.Name, n.Clock)
			}
		case n.JWKS != "" && n.JWKS != n.EAT:
			want = evidence.KeyMismatch
		case n.Devices != "":
			_, others := pairs(t, read(t, n.Devices+"/eat.json"))
			g.Report = join(t, overall, others)
			g.Collateral.JWKS = both(t, c.Case, n.Devices)
		case n.Drop != "":
			delete(devices, n.Drop)
			g.Report, want = join(t, overall, devices), evidence.KeyMismatch
		default:
			b, ok := builders[n.Name]
			if !ok {
				t.Errorf("%s: nothing here builds it", n.Name)
				continue
			}
			keys, err := jose.ParseKeys(g.Collateral.JWKS, jose.ES384)
			if err != nil {
				t.Fatal(err)
			}
			key, err := jose.Pick(keys, c.Kid)
			if err != nil {
				t.Fatal(err)
			}
			g.Report, want = join(t, b.build(t, overall, key.Public), devices), b.reason
			devices["GPU-0"] = b.build(t, devices["GPU-0"], key.Public)
			inside := b.reason
			if n.Name != "base64url with padding" && inside != evidence.Algorithm {
				inside = evidence.KeyMismatch // the overall token's digest is of another one
			}
			evidencetest.Want(t, n.Name+", the device's", Verifier{}.Verify(join(t, overall, devices), g.Collateral, g.Policy), bundle.Invalid, inside)
		}
		a := Verifier{}.Verify(g.Report, g.Collateral, g.Policy)
		evidencetest.Want(t, n.Name, a, bundle.Invalid, want)
		t.Logf("%s: %v", n.Name, a.Err())
	}
	vectors.AtLeast(t, "negatives", len(e.Negatives), 13)
}

// both joins the keys of two days.
func both(t testing.TB, cases ...string) []byte {
	t.Helper()
	var all struct {
		Keys []jsontext.Value `json:"keys"`
	}
	seen := map[string]bool{}
	for _, c := range cases {
		var set struct {
			Keys []jsontext.Value `json:"keys"`
		}
		if err := json.Unmarshal(read(t, c+"/jwks.json"), &set); err != nil {
			t.Fatal(err)
		}
		for _, k := range set.Keys {
			if !seen[string(k)] {
				seen[string(k)] = true
				all.Keys = append(all.Keys, k)
			}
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// No byte of a bundle can change. In the keys, which are the relying party's own,
// none of those of the signing key can.
func TestVectorsEveryByteCounts(t *testing.T) {
	for i, c := range signed(t, false) {
		if testing.Short() && i > 0 {
			break
		}
		g := c.good(t)
		evidencetest.Flip(t, g.Name, bytes.TrimSpace(g.Report), nil, func(b []byte) bool {
			return Verifier{}.Verify(b, g.Collateral, g.Policy).Verdict == bundle.Valid
		})
	}
}

// The files that stand beside the cases are all somebody's.
func TestVectorsCovered(t *testing.T) {
	listed := map[string]bool{"nvtrust-claims": true} // TestVectorsClaimSets
	for _, c := range loadExpected(t).Cases {
		listed[c.Case] = true
	}
	dirs, err := os.ReadDir(filepath.Join(vectors.Dir(t, group), "gpu"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if d.IsDir() && !listed[d.Name()] {
			t.Errorf("no case judges %s", d.Name())
		}
		if _, err := os.Stat(filepath.Join(vectors.Dir(t, group), "gpu", d.Name(), "eat.json")); d.IsDir() && d.Name() != "nvtrust-claims" && errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s has no eat.json", d.Name())
		}
	}
}
