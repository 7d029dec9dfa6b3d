package host

import (
	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
)

// grantFields are a grant set on its way to a host process. Its canonical form
// would do as well, but reading that for the first time takes a process as long as
// loading a small module.
func grantFields(w *wire, s *grant.Set) {
	list(w, &s.Compute.Devices, 1, func(w *wire, c *joulebox.DeviceClass) { w.byte((*byte)(c)) })
	w.u64((*uint64)(&s.Compute.EnergyBudgetUJ))
	w.u64(&s.Compute.CPUTimeMS)
	w.u64(&s.Compute.MemoryBytes)
	w.texts(&s.Storage.Read)
	w.texts(&s.Storage.Write)
	w.texts(&s.Storage.Delete)
	optional(w, &s.Storage.MaxIOPS)
	optional(w, &s.Storage.MaxReadBPS)
	w.texts(&s.Network.Outbound)
	w.bool(&s.Network.Inbound)
	w.bool(&s.KV.Read)
	w.bool(&s.KV.Write)
	list(w, &s.KV.Prefixes, 4, func(w *wire, p *grant.Prefix) { w.text((*string)(p)) })
	w.bool(&s.Host.Logging)
	w.bool(&s.Host.Clock)
	w.bool(&s.Host.Random)
	w.bool(&s.Host.Inference)
	w.bool(&s.Process.Exec)
	w.texts(&s.Process.Programs)
	list(w, &s.Process.AllowHashes, 32, idField)
	list(w, &s.Process.DenyHashes, 32, idField)
	w.u32(&s.Process.MaxProcesses)
	w.bool(&s.Browser.Enabled)
	w.texts(&s.Browser.Origins)
	w.bool(&s.Browser.Headless)
	w.bool(&s.Display.Enabled)
	w.bool(&s.Display.VNC)
	w.u32(&s.Display.MaxWidth)
	w.u32(&s.Display.MaxHeight)
}

func optional(w *wire, v **uint64) {
	set := *v != nil
	w.bool(&set)
	if !set || w.err != nil {
		return
	}
	if w.reading {
		*v = new(uint64)
	}
	w.u64(*v)
}

func idField(w *wire, id *joulebox.ID) {
	if !w.reading {
		w.buf = append(w.buf, id[:]...)
	} else if b := w.take(len(id)); b != nil {
		*id = joulebox.ID(b)
	}
}
