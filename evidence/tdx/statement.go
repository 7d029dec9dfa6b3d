package tdx

import (
	"crypto/sha256"
	"crypto/x509"
	stdhex "encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"time"

	"github.com/joulebox/joulebox/evidence"
)

// maxStatement is far more than one of Intel's statements is.
const maxStatement = 4 << 20

// digits is a byte string that Intel writes in hexadecimal, in either case.
type digits []byte

func (d *digits) UnmarshalText(text []byte) error {
	b, err := stdhex.DecodeString(string(text))
	*d = b
	return err
}

// window is when a statement holds.
type window struct {
	IssueDate  time.Time `json:"issueDate"`
	NextUpdate time.Time `json:"nextUpdate"`
	Evaluation uint32    `json:"tcbEvaluationDataNumber"`
}

func (w window) current(what string, now time.Time) error {
	if now.Before(w.IssueDate) || now.After(w.NextUpdate) {
		return evidence.Refuse(evidence.Stale, "the %s holds from %s to %s: fetch the one of the time to judge by", what, w.IssueDate.Format(time.RFC3339), w.NextUpdate.Format(time.RFC3339))
	}
	return nil
}

// level is a security version and what Intel says of it.
type level struct {
	Date       time.Time `json:"tcbDate"`
	Status     Status    `json:"tcbStatus"`
	Advisories []string  `json:"advisoryIDs"`
}

// tcbInfo is Intel's statement about a family of platforms.
type tcbInfo struct {
	window
	ID      string `json:"id"`
	Version uint32 `json:"version"`
	FMSPC   digits `json:"fmspc"`
	PCEID   digits `json:"pceId"`
	Module  module `json:"tdxModule"`

	Identities []struct {
		module
		ID     string        `json:"id"`
		Levels []moduleLevel `json:"tcbLevels"`
	} `json:"tdxModuleIdentities"`
	Levels []platformLevel `json:"tcbLevels"`
}

// module is what a TDX module must be.
type module struct {
	Signer     digits `json:"mrsigner"`
	Attributes digits `json:"attributes"`
	Mask       digits `json:"attributesMask"`
}

type moduleLevel struct {
	level
	TCB struct {
		SVN uint32 `json:"isvsvn"`
	} `json:"tcb"`
}

type platformLevel struct {
	level
	TCB struct {
		SGX    []component `json:"sgxtcbcomponents"`
		PCESVN int         `json:"pcesvn"`
		TDX    []component `json:"tdxtcbcomponents"`
	} `json:"tcb"`
}

type component struct {
	SVN int `json:"svn"`
}

// qeIdentity is Intel's statement about its quoting enclave.
type qeIdentity struct {
	window
	ID             string        `json:"id"`
	Version        uint32        `json:"version"`
	MiscSelect     digits        `json:"miscselect"`
	MiscSelectMask digits        `json:"miscselectMask"`
	Attributes     digits        `json:"attributes"`
	AttributesMask digits        `json:"attributesMask"`
	Signer         digits        `json:"mrsigner"`
	ProductID      uint32        `json:"isvprodid"`
	Levels         []moduleLevel `json:"tcbLevels"`
}

// readStatement checks the signature over the bytes of one member of a statement
// and reads it. Members that aren't known here are Intel's to add.
func readStatement(src []byte, name string, signer *x509.Certificate, into any) error {
	bad := func(format string, args ...any) error {
		return evidence.Refuse(evidence.BadCollateral, "%s: %s", name, fmt.Sprintf(format, args...))
	}
	if len(src) > maxStatement {
		return bad("got %d bytes, want at most %d", len(src), maxStatement)
	}
	var outer map[string]jsontext.Value
	if err := json.Unmarshal(src, &outer); err != nil {
		return bad("%v", err)
	}
	var signature evidence.Hex // in one spelling: nothing signs it
	if len(outer) != 2 || outer[name] == nil || json.Unmarshal(outer["signature"], &signature) != nil {
		return bad("want the members %s and signature", name)
	}
	public, err := p256(signer)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(outer[name])
	if err := evidence.VerifyRaw(public, digest[:], signature); err != nil {
		return bad("Intel's signature: %v", err)
	}
	if err := json.Unmarshal(outer[name], into); err != nil {
		return bad("%v", err)
	}
	return nil
}
