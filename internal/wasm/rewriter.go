package wasm

import "github.com/joulebox/joulebox/internal/wasm/rewrite"

// rewriteModule scans a module and makes it ready to be bounded.
func rewriteModule(image []byte, job buildJob) ([]byte, *rewrite.Info, error) {
	return rewrite.Meter(image, rewrite.Options{Limits: &job.Scan, SIMDWeight: int64(job.SIMDWeight)})
}
