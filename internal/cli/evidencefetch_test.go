package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/internal/vectors"
)

// What is fetched into a folder is what verifying reads there. The vendors are a
// server on this machine that knows their paths.
func TestVectorsEvidenceFetch(t *testing.T) {
	root := vectors.Dir(t, "05-tee")
	var asked []string
	answers := map[string]string{
		"/tdx/certification/v4/tcb?fmspc=90c06f000000":          "tdx/v4-chutes/collateral/tcbinfo.json",
		"/tdx/certification/v4/qe/identity":                     "tdx/v4-chutes/collateral/qeidentity.json",
		"/sgx/certification/v4/pckcrl?ca=platform&encoding=der": "tdx/v4-chutes/collateral/pckcrl.der",
		"/IntelSGXRootCA.der":                                   "tdx/v4-chutes/collateral/rootcrl.der",
		"/.well-known/jwks.json":                                "gpu/h100-1gpu-tinfoil/jwks.json",
		"/vcek/v1/Milan/c38427a30d4c7af9d96f7a15b97269825a64cb76a2352ffd5d18115d89ad473f8e8c0bcd9a5d9286612bad4aadfb4426205a3b9e4fea82301135a170e477524e?blSPL=3&teeSPL=0&snpSPL=8&ucodeSPL=115": "snp/milan-v2-trustee/vcek.der",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		file, ok := answers[r.URL.String()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, filepath.Join(root, filepath.FromSlash(file)))
	}))
	defer server.Close()
	fetch := func(args ...string) (string, int, string) {
		dir := t.TempDir()
		code, _, errs := runCLI(t, append([]string{"evidence", "fetch", "--mirror", server.URL, "--collateral", dir}, args...)...)
		return dir, code, errs
	}
	strict := tempFile(t, "strict.yaml", []byte("schema: joulebox.evidence-policy/1\naccept_without_checking: [measurement, report_data]\n"))
	quote, tokens := filepath.Join(root, "tdx/v4-chutes/quote.bin"), filepath.Join(root, "gpu/h100-1gpu-tinfoil/eat.json")

	dir, code, errs := fetch("--kind", "tdx", "--report", quote, "--now", "2026-05-21T00:00:00Z")
	if code != 0 {
		t.Fatalf("tdx: got %d, %s", code, errs)
	}
	if code, out, _ := runCLI(t, "evidence", "verify", "--kind", "tdx", "--report", quote, "--collateral", dir, "--policy", strict, "--now", "2026-05-21T00:00:00Z"); code != 0 {
		t.Errorf("tdx: got %d:\n%s", code, out)
	}
	dir, code, errs = fetch("--kind", "nvidia-gpu")
	if code != 0 {
		t.Fatalf("nvidia-gpu: got %d, %s", code, errs)
	}
	if code, out, _ := runCLI(t, "evidence", "verify", "--kind", "nvidia-gpu", "--report", tokens, "--collateral", dir, "--policy", strict, "--now", "2026-06-29T02:10:00Z"); code != 0 {
		t.Errorf("nvidia-gpu: got %d:\n%s", code, out)
	}

	// AMD's list isn't among the vectors: the certificate is asked for by its
	// chip and TCB, and half of what belongs together isn't written.
	asked = nil
	dir, code, errs = fetch("--kind", "sev-snp", "--report", filepath.Join(root, "snp/milan-v2-trustee/report.bin"), "--product", "Milan")
	if files, _ := os.ReadDir(dir); code != exitFailed || len(files) != 0 || len(asked) != 2 || asked[1] != "/vcek/v1/Milan/crl" || answers[asked[0]] == "" {
		t.Errorf("sev-snp: got %d, %s; asked for %v", code, errs, asked)
	}
	asked = nil
	fetch("--kind", "sev-snp", "--report", filepath.Join(root, "snp/milan-v3-vlek-trustee/report.bin"))
	if !slices.Equal(asked, []string{"/vlek/v1/Milan/crl"}) {
		t.Errorf("a VLEK's: asked for %v", asked)
	}
	for _, args := range [][]string{
		{"--kind", "sev-snp", "--report", filepath.Join(root, "snp/milan-v2-trustee/report.bin")},
		{"--kind", "sev-snp"}, {"--kind", "arm-cca", "--report", quote}, {"--kind", "sev-snp", "--report", quote}, {"--kind", "nitro"},
		{"--kind", "tdx", "--report", quote, "--now", "yesterday"}, {"--kind", "nvidia-gpu", "--mirror", "ftp://x"},
	} {
		if _, code, errs := fetch(args...); code != exitUsage || !strings.HasPrefix(errs, "joulebox: ") {
			t.Errorf("%v: got %d, %q", args, code, errs)
		}
	}
}
