package appraise

import (
	"bytes"
	"crypto/x509"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/joulebox/joulebox/evidence"
)

// The bounds on a folder of collateral.
const (
	maxFiles = 256
	maxFile  = 32 << 20
)

// Folder is collateral that was read from a folder.
type Folder struct {
	evidence.Collateral
	Used, Ignored []string // the folder's files, by name
}

// ReadFolder reads the collateral in a folder, by what its files hold:
//
//	*.pem *.crt *.der *.cer *.crl  certificates and revocation lists, PEM or DER
//	root*.pem root*.crt            certificates, as roots of the relying party's own
//	*.json                         Intel's TCB info or QE identity, a key set, or
//	                               what Intel's libraries call a collateral
//
// Others are ignored, and said to be; folders within aren't looked into.
func ReadFolder(dir string) (*Folder, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("collateral: %w", err)
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("collateral: %s holds %d files, want at most %d", dir, len(entries), maxFiles)
	}
	f := &Folder{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if err := f.read(dir, e.Name()); err != nil {
			return nil, fmt.Errorf("collateral: %s: %w", e.Name(), err)
		}
	}
	return f, nil
}

func (f *Folder) read(dir, name string) error {
	add := f.byEnding(name)
	if add == nil {
		f.Ignored = append(f.Ignored, name)
		return nil
	}
	path := filepath.Join(dir, name)
	if info, err := os.Stat(path); err != nil {
		return err
	} else if !info.Mode().IsRegular() || info.Size() > maxFile {
		return fmt.Errorf("want a file of at most %d bytes", maxFile)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	used, err := add(b)
	if used {
		f.Used = append(f.Used, name)
	} else {
		f.Ignored = append(f.Ignored, name)
	}
	return err
}

// byEnding is how files with this ending are read, nil for those that aren't.
func (f *Folder) byEnding(name string) func([]byte) (used bool, err error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".pem", ".crt":
		if strings.HasPrefix(strings.ToLower(name), "root") {
			return f.roots
		}
		return f.certificates
	case ".der", ".cer", ".crl":
		return f.certificates
	case ".json":
		return f.json
	}
	return nil
}

// certificates takes certificates and lists. What is neither is taken for a
// certificate, so that the verifier says what is wrong with it.
func (f *Folder) certificates(b []byte) (bool, error) {
	block, rest := pem.Decode(b)
	if block == nil {
		f.der(b)
		return true, nil
	}
	for ; block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "CERTIFICATE":
			f.Certificates = append(f.Certificates, block.Bytes)
		case "X509 CRL":
			f.CRLs = append(f.CRLs, block.Bytes)
		default:
			return false, fmt.Errorf("got PEM of a %q, want certificates and lists", block.Type)
		}
	}
	if bytes.Contains(rest, []byte("-----BEGIN")) {
		return false, fmt.Errorf("PEM that can't be read follows")
	}
	return true, nil
}

func (f *Folder) der(b []byte) {
	if _, err := x509.ParseRevocationList(b); err == nil {
		f.CRLs = append(f.CRLs, b)
		return
	}
	f.Certificates = append(f.Certificates, b)
}

func (f *Folder) roots(b []byte) (bool, error) {
	var one Folder
	used, err := one.certificates(b)
	if len(one.CRLs) > 0 {
		return false, fmt.Errorf("got a revocation list, want roots alone")
	}
	f.Roots = append(f.Roots, one.Certificates...)
	return used, err
}

// json takes a document by its members.
func (f *Folder) json(b []byte) (bool, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(b, &members); err != nil {
		if jsontext.Value(bytes.TrimSpace(b)).Kind() == '{' {
			return false, err
		}
		return false, nil // a list, such as a bundle of tokens
	}
	switch {
	case members["tcbInfo"] != nil:
		return true, once(&f.TCBInfo, b, "TCB info")
	case members["enclaveIdentity"] != nil:
		return true, once(&f.QEIdentity, b, "QE identity")
	case members["keys"] != nil:
		return true, once(&f.JWKS, b, "key set")
	case members["tcb_info_signature"] != nil:
		return true, f.intel(b)
	}
	return false, nil
}

func once(into *[]byte, b []byte, what string) error {
	if *into != nil {
		return fmt.Errorf("a second %s: keep the one that is meant", what)
	}
	*into = b
	return nil
}

// intel takes the one document that Intel's quote verification libraries hand
// around (sgx_ql_qve_collateral_t as JSON).
func (f *Folder) intel(b []byte) error {
	var c struct {
		RootCRL      string `json:"root_ca_crl"`
		PCKCRL       string `json:"pck_crl"`
		TCBChain     string `json:"tcb_info_issuer_chain"`
		TCBInfo      string `json:"tcb_info"`
		TCBSignature string `json:"tcb_info_signature"`
		QEChain      string `json:"qe_identity_issuer_chain"`
		QEIdentity   string `json:"qe_identity"`
		QESignature  string `json:"qe_identity_signature"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return err
	}
	for _, text := range []string{c.TCBChain, c.QEChain} {
		if _, err := f.certificates([]byte(text)); err != nil {
			return err
		}
	}
	for _, list := range []string{c.PCKCRL, c.RootCRL} {
		if der, err := hex.DecodeString(list); err == nil {
			f.CRLs = append(f.CRLs, der)
		} else if _, err := f.certificates([]byte(list)); err != nil {
			return err
		}
	}
	if err := once(&f.TCBInfo, fmt.Appendf(nil, `{"tcbInfo":%s,"signature":%q}`, c.TCBInfo, c.TCBSignature), "TCB info"); err != nil {
		return err
	}
	return once(&f.QEIdentity, fmt.Appendf(nil, `{"enclaveIdentity":%s,"signature":%q}`, c.QEIdentity, c.QESignature), "QE identity")
}
