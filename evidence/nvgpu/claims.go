package nvgpu

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joulebox/joulebox/evidence"
)

// platform is the subject of an overall token.
const platform = "NVIDIA-PLATFORM-ATTESTATION"

// common are the claims that every token has.
type common struct {
	Issuer    string       `json:"iss"`
	NotBefore *int64       `json:"nbf"`
	Issued    *int64       `json:"iat"`
	Expires   *int64       `json:"exp"`
	Nonce     evidence.Hex `json:"eat_nonce"`
}

// overall are the claims of the token over all devices.
type overall struct {
	common
	Subject string                    `json:"sub"`
	Version string                    `json:"x-nvidia-ver"`
	Result  *bool                     `json:"x-nvidia-overall-att-result"`
	Submods map[string]jsontext.Value `json:"submods"`
}

// device are the claims of one device's token.
type device struct {
	common
	Model    string `json:"hwmodel"`
	UEID     string `json:"ueid"`
	OEM      string `json:"oemid"`
	Debug    string `json:"dbgstat"`
	SecBoot  *bool  `json:"secboot"`
	Measured string `json:"measres"`
	Driver   string `json:"x-nvidia-gpu-driver-version"`
	VBIOS    string `json:"x-nvidia-gpu-vbios-version"`

	all map[string]jsontext.Value
}

func readOverall(payload []byte) (o overall, err error) {
	if err := json.Unmarshal(payload, &o); err != nil {
		return o, evidence.Refuse(evidence.Malformed, "overall: %v", err)
	}
	switch {
	case o.Subject != platform:
		return o, evidence.Refuse(evidence.Unsupported, "overall: sub: got %q, want %s", o.Subject, platform)
	case o.Version != "2.0" && o.Version != "3.0":
		return o, evidence.Refuse(evidence.Unsupported, "overall: x-nvidia-ver: got %q, want 2.0 or 3.0", o.Version)
	case o.Result == nil || len(o.Nonce) == 0:
		return o, evidence.Refuse(evidence.Malformed, "overall: want the claims x-nvidia-overall-att-result and eat_nonce")
	}
	return o, nil
}

func readDevice(name string, payload []byte) (d device, err error) {
	if err := json.Unmarshal(payload, &d); err != nil {
		return d, evidence.Refuse(evidence.Malformed, "%s: %v", name, err)
	}
	if err := json.Unmarshal(payload, &d.all); err != nil {
		return d, evidence.Refuse(evidence.Malformed, "%s: %v", name, err)
	}
	return d, nil
}

// check holds a token's issuer and its window. Every token needs all three times.
func (c *common) check(name, issuer string, now time.Time) error {
	at := now.Unix()
	stamp := func(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }
	switch {
	case c.Issuer != issuer:
		return evidence.Refuse(evidence.Chain, "%s: iss: got %q, want %q", name, c.Issuer, issuer)
	case c.NotBefore == nil || c.Issued == nil || c.Expires == nil:
		return evidence.Refuse(evidence.Malformed, "%s: want the claims nbf, iat and exp", name)
	case at < *c.NotBefore || at < *c.Issued:
		return evidence.Refuse(evidence.NotYetValid, "%s: valid from %s", name, stamp(max(*c.NotBefore, *c.Issued)))
	case at >= *c.Expires:
		return evidence.Refuse(evidence.Expired, "%s: was valid until %s", name, stamp(*c.Expires))
	}
	return nil
}

// submodules checks that the overall token is over exactly these devices' tokens.
func (o *overall) submodules(t *tokens) error {
	if got, want := slices.Sorted(maps.Keys(o.Submods)), t.names; !slices.Equal(got, want) {
		return evidence.Refuse(evidence.KeyMismatch, "the overall token is over the devices %v, and the bundle has %v", got, want)
	}
	for _, name := range t.names {
		digest, err := readDigest(o.Submods[name])
		if err != nil {
			return evidence.Refuse(evidence.Malformed, "submods: %s: %v", name, err)
		}
		if sum := sha256.Sum256([]byte(t.text[name])); hex.EncodeToString(sum[:]) != digest {
			return evidence.Refuse(evidence.KeyMismatch, "submods: %s: the overall token is over another token: got digest %x, want %s", name, sum, digest)
		}
	}
	return nil
}

// readDigest reads ["DIGEST", ["SHA-256", hex]]; NVIDIA's own tools on a machine
// leave the hyphen out.
func readDigest(src jsontext.Value) (string, error) {
	var outer [2]jsontext.Value
	var kind string
	var inner [2]string
	if json.Unmarshal(src, &outer) != nil || json.Unmarshal(outer[0], &kind) != nil || kind != "DIGEST" || json.Unmarshal(outer[1], &inner) != nil {
		return "", fmt.Errorf(`got %s, want ["DIGEST", [algorithm, hex]]`, src)
	}
	if inner[0] != "SHA-256" && inner[0] != "SHA256" {
		return "", fmt.Errorf("got the digest algorithm %q, want SHA-256", inner[0])
	}
	return inner[1], nil
}

// needed are results without which a token says nothing about a GPU's report.
var needed = []string{
	"x-nvidia-gpu-arch-check", "x-nvidia-gpu-attestation-report-nonce-match",
	"x-nvidia-gpu-attestation-report-parsed", "x-nvidia-gpu-attestation-report-signature-verified",
}

// result is nil when the service found nothing wrong with the device. Of NVIDIA's
// claims every boolean must be true and every chain of certificates valid; what
// isn't known here and says something is refused.
func (d *device) result() error {
	for _, name := range needed {
		if d.all[name] == nil {
			return evidence.Refuse(evidence.Result, "%s is absent%s", name, d.errorText())
		}
	}
	if d.all["x-nvidia-gpu-attestation-report-cert-chain-validated"] == nil && d.all["x-nvidia-gpu-attestation-report-cert-chain"] == nil {
		return evidence.Refuse(evidence.Result, "the result for the report's chain of certificates is absent")
	}
	if d.Measured != "success" {
		return evidence.Refuse(evidence.Result, "measres: got %q, want success", d.Measured)
	}
	if d.SecBoot == nil || !*d.SecBoot {
		return evidence.Refuse(evidence.Result, "secboot: want true")
	}
	for _, name := range slices.Sorted(maps.Keys(d.all)) {
		if err := checkResult(name, d.all[name]); err != nil {
			return err
		}
	}
	return nil
}

// checkResult checks one of NVIDIA's own claims.
func checkResult(name string, v jsontext.Value) error {
	if !strings.HasPrefix(name, "x-nvidia-") || name == warning {
		return nil
	}
	switch v.Kind() {
	case 't', 'n', '"', '0':
		return nil
	case '{':
		if strings.HasSuffix(name, "-cert-chain") {
			return checkCertChain(name, v)
		}
	}
	return evidence.Refuse(evidence.Result, "%s: got %s", name, clip(v))
}

func checkCertChain(name string, v jsontext.Value) error {
	var c struct {
		Status string         `json:"x-nvidia-cert-status"`
		OCSP   string         `json:"x-nvidia-cert-ocsp-status"`
		Reason jsontext.Value `json:"x-nvidia-cert-revocation-reason"`
	}
	if err := json.Unmarshal(v, &c); err != nil || c.Status != "valid" || c.OCSP != "good" {
		return evidence.Refuse(evidence.Result, "%s: got status %q, OCSP status %q, want valid and good", name, c.Status, c.OCSP)
	}
	if c.Reason != nil && c.Reason.Kind() != 'n' {
		return evidence.Refuse(evidence.Revoked, "%s: revoked for %s", name, clip(c.Reason))
	}
	return nil
}

const warning = "x-nvidia-attestation-warning"

// warning is what the service warns of, or empty.
func (d *device) warning() string {
	if v := d.all[warning]; v != nil && v.Kind() != 'n' {
		return clip(v)
	}
	return ""
}

// errorText is the service's own account of what failed.
func (d *device) errorText() string {
	if v := d.all["x-nvidia-error-details"]; v != nil {
		return ": the service says " + clip(v)
	}
	return ""
}

// clip keeps a stranger's text short.
func clip(v jsontext.Value) string {
	const most = 300
	if len(v) > most {
		return string(v[:most]) + "…"
	}
	return string(v)
}
