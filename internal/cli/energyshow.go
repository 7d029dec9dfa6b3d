package cli

import (
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// energyReport is what was asked for, added up.
type energyReport struct {
	By   []string    `json:"by"`
	Rows []energyRow `json:"rows"`
}

// energyFormats are the forms of a report.
var energyFormats = map[string]func(io.Writer, energyReport) error{
	"text": energyText, "csv": energyCSV, "svg": energySVG, "prometheus": energyPrometheus,
}

func (r energyReport) emits() bool { return len(r.Rows) > 0 && r.Rows[0].Emissions != nil }

func energyText(w io.Writer, r energyReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := append(append([]string(nil), r.By...), "runs", "measured", "estimated", "idle within")
	if r.emits() {
		head = append(head, "gCO2e", "SCI gCO2e/run")
	}
	fmt.Fprintln(t, strings.ToUpper(strings.Join(head, "\t")))
	for _, row := range r.Rows {
		cells := make([]string, 0, len(head))
		for i, k := range row.Key {
			if r.By[i] == "unit" || r.By[i] == "image" {
				k = k[:min(len(k), 15)]
			}
			cells = append(cells, k)
		}
		cells = append(cells, strconv.FormatUint(row.Runs, 10), figure(row.MeasuredUJ), figure(row.EstimatedUJ), figure(row.IdleUJ))
		if e := row.Emissions; e != nil {
			cells = append(cells, fmt.Sprintf("%.3g", e.Operational+e.Embodied), fmt.Sprintf("%.3g", e.SCI))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// figure leaves out what nobody gave a figure for.
func figure(uj uint64) string {
	if uj == 0 {
		return "-"
	}
	return formatEnergy(uj)
}

func energyCSV(w io.Writer, r energyReport) error {
	c := csv.NewWriter(w)
	head := append(append([]string(nil), r.By...), "runs", "measured_uj", "estimated_uj", "idle_uj")
	if r.emits() {
		head = append(head, "operational_gco2e", "embodied_gco2e", "sci_gco2e_per_run")
	}
	_ = c.Write(head) // Flush has the error
	for _, row := range r.Rows {
		line := append([]string(nil), row.Key...)
		for _, n := range []uint64{row.Runs, row.MeasuredUJ, row.EstimatedUJ, row.IdleUJ} {
			line = append(line, strconv.FormatUint(n, 10))
		}
		if e := row.Emissions; e != nil {
			for _, g := range []float64{e.Operational, e.Embodied, e.SCI} {
				line = append(line, strconv.FormatFloat(g, 'g', -1, 64))
			}
		}
		_ = c.Write(line)
	}
	c.Flush()
	return c.Error()
}

// energyPrometheus writes the text exposition format, for a collector that reads
// files. The names are built as Kepler builds its own: level, source, unit.
func energyPrometheus(w io.Writer, r energyReport) error {
	var b strings.Builder
	for _, m := range []struct {
		name, help string
		value      func(energyRow) string
	}{
		{"joulebox_unit_measured_joules_total", "Energy of units that counters gave.", func(r energyRow) string { return joules(r.MeasuredUJ) }},
		{"joulebox_unit_estimated_joules_total", "Energy of units that was worked out from counted work.", func(r energyRow) string { return joules(r.EstimatedUJ) }},
		{"joulebox_unit_idle_joules_total", "Of both: drawn by kept processes before their runs.", func(r energyRow) string { return joules(r.IdleUJ) }},
		{"joulebox_unit_runs_total", "Runs on record.", func(r energyRow) string { return strconv.FormatUint(r.Runs, 10) }},
	} {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s counter\n", m.name, m.help, m.name)
		for _, row := range r.Rows {
			labels := make([]string, len(row.Key))
			for i, k := range row.Key {
				labels[i] = fmt.Sprintf("%s=%q", r.By[i], k)
			}
			fmt.Fprintf(&b, "%s{%s} %s\n", m.name, strings.Join(labels, ","), m.value(row))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func joules(uj uint64) string { return strconv.FormatFloat(float64(uj)/1e6, 'g', -1, 64) }

// The chart's measures, in pixels.
const (
	chartLabel = 340
	chartBar   = 420
	chartLine  = 22
)

// energySVG draws a bar for each row: what was measured dark, what was estimated
// light, so that the one can't pass for the other.
func energySVG(w io.Writer, r energyReport) error {
	most := uint64(1)
	for _, row := range r.Rows {
		most = max(most, row.MeasuredUJ+row.EstimatedUJ)
	}
	var b strings.Builder
	height := chartLine * (len(r.Rows) + 2)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", chartLabel+chartBar+120, height)
	fmt.Fprintf(&b, `<text x="8" y="15">Energy by %s: measured dark, estimated light</text>`+"\n", html.EscapeString(strings.Join(r.By, ", ")))
	for i, row := range r.Rows {
		y := chartLine * (i + 1)
		m := float64(row.MeasuredUJ) / float64(most) * chartBar
		e := float64(row.EstimatedUJ) / float64(most) * chartBar
		fmt.Fprintf(&b, `<text x="8" y="%d">%s</text><rect x="%d" y="%d" width="%.1f" height="14" fill="#1b5e8c"/><rect x="%.1f" y="%d" width="%.1f" height="14" fill="#a9cce3"/><text x="%.1f" y="%d">%s</text>`+"\n",
			y+15, html.EscapeString(shortKeys(row.Key)), chartLabel, y+4, m, chartLabel+m, y+4, e, chartLabel+m+e+6, y+15,
			html.EscapeString(formatEnergy(row.MeasuredUJ+row.EstimatedUJ)))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func shortKeys(key []string) string {
	parts := make([]string, len(key))
	for i, k := range key {
		parts[i] = k[:min(len(k), 24)]
	}
	return strings.Join(parts, " ")
}
