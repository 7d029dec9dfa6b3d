package tdx

import (
	"crypto/x509"
	"embed"
	"sync"
	"time"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/internal/pki"
)

// Intel's root, and the certificates of the key that signs its statements, which
// its service hands out beside them and people lose.
//
//go:embed roots/*.pem
var pems embed.FS

// anchors are what trust in Intel rests on.
type anchors struct {
	root    *x509.Certificate
	signing []*x509.Certificate // of statements, by the root
}

// intel is parsed when it is first asked for, so that programs that verify no
// quote pay nothing for it.
var intel = sync.OnceValues(func() (*anchors, error) {
	root, err := readPEM("roots/root.pem")
	if err != nil {
		return nil, err
	}
	a := &anchors{root: root}
	for _, name := range []string{"roots/tcb_signing_2018.pem", "roots/tcb_signing_2025.pem"} {
		c, err := readPEM(name)
		if err != nil {
			return nil, err
		}
		a.signing = append(a.signing, c)
	}
	return a, nil
})

func readPEM(name string) (*x509.Certificate, error) {
	text, err := pems.ReadFile(name)
	if err != nil {
		return nil, err
	}
	ders, err := pki.File(text)
	if err != nil {
		return nil, err
	}
	return pki.Parse(ders[0])
}

// signingName is the common name of the certificate for statements.
const signingName = "Intel SGX TCB Signing"

// signer is the certificate that statements are signed under: one of those that
// were handed in, or the built-in one whose time it is.
func (a *anchors) signer(given []*x509.Certificate, now time.Time) (*x509.Certificate, error) {
	all := a.signing
	var own []*x509.Certificate
	for _, c := range given {
		if c.Subject.CommonName == signingName {
			own = append(own, c)
		}
	}
	if len(own) > 0 {
		all = own
	}
	var err error
	for _, c := range all {
		if err = pki.Follow(now, c, a.root); err == nil {
			return c, nil
		}
	}
	if r, ok := err.(*evidence.Refusal); ok {
		return nil, evidence.Refuse(evidence.BadCollateral, "the key that signs Intel's statements: %s", r.Detail)
	}
	return nil, err
}
