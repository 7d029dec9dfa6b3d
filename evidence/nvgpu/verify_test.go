package nvgpu

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json/v2"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/evidencetest"
	"github.com/joulebox/joulebox/internal/vectors"
)

var forgedAt = time.Unix(1736199000, 0)

// service is a made-up attestation service.
type service struct {
	key   *ecdsa.PrivateKey
	certs [][]byte
}

func newService(t testing.TB) *service {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &service{key: k}
}

func (s *service) jwks(t testing.TB) []byte {
	t.Helper()
	b, err := s.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	enc := base64.RawURLEncoding.EncodeToString
	key := map[string]any{"kty": "EC", "crv": "P-384", "kid": "k", "x": enc(b[1:49]), "y": enc(b[49:])}
	var certs []string
	for _, c := range s.certs {
		certs = append(certs, base64.StdEncoding.EncodeToString(c))
	}
	if certs != nil {
		key["x5c"] = certs
	}
	return marshal(t, map[string]any{"keys": []any{key}})
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// token signs claims as they are.
func (s *service) token(t testing.TB, payload []byte) string {
	t.Helper()
	enc := base64.RawURLEncoding.EncodeToString
	signed := enc([]byte(`{"kid":"k","alg":"ES384"}`)) + "." + enc(payload)
	digest := sha512.Sum384([]byte(signed))
	x, y, err := ecdsa.Sign(rand.Reader, s.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, 96)
	x.FillBytes(raw[:48])
	y.FillBytes(raw[48:])
	return signed + "." + enc(raw)
}

type object = map[string]any

func times3() object {
	return object{"iss": Issuer, "nbf": forgedAt.Unix() - 10, "iat": forgedAt.Unix() - 5, "exp": forgedAt.Unix() + 3600}
}

const nonce = "931d8dd0add203ac3d8b4fbde75e115278eefcdceac5b87671a748f32364dfcb"

func deviceClaims() object {
	d := times3()
	maps.Copy(d, object{
		"eat_nonce": nonce, "hwmodel": "GH100", "ueid": "1", "oemid": "5703", "secboot": true, "dbgstat": "disabled", "measres": "success",
		"x-nvidia-gpu-driver-version": "570.00", "x-nvidia-gpu-vbios-version": "96.00", "x-nvidia-gpu-arch-check": true,
		"x-nvidia-gpu-attestation-report-nonce-match": true, "x-nvidia-gpu-attestation-report-parsed": true, "x-nvidia-gpu-attestation-report-signature-verified": true,
		"x-nvidia-gpu-attestation-report-cert-chain": object{"x-nvidia-cert-status": "valid", "x-nvidia-cert-ocsp-status": "good", "x-nvidia-cert-revocation-reason": nil},
		"x-nvidia-attestation-warning":               nil,
	})
	return d
}

func overallClaims(devices map[string]string) object {
	o, submods := times3(), object{}
	for name, token := range devices {
		submods[name] = []any{"DIGEST", []string{"SHA-256", fmt.Sprintf("%x", sha256.Sum256([]byte(token)))}}
	}
	maps.Copy(o, object{"sub": platform, "x-nvidia-ver": "3.0", "x-nvidia-overall-att-result": true, "eat_nonce": nonce, "submods": submods})
	return o
}

// bundle is a bundle of one device, each set of claims changed before signing.
func (s *service) bundle(t testing.TB, device, overall func(object)) []byte {
	t.Helper()
	d := deviceClaims()
	device(d)
	devices := map[string]string{"GPU-0": s.token(t, marshal(t, d))}
	o := overallClaims(devices)
	overall(o)
	return join(t, s.token(t, marshal(t, o)), devices)
}

func keep(object) {}

func set(name string, v any) func(object) { return func(o object) { o[name] = v } }
func drop(name string) func(object)       { return func(o object) { delete(o, name) } }

func careful() evidence.Policy {
	p := evidence.Policy{Now: forgedAt, NvidiaGPU: evidence.NvidiaGPUPolicy{GPUs: 1, Models: []string{"GH100"}, DriverVersions: []string{"570.00"}, VBIOSVersions: []string{"96.00"}, UEIDs: []string{"1"}}}
	if err := p.ReportData.UnmarshalText([]byte(nonce)); err != nil {
		panic(err)
	}
	return p
}

// Each claim that isn't as it should be, under genuine signatures.
func TestClaims(t *testing.T) {
	s := newService(t)
	c := evidence.Collateral{JWKS: s.jwks(t)}
	chain := func(name string, v any) func(object) {
		return func(o object) { o["x-nvidia-gpu-attestation-report-cert-chain"].(object)[name] = v }
	}
	evidencetest.Want(t, "sample", Verifier{}.Verify(s.bundle(t, keep, keep), c, careful()), bundle.Valid, "")
	for name, x := range map[string]struct {
		device, overall func(object)
		reason          evidence.Reason
	}{
		"the overall result":            {keep, set("x-nvidia-overall-att-result", false), evidence.Result},
		"no overall result":             {keep, drop("x-nvidia-overall-att-result"), evidence.Malformed},
		"the result as text":            {keep, set("x-nvidia-overall-att-result", "true"), evidence.Malformed},
		"another subject":               {keep, set("sub", "x"), evidence.Unsupported},
		"another version":               {keep, set("x-nvidia-ver", "4.0"), evidence.Unsupported},
		"another issuer":                {keep, set("iss", "https://example.org"), evidence.Chain},
		"a device's issuer":             {set("iss", "https://example.org"), keep, evidence.Chain},
		"expired":                       {keep, set("exp", forgedAt.Unix()), evidence.Expired},
		"a device's is expired":         {set("exp", forgedAt.Unix()), keep, evidence.Expired},
		"not yet":                       {keep, set("nbf", forgedAt.Unix()+1), evidence.NotYetValid},
		"issued tomorrow":               {set("iat", forgedAt.Unix()+86400), keep, evidence.NotYetValid},
		"no end":                        {keep, drop("exp"), evidence.Malformed},
		"an end in a fraction":          {keep, set("exp", 1.5e9+0.5), evidence.Malformed},
		"a device without end":          {drop("exp"), keep, evidence.Malformed},
		"another nonce":                 {keep, set("eat_nonce", strings.Repeat("00", 32)), evidence.Nonce},
		"a device's nonce":              {set("eat_nonce", strings.Repeat("00", 32)), keep, evidence.Nonce},
		"no submodules":                 {keep, set("submods", object{}), evidence.KeyMismatch},
		"a submodule more":              {keep, func(o object) { o["submods"].(object)["GPU-1"] = o["submods"].(object)["GPU-0"] }, evidence.KeyMismatch},
		"another digest":                {keep, set("submods", object{"GPU-0": []any{"DIGEST", []string{"SHA-256", strings.Repeat("0", 64)}}}), evidence.KeyMismatch},
		"another digest's algorithm":    {keep, set("submods", object{"GPU-0": []any{"DIGEST", []string{"SHA-1", ""}}}), evidence.Malformed},
		"a submodule that is no digest": {keep, set("submods", object{"GPU-0": "x"}), evidence.Malformed},
		"debug":                         {set("dbgstat", "enabled"), keep, evidence.Debug},
		"no debug state":                {drop("dbgstat"), keep, evidence.Result},
		"secure boot":                   {set("secboot", false), keep, evidence.Result},
		"no secure boot":                {drop("secboot"), keep, evidence.Result},
		"measurements":                  {set("measres", "fail"), keep, evidence.Result},
		"the report's signature":        {set("x-nvidia-gpu-attestation-report-signature-verified", false), keep, evidence.Result},
		"no word of it":                 {drop("x-nvidia-gpu-attestation-report-signature-verified"), keep, evidence.Result},
		"the nonce match":               {set("x-nvidia-gpu-attestation-report-nonce-match", false), keep, evidence.Result},
		"no chain":                      {drop("x-nvidia-gpu-attestation-report-cert-chain"), keep, evidence.Result},
		"the chain's status":            {chain("x-nvidia-cert-status", "invalid"), keep, evidence.Result},
		"the chain's OCSP":              {chain("x-nvidia-cert-ocsp-status", "revoked"), keep, evidence.Result},
		"a revocation":                  {chain("x-nvidia-cert-revocation-reason", "CERTIFICATE_HOLD"), keep, evidence.Revoked},
		"something unheard of":          {set("x-nvidia-gpu-something", false), keep, evidence.Result},
		"a list of mismatches":          {set("x-nvidia-mismatch-measurement-records", []int{1}), keep, evidence.Result},
		"a warning":                     {set("x-nvidia-attestation-warning", "REVOKED"), keep, evidence.Result},
		"another model":                 {set("hwmodel", "GB100"), keep, evidence.Unmet},
		"another driver":                {set("x-nvidia-gpu-driver-version", "1"), keep, evidence.Unmet},
		"another VBIOS":                 {set("x-nvidia-gpu-vbios-version", "1"), keep, evidence.Unmet},
		"another device":                {set("ueid", "2"), keep, evidence.Unmet},
	} {
		evidencetest.Want(t, name, Verifier{}.Verify(s.bundle(t, x.device, x.overall), c, careful()), bundle.Invalid, x.reason)
	}
	p := careful()
	p.NvidiaGPU.GPUs = 2
	evidencetest.Want(t, "another count", Verifier{}.Verify(s.bundle(t, keep, keep), c, p), bundle.Invalid, evidence.Unmet)
	p = careful()
	p.NvidiaGPU.AllowWarnings, p.AllowDebug = true, true
	lax := func(o object) { o["x-nvidia-attestation-warning"], o["dbgstat"] = "held", "enabled" }
	evidencetest.Want(t, "allowed", Verifier{}.Verify(s.bundle(t, lax, keep), c, p), bundle.Valid, "")
}

// certified gives a service a key certificate and a root.
func (s *service) certified(t testing.TB, from, to time.Time) (root []byte) {
	t.Helper()
	rootKey := newService(t).key
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, NotBefore: forgedAt.AddDate(-1, 0, 0), NotAfter: forgedAt.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	root, err := x509.CreateCertificate(rand.Reader, ca, ca, rootKey.Public(), rootKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: from, NotAfter: to}, ca, s.key.Public(), rootKey)
	if err != nil {
		t.Fatal(err)
	}
	s.certs = [][]byte{leaf}
	return root
}

func TestKeysAndRoots(t *testing.T) {
	hour := time.Hour
	plain, s, old, other := newService(t), newService(t), newService(t), newService(t)
	root := s.certified(t, forgedAt.Add(-hour), forgedAt.Add(hour))
	oldRoot := old.certified(t, forgedAt.Add(-2*hour), forgedAt.Add(-hour))
	swapped := &service{key: other.key, certs: s.certs}
	for name, x := range map[string]struct {
		s       *service
		c       evidence.Collateral
		verdict bundle.Verdict
		reason  evidence.Reason
	}{
		"no keys":                  {s, evidence.Collateral{}, bundle.Incomplete, evidence.Missing},
		"bare keys":                {plain, evidence.Collateral{JWKS: plain.jwks(t)}, bundle.Valid, ""},
		"bare keys and a root":     {plain, evidence.Collateral{JWKS: plain.jwks(t), Roots: [][]byte{root}}, bundle.Invalid, evidence.Chain},
		"certified":                {s, evidence.Collateral{JWKS: s.jwks(t)}, bundle.Valid, ""},
		"certified under the root": {s, evidence.Collateral{JWKS: s.jwks(t), Roots: [][]byte{oldRoot, root}}, bundle.Invalid, evidence.Chain},
		"by the root":              {s, evidence.Collateral{JWKS: s.jwks(t), Roots: [][]byte{root}}, bundle.Valid, ""},
		"by another root":          {s, evidence.Collateral{JWKS: s.jwks(t), Roots: [][]byte{oldRoot}}, bundle.Invalid, evidence.Chain},
		"the key has expired":      {old, evidence.Collateral{JWKS: old.jwks(t)}, bundle.Invalid, evidence.Expired},
		"another's certificate":    {swapped, evidence.Collateral{JWKS: swapped.jwks(t)}, bundle.Invalid, evidence.KeyMismatch},
		"another's keys":           {s, evidence.Collateral{JWKS: plain.jwks(t)}, bundle.Invalid, evidence.Signature},
		"no key set":               {s, evidence.Collateral{JWKS: []byte("x")}, bundle.Invalid, evidence.BadCollateral},
	} {
		evidencetest.Want(t, name, Verifier{}.Verify(x.s.bundle(t, keep, keep), x.c, careful()), x.verdict, x.reason)
	}
}

// NVIDIA's own sets of claims, signed here, say what they say.
func TestVectorsClaimSets(t *testing.T) {
	s := newService(t)
	c := evidence.Collateral{JWKS: s.jwks(t)}
	judged := 0
	for _, x := range []struct {
		device, overall string
		warnings        bool
		verdict         bundle.Verdict
		reason          evidence.Reason
	}{
		{"detached_claims_local.json", "overall_claims_remote.json", false, bundle.Valid, ""},
		{"detached_claims_local.json", "overall_granular_claims_remote.json", false, bundle.Valid, ""},
		{"detached_granular_claims_local.json", "overall_granular_claims_remote.json", false, bundle.Invalid, evidence.Result}, // it warns of a revoked certificate
		{"detached_granular_claims_local.json", "overall_granular_claims_remote.json", true, bundle.Valid, ""},
		{"detached_claims_local.json", "overall_claims_local.json", false, bundle.Invalid, evidence.Malformed}, // it has the claim exp twice
	} {
		judged++
		device := s.token(t, []byte(strings.Replace(string(read(t, "nvtrust-claims/"+x.device)), `"LOCAL_GPU_VERIFIER"`, `"`+Issuer+`"`, 1)))
		text := string(read(t, "nvtrust-claims/"+x.overall))
		at := strings.LastIndex(text[:strings.Index(text, "]")], `"`)
		text = text[:at-64] + fmt.Sprintf("%x", sha256.Sum256([]byte(device))) + text[at:]
		p := careful()
		p.NvidiaGPU = evidence.NvidiaGPUPolicy{AllowWarnings: x.warnings}
		a := Verifier{}.Verify(join(t, s.token(t, []byte(text)), map[string]string{"GPU-0": device}), c, p)
		evidencetest.Want(t, x.device+" under "+x.overall, a, x.verdict, x.reason)
	}
	vectors.AtLeast(t, "pairs of claim sets", judged, 5)
}

func FuzzVerify(f *testing.F) {
	s := newService(f)
	jwks := s.jwks(f)
	f.Add(s.bundle(f, keep, keep))
	f.Add([]byte(`[["JWT","a.b.c"],{"GPU-0":"a.b.c"}]`))
	f.Fuzz(func(t *testing.T, src []byte) {
		a := Verifier{}.Verify(src, evidence.Collateral{JWKS: jwks}, careful())
		if a.Verdict == bundle.Valid && len(src) == 0 {
			t.Error("accepted nothing")
		}
	})
}

// FuzzClaims goes behind the signatures, where only the service's bytes come.
func FuzzClaims(f *testing.F) {
	f.Add(marshal(f, deviceClaims()), marshal(f, overallClaims(map[string]string{"GPU-0": "x"})))
	f.Fuzz(func(t *testing.T, device, over []byte) {
		o, err := readOverall(over)
		if err != nil {
			return
		}
		d, err := readDevice("GPU-0", device)
		if err != nil {
			return
		}
		if d.acceptable(&o, &evidence.NvidiaGPUPolicy{}) == nil && (d.SecBoot == nil || !*d.SecBoot || d.Measured != "success") {
			t.Errorf("accepted %s", device)
		}
	})
}
