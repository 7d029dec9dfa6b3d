package evidence

import (
	"bytes"
	"slices"
)

// The checks that all kinds share. Each adds exactly one line.

// Clock adds the line "clock": evidence isn't judged without a time to judge by.
func (a *Appraisal) Clock(p *Policy) bool {
	if p.Now.IsZero() {
		return a.Check("clock", Refuse(Unmet, "the policy has no time to judge by"), "")
	}
	return a.Check("clock", nil, "judged by %s", p.Now.UTC().Format("2006-01-02T15:04:05Z"))
}

// DemandMeasurement adds the line "measurement".
func (a *Appraisal) DemandMeasurement(p *Policy, got Hex) {
	const name = "measurement"
	switch {
	case len(p.Measurements) > 0:
		a.DemandOneOf(name, Measurement, got, p.Measurements)
	case p.Waives(AnyMeasurement):
		a.Skip(name, "%s; the policy accepts any", got)
	default:
		a.Check(name, Refuse(Unstated, "got %s, and the policy states none: list it in measurements, or accept_without_checking measurement", got), "")
	}
}

// DemandReportData adds the line "report_data", or another name for the same.
func (a *Appraisal) DemandReportData(p *Policy, name string, r Reason, got Hex) {
	switch {
	case len(p.ReportData) > 0 && bytes.Equal(p.ReportData, got):
		a.Check(name, nil, "%s", got)
	case len(p.ReportData) > 0:
		a.Check(name, Refuse(r, "got %s, want %s", got, p.ReportData), "")
	case p.Waives(AnyReportData):
		a.Skip(name, "%s; the policy accepts any: neither freshness nor binding is shown", got)
	default:
		a.Check(name, Refuse(Unstated, "got %s, and the policy states none: set report_data, or accept_without_checking report_data", got), "")
	}
}

// DemandDebug adds the line "debug".
func (a *Appraisal) DemandDebug(p *Policy, debug bool, detail string) {
	const name = "debug"
	switch {
	case debug && !p.AllowDebug:
		a.Check(name, Refuse(Debug, "%s: what runs can be looked into from outside; use a policy with allow_debug if that is meant", detail), "")
	case debug:
		a.Skip(name, "%s, and the policy allows it", detail)
		a.Note("debugging is on: nothing of what runs is confidential, and its report data can be anybody's")
	default:
		a.Check(name, nil, "off")
	}
}

// DemandOneOf adds a line for a value that must be one of some; none asks for
// nothing and adds no line.
func (a *Appraisal) DemandOneOf(name string, r Reason, got Hex, accepted []Hex) {
	if len(accepted) == 0 {
		return
	}
	var err error
	if !slices.ContainsFunc(accepted, func(h Hex) bool { return bytes.Equal(h, got) }) {
		err = Refuse(r, "got %s, want one of %v", got, accepted)
	}
	a.Check(name, err, "%s", got)
}

// Demand adds a line for a demand that the policy makes; asked false adds none.
func (a *Appraisal) Demand(name string, r Reason, asked, met bool, format string, args ...any) {
	if !asked {
		return
	}
	var err error
	if !met {
		err = Refuse(r, format, args...)
	}
	a.Check(name, err, format, args...)
}
