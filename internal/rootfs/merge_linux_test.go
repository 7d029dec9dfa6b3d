package rootfs

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
)

// memory is a sink for tests.
type memory struct{ data map[*content]string }

func (m *memory) take(r io.Reader, c *content) error {
	b := make([]byte, c.size)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	c.b3 = joulebox.Sum(b)
	m.data[c] = string(b)
	return nil
}

// applied is what layers make, as text.
func applied(t testing.TB, layers ...[]tarEntry) (string, error) {
	t.Helper()
	b := newBudget(Limits{})
	m := &memory{data: map[*content]string{}}
	all := make([][]op, len(layers))
	for i, l := range layers {
		raw := tarOf(t, l...)
		var err error
		all[i], _, err = layerStream{packed: newBlob(bytes.NewReader(raw), digestOf(raw), int64(len(raw))), diffID: digestOf(raw), budget: b}.read(context.Background(), m)
		if err != nil {
			return "", err
		}
	}
	root, err := merge(all, b)
	if err != nil {
		return "", err
	}
	var out []string
	root.visit("", func(path string, n *node) {
		switch path = strings.TrimPrefix(path, "/"); {
		case path == "":
		case n.isDir():
			out = append(out, path+"/")
		case n.file != nil:
			out = append(out, path+"="+m.data[n.file])
		default:
			out = append(out, path+"->"+n.target)
		}
	})
	return strings.Join(out, " "), nil
}

type entries = []tarEntry

func TestMerge(t *testing.T) {
	base := entries{dir("d"), file("d/x", "1"), file("d/y", "2"), file("f", "3"), link("l", "d"), link("abs", "/d")}
	for name, c := range map[string]struct {
		layers []entries
		want   string
	}{
		"names are cleaned":               {[]entries{{file("./a//b/./c", "1"), file("/d", "2"), dir("./")}}, "a/ a/b/ a/b/c=1 d=2"},
		"the last of a name counts":       {[]entries{{file("a", "1"), file("./a", "2")}}, "a=2"},
		"a file replaces a folder":        {[]entries{base, {file("d", "9")}}, "abs->/d d=9 f=3 l->d"},
		"a folder replaces a file":        {[]entries{base, {dir("f")}}, "abs->/d d/ d/x=1 d/y=2 f/ l->d"},
		"a folder joins a folder":         {[]entries{base, {dir("d"), file("d/z", "4")}}, "abs->/d d/ d/x=1 d/y=2 d/z=4 f=3 l->d"},
		"a folder replaces a link":        {[]entries{base, {dir("l"), file("l/z", "4")}}, "abs->/d d/ d/x=1 d/y=2 f=3 l/ l/z=4"},
		"a parent that is a link":         {[]entries{base, {file("l/z", "4")}}, "abs->/d d/ d/x=1 d/y=2 d/z=4 f=3 l->d"},
		"an absolute link":                {[]entries{base, {file("abs/z", "4")}}, "abs->/d d/ d/x=1 d/y=2 d/z=4 f=3 l->d"},
		"a link out stays in":             {[]entries{{link("l", "../../../d"), file("l/z", "4")}}, "d/ d/z=4 l->../../../d"},
		"dots after a link":               {[]entries{{dir("a"), dir("a/b"), link("l", "a/b/.."), file("l/z", "4")}}, "a/ a/b/ a/z=4 l->a/b/.."},
		"a link to nowhere is made":       {[]entries{{link("l", "n/m"), file("l/z", "4")}}, "l->n/m n/ n/m/ n/m/z=4"},
		"a file replaces a link":          {[]entries{base, {file("l", "4")}}, "abs->/d d/ d/x=1 d/y=2 f=3 l=4"},
		"a whiteout":                      {[]entries{base, {file("d/.wh.x", "")}}, "abs->/d d/ d/y=2 f=3 l->d"},
		"a whiteout of a folder":          {[]entries{base, {file(".wh.d", "")}}, "abs->/d f=3 l->d"},
		"a whiteout of nothing":           {[]entries{base, {file("q/.wh.x", ""), file("f/.wh.x", "")}}, "abs->/d d/ d/x=1 d/y=2 f=3 l->d"},
		"a whiteout spares its layer":     {[]entries{base, {file("d/x", "9"), file("d/.wh.x", "")}}, "abs->/d d/ d/x=9 d/y=2 f=3 l->d"},
		"an opaque folder":                {[]entries{base, {file("d/z", "9"), file("d/.wh..wh..opq", "")}}, "abs->/d d/ d/z=9 f=3 l->d"},
		"an opaque root":                  {[]entries{base, {file(".wh..wh..opq", ""), file("z", "9")}}, "z=9"},
		"opaque where a link was":         {[]entries{base, {dir("l"), file("l/.wh..wh..opq", ""), file("l/z", "9")}}, "abs->/d d/ d/x=1 d/y=2 f=3 l/ l/z=9"},
		"a whiteout through a link":       {[]entries{base, {file("l/.wh.x", "")}}, "abs->/d d/ d/y=2 f=3 l->d"},
		"what only looks like a whiteout": {[]entries{{file("a.wh.b", "1")}}, "a.wh.b=1"},
		"aufs' own":                       {[]entries{{file(".wh..wh.aufs", "1"), file(".wh..wh.plnk/1.2", "1"), file("a/.wh..wh.orph/x", "")}}, ""},
		"a hard link":                     {[]entries{base, {hard("h", "d/x")}}, "abs->/d d/ d/x=1 d/y=2 f=3 h=1 l->d"},
		"a hard link through a link":      {[]entries{base, {hard("h", "/l/x")}}, "abs->/d d/ d/x=1 d/y=2 f=3 h=1 l->d"},
		"a hard link to a link":           {[]entries{base, {hard("h", "l")}}, "abs->/d d/ d/x=1 d/y=2 f=3 h->d l->d"},
		"a hard link to itself":           {[]entries{{file("f", "3"), hard("f", "f")}}, "f=3"},
		"a hard link keeps what it was":   {[]entries{{file("f", "3")}, {hard("h", "f"), file("f", "4")}}, "f=4 h=3"},
		"a device takes its name":         {[]entries{{file("c", "1")}, {special("c", '3', 1, 3), special("p", '6', 0, 0), special("b", '4', 8, 0)}}, ""},
		"no layers":                       {nil, ""},
		"a layer of nothing":              {[]entries{{}}, ""},
	} {
		got, err := applied(t, c.layers...)
		if err != nil || got != c.want {
			t.Errorf("%s:\n got %s (%v)\nwant %s", name, got, err, c.want)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	deep := strings.Repeat("a/", defaultDepth) + "a"
	for name, c := range map[string]struct {
		layers []entries
		want   string
	}{
		"dots":                      {[]entries{{file("../x", "")}}, `without ".."`},
		"dots within":               {[]entries{{file("a/../../x", "")}}, `without ".."`},
		"dots in a hard link":       {[]entries{{file("f", ""), hard("h", "../f")}}, `without ".."`},
		"a hard link out":           {[]entries{{hard("h", "/etc/passwd")}}, "no such file before it"},
		"a hard link to a folder":   {[]entries{{dir("d"), hard("h", "d")}}, "is a folder"},
		"a hard link to the root":   {[]entries{{hard("h", "/")}}, "hard link"},
		"a hard link to what comes": {[]entries{{hard("h", "f"), file("f", "")}}, "no such file before it"},
		"beneath a file":            {[]entries{{file("f", ""), file("f/x", "")}}, "which is a file"},
		"beneath a link to a file":  {[]entries{{file("f", ""), link("l", "f"), file("l/x", "")}}, "which is a file"},
		"a loop":                    {[]entries{{link("a", "b"), link("b", "a"), file("a/x", "")}}, "more than 40 links"},
		"a link to itself":          {[]entries{{link("a", "a/a/a"), file("a/x", "")}}, "more than 40 links"},
		"a whiteout in a loop":      {[]entries{{link("a", "a")}, {file("a/.wh.x", "")}}, "more than 40 links"},
		"depth":                     {[]entries{{file(deep, "")}}, "depth"},
		"depth through links":       {[]entries{{link("l", deep[:200]), link("l2", "l/"+deep[:100]), file("l2/x", "")}}, "depth"},
		"a long name":               {[]entries{{file(strings.Repeat("a", 256), "")}}, "256 bytes"},
		"a long path":               {[]entries{{file(strings.Repeat("/"+strings.Repeat("a", 250), 17), "")}}, "at most 4095"},
		"a long path by links":      {[]entries{{link("l", strings.Repeat(strings.Repeat("a", 200)+"/", 15)), file("l/"+strings.Repeat(strings.Repeat("b", 200)+"/", 10)+"x", "")}}, "at most 4095"},
		"no UTF-8":                  {[]entries{{file("a\xff", "")}}, "UTF-8"},
		"a link without UTF-8":      {[]entries{{link("a", "\xff")}}, "UTF-8"},
		"a link to nothing":         {[]entries{{link("a", "")}}, "empty"},
		"the root as a link":        {[]entries{{link("/", "etc")}}, "no folder"},
		"the root as a file":        {[]entries{{file(".", "x")}}, "no folder"},
		"beneath a whiteout":        {[]entries{{file(".wh.a/b", "")}}, "beneath a whiteout"},
		"an empty whiteout":         {[]entries{{file("d/.wh.", "")}}, "names what it takes"},
		"a whiteout of dots":        {[]entries{{file("d/.wh...", "")}}, "names what it takes"},
		"a whiteout of a dot":       {[]entries{{file("d/.wh..", "")}}, "names what it takes"},
		"a whiteout of overlayfs":   {[]entries{{special("c", '3', 0, 0)}}, "device 0:0"},
		"another type":              {[]entries{{special("c", 'Z', 0, 0)}}, "type"},
	} {
		got, err := applied(t, c.layers...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v; want an error with %q", name, got, err, c.want)
		}
	}
}

// TestHeadersRefused are what Go's own writer doesn't write.
func TestHeadersRefused(t *testing.T) {
	for want, h := range map[string]tar.Header{
		"no slash at its end": {Name: "a/", Typeflag: tar.TypeReg},
		"NUL":                 {Name: "a\x00b", Typeflag: tar.TypeReg},
		"sparse":              {Name: "a", Typeflag: tar.TypeGNUSparse, Size: 1 << 40},
		"is a sparse file":    {Name: "a", Typeflag: tar.TypeReg, PAXRecords: map[string]string{"GNU.sparse.major": "1"}},
		"empty":               {Name: "", Typeflag: tar.TypeDir},
	} {
		if o, err := opOf(&h, defaultDepth, &LeftOut{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %+v, %v; want an error with %q", h, o, err, want)
		}
	}
}

// TestWhiteoutsHaveNoOrder: what a layer takes away doesn't depend on where in the
// layer it says so.
func TestWhiteoutsHaveNoOrder(t *testing.T) {
	base := entries{dir("d"), file("d/x", "1"), dir("e"), file("e/y", "2"), link("l", "e")}
	top := entries{file(".wh.l", ""), file("l/z", "3"), file("d/.wh..wh..opq", ""), file("d/q", "4"), file("e/.wh.y", "")}
	want, err := applied(t, base, top)
	if err != nil {
		t.Fatal(err)
	}
	if want != "d/ d/q=4 e/ l/ l/z=3" {
		t.Errorf("got %s", want)
	}
	for i := range top {
		turned := append(append(entries{}, top[i:]...), top[:i]...)
		if got, err := applied(t, base, turned); err != nil || got != want {
			t.Errorf("turned by %d: got %s (%v), want %s", i, got, err, want)
		}
	}
}
