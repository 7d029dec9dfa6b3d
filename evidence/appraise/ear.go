package appraise

import (
	"crypto"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"strings"
	"time"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/internal/jose"
)

// EARProfile is the profile of the results: draft-ietf-rats-ear-04.
const EARProfile = "tag:ietf.org,2026:rats/ear#04"

// ear are the claims of an attestation result.
type ear struct {
	Profile  string             `json:"eat_profile"`
	IssuedAt int64              `json:"iat"`
	Verifier verifierID         `json:"ear_verifier_id"`
	Nonce    string             `json:"eat_nonce,omitempty"` // what the evidence answers, if it is genuine
	Submods  map[string]outcome `json:"submods"`
}

type verifierID struct {
	Developer string `json:"developer"`
	Build     string `json:"build"`
}

type outcome struct {
	Status   string         `json:"ear_status"`
	Vector   map[string]int `json:"ear_trustworthiness_vector"`
	Policies []string       `json:"ear_appraisal_policy_ids"`
}

// The values of AR4SI (draft-ietf-rats-ar4si §2.3) that are used.
const (
	affirmed        = 2  // recognised and not compromised
	approvedBoot    = 3  // executables: what was launched is approved
	unsafe          = 32 // configuration: exposed, and accepted as such
	contraindicated = 96
	cryptoFailed    = 99
)

// EARInput is what a result is made of beside the appraisal.
type EARInput struct {
	Now      time.Time // when the result is issued
	Build    string    // of this verifier
	PolicyID string    // of the policy that was applied
	KeyID    string    // of the signer
}

// EAR signs an appraisal as an attestation result: a JWT under EdDSA. The status
// is affirming for Valid, contraindicated for Invalid and none for Incomplete,
// where no statement is made.
func EAR(a *evidence.Appraisal, in EARInput, signer crypto.Signer) (string, error) {
	if in.Now.IsZero() || in.PolicyID == "" {
		return "", errors.New("ear: want a time and a policy id")
	}
	claims := ear{
		Profile: EARProfile, IssuedAt: in.Now.Unix(), Verifier: verifierID{"joulebox", in.Build},
		Submods: map[string]outcome{string(a.Kind): {Status: status(a), Vector: vector(a), Policies: []string{in.PolicyID}}},
	}
	if a.Claims != nil {
		claims.Nonce = base64.RawURLEncoding.EncodeToString(a.Claims.ReportData)
	}
	payload, err := json.Marshal(claims, json.Deterministic(true))
	if err != nil {
		return "", err
	}
	return jose.SignEdDSA(signer, "JWT", in.KeyID, payload)
}

func status(a *evidence.Appraisal) string {
	return map[bundle.Verdict]string{bundle.Valid: "affirming", bundle.Invalid: "contraindicated", bundle.Incomplete: "none"}[a.Verdict]
}

// vector is the appraisal as eight claims. What wasn't looked at has none.
func vector(a *evidence.Appraisal) map[string]int {
	if a.Claims == nil {
		if a.Verdict != bundle.Invalid {
			return map[string]int{}
		}
		return map[string]int{"instance-identity": cryptoFailed}
	}
	v := map[string]int{"instance-identity": affirmed, "hardware": affirmed, "runtime-opaque": affirmed}
	if a.Kind == evidence.NvidiaGPU {
		delete(v, "runtime-opaque") // the tokens don't say
	}
	for _, c := range a.Checks {
		switch {
		case c.Status == bundle.Fail:
			refused(v, c)
		case c.Name == "measurement" && c.Status == bundle.Pass:
			v["executables"] = approvedBoot
		case c.Name == "debug" && c.Status == bundle.Pass:
			v["configuration"] = max(v["configuration"], affirmed)
		case c.Name == "debug":
			v["configuration"] = max(v["configuration"], unsafe)
		}
	}
	return v
}

// refused marks the claim that a failed check is about.
func refused(v map[string]int, c evidence.Check) {
	claim := "configuration"
	switch c.Reason {
	case evidence.Measurement:
		claim = "executables"
	case evidence.TCB, evidence.Result:
		claim = "hardware"
	case evidence.Revoked:
		claim = "instance-identity"
	case evidence.ReportData, evidence.Nonce, evidence.HostData:
		claim = "sourced-data"
	}
	if strings.HasPrefix(c.Name, "GPU") {
		claim = "hardware"
	}
	v[claim] = contraindicated
}
