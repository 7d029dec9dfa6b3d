package conformance

import (
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/runrecord"
)

type c6File struct {
	Class    string      `json:"class"`
	Unit     joulebox.ID `json:"unit"`
	Grants   joulebox.ID `json:"grants"`
	Genesis  joulebox.ID `json:"genesis"`
	Segments []struct {
		Text string      `json:"text"`
		Head joulebox.ID `json:"head"`
	} `json:"segments"`
	Refused []struct {
		Why   string `json:"why"`
		After int    `json:"after"`
		Text  string `json:"text"`
	} `json:"refused"`
}

// c6 holds run records to chains and refusals (§13).
func c6(r *results, src []byte) error {
	var f c6File
	if err := read(src, &f); err != nil {
		return err
	}
	for i, s := range f.Segments {
		record, err := f.record(i + 1)
		if err == nil {
			err = same("head", record.Head(), s.Head)
		}
		r.check(fmt.Sprintf("segment %d", i), err)
	}
	for _, c := range f.Refused {
		r.check(c.Why, mustRefuse(f.refuse(c.After, c.Text)))
	}
	return nil
}

// record builds the chain of the first n segments from their texts.
func (f *c6File) record(n int) (record *runrecord.Record, err error) {
	for i, s := range f.Segments[:n] {
		segment, err := runrecord.ParseSegment([]byte(s.Text))
		if err != nil {
			return nil, err
		}
		if text, err := segment.Canonical(); err != nil || string(text) != s.Text {
			return nil, fmt.Errorf("segment %d is written %s, %v", i, text, err)
		}
		if i == 0 {
			record, err = runrecord.New(f.Unit, f.Grants, segment.Run)
		} else {
			err = record.Append(segment)
		}
		if err != nil {
			return nil, err
		}
	}
	return record, nil
}

// refuse is the error of a text behind the first n segments.
func (f *c6File) refuse(n int, text string) error {
	segment, err := runrecord.ParseSegment([]byte(text))
	if err != nil {
		return err
	}
	if n == 0 {
		if segment.Kind != runrecord.Started {
			return errors.New("a record begins with Started")
		}
		_, err = runrecord.New(f.Unit, f.Grants, segment.Run)
		return err
	}
	record, err := f.record(n)
	if err != nil {
		return nil // the case itself is broken, which must not pass for a refusal
	}
	before := record.Head()
	if err := record.Append(segment); err != nil && record.Head() == before {
		return err
	}
	return nil
}
