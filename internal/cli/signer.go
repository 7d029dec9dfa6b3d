package cli

import "github.com/joulebox/joulebox/custody"

// openKey opens this host's key for what is signed without a run. It is made at
// the first use, and said to be; where there are records and no key, none is made.
func (c *console) openKey() (*custody.Key, error) {
	state, err := custody.StateDir()
	if err != nil {
		return nil, err
	}
	key, made, err := custody.Ensure(custody.DefaultReference, exists(storeDir(state)))
	if err != nil {
		return nil, err
	}
	if made {
		c.note("made this host's key, %x; joulebox key show tells about it", key.Public())
	}
	if err := key.Check(); err != nil {
		key.Close()
		return nil, err
	}
	return key, nil
}
