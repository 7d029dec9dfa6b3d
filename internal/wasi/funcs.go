package wasi

import (
	"context"

	"github.com/tetratelabs/wazero/api"

	"github.com/joulebox/joulebox/internal/wasm"
)

// function is one WASI call: its arguments are a, its result an errno.
type function func(k *call, a []uint64) Errno

// signature is a call's name and parameters, "i" for i32 and "I" for i64.
type signature struct {
	name, params string
	f            function
	since        int // 0: in both versions, 1: preview 1 only
}

// signatures lists preview 1 in the order of its definition, but for proc_exit,
// which has no result.
var signatures = []signature{
	{"args_get", "ii", argsGet, 0},
	{"args_sizes_get", "ii", argsSizesGet, 0},
	{"environ_get", "ii", environGet, 0},
	{"environ_sizes_get", "ii", environSizesGet, 0},
	{"clock_res_get", "ii", clockResGet, 0},
	{"clock_time_get", "iIi", clockTimeGet, 0},
	{"fd_advise", "iIIi", fdAdvise, 0},
	{"fd_allocate", "iII", fdAllocate, 0},
	{"fd_close", "i", fdClose, 0},
	{"fd_datasync", "i", fdDatasync, 0},
	{"fd_fdstat_get", "ii", fdFdstatGet, 0},
	{"fd_fdstat_set_flags", "ii", fdFdstatSetFlags, 0},
	{"fd_fdstat_set_rights", "iII", fdFdstatSetRights, 0},
	{"fd_filestat_get", "ii", fdFilestatGet, 0},
	{"fd_filestat_set_size", "iI", fdFilestatSetSize, 0},
	{"fd_filestat_set_times", "iIIi", fdFilestatSetTimes, 0},
	{"fd_pread", "iiiIi", fdPread, 0},
	{"fd_prestat_get", "ii", fdPrestatGet, 0},
	{"fd_prestat_dir_name", "iii", fdPrestatDirName, 0},
	{"fd_pwrite", "iiiIi", fdPwrite, 0},
	{"fd_read", "iiii", fdRead, 0},
	{"fd_readdir", "iiiIi", fdReaddir, 0},
	{"fd_renumber", "ii", fdRenumber, 0},
	{"fd_seek", "iIii", fdSeek, 0},
	{"fd_sync", "i", fdSync, 0},
	{"fd_tell", "ii", fdTell, 0},
	{"fd_write", "iiii", fdWrite, 0},
	{"path_create_directory", "iii", pathCreateDirectory, 0},
	{"path_filestat_get", "iiiii", pathFilestatGet, 0},
	{"path_filestat_set_times", "iiiiIIi", pathFilestatSetTimes, 0},
	{"path_link", "iiiiiii", pathLink, 0},
	{"path_open", "iiiiiIIii", pathOpen, 0},
	{"path_readlink", "iiiiii", pathReadlink, 0},
	{"path_remove_directory", "iii", pathRemoveDirectory, 0},
	{"path_rename", "iiiiii", pathRename, 0},
	{"path_symlink", "iiiii", pathSymlink, 0},
	{"path_unlink_file", "iii", pathUnlinkFile, 0},
	{"poll_oneoff", "iiii", pollOneoff, 0},
	{"proc_raise", "i", procRaise, 0},
	{"random_get", "ii", randomGet, 0},
	{"sched_yield", "", schedYield, 0},
	{"sock_accept", "iii", sockAccept, 1},
	{"sock_recv", "iiiiii", sockRecv, 0},
	{"sock_send", "iiiii", sockSend, 0},
	{"sock_shutdown", "ii", sockShutdown, 0},
}

// HostFuncs are both versions' functions. Their runs' State must be a Carrier.
func HostFuncs() []wasm.HostFunc {
	var list []wasm.HostFunc
	for _, v := range []*version{&preview1, &unstable} {
		for i := range signatures {
			if s := &signatures[i]; s.since <= v.number {
				list = append(list, wasm.HostFunc{Module: v.module, Name: s.name, Params: types(s.params),
					Results: types("i"), Fn: hostFunc(s, v)})
			}
		}
		list = append(list, wasm.HostFunc{Module: v.module, Name: "proc_exit", Params: types("i"), Fn: procExit})
	}
	return list
}

// Invoke makes one call by its name for a guest of any engine: arguments in stack,
// the errno in stack[0]. It reports false when there is no such call.
func (c *Context) Invoke(ctx context.Context, g Guest, module, name string, stack []uint64) bool {
	for _, v := range []*version{&preview1, &unstable} {
		for i := range signatures {
			s := &signatures[i]
			if s.name == name && v.module == module && s.since <= v.number && len(stack) >= max(1, len(s.params)) {
				c.invoke(ctx, g, v, s, stack)
				return true
			}
		}
	}
	return false
}

func types(s string) []api.ValueType {
	list := make([]api.ValueType, len(s))
	for i, c := range s {
		list[i] = api.ValueTypeI32
		if c == 'I' {
			list[i] = api.ValueTypeI64
		}
	}
	return list
}
