;; A counter in the key-value store: adds one to the key "count" three times and
;; prints it each time. A WASI command that also uses the "sandbox" interface.
;; Without a kv grant it is told so, says "denied" and exits with 1.
(module
  (import "sandbox" "kv_get"
    (func $kv_get (param i32 i32 i32 i32) (result i32)))  ;; key, out -> length or a negative code
  (import "sandbox" "kv_put"
    (func $kv_put (param i32 i32 i32 i32) (result i32)))  ;; key, value -> 0 or a negative code
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))

  (memory (export "memory") 1)
  (data (i32.const 16) "count")     ;; the key; its value, an i32, goes to 24
  (data (i32.const 32) "denied\n")

  (func $print (param $at i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))

  ;; Digits are written from the right, the line break last of all.
  (func $print_number (param $n i32) (local $at i32)
    (local.set $at (i32.const 63))
    (i32.store8 (local.get $at) (i32.const 10))
    (loop $digit
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (i32.store8 (local.get $at)
        (i32.add (i32.const 48) (i32.rem_u (local.get $n) (i32.const 10))))
      (br_if $digit (local.tee $n (i32.div_u (local.get $n) (i32.const 10)))))
    (call $print (local.get $at) (i32.sub (i32.const 64) (local.get $at))))

  (func $must (param $code i32)
    (if (i32.ne (local.get $code) (i32.const 0))
      (then
        (call $print (i32.const 32) (i32.const 7))
        (call $exit (i32.const 1)))))

  (func $add_one
    (i32.store (i32.const 24) (i32.const 0))  ;; what a key that isn't there yet counts as
    (drop (call $kv_get (i32.const 16) (i32.const 5) (i32.const 24) (i32.const 4)))
    (i32.store (i32.const 24) (i32.add (i32.load (i32.const 24)) (i32.const 1)))
    (call $must (call $kv_put (i32.const 16) (i32.const 5) (i32.const 24) (i32.const 4)))
    (call $print_number (i32.load (i32.const 24))))

  (func (export "_start")
    (call $add_one)
    (call $add_one)
    (call $add_one)))
