;; The smallest WASI command that says something: one fd_write to stdout.
(module
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 8) "hello from inside\n")
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 8))   ;; iovec: where
    (i32.store (i32.const 4) (i32.const 18))  ;; iovec: how many bytes
    (if (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 32))
      (then unreachable))))
