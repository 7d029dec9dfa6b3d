package seal

import (
	"encoding/json/jsontext"
	"fmt"

	"github.com/joulebox/joulebox/internal/jcs"
)

// Object is a core with its seal beside it: {"core", "seal"}, the file form of
// every signed JSON object that stands alone.
type Object struct {
	Core jsontext.Value `json:"core"` // canonical
	Seal Seal           `json:"seal"`
}

// ParseObject reads an object in any JSON layout. What the core is, its owner says;
// no signature is checked.
func ParseObject(src []byte) (Object, error) {
	var o Object
	if err := jcs.Unmarshal(src, &o); err != nil {
		return Object{}, err
	}
	if o.Core.Kind() != '{' {
		return Object{}, fmt.Errorf("core: got %s, want an object", o.Core.Kind())
	}
	return o, o.Seal.Check()
}

// Canonical is the object's RFC 8785 form.
func (o Object) Canonical() ([]byte, error) { return jcs.Marshal(o) }
