package cli

import (
	"encoding/json/jsontext"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/meter"
)

// proposal is the smallest grants that what was seen comes to.
type proposal struct {
	name                string // the program, as it was named
	read, write, delete *collapsed
	outbound            []string
	programs            []string
	contents            []host.NeededProgram
	byContent           bool
	processes           int
	time                time.Duration
	memory              uint64
	energy              joulebox.Microjoules
	env                 []string // names alone
	mounts              []host.Mount
	image, workDir      string
	notes               []string // for people, of what isn't proposed
}

// Margins: a program is never the same twice.
const (
	leastTime   = 10 * time.Second
	leastMemory = 64 << 20
	memoryStep  = 16 << 20
	leastEnergy = 5_000_000 // µJ
	mostFew     = 4
)

func (f *learnFlags) proposal(p *program, h host.BrokerConfig, n host.Needs, exit host.Exit) *proposal {
	homes := []string{"/root", "/home/unit"}
	if home, err := os.UserHomeDir(); err == nil {
		homes = append(homes, home)
	}
	wide := tooWide(h.WorkDir, homes...)
	r := &proposal{name: p.path, read: newCollapsed(wide), write: newCollapsed(wide), delete: newCollapsed(wide),
		outbound: outboundOf(n.Endpoints), contents: contentsOf(n.Programs), byContent: f.hashes, mounts: h.Mounts, image: f.image, workDir: f.workDir}
	r.files(n.Files)
	r.programs = programsOf(n.Programs)
	r.processes = max(mostFew, n.Processes+(n.Processes+1)/2)
	r.budgets(exit.Counts)
	for _, e := range f.env {
		name, _, _ := strings.Cut(e, "=")
		r.env = append(r.env, name)
	}
	// Where it was started is where its relative names begin.
	if used := r.below(h.WorkDir); r.workDir == "" && h.WorkDir != "" && used {
		r.workDir = h.WorkDir
	}
	r.note(n, exit)
	return r
}

func (r *proposal) files(list []host.NeededFile) {
	for _, f := range list {
		if g, err := grant.ParseGlob(f.Path); err != nil || !g.Literal() {
			r.notes = append(r.notes, fmt.Sprintf("no grant can name %q alone; it isn't proposed", f.Path))
			continue
		}
		for _, m := range []struct {
			on bool
			to *collapsed
		}{{f.Read, r.read}, {f.Write, r.write}, {f.Delete, r.delete}} {
			if m.on {
				m.to.add(f.Path, f.Folder)
			}
		}
	}
	for _, c := range []*collapsed{r.read, r.write, r.delete} {
		c.collapse()
	}
}

// below reports whether anything beneath a folder, or all of it, is proposed.
func (r *proposal) below(dir string) bool {
	for _, c := range []*collapsed{r.read, r.write, r.delete} {
		for _, at := range c.paths() {
			if at == dir || strings.HasPrefix(at, dir+"/") || strings.HasPrefix(dir, at+"/") {
				return true
			}
		}
	}
	return false
}

// outboundOf leaves out what no grant can name.
func outboundOf(endpoints []string) (list []string) {
	for _, e := range endpoints {
		if _, err := grant.ParseEndpoint(e); err == nil {
			list = append(list, e)
		}
	}
	return list
}

// programsOf are the names of what was started. A loader needs none, and what a unit
// built in a folder of its own has another name each time.
func programsOf(seen []host.NeededProgram) (list []string) {
	for _, p := range seen {
		at := p.Path
		for _, own := range []string{"/tmp", "/var/tmp", "/home/unit", "/dev/shm"} {
			if strings.HasPrefix(at, own+"/") {
				at = own + "/**"
			}
		}
		g, err := grant.ParseGlob(at)
		if p.Role != "loader" && err == nil && (g.Literal() || at != p.Path) {
			list = append(list, at)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func contentsOf(seen []host.NeededProgram) (list []host.NeededProgram) {
	for _, p := range seen {
		same := func(q host.NeededProgram) bool { return q.ID == p.ID && q.Path == p.Path }
		if !p.ID.IsZero() && !slices.ContainsFunc(list, same) {
			list = append(list, p)
		}
	}
	return list
}

// budgets are twice the time, half as much memory again and twice the energy of what
// the price list says, each rounded up.
func (r *proposal) budgets(c host.Counts) {
	r.time = max(leastTime, (2*max(c.Wall, c.CPUTime) + time.Second).Truncate(time.Second))
	r.memory = max(leastMemory, (c.PeakMemory+c.PeakMemory/2+memoryStep)/memoryStep*memoryStep)
	r.energy = leastEnergy
	if e, err := meter.DefaultTable().CPUEnergy(4 * c.CPUTime); err == nil { // its prices are good to a factor of two
		r.energy = max(r.energy, (e+999_999)/1_000_000*1_000_000)
	}
}

// note says what isn't in the proposal, and why.
func (r *proposal) note(n host.Needs, exit host.Exit) {
	say := func(format string, args ...any) { r.notes = append(r.notes, fmt.Sprintf(format, args...)) }
	if exit.Outcome != joulebox.Completed {
		say("it ended as %v, so it may not have come to all that it needs", exit.Outcome)
	}
	for _, m := range []struct {
		verb string
		c    *collapsed
	}{{"listed", r.read}, {"made files in", r.write}, {"removed files from", r.delete}} {
		for dir := range m.c.wide {
			say("it %s %s, which is too much to propose; grant it yourself, or give the program a folder of its own", m.verb, dir)
		}
	}
	slices.Sort(r.notes)
	for _, at := range n.Loopback {
		say("it tried %s, where nothing of its own listened; if a server of this host is meant, that is --net %s", at, at)
	}
	if len(n.Names) > 0 {
		say("it looked up, and didn't connect to: %s", strings.Join(n.Names, ", "))
	}
	if len(r.env) > 0 {
		say("the profile hands on the values that %s have when it is used", strings.Join(r.env, ", "))
	}
}

// profile is the proposal as a file. It is read back before it is shown.
func (r *proposal) profile() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# What joulebox learn saw %s need. It grants nothing until somebody trusts it:\n# read it, and cut what the program shouldn't have.\n", strconv.Quote(r.name))
	b.WriteString("grants:\n  compute:\n")
	fmt.Fprintf(&b, "    cpu_time_ms: %q\n    memory_bytes: %q\n    energy_budget_uj: %q\n", seconds(r.time), unspaced(r.memory), wholeJoules(r.energy))
	r.storage(&b)
	if len(r.outbound) > 0 {
		b.WriteString("  network:\n")
		texts(&b, "    outbound", r.outbound)
	}
	r.process(&b)
	if len(r.mounts) > 0 {
		b.WriteString("mounts:\n")
		for _, m := range r.mounts {
			fmt.Fprintf(&b, "  - {host: %s, guest: %s}\n", quoted(m.Host), quoted(m.Guest))
		}
	}
	texts(&b, "env", r.env)
	for _, v := range []struct{ name, text string }{{"image", r.image}, {"workdir", r.workDir}} {
		if v.text != "" {
			fmt.Fprintf(&b, "%s: %s\n", v.name, quoted(v.text))
		}
	}
	if _, err := parseProfile([]byte(b.String())); err != nil {
		return "", fmt.Errorf("BUG(joulebox): the profile that was learned can't be read: %w", err)
	}
	return b.String(), nil
}

func (r *proposal) storage(b *strings.Builder) {
	if len(r.read.paths())+len(r.write.paths())+len(r.delete.paths()) == 0 {
		return
	}
	b.WriteString("  storage:\n")
	texts(b, "    read", r.read.globs())
	texts(b, "    write", r.write.globs())
	texts(b, "    delete", r.delete.globs())
}

func (r *proposal) process(b *strings.Builder) {
	if len(r.programs) == 0 {
		return
	}
	b.WriteString("  process:\n    exec: true\n")
	fmt.Fprintf(b, "    max_processes: %d\n", r.processes)
	texts(b, "    programs", r.programs)
	if len(r.contents) == 0 {
		return
	}
	name, indent := "    # by content, for allow_hashes (joulebox learn --hashes):\n", "    #   - "
	if r.byContent {
		name, indent = "    allow_hashes:\n", "      - "
	}
	b.WriteString(name)
	for _, p := range r.contents {
		fmt.Fprintf(b, "%s%s # %s %s\n", indent, quoted(p.ID.String()), p.Role, quoted(p.Path))
	}
}

// texts writes a list; an empty one is left out.
func texts(b *strings.Builder, name string, list []string) {
	if len(list) == 0 {
		return
	}
	indent := name[:len(name)-len(strings.TrimLeft(name, " "))]
	fmt.Fprintf(b, "%s:\n", name)
	for _, t := range list {
		fmt.Fprintf(b, "%s  - %s\n", indent, quoted(t))
	}
}

// quoted is a text as JSON has it, which YAML reads the same.
func quoted(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // it isn't UTF-8, and no grant can name it
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return string(b)
}

// command is the same as flags.
func (r *proposal) command() string {
	words := []string{"joulebox run"}
	add := func(flag string, values ...string) {
		for _, v := range values {
			words = append(words, flag+" "+shellQuoted(v))
		}
	}
	add("--image", given(r.image)...)
	for _, m := range r.mounts {
		add("--mount", m.Host+":"+m.Guest)
	}
	add("--read", r.read.paths()...)
	add("--write", r.write.paths()...)
	add("--delete", r.delete.paths()...)
	add("--net", r.outbound...)
	if len(r.programs) > 0 {
		add("--exec", r.programs...)
		add("--max-processes", strconv.Itoa(r.processes))
	}
	if r.byContent {
		for _, p := range r.contents {
			add("--exec-hash", p.ID.String())
		}
	}
	add("--env", r.env...)
	add("--workdir", given(r.workDir)...)
	add("--timeout", seconds(r.time))
	add("--memory", unspaced(r.memory))
	add("--energy", wholeJoules(r.energy))
	return strings.Join(words, " ") + " -- " + shellQuoted(r.name) + " ..."
}

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) + "s" }

func unspaced(n uint64) string { return strings.ReplaceAll(formatBytes(n), " ", "") }

func wholeJoules(uj joulebox.Microjoules) string {
	return strconv.FormatUint(uint64(uj)/1_000_000, 10) + "J"
}

// shellQuoted is a word as a shell takes it.
func shellQuoted(s string) string {
	plain := func(r rune) bool {
		return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:,=+@%", r))
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
