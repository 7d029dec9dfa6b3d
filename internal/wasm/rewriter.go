package wasm

import "github.com/joulebox/joulebox/internal/wasm/rewrite"

// rewriterVersion is part of every cache key.
const rewriterVersion = "0"

// rewriteModule scans a module and makes it ready to be bounded.
func rewriteModule(image []byte, job buildJob) ([]byte, *rewrite.Info, error) {
	info, err := rewrite.Scan(image, job.Scan)
	return image, info, err
}
