package host

import (
	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/wasm"
	"github.com/joulebox/joulebox/journal"
)

// record begins the job's journal, if it is to have one. The bounds are written
// as the engine will apply them.
func (j Job) record(id joulebox.ID, entry string, metered bool) (wasm.Watcher, error) {
	if j.Broker.journaling == nil {
		return nil, nil
	}
	if !metered {
		return nil, errJournalTier
	}
	unitID, err := j.Unit.ID()
	if err != nil {
		return nil, err
	}
	return j.Broker.beginJournal(unitID, id, entry, j.Limits)
}

var errJournalTier = &RefusedError{Reason: "a journal needs a tier that counts instructions", Hint: "leave out --trusted, or --journal"}

func (b *Broker) beginJournal(unitID, module joulebox.ID, entry string, l Limits) (wasm.Watcher, error) {
	begin := journal.Begin{
		Unit: unitID, Module: module, Entry: entry, Metering: wasm.Metering(), Args: b.config.Args,
		Limits: journal.Limits{
			Fuel: l.Units, Slice: wasm.DefaultSlice, Memory: l.Memory, Stack: wasm.DefaultStackWords,
			Vector: uint64(uint32(l.Vector)),
		},
	}
	if err := b.journaling.begin(begin, b.config.Env); err != nil {
		return nil, &RefusedError{Reason: "the journal can't begin", Err: err}
	}
	return b.journaling, nil
}
