package mcp

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/receipt"
)

// record is what a verified bundle says, compact and flat.
type record struct {
	Tier     string        `json:"tier"`
	Outcome  string        `json:"outcome"`
	Breach   string        `json:"breach,omitzero"`
	ExitCode *uint32       `json:"exit_code,omitzero"`
	Signal   uint32        `json:"signal,omitzero"`
	Cause    string        `json:"cause,omitzero"`
	Energy   energy        `json:"energy"`
	Storage  storageLine   `json:"storage"`
	Used     used          `json:",embed"`
	UnitID   joulebox.ID   `json:"unit_id"`
	ImageID  joulebox.ID   `json:"image_id"`
	GrantsID joulebox.ID   `json:"grants_id"`
	Receipt  joulebox.ID   `json:"receipt_id"`
	ID       joulebox.ID   `json:"attestation_id"`
	Sequence uint64        `json:"sequence"`
	Started  string        `json:"started_at"`
	Finished string        `json:"finished_at"`
	EAT      eat           `json:"eat"`
	Keys     []key         `json:"verifying_keys"`
	Verified *verification `json:"verification,omitzero"`
	Bundle   string        `json:"bundle,omitzero"`
}

// energy has the field-wise total and one line a device class.
type energy struct {
	MeasuredUJ  *joulebox.Microjoules `json:"measured_uj,omitzero"`
	EstimatedUJ joulebox.Microjoules  `json:"estimated_uj"`
	Devices     []deviceEnergy        `json:"devices"`
}

type deviceEnergy struct {
	Class       joulebox.DeviceClass  `json:"class"`
	Provenance  string                `json:"provenance"`
	MeasuredUJ  *joulebox.Microjoules `json:"measured_uj,omitzero"`
	EstimatedUJ joulebox.Microjoules  `json:"estimated_uj"`
}

// storageLine is the metered storage.
type storageLine struct {
	Reads        uint64 `json:"reads"`
	ReadBytes    uint64 `json:"read_bytes"`
	Writes       uint64 `json:"writes"`
	WrittenBytes uint64 `json:"written_bytes"`
	Denied       uint64 `json:"denied"`
}

type used struct {
	Instructions      uint64 `json:"instructions,omitzero"`
	CPUUS             uint64 `json:"cpu_us,omitzero"`
	WallUS            uint64 `json:"wall_us,omitzero"`
	PeakMemoryBytes   uint64 `json:"peak_memory_bytes,omitzero"`
	Connections       uint64 `json:"connections,omitzero"`
	ConnectionsDenied uint64 `json:"connections_denied,omitzero"`
	Execs             uint64 `json:"execs,omitzero"`
	ExecsDenied       uint64 `json:"execs_denied,omitzero"`
	IdleUJ            uint64 `json:"idle_uj,omitzero"`
}

type eat struct {
	Hex     string `json:"hex"`
	Profile string `json:"profile"`
	Tier    string `json:"tier"`
}

type key struct {
	Algorithm string      `json:"algorithm"`
	PublicKey string      `json:"public_key"`
	HostID    joulebox.ID `json:"host_id"`
}

type verification struct {
	Verdict string `json:"verdict"`
	Passed  int    `json:"checks_passed"`
}

func newRecord(b *bundle.Bundle, report bundle.Report) record {
	r, f, k, u := b.Result(), b.Statement().Fields(), b.Receipt(), b.Result().Usage
	outcome, breach := f.Outcome.String(), string(f.Outcome.Breach())
	if breach != "" {
		outcome = "Terminated"
	}
	return record{
		Tier: f.Tier.String(), Outcome: outcome, Breach: breach, ExitCode: r.ExitCode, Signal: r.Signal, Cause: r.Cause,
		Energy:  newEnergy(k.Devices(), k.Total()),
		Storage: storageLine{u.IOReads, u.IOReadBytes, u.IOWrites, u.IOWrittenBytes, u.IODenied},
		Used: used{u.Instructions, u.CPUUS, u.WallUS, u.PeakMemoryBytes, u.Connections, u.ConnectionsDenied,
			u.Execs, u.ExecsDenied, u.IdleUJ},
		UnitID: f.UnitID, ImageID: f.ImageID, GrantsID: f.GrantsID, Receipt: f.ReceiptID, ID: b.Statement().ID(),
		Sequence: k.Sequence(), Started: timeText(f.StartedAtUS), Finished: timeText(f.FinishedAtUS),
		EAT:      eat{hex.EncodeToString(b.EATToken()), attestation.EATProfile, b.EAT().Tier.String()},
		Keys:     []key{{"Ed25519", b.Seal().PublicKeyHex, f.HostID}},
		Verified: &verification{string(report.Verdict), passed(report)},
	}
}

func passed(r bundle.Report) (n int) {
	for _, c := range r.Checks {
		if c.Status == bundle.Pass {
			n++
		}
	}
	return n
}

func timeText(us uint64) string {
	return time.UnixMicro(int64(us)).UTC().Format("2006-01-02T15:04:05.000000Z")
}

func newEnergy(devices []receipt.Energy, total receipt.Total) energy {
	e := energy{EstimatedUJ: total.EstimatedUJ, Devices: []deviceEnergy{}}
	if m := total.MeasuredUJ; total.HasMeasured {
		e.MeasuredUJ = &m
	}
	for _, d := range devices {
		line := deviceEnergy{Class: d.Class(), Provenance: fmt.Sprint(d.Provenance()), EstimatedUJ: d.Estimated()}
		if m, ok := d.Measured(); ok {
			line.MeasuredUJ = &m
		}
		e.Devices = append(e.Devices, line)
	}
	return e
}
