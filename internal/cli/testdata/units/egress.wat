;; Sends four bytes to an endpoint; exits with the refusal's code, made positive,
;; or with 0 when there was an answer, which it prints.
(module
  (import "sandbox" "egress" (func $egress (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "127.0.0.1:28463")
  (data (i32.const 32) "ping")
  (func (export "run") (result i32) (local $n i32)
    (local.set $n (call $egress (i32.const 0) (i32.const 15) (i32.const 32) (i32.const 4) (i32.const 128) (i32.const 64)))
    (if (i32.lt_s (local.get $n) (i32.const 0)) (then (return (i32.sub (i32.const 0) (local.get $n)))))
    (i32.store (i32.const 64) (i32.const 128))
    (i32.store (i32.const 68) (local.get $n))
    (call $fd_write (i32.const 1) (i32.const 64) (i32.const 1) (i32.const 72))))
