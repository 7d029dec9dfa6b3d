package host

import (
	"testing"

	"github.com/joulebox/joulebox/internal/wasi"
)

// What programs written for preview 1 count on, call by call.

func TestDirectoryDescriptorIsNoFile(t *testing.T) {
	u := inRoot(t, tree(t, nil))
	fd := u.mustOpen(u.preopen("/"), ".", directory, allRights&^wasi.RightFdWrite)
	if s, e := u.fstat(fd); e != wasi.Success || s.kind != wasi.TypeDirectory {
		t.Errorf("fstat: got %+v, %v", s, e)
	}
	u.want("name into no room", u.call("fd_prestat_dir_name", 3, bufPtr, 0), wasi.ENametoolong)
	u.want("name into too much room", u.call("fd_prestat_dir_name", 3, bufPtr, 2), wasi.Success)
	_, e := u.read(fd, 128)
	u.want("read", e, wasi.EIsdir)
	_, e = u.write(fd, "x")
	u.want("write", e, wasi.EIsdir)
	v := u.iovec(bufPtr, 8)
	u.want("pread", u.call("fd_pread", fd, v, 1, 0, outPtr), wasi.EIsdir)
	u.want("pwrite", u.call("fd_pwrite", fd, v, 1, 0, outPtr), wasi.EIsdir)
	for whence := range uint64(3) {
		u.want("seek", u.call("fd_seek", fd, 0, whence, outPtr), wasi.EIsdir)
	}
	u.want("tell", u.call("fd_tell", fd, outPtr), wasi.EIsdir)
	u.want("allocate", u.call("fd_allocate", fd, 0, 1), wasi.EIsdir)
	u.want("set_size", u.call("fd_filestat_set_size", fd, 0), wasi.EIsdir)
}

func TestTimes(t *testing.T) {
	u := inRoot(t, tree(t, nil))
	root := u.preopen("/")
	fd, e := u.open(root, false, "file", creat, readWrite, 0, 1|16) // append, sync
	u.want("open", e, wasi.Success)
	u.want("fdstat", u.call("fd_fdstat_get", fd, outPtr), wasi.Success)
	if flags := u.u32(outPtr) >> 16; flags != 1|16 {
		t.Errorf("flags: got %b, want append and sync", flags)
	}
	s, e := u.statAt(root, false, "file")
	u.want("stat", e, wasi.Success)
	set := func(atim, mtim, flags uint64) wasi.Errno {
		p, n := u.str("file")
		return u.call("path_filestat_set_times", root, 0, p, n, atim, mtim, flags)
	}
	u.want("mtim", set(0, s.mtim-100, 4), wasi.Success)
	u.want("mtim and now", set(0, 1, 4|8), wasi.EInval)
	u.want("atim and now", set(1, 0, 1|2), wasi.EInval)
	u.want("fd: both", u.call("fd_filestat_set_times", fd, 100, 200, 4|8), wasi.EInval)
	u.want("fd: no such flag", u.call("fd_filestat_set_times", fd, 100, 200, 16), wasi.EInval)
	if now, _ := u.statAt(root, false, "file"); now.mtim != s.mtim-100 || now.atim != s.atim {
		t.Errorf("got %+v after %+v, want mtim alone 100 less", now, s)
	}
}

func TestAccessFollowsRights(t *testing.T) {
	u := inRoot(t, tree(t, map[string]string{"file": ""}))
	root := u.preopen("/")
	ro := u.mustOpen(root, "file", 0, wasi.RightFdRead)
	text, e := u.read(ro, 100)
	u.want("read", e, wasi.Success)
	if text != "" {
		t.Errorf("got %q of an empty file", text)
	}
	_, e = u.write(ro, "x")
	u.want("write what was opened to read", e, wasi.EBadf)
	wo := u.mustOpen(root, "file", 0, wasi.RightFdWrite)
	_, e = u.read(wo, 1)
	u.want("read what was opened to write", e, wasi.EBadf)
	n, e := u.write(wo, "0123456789")
	if e != wasi.Success || n != 10 {
		t.Errorf("write: got %d, %v", n, e)
	}
	rw := u.mustOpen(root, "file", 0, readWrite)
	if text, e = u.read(rw, 100); e != wasi.Success || text != "0123456789" {
		t.Errorf("read: got %q, %v", text, e)
	}
	u.want("seek without the right", u.call("fd_seek", ro, 0, 0, outPtr), wasi.ENotcapable)
	none := u.mustOpen(root, "file", 0, 0)
	_, e = u.read(none, 1)
	u.want("read with no right", e, wasi.EBadf)
	u.want("rights never grow", u.call("fd_fdstat_set_rights", ro, uint64(readWrite), 0), wasi.ENotcapable)
	u.want("rights shrink", u.call("fd_fdstat_set_rights", rw, uint64(wasi.RightFdSeek), 0), wasi.Success)
	_, e = u.read(rw, 1)
	u.want("read after the right was dropped", e, wasi.EBadf)
}

func TestReadlink(t *testing.T) {
	u := inRoot(t, tree(t, map[string]string{"target": ""}))
	root := u.preopen("/")
	u.want("symlink", u.symlink("target", root, "symlink"), wasi.Success)
	if s, e := u.readlink(root, "symlink", 10); s != "target" || e != wasi.Success {
		t.Errorf("got %q, %v", s, e)
	}
	if s, e := u.readlink(root, "symlink", 4); s != "targ" || e != wasi.Success {
		t.Errorf("got %q, %v, want what fits", s, e)
	}
	_, e := u.readlink(root, "target", 10)
	u.want("of a file", e, wasi.EInval)
	u.want("absolute target", u.symlink("/", root, "abs"), wasi.ENotcapable)
}

func TestRenumberStreams(t *testing.T) {
	u := inRoot(t, tree(t, nil))
	root := u.preopen("/")
	for from := range uint64(3) {
		to := u.mustOpen(root, "file", creat, 0)
		u.want("renumber", u.call("fd_renumber", from, to), wasi.Success)
		u.want("the new number", u.call("fd_fdstat_get", to, outPtr), wasi.Success)
		u.want("the old number", u.call("fd_fdstat_get", from, outPtr), wasi.EBadf)
		u.want("unlink", u.path("path_unlink_file", root, "file"), wasi.Success)
	}
	u.want("onto itself", u.call("fd_renumber", root, root), wasi.Success)
	u.want("still open", u.call("fd_fdstat_get", root, outPtr), wasi.Success)
	u.want("to a huge number", u.call("fd_renumber", root, 1<<31), wasi.EBadf)
	u.want("to the largest number", u.call("fd_renumber", root, 1<<32-1), wasi.EBadf)
}

func TestNofollow(t *testing.T) {
	u := inRoot(t, tree(t, map[string]string{"dir/": "", "file": "", "todir": "-> dir", "tofile": "-> file", "nowhere": "-> gone", "loop": "-> loop"}))
	root := u.preopen("/")
	for _, tt := range []struct {
		path   string
		follow bool
		oflags uint64
		want   []wasi.Errno
	}{
		{"todir", false, directory, []wasi.Errno{wasi.ELoop, wasi.ENotdir}},
		{"todir", false, 0, []wasi.Errno{wasi.ELoop}},
		{"todir", true, directory, []wasi.Errno{wasi.Success}},
		{"tofile", false, directory, []wasi.Errno{wasi.ELoop, wasi.ENotdir}},
		{"tofile", false, 0, []wasi.Errno{wasi.ELoop}},
		{"tofile", true, directory, []wasi.Errno{wasi.ENotdir}},
		{"tofile", true, 0, []wasi.Errno{wasi.Success}},
		{"nowhere", false, directory, []wasi.Errno{wasi.ELoop, wasi.ENotdir}},
		{"nowhere", false, 0, []wasi.Errno{wasi.ELoop}},
		{"nowhere", true, 0, []wasi.Errno{wasi.ENoent}},
		{"nowhere", true, creat | excl, []wasi.Errno{wasi.EExist}},
		{"loop", false, 0, []wasi.Errno{wasi.ELoop}},
		{"loop", true, 0, []wasi.Errno{wasi.ELoop}},
		{"loop", true, creat, []wasi.Errno{wasi.ELoop}},
		{"gone", false, 0, []wasi.Errno{wasi.ENoent}},
		{"file", false, creat | excl, []wasi.Errno{wasi.EExist}},
		{"nowhere", true, creat, []wasi.Errno{wasi.Success}}, // makes the target, as POSIX
		{"gone", false, 0, []wasi.Errno{wasi.Success}},
	} {
		_, e := u.open(root, tt.follow, tt.path, tt.oflags, 0, 0, 0)
		u.want(tt.path, e, tt.want...)
	}
}

func TestTrailingSlashes(t *testing.T) {
	u := inRoot(t, tree(t, map[string]string{"dir/": "", "full/x": "", "file": "f"}))
	root := u.preopen("/")
	u.want("link at nothing/", u.symlink("source", root, "target/"), wasi.ENoent)
	u.want("link at dir/", u.symlink("source", root, "dir/"), wasi.EExist)
	u.want("link at dir", u.symlink("source", root, "dir"), wasi.EExist)
	u.want("link at file/", u.symlink("source", root, "file/"), wasi.ENotdir, wasi.EExist)
	u.want("link at file", u.symlink("source", root, "file"), wasi.EExist)
	u.want("hard link at nothing/", u.link(root, false, "file", root, "link/"), wasi.ENoent)
	u.want("unlink dir", u.path("path_unlink_file", root, "dir"), wasi.EIsdir)
	u.want("unlink dir/", u.path("path_unlink_file", root, "dir/"), wasi.EIsdir)
	u.want("unlink file/", u.path("path_unlink_file", root, "file/"), wasi.ENotdir)
	u.want("rmdir file/", u.path("path_remove_directory", root, "file/"), wasi.ENotdir)
	u.want("rmdir file", u.path("path_remove_directory", root, "file"), wasi.ENotdir)
	u.want("rmdir full", u.path("path_remove_directory", root, "full"), wasi.ENotempty)
	u.want("rmdir dir/", u.path("path_remove_directory", root, "dir/"), wasi.Success)
	u.want("mkdir dir/", u.path("path_create_directory", root, "dir/"), wasi.Success)
	u.want("rename dir/ to other/", u.rename(root, "dir/", root, "other/"), wasi.Success)
	u.want("rename file/", u.rename(root, "file/", root, "file2"), wasi.ENotdir)
	u.want("rename file to file2/", u.rename(root, "file", root, "file2/"), wasi.ENotdir)
	_, e := u.open(root, false, "file/", 0, readOnly, 0, 0)
	u.want("open file/", e, wasi.ENotdir)
	_, e = u.open(root, false, "new/", creat, readWrite, 0, 0)
	u.want("create new/", e, wasi.EIsdir)
	_, e = u.statAt(root, true, "file/")
	u.want("stat file/", e, wasi.ENotdir)
}

func TestRename(t *testing.T) {
	u := inRoot(t, tree(t, map[string]string{"dir/": "", "empty/": "", "full/x": "", "a": "1", "b": "2"}))
	root := u.preopen("/")
	u.want("dir onto a full one", u.rename(root, "dir", root, "full"), wasi.ENotempty)
	u.want("dir onto a file", u.rename(root, "dir", root, "full/x"), wasi.ENotdir)
	u.want("file onto a dir", u.rename(root, "a", root, "empty"), wasi.EIsdir)
	u.want("dir onto an empty one", u.rename(root, "dir", root, "empty"), wasi.Success)
	u.want("file onto a file", u.rename(root, "a", root, "b"), wasi.Success)
	u.want("what is gone", u.rename(root, "a", root, "c"), wasi.ENoent)
	u.want("dir into itself", u.rename(root, "full", root, "full/sub"), wasi.EInval)
	if text, _ := u.read(u.mustOpen(root, "b", 0, readOnly), 10); text != "1" {
		t.Errorf("got %q, want the renamed file", text)
	}
}

func TestLink(t *testing.T) {
	u := inRoot(t, tree(t, map[string]string{"file": "", "dir/": "", "nowhere": "-> gone", "loop": "-> loop"}))
	root := u.preopen("/")
	u.want("onto itself", u.link(root, false, "file", root, "file"), wasi.EExist)
	u.want("onto a dir", u.link(root, false, "file", root, "dir"), wasi.EExist)
	u.want("of a dir", u.link(root, false, "dir", root, "l"), wasi.EPerm)
	u.want("following", u.link(root, true, "nowhere", root, "l"), wasi.EInval)
	u.want("of a dangling link", u.link(root, false, "nowhere", root, "l1"), wasi.Success)
	u.want("of a loop", u.link(root, false, "loop", root, "l2"), wasi.Success)
	u.want("onto a dangling link", u.link(root, false, "file", root, "nowhere"), wasi.EExist)
	u.want("of a file", u.link(root, false, "file", root, "dir/l3"), wasi.Success)
	if s, e := u.statAt(root, false, "dir/l3"); s.nlink != 2 || e != wasi.Success {
		t.Errorf("got %+v, %v, want two links", s, e)
	}
}

func TestSizes(t *testing.T) {
	u := inRoot(t, tree(t, nil))
	root := u.preopen("/")
	fd := u.mustOpen(root, "f", creat, readWrite)
	size := func(want uint64) {
		t.Helper()
		if s, e := u.fstat(fd); s.size != want || e != wasi.Success {
			t.Errorf("got size %d, %v, want %d", s.size, e, want)
		}
	}
	u.want("set_size", u.call("fd_filestat_set_size", fd, 100), wasi.Success)
	size(100)
	for advice := range uint64(6) {
		u.want("advise", u.call("fd_advise", fd, 10, 50, advice), wasi.Success)
	}
	u.want("no such advice", u.call("fd_advise", fd, 10, 50, 6), wasi.EInval)
	u.want("allocate", u.call("fd_allocate", fd, 100, 100), wasi.Success)
	size(200)
	u.want("allocate within", u.call("fd_allocate", fd, 10, 10), wasi.Success)
	size(200)
	u.want("allocate nothing", u.call("fd_allocate", fd, 10, 0), wasi.EInval)
	u.want("allocate past all", u.call("fd_allocate", fd, 1<<62, 1<<62), wasi.EFbig)
	u.want("negative size", u.call("fd_filestat_set_size", fd, 1<<63), wasi.EInval)
	u.want("seek", u.call("fd_seek", fd, 50, 0, outPtr), wasi.Success)
	u.want("seek before the start", u.call("fd_seek", fd, 1<<64-2000, 1, outPtr), wasi.EInval)
	u.want("no such whence", u.call("fd_seek", fd, 0, 3, outPtr), wasi.EInval)
	u.want("negative offset", u.call("fd_pread", fd, u.iovec(bufPtr, 8), 1, 1<<63, outPtr), wasi.EInval)
	f2, e := u.open(root, false, "f", trunc, wasi.RightFdRead|wasi.RightFdWrite, 0, 0)
	u.want("truncate", e, wasi.Success)
	if text, _ := u.read(f2, 10); text != "" {
		t.Errorf("got %q after truncation", text)
	}
	size(0)
}

func TestAppendFlag(t *testing.T) {
	u := inRoot(t, tree(t, nil))
	root := u.preopen("/")
	fd, _ := u.open(root, false, "f", creat, readWrite, 0, 1)
	u.write(fd, "one")
	u.call("fd_seek", fd, 0, 0, outPtr)
	u.write(fd, "two")
	u.want("flags off", u.call("fd_fdstat_set_flags", fd, 0), wasi.Success)
	u.call("fd_seek", fd, 0, 0, outPtr)
	u.write(fd, "ONE")
	u.call("fd_seek", fd, 0, 0, outPtr)
	if text, _ := u.read(fd, 10); text != "ONEtwo" {
		t.Errorf("got %q, want ONEtwo", text)
	}
	u.want("sync can't be set later", u.call("fd_fdstat_set_flags", fd, 16), wasi.ENotsup)
	u.want("no such flag", u.call("fd_fdstat_set_flags", fd, 32), wasi.EInval)
}
