;; A start function is metered too, and what it traps on is the run's trap.
(module
  (global $n (mut i32) (i32.const 0))
  (func $init (local $i i32)
    (loop $l (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000))))
    (global.set $n (local.get $i)))
  (start $init)
  (func $get (export "get") (result i32) (global.get $n)))
