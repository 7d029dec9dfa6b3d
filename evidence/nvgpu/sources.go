package nvgpu

import "github.com/joulebox/joulebox/evidence"

// Sources are the service's keys of today. Tokens live an hour and keys two days:
// what is to be verified later needs the keys of its own day.
func Sources() []evidence.Source {
	return []evidence.Source{{File: "jwks.json", URL: Issuer + "/.well-known/jwks.json"}}
}
