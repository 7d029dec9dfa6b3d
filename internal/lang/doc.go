// Package lang keeps languages: interpreters that are WASM modules, with the
// files that they read. A script runs on one as any other unit does; its image is
// a tree of the interpreter, its files and the script, so that the image id (§3)
// covers all that is executed.
//
// What a language needs to be started, it says in a manifest. The manifest is a
// file of the image too: how the interpreter is called is no more open to change
// under the same image id than what it is.
package lang

// Where the parts of a language are for the unit, the same on every host (§7.5).
// The script is beside its own files; the interpreter's are out of its way.
const (
	scriptRoot   = "/unit"
	languageRoot = "/unit/.lang"
	manifestName = "lang.json"
)

const fileMode = 0o444 // nothing of an image can be changed
