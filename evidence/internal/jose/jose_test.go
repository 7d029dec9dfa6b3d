package jose

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json/jsontext"
	"errors"
	"strings"
	"testing"

	oracle "github.com/go-jose/go-jose/v4"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "04-cose-eat-sig"

// wycheproof is one file of tests of tokens or keys.
type wycheproof struct {
	TestGroups []struct {
		Comment         string
		Private, Public jsontext.Value
		Tests           []struct {
			TcID            int
			Comment, Result string
			JWS             jsontext.Value // mostly text, sometimes the form that isn't compact
			Flags           []string
		}
	}
}

// Every token of the published tests, under both algorithms: accepted is what is
// valid and of the pinned one, and nothing else.
func TestVectorsWycheproof(t *testing.T) {
	accepted, refused := 0, 0
	for _, file := range []string{"json_web_signature_test.json", "json_web_key_test.json", "json_web_crypto_test.json"} {
		var w wycheproof
		vectors.Load(t, group, "wycheproof/"+file, &w)
		for _, g := range w.TestGroups {
			keys := g.Public
			if keys == nil {
				keys = g.Private
			}
			for _, c := range g.Tests {
				jws := string(c.JWS)
				if text, err := jsontext.AppendUnquote(nil, c.JWS); err == nil {
					jws = string(text)
				}
				for _, alg := range []Algorithm{ES256, ES384} {
					ok := verifies(jws, keys, alg)
					if want := c.Result == "valid" && algOf(jws) == alg.Name; ok != want {
						t.Errorf("%s, %s %d, %s: %s: got %t, want %t", file, g.Comment, c.TcID, c.Comment, alg.Name, ok, want)
					}
					if ok {
						accepted++
					} else {
						refused++
					}
				}
			}
		}
	}
	vectors.AtLeast(t, "tokens that are accepted", accepted, 1)
	vectors.AtLeast(t, "tokens that are refused", refused, 340)
}

func algOf(jws string) string {
	head, _, _ := strings.Cut(jws, ".")
	b, _ := decode(head)
	for _, alg := range []string{"ES256", "ES384"} {
		if bytes.Contains(b, []byte(`"`+alg+`"`)) {
			return alg
		}
	}
	return ""
}

// verifies takes keys as the tests give them: with their private parts, which
// are left out here, as nobody hands those to a verifier.
func verifies(jws string, keys []byte, alg Algorithm) bool {
	public, err := ParseKeys(withoutPrivate(keys), alg)
	if err != nil {
		return false
	}
	token, err := Parse(jws, alg)
	if err != nil {
		return false
	}
	key, err := Pick(public, token.KeyID)
	return err == nil && token.Verify(key.Public, alg) == nil
}

func withoutPrivate(keys []byte) []byte {
	keys = bytes.ReplaceAll(keys, []byte(`"d"`), []byte(`"was_d"`))
	return bytes.ReplaceAll(keys, []byte(`"k"`), []byte(`"was_k"`))
}

// ECDSA of the published tests, raw and, for P-384, as r and s of a report.
func TestVectorsECDSA(t *testing.T) {
	judged := 0
	for file, alg := range map[string]Algorithm{"ecdsa_secp256r1_sha256_p1363_test.json": ES256, "ecdsa_secp384r1_sha384_p1363_test.json": ES384} {
		var w struct {
			TestGroups []struct {
				PublicKey struct{ Uncompressed vectors.Hex }
				Tests     []struct {
					TcID     int
					Msg, Sig vectors.Hex
					Result   string
				}
			}
		}
		vectors.Load(t, group, "wycheproof/"+file, &w)
		curve := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384()}[alg.curve]
		for _, g := range w.TestGroups {
			key, err := ecdsa.ParseUncompressedPublicKey(curve, g.PublicKey.Uncompressed)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range g.Tests {
				judged++
				h := alg.hash.New()
				h.Write(c.Msg)
				if err := evidence.VerifyRaw(key, h.Sum(nil), c.Sig); (err == nil) != (c.Result == "valid") {
					t.Errorf("%s %d: got %v, want %s", file, c.TcID, err, c.Result)
				}
			}
		}
	}
	vectors.AtLeast(t, "ECDSA signatures", judged, 156+168)
}

// DER-encoded signatures of the third file: certificates hold these, and the
// standard library reads them.
func TestVectorsECDSAInDER(t *testing.T) {
	var w struct {
		TestGroups []struct {
			PublicKey struct{ Uncompressed vectors.Hex }
			Tests     []struct {
				TcID     int
				Msg, Sig vectors.Hex
				Result   string
			}
		}
	}
	vectors.Load(t, group, "wycheproof/ecdsa_secp384r1_sha384_test.json", &w)
	judged := 0
	for _, g := range w.TestGroups {
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P384(), g.PublicKey.Uncompressed)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range g.Tests {
			judged++
			h := ES384.hash.New()
			h.Write(c.Msg)
			digest := h.Sum(nil)
			if ok := ecdsa.VerifyASN1(key, digest, c.Sig); ok != (c.Result == "valid") {
				t.Errorf("%d: got %t, want %s", c.TcID, ok, c.Result)
			}
			if err := evidence.VerifyRaw(key, digest, c.Sig); err == nil {
				t.Errorf("%d: DER was taken for a raw signature", c.TcID)
			}
		}
	}
	vectors.AtLeast(t, "ECDSA signatures in DER", judged, 301)
}

func newKey(t testing.TB) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b, err := (&oracle.JSONWebKeySet{Keys: []oracle.JSONWebKey{{Key: k.Public(), KeyID: "a", Algorithm: "ES384", Use: "sig"}}}).Keys[0].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return k, append(append([]byte(`{"keys":[`), b...), "]}"...)
}

// What an independent library signs is read here, and each change to it refused
// by both.
func TestOracle(t *testing.T) {
	k, set := newKey(t)
	signer, err := oracle.NewSigner(oracle.SigningKey{Algorithm: oracle.ES384, Key: oracle.JSONWebKey{Key: k, KeyID: "a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(`{"x":1}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	if !verifies(text, set, ES384) {
		t.Fatal("refused what the oracle signed")
	}
	for i := range text {
		for _, with := range []string{"", "A", "=", "\n", ".", "-"} {
			changed := text[:i] + with + text[i+1:]
			if changed == text {
				continue
			}
			ours := verifies(changed, set, ES384)
			parsed, err := oracle.ParseSignedCompact(changed, []oracle.SignatureAlgorithm{oracle.ES384})
			theirs := err == nil
			if theirs {
				_, err = parsed.Verify(k.Public())
				theirs = err == nil
			}
			if ours {
				t.Errorf("byte %d as %q: accepted; the oracle says %t", i, with, theirs)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	k, set := newKey(t)
	keys, err := ParseKeys(set, ES384)
	if err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	for head, r := range map[string]evidence.Reason{
		`{"alg":"none"}`:                                      evidence.Algorithm,
		`{"alg":"HS384","kid":"a"}`:                           evidence.Algorithm,
		`{"alg":"ES256","kid":"a"}`:                           evidence.Algorithm,
		`{"alg":"es384","kid":"a"}`:                           evidence.Algorithm,
		`{"kid":"a"}`:                                         evidence.Algorithm,
		`{"alg":"ES384","alg":"none"}`:                        evidence.Malformed,
		`{"alg":"ES384","crit":["b64"],"b64":false}`:          evidence.Malformed,
		`{"alg":"ES384","jwk":{}}`:                            evidence.Malformed,
		`{"alg":"ES384","x5u":"https://example.org/key.pem"}`: evidence.Malformed,
		`{"alg":"ES384","kid":"a"} `:                          "",
		`{"alg":"ES384","kid":"a"}{}`:                         evidence.Malformed,
		`[]`:                                                  evidence.Malformed,
	} {
		_, err := Parse(base64url.EncodeToString([]byte(head))+".e30.AA", ES384)
		if r == "" && err != nil || r != "" && !errors.Is(err, r) {
			t.Errorf("%s: got %v, want %q", head, err, r)
		}
	}
	small, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	token := &Token{signature: make([]byte, 96)}
	if err := token.Verify(&small.PublicKey, ES384); !errors.Is(err, evidence.Algorithm) {
		t.Errorf("a key of P-256: got %v", err)
	}
	if err := token.Verify(&k.PublicKey, ES384); !errors.Is(err, evidence.Signature) {
		t.Errorf("zeros: got %v", err)
	}
	token.signature = make([]byte, 95)
	if err := token.Verify(&k.PublicKey, ES384); !errors.Is(err, evidence.Malformed) {
		t.Errorf("95 bytes: got %v", err)
	}
}

func TestKeys(t *testing.T) {
	_, set := newKey(t)
	one := bytes.TrimSuffix(bytes.TrimPrefix(set, []byte(`{"keys":[`)), []byte("]}"))
	edit := func(old, new string) []byte { return bytes.Replace(set, []byte(old), []byte(new), 1) }
	for name, x := range map[string]struct {
		src  []byte
		keys int
		ok   bool
	}{
		"a set":            {set, 1, true},
		"one key":          {one, 1, true},
		"an id twice":      {edit("]}", ","+string(one)+"]}"), 0, false},
		"another use":      {edit(`"sig"`, `"enc"`), 0, true},
		"another alg":      {edit(`"ES384"`, `"ES256"`), 0, true},
		"other operations": {edit(`"use":"sig"`, `"key_ops":["sign"]`), 0, true},
		"its operation":    {edit(`"use":"sig"`, `"key_ops":["verify"]`), 1, true},
		"another curve":    {edit(`"P-384"`, `"P-521"`), 0, true},
		"private":          {edit(`"kid"`, `"d":"AA","kid"`), 0, false},
		"shared":           {edit(`"kid"`, `"k":"AA","kid"`), 0, false},
		"no point":         {edit(`"x":"`, `"x":"A`), 0, false},
		"a set of nothing": {[]byte(`{"keys":[]}`), 0, true},
		"not JSON":         {[]byte(`keys`), 0, false},
		"twice":            {edit(`"kid"`, `"kid":"b","kid"`), 0, false},
	} {
		keys, err := ParseKeys(x.src, ES384)
		if (err == nil) != x.ok || len(keys) != x.keys {
			t.Errorf("%s: got %d keys, %v, want %d, %t", name, len(keys), err, x.keys, x.ok)
		}
		if err != nil && !errors.Is(err, evidence.BadCollateral) {
			t.Errorf("%s: got %v, want the reason %q", name, err, evidence.BadCollateral)
		}
	}
	if _, err := Pick([]Key{{ID: ""}}, ""); err == nil {
		t.Error("picked a key for a token that names none")
	}
}

func TestSignEdDSA(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := SignEdDSA(private, "JWT", "k", []byte(`{"x":1}`))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := oracle.ParseSignedCompact(text, []oracle.SignatureAlgorithm{oracle.EdDSA})
	if err != nil {
		t.Fatal(err)
	}
	if payload, err := parsed.Verify(public); err != nil || string(payload) != `{"x":1}` {
		t.Errorf("the oracle: got %s, %v", payload, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("eyJhbGciOiJFUzM4NCJ9.e30.AA")
	f.Add("..")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := Parse(text, ES384)
		if err != nil {
			return
		}
		if again := token.signed + "." + base64url.EncodeToString(token.signature); again != text {
			t.Errorf("got %q, want %q", again, text)
		}
		if again := base64url.EncodeToString(token.Payload); !strings.HasSuffix(token.signed, "."+again) {
			t.Errorf("payload %q of %q", again, text)
		}
	})
}

func FuzzKeys(f *testing.F) {
	_, set := newKey(f)
	f.Add(set)
	f.Fuzz(func(t *testing.T, src []byte) {
		keys, err := ParseKeys(src, ES384)
		if err != nil {
			return
		}
		for _, k := range keys {
			if k.Public == nil || k.Public.Curve != elliptic.P384() {
				t.Errorf("got %+v", k)
			}
		}
	})
}
