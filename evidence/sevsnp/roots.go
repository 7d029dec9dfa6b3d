package sevsnp

import (
	"crypto/x509"
	"embed"
	"strings"
	"sync"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/internal/pki"
)

// AMD's signing keys and roots, as its key service and go-sev-guest hold them:
// the ASK or ASVK first, then the ARK, which is the root.
//
//go:embed roots/*.pem
var pems embed.FS

// line is one pair of a signing key and its root.
type line struct {
	product  Product
	key      Key
	ask, ark *x509.Certificate
}

// lines are parsed when one is first asked for, so that programs that verify no
// report pay nothing for them.
var lines = sync.OnceValues(func() (all []*line, err error) {
	for _, p := range []Product{Milan, Genoa, Turin} {
		for _, k := range []Key{VCEK, VLEK} {
			l, err := readLine(p, k)
			if err != nil {
				return nil, err
			}
			all = append(all, l)
		}
	}
	return all, nil
})

func readLine(p Product, k Key) (*line, error) {
	file := "roots/ask_ark_" + strings.ToLower(string(p))
	if k == VLEK {
		file += "_vlek"
	}
	text, err := pems.ReadFile(file + ".pem")
	if err != nil {
		return nil, err
	}
	ders, err := pki.File(text)
	if err != nil {
		return nil, err
	}
	certs, err := pki.ParseAll(ders)
	if err != nil {
		return nil, err
	}
	return &line{product: p, key: k, ask: certs[0], ark: certs[1]}, nil
}

// lineOf is the line whose signing key a certificate names as its issuer.
func lineOf(all []*line, leaf *x509.Certificate) (*line, error) {
	for _, l := range all {
		if pki.IssuerAmong(leaf, []*x509.Certificate{l.ask}) != nil {
			return l, nil
		}
	}
	return nil, evidence.Refuse(evidence.Chain, "%q is issued by %q, which is no signing key of AMD for Milan, Genoa or Turin", leaf.Subject.CommonName, leaf.Issuer.CommonName)
}
