package cose

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/joulebox/joulebox/internal/sig"
	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "04-cose-eat-sig"

// notJudgedHere are the files that need what isn't part of this profile: other
// algorithms, which evidence of hardware is signed with.
var notJudgedHere = []string{
	"wycheproof/ecdsa_*.json",                 // P-256 and P-384: reports and quotes of TEEs
	"wycheproof/json_web_crypto_test.json",    // JWS: tokens of GPU attestation
	"wycheproof/json_web_key_test.json",       // JWK: their keys
	"wycheproof/json_web_signature_test.json", // JWS again
}

// TestVectorsCovered notices files that were added to the group.
func TestVectorsCovered(t *testing.T) {
	vectors.Covered(t, group, append([]string{
		"cose-wg/*/*.json",               // TestVectorsWorkingGroup
		"gluecose/*.json",                // TestVectorsGluecose
		"eat/rfc9711-examples-cbor.json", // TestVectorsEATExamples
		"eat/veraison-claims.json",       // TestVectorsEATClaims
		"eat/json/*.json",                // TestVectorsEATJSON
		"ed25519/*.json",                 // package sig
		"wycheproof/ed25519_test.json",   // package sig
	}, notJudgedHere...)...)
}

// jsonFiles are the files of one folder of the group, with their folders below.
func jsonFiles(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(vectors.Dir(t, group)), folder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// refuse wants a message refused by every reader, for the reason that an
// independent decoder finds first.
func refuse(t *testing.T, name string, message []byte) {
	t.Helper()
	want := firstDeparture(message)
	if want == "" {
		t.Errorf("%s: %x is in the profile; judge it by its signature", name, message)
		return
	}
	for reader, err := range map[string]error{"Payload": second(Payload(message)), "Verify": second(Verify(message, pub())), "VerifyCWT": second(VerifyCWT(message, pub()))} {
		e, ok := errors.AsType[*Error](err)
		if !ok || !strings.HasPrefix(e.Msg, want+": ") {
			t.Errorf("%s: %s: got %v, want it refused for its %s", name, reader, err, want)
		}
	}
}

func second(_ []byte, err error) error { return err }

// firstDeparture decodes with the library and names the first part that isn't as
// the profile has it; empty if all are.
func firstDeparture(message []byte) string {
	content := message
	var tag cbor.RawTag
	if cbor.Unmarshal(message, &tag) == nil {
		if tag.Number != 18 {
			return "envelope"
		}
		content = tag.Content
	}
	var parts []cbor.RawMessage
	switch {
	case cbor.Unmarshal(content, &parts) != nil || len(parts) != 4:
		return "envelope"
	case !bytes.Equal(parts[0], []byte(protected)):
		return "protected header"
	case !bytes.Equal(parts[1], []byte(emptyMap)):
		return "unprotected header"
	case parts[2][0]>>5 != 2:
		return "payload"
	case len(parts[3]) != 66:
		return "signature"
	}
	return ""
}

// None of the working group's examples is in the profile: those of other
// algorithms, those that aren't COSE_Sign1, and the one with Ed25519, whose headers
// carry a content type and a key id. Its signature is still ours to check.
func TestVectorsWorkingGroup(t *testing.T) {
	type key struct {
		X vectors.Hex `json:"x_hex"`
	}
	files, signatures := jsonFiles(t, "cose-wg"), 0
	for _, name := range files {
		var v struct {
			Input struct {
				Sign0 struct {
					Alg string
					Key key
				}
			}
			Intermediates struct {
				ToBeSign vectors.Hex `json:"ToBeSign_hex"`
			}
			Output struct{ CBOR vectors.Hex }
		}
		vectors.Load(t, group, name, &v)
		refuse(t, name, v.Output.CBOR)
		if v.Input.Sign0.Alg == "EdDSA" && len(v.Input.Sign0.Key.X) == ed25519.PublicKeySize {
			signatures++
			end := len(v.Output.CBOR)
			if err := sig.Verify(ed25519.PublicKey(v.Input.Sign0.Key.X), v.Intermediates.ToBeSign, v.Output.CBOR[end-64:]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	vectors.AtLeast(t, "messages of the COSE working group", len(files), 8)
	t.Logf("%d of them signed with Ed25519", signatures)
}

// Gluecose signs with ECDSA and RSA only: all are refused, verifiable or not.
func TestVectorsGluecose(t *testing.T) {
	files := jsonFiles(t, "gluecose")
	for _, name := range files {
		var v struct {
			Alg    string
			Sign   struct{ ExpectedOutput struct{ CBORHex vectors.Hex } }  `json:"sign1::sign"`
			Verify struct{ TaggedCOSESign1 struct{ CBORHex vectors.Hex } } `json:"sign1::verify"`
		}
		vectors.Load(t, group, name, &v)
		if v.Alg == "EdDSA" {
			t.Errorf("%s: is signed with EdDSA; judge its signature", name)
		}
		message := append(v.Sign.ExpectedOutput.CBORHex, v.Verify.TaggedCOSESign1.CBORHex...)
		if len(message) == 0 {
			t.Errorf("%s: no message found", name)
		}
		refuse(t, name, message)
	}
	vectors.AtLeast(t, "gluecose messages", len(files), 5)
}
