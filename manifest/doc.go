// Package manifest is the environment manifest (§14): one canonical object whose
// content address stands for a declared environment. Ingest reads the declarative
// subset of a devcontainer.json and refuses, by name and place, whatever executes
// commands, widens the sandbox or isn't known; Parse reads the canonical object
// back. A Manifest that exists is a valid one.
//
// The canonical object has these members and no other:
//
//	{ "schema":       "sandbox.env-manifest/1",
//	  "image":        the base image's reference, as written
//	  "pinned":       whether a sha256 digest, and no variable, says which bytes that is
//	  "features":     [{"id", "options"}…], sorted by id
//	  "containerEnv": {name: value…}
//	  "mounts":       [{"source", "target", "kind", "readonly"?}…], sorted by target
//	  "remoteUser":   the user, if one is named }
//
// It is pure: a declaration runs nothing, and nothing is resolved or fetched.
package manifest
