package meter

import (
	"crypto"
	"crypto/ed25519"
	"encoding/json/jsontext"
	"errors"
	"fmt"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/internal/seal"
	"github.com/joulebox/joulebox/internal/toll"
)

// calibrationSchema names the form. It is ours; the standard has none.
const calibrationSchema = "joulebox.energy-model/1"

// Calibration is the energy model of one host: a Table, and where it comes from.
// Records quote it by its ID.
type Calibration struct {
	Schema string `json:"schema"`
	CPU    string `json:"cpu"` // the model that it holds for, as the host names it
	// Source says what the figures were made from: SourceCounter or SourcePublic.
	Source string `json:"source"`
	// Reference is the counter's name, or where the public figures are from.
	Reference string `json:"reference"`

	PicojoulesPerUnit       uint64 `json:"picojoules_per_unit"`
	UnitsPerVector          uint64 `json:"units_per_vector"`
	MicrojoulesPerCPUSecond uint64 `json:"microjoules_per_cpu_second"`
	MicrojoulesPerGiBSecond uint64 `json:"microjoules_per_gib_second"`
	Tolls                   Tolls  `json:"tolls"`
	// IdleMilliwatts is what the host draws when nobody works; zero is unknown.
	IdleMilliwatts uint64 `json:"idle_milliwatts,omitzero"`

	// ErrorPermille is the largest error of the validation runs against the counter,
	// in thousandths of what it measured. Without a counter there is none.
	ErrorPermille uint64       `json:"error_permille,omitzero"`
	Validation    []Validation `json:"validation,omitempty"`
	MadeAtUS      uint64       `json:"made_at_us"`
}

// Tolls are what host calls cost, in units.
type Tolls struct {
	Call         uint64 `json:"call"`
	Storage      uint64 `json:"storage"`
	Connect      uint64 `json:"connect"`
	BytesPerUnit uint64 `json:"bytes_per_unit"`
}

// Validation is a run that the model was not made from.
type Validation struct {
	Work        string               `json:"work"`
	MeasuredUJ  joulebox.Microjoules `json:"measured_uj"`
	EstimatedUJ joulebox.Microjoules `json:"estimated_uj"`
}

// The sources of a calibration.
const (
	SourceCounter = "counter" // fitted to what this host's counters measured
	SourcePublic  = "public"  // published figures of the model, at this host's speed
)

// NewCalibration takes a table as a host's model.
func NewCalibration(cpu string, t Table) Calibration {
	return Calibration{
		Schema: calibrationSchema, CPU: cpu,
		PicojoulesPerUnit: t.PicojoulesPerUnit, UnitsPerVector: t.UnitsPerVector,
		MicrojoulesPerCPUSecond: t.MicrojoulesPerCPUSecond, MicrojoulesPerGiBSecond: t.MicrojoulesPerGiBSecond,
		Tolls: Tolls(t.Tolls),
	}
}

// Table is the model as meters take it.
func (c *Calibration) Table() Table {
	return Table{
		PicojoulesPerUnit: c.PicojoulesPerUnit, UnitsPerVector: c.UnitsPerVector,
		MicrojoulesPerCPUSecond: c.MicrojoulesPerCPUSecond, MicrojoulesPerGiBSecond: c.MicrojoulesPerGiBSecond,
		Tolls: toll.Table(c.Tolls),
		// A specification isn't this machine: what is made of one stays an estimate.
		Calibrated: c.Source == SourceCounter, IdleMilliwatts: c.IdleMilliwatts,
	}
}

// most bounds every figure, so that sums and products of them stay in range.
const (
	most          = 1 << 40
	mostPerVector = 1 << 10
)

func (c *Calibration) check() error {
	switch {
	case c.Schema != calibrationSchema:
		return fmt.Errorf("schema: got %q, want %q", c.Schema, calibrationSchema)
	case c.CPU == "" || c.Reference == "":
		return errors.New("cpu and reference: want both")
	case c.Source != SourceCounter && c.Source != SourcePublic:
		return fmt.Errorf("source: got %q, want %q or %q", c.Source, SourceCounter, SourcePublic)
	case (c.Source == SourceCounter) != (len(c.Validation) > 0):
		return fmt.Errorf("validation: got %d runs from source %q: a counter's model has some, another none", len(c.Validation), c.Source)
	case c.Source == SourcePublic && (c.ErrorPermille > 0 || c.IdleMilliwatts > 0):
		return errors.New("error_permille and idle_milliwatts: nothing was measured that these could be from")
	}
	for name, v := range map[string]uint64{
		"picojoules_per_unit": c.PicojoulesPerUnit, "units_per_vector": c.UnitsPerVector,
		"microjoules_per_cpu_second": c.MicrojoulesPerCPUSecond, "microjoules_per_gib_second": c.MicrojoulesPerGiBSecond,
		"tolls.call": c.Tolls.Call, "tolls.storage": c.Tolls.Storage, "tolls.connect": c.Tolls.Connect,
		"tolls.bytes_per_unit": c.Tolls.BytesPerUnit,
	} {
		if v == 0 || v > most {
			return fmt.Errorf("%s: got %d, want 1 to %d: no work is free", name, v, uint64(most))
		}
	}
	if c.UnitsPerVector > mostPerVector {
		return fmt.Errorf("units_per_vector: got %d, want at most %d", c.UnitsPerVector, mostPerVector)
	}
	if c.IdleMilliwatts > most || c.ErrorPermille > most {
		return fmt.Errorf("idle_milliwatts, error_permille: got %d, %d, want at most %d", c.IdleMilliwatts, c.ErrorPermille, uint64(most))
	}
	return nil
}

// Canonical is the model's RFC 8785 form.
func (c *Calibration) Canonical() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("energy model: %w", err)
	}
	return jcs.Marshal(c)
}

// ParseCalibration reads a model strictly: what it takes re-encodes to the same bytes.
func ParseCalibration(src []byte) (*Calibration, error) {
	var c Calibration
	if err := jcs.Unmarshal(src, &c); err != nil {
		return nil, fmt.Errorf("energy model: %w", err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("energy model: %w", err)
	}
	return &c, nil
}

// ID is the model's content address.
func (c *Calibration) ID() (joulebox.ID, error) {
	b, err := c.Canonical()
	return joulebox.Sum(b), err
}

// signedCalibration is a model's file: the core, and the seal of the host that
// made it.
type signedCalibration struct {
	Core jsontext.Value `json:"core"`
	Seal seal.Seal      `json:"seal"`
}

// Sign seals a model, as a file.
func (c *Calibration) Sign(signer crypto.Signer) ([]byte, error) {
	core, err := c.Canonical()
	if err != nil {
		return nil, err
	}
	s, err := seal.Sign(signer, core)
	if err != nil {
		return nil, fmt.Errorf("energy model: %w", err)
	}
	return jcs.Marshal(signedCalibration{core, s})
}

// OpenCalibration reads a signed model under the key that must have made it.
func OpenCalibration(file []byte, by ed25519.PublicKey) (*Calibration, error) {
	var s signedCalibration
	if err := jcs.Unmarshal(file, &s); err != nil {
		return nil, fmt.Errorf("energy model: %w", err)
	}
	core, err := jcs.Strict(s.Core)
	if err != nil {
		return nil, fmt.Errorf("energy model: core: %w", err)
	}
	if err := s.Seal.Verify(core, by); err != nil {
		return nil, fmt.Errorf("energy model: %w", err)
	}
	return ParseCalibration(core)
}
