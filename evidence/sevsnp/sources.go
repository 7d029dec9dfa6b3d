package sevsnp

import (
	"errors"
	"fmt"

	"github.com/joulebox/joulebox/evidence"
)

// kds is AMD's key distribution service.
const kds = "https://kdsintf.amd.com"

// Sources are what a report needs from AMD: its chip's certificate and the list of
// revoked signing keys. Reports of version 2 don't say which product they are of.
// A VLEK's certificate comes from the provider that holds the key, and from nobody
// else.
func Sources(report []byte, product Product) ([]evidence.Source, error) {
	r, err := Parse(report)
	if err != nil {
		return nil, err
	}
	if of := productOf(r.CPU); r.Version >= 3 && of != "" {
		product = of
	}
	if product != Milan && product != Genoa && product != Turin {
		return nil, fmt.Errorf("product: got %q, want Milan, Genoa or Turin: the report doesn't say", product)
	}
	if r.SigningKey == VLEK {
		return []evidence.Source{{File: "crl.der", URL: fmt.Sprintf("%s/vlek/v1/%s/crl", kds, product)}}, nil
	}
	if r.ChipID == [64]byte{} {
		return nil, errors.New("the report's chip id is masked: its host must hand the certificate over")
	}
	tcb, err := product.tcb(r.ReportedTCB)
	if err != nil {
		return nil, err
	}
	chip, query := r.ChipID[:], ""
	if product == Turin {
		chip, query = chip[:8], fmt.Sprintf("fmcSPL=%d&", tcb.FMC)
	}
	query += fmt.Sprintf("blSPL=%d&teeSPL=%d&snpSPL=%d&ucodeSPL=%d", tcb.BootLoader, tcb.TEE, tcb.SNP, tcb.Microcode)
	return []evidence.Source{
		{File: "vcek.der", URL: fmt.Sprintf("%s/vcek/v1/%s/%x?%s", kds, product, chip, query)},
		{File: "crl.der", URL: fmt.Sprintf("%s/vcek/v1/%s/crl", kds, product)},
	}, nil
}
