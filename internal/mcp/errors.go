package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/supervisor"
)

// refused is what a caller can mend: it becomes a result with isError, the reason
// and the way to mend it. Nothing has run.
type refused struct {
	Message string
	Hint    string
	Tier    string
	Reasons []reason
}

// reason is one row of the tier rules.
type reason struct {
	Tier string `json:"tier"`
	Text string `json:"text"`
}

func (e *refused) Error() string { return e.Message }

func refuse(hint, format string, args ...any) error {
	return &refused{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// asRefused tells what the caller can mend from what is this host's own trouble,
// which says nothing to strangers.
func asRefused(err error) (*refused, bool) {
	var mine *refused
	var declined *supervisor.DeclinedError
	var unfit *host.RefusedError
	switch {
	case errors.As(err, &mine):
		return mine, true
	case errors.As(err, &declined):
		return fromDeclined(declined), true
	case errors.As(err, &unfit) && !private(err):
		return &refused{Message: asArguments.Replace(unfit.Error()), Hint: asArguments.Replace(unfit.Hint)}, true
	}
	return nil, false
}

func fromDeclined(d *supervisor.DeclinedError) *refused {
	r := &refused{Message: "declined: " + asArguments.Replace(d.What), Hint: asArguments.Replace(d.Hint), Tier: d.Tier.String()}
	for _, row := range d.Reasons {
		r.Reasons = append(r.Reasons, reason{row.Tier.String(), asArguments.Replace(row.Text)})
	}
	for _, row := range d.Reasons {
		if row.Tier == d.Tier && strings.Contains(row.Text, "I/O ceiling") {
			r.Hint = "set max_iops and max_read_bps within what this host states, or leave the storage out"
		}
	}
	return r
}

// private reports that an error speaks of the host's own files.
func private(err error) bool {
	var path *fs.PathError
	var number syscall.Errno
	return errors.As(err, &path) || errors.As(err, &number)
}

// cancelled reports that the caller, or the end of the server, ended the call.
func cancelled(err error) bool { return errors.Is(err, context.Canceled) }
