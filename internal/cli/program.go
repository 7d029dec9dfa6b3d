package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/lang"
	"github.com/joulebox/joulebox/internal/rootfs"
	"github.com/joulebox/joulebox/internal/wat"
	"github.com/joulebox/joulebox/supervisor"
)

// program is what a run was asked to run, read.
type program struct {
	name string
	data []byte
	args []string

	fromStdin bool
	language  *lang.Language // nil for a module
	native    *host.Native   // what a native program is executed from
	path      string         // of a native program, as it sees it
	root      *rootfs.Root   // that it is in, if it comes from an image
	script    lang.Program
}

// maxScript bounds a script: it is part of the image and kept with the records.
const maxScript = 64 << 20

// program reads a module, or a script together with the language that runs it.
func (f *runFlags) program(ctx context.Context, c *console, args []string) (p *program, err error) {
	if f.image != "" {
		return f.imageProgram(ctx, c, args)
	}
	if len(args) == 0 && !f.set.Changed("code") {
		return nil, fail(exitDecline, errNoProgram, "")
	}
	if len(args) > 0 {
		native, err := f.isNative(args[0])
		if err != nil {
			return nil, err
		}
		if native {
			return nativeProgram(args)
		}
	}
	if p, err = f.source(c, args); err != nil {
		return nil, err
	}
	if err = p.assemble(); err != nil {
		return nil, err
	}
	if p.language, err = f.language(p); err != nil {
		return nil, err
	}
	if p.language == nil {
		return p, nil
	}
	return p, f.makeImage(p)
}

// source finds the program's text: on the command line, on standard input or in a
// file.
func (f *runFlags) source(c *console, args []string) (p *program, err error) {
	switch {
	case f.set.Changed("code"):
		return &program{data: []byte(f.code), args: args}, nil
	case args[0] == "-":
		p = &program{args: args[1:], fromStdin: true}
		if p.data, err = io.ReadAll(io.LimitReader(c.in, maxScript+1)); err != nil {
			return nil, fail(exitDenied, err, "")
		}
	default:
		p = &program{name: filepath.Base(args[0]), args: args[1:]}
		if p.data, err = readProgram(args[0]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// assemble makes a module of a program in WebAssembly text.
func (p *program) assemble() error {
	if filepath.Ext(p.name) != ".wat" {
		return nil
	}
	module, err := wat.Assemble(p.data)
	if err != nil {
		return fail(exitDecline, fmt.Errorf("%s: %w", p.name, err), "")
	}
	p.data = module
	return nil
}

const moduleMagic = "\x00asm"

func (p *program) isModule() bool { return bytes.HasPrefix(p.data, []byte(moduleMagic)) }

// language finds what runs the program: what was named, else what its extension
// or its first line says. A module needs none.
func (f *runFlags) language(p *program) (l *lang.Language, err error) {
	if f.lang == "" && p.isModule() {
		return nil, nil
	}
	s, err := openLanguages()
	if err != nil {
		return nil, fail(exitDecline, err, "")
	}
	switch interpreter := shebang(p.data); {
	case f.lang != "":
		l, err = s.Get(f.lang)
	case f.set.Changed("code"):
		return nil, fail(exitDecline, errors.New("--code needs --lang, which says what runs it"), "joulebox lang list shows the languages that are here")
	case filepath.Ext(p.name) != "":
		l, err = s.ForExtension(filepath.Ext(p.name))
	case interpreter != "":
		l, err = s.ForInterpreter(interpreter)
	default:
		return nil, nil // the engine says what is wrong with it
	}
	if err != nil {
		return nil, fail(exitDecline, err, "joulebox lang list shows the languages that are here")
	}
	if l == nil {
		return nil, noLanguage(p)
	}
	return l, nil
}

func noLanguage(p *program) error {
	what := filepath.Ext(p.name) + " files"
	if what == " files" {
		what = shebang(p.data)
	}
	return fail(exitDecline, fmt.Errorf("%s: not a WASM module, and no language here runs %s", p.name, what),
		"joulebox lang add keeps a language; scripts/lang has recipes that build Python and JavaScript")
}

// shebang is the program that a script names in its first line, without folders;
// with env(1) it is the first argument that is no flag.
func shebang(data []byte) string {
	rest, ok := bytes.CutPrefix(data, []byte("#!"))
	if !ok {
		return ""
	}
	line, _, _ := bytes.Cut(rest[:min(len(rest), 256)], []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) > 1 && filepath.Base(words[0]) == "env" {
		words = slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") })
	}
	if len(words) == 0 {
		return ""
	}
	return filepath.Base(words[0])
}

// makeImage makes the script's image.
func (f *runFlags) makeImage(p *program) error {
	if f.entry != "" {
		return fail(exitDecline, errors.New("--entry names an export of a module, and a script has none"), "")
	}
	if len(p.data) > maxScript {
		return fail(exitDecline, fmt.Errorf("the script is larger than %s", formatBytes(maxScript)), "let it read what is large with --read")
	}
	if p.name == "" {
		p.name = "main"
		if len(p.language.Extensions) > 0 {
			p.name += p.language.Extensions[0]
		}
	}
	script := lang.Named{Path: p.name, Data: p.data}
	beside, err := filesBeside(f.with, script)
	if err != nil {
		return fail(exitDecline, fmt.Errorf("--with: %w", err), "")
	}
	if p.script, err = p.language.Program(script, beside, p.args); err != nil {
		return fail(exitDecline, err, "")
	}
	return nil
}

// into puts the program into a request.
func (p *program) into(r *supervisor.Request, entry string) {
	if p.native != nil {
		r.Native, r.Entrypoint = p.native, append([]string{p.path}, p.args...)
		return
	}
	if p.language != nil {
		r.Tree, r.Entrypoint = p.script.Image, p.script.Entrypoint
		return
	}
	if entry == "" {
		entry = host.DefaultEntry(p.data)
	}
	r.Image, r.Entrypoint = p.data, append([]string{entry}, p.args...)
}

// checkNeeds says what a language can't start without, before it fails in its own
// way.
func (p *program) checkNeeds(g grant.Set) error {
	if p.language == nil {
		return nil
	}
	n := p.language.Needs
	if n.MemoryBytes > g.Compute.MemoryBytes {
		return fail(exitDecline, fmt.Errorf("%s needs %s of memory, and %s is granted", p.language.Name, formatBytes(n.MemoryBytes), formatBytes(g.Compute.MemoryBytes)), "grant more with --memory")
	}
	for _, d := range n.Devices {
		if !slices.Contains(g.Compute.Devices, d) {
			return fail(exitDecline, fmt.Errorf("%s needs device class %s", p.language.Name, d), "grant it, with --simd for Simd")
		}
	}
	return nil
}

// environment adds the language's variables to those that were named, which win.
func (p *program) environment(named []string) []string {
	env := slices.Clone(named)
	for _, e := range p.script.Env {
		name, _, _ := strings.Cut(e, "=")
		if !slices.ContainsFunc(named, func(n string) bool { return strings.HasPrefix(n, name+"=") }) {
			env = append(env, e)
		}
	}
	return env
}

// close lets go of what the program was read from.
func (p *program) close() {
	switch {
	case p.root != nil:
		_ = p.root.Close()
	case p.native != nil:
		_ = p.native.Close()
	}
}
