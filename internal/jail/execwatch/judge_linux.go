package execwatch

import (
	"fmt"
	"os"
	"sync"
)

// judge asks and records.
type judge struct {
	Options
	mu sync.Mutex
}

func newJudge(o Options) *judge { return &judge{Options: o.withDefaults()} }

// judge decides one file. Library says that it asks for no loader and is a shared
// object.
func (j *judge) judge(e Exec, library bool) bool {
	v := j.verdict(e, library)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Record(Record{e, v})
	return v.Allowed
}

func (j *judge) verdict(e Exec, library bool) Verdict {
	if j.Sealed {
		if reason := sealed(e, library); reason != "" {
			return Verdict{Reason: reason}
		}
	}
	return j.Decide(e)
}

// sealed says why a file can't run where hashes bind, or nothing.
func sealed(e Exec, library bool) string {
	switch {
	case e.Hash.IsZero():
		return fmt.Sprintf("the content of %q can't be read, so it isn't known", e.Path)
	case e.Role == Program && library:
		return fmt.Sprintf("%q is a loader: by itself it runs any file; run the program itself", e.Path)
	case e.Role != Program && e.Writable:
		return fmt.Sprintf("the %s %q lies on a writable mount: it is read again after it was judged, and may be another by then", e.Role, e.Path)
	}
	return ""
}

// refuse records that something runs that can't be told.
func (j *judge) refuse(e Exec, format string, args ...any) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Record(Record{e, Verdict{Reason: fmt.Sprintf(format, args...)}})
	return false
}

// examine opens nothing: it inspects f, reads it and decides.
func (j *judge) examine(f *os.File, e Exec, still bool) (content, bool) {
	e.Path = pathOf(f)
	in, err := inspect(f)
	if err != nil {
		return content{}, j.refuse(e, "%v", err)
	}
	c := j.Cache.read(in, still, j.Largest)
	e.Hash, e.Size, e.Writable = c.hash, in.id.size, !in.readOnly
	if e.Role == Program && c.script() {
		e.Role = Script
	}
	return c, j.judge(e, c.library)
}
