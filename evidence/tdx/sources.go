package tdx

import (
	"fmt"
	"strings"
	"time"

	"github.com/joulebox/joulebox/evidence"
)

// Intel's provisioning certification service, and where its root's list is.
const (
	pcs     = "https://api.trustedservices.intel.com"
	rootCRL = "https://certificates.trustedservices.intel.com/IntelSGXRootCA.der"
)

// Sources are what a quote needs from Intel: the TCB info of its platform's
// family, the QE identity, and the two revocation lists. The quote's certificates
// say which those are, and are followed first.
func Sources(quote []byte, now time.Time) ([]evidence.Source, error) {
	q, err := Parse(quote)
	if err != nil {
		return nil, err
	}
	anchors, err := intel()
	if err != nil {
		return nil, err
	}
	p, err := readPlatform(q.chain, anchors.root, now)
	if err != nil {
		return nil, err
	}
	ca := "processor"
	if strings.HasSuffix(p.chain[1].Subject.CommonName, "Platform CA") {
		ca = "platform"
	}
	return []evidence.Source{
		{File: "tcbinfo.json", URL: fmt.Sprintf("%s/tdx/certification/v4/tcb?fmspc=%x", pcs, p.fmspc), Header: "TCB-Info-Issuer-Chain", HeaderFile: "tcb_signing.pem"},
		{File: "qeidentity.json", URL: pcs + "/tdx/certification/v4/qe/identity"},
		{File: "pckcrl.der", URL: pcs + "/sgx/certification/v4/pckcrl?ca=" + ca + "&encoding=der"},
		{File: "rootcrl.der", URL: rootCRL},
	}, nil
}
