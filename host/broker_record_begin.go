package host

import (
	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wasm"
	"github.com/joulebox/joulebox/journal"
)

// record begins the job's journal, if it is to have one. The bounds are written
// as the engine will apply them.
func (j Job) record(id joulebox.ID, entry string, metered bool) (wasm.Watcher, error) {
	rec := j.Broker.journaling
	if rec == nil {
		return nil, nil
	}
	if !metered {
		return nil, &RefusedError{Reason: "a journal needs a tier that counts instructions", Hint: "leave out --trusted, or --journal"}
	}
	unitID, err := j.Unit.ID()
	if err != nil {
		return nil, err
	}
	begin := journal.Begin{
		Unit: unitID, Module: id, Entry: entry, Metering: wasm.Metering(), Args: j.Broker.config.Args,
		Limits: journal.Limits{
			Fuel: j.Limits.Units, Slice: wasm.DefaultSlice, Memory: j.Limits.Memory, Stack: wasm.DefaultStackWords,
			Vector: uint64(uint32(j.Limits.Vector)),
		},
	}
	if err := rec.begin(begin, j.Broker.config.Env); err != nil {
		return nil, &RefusedError{Reason: "the journal can't begin", Err: err}
	}
	return rec, nil
}
