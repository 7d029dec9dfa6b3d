;; An endless loop. Nothing inside ever gives the host a turn: only metering
;; can end it, at its energy or its time budget, whichever is spent first.
(module
  (func (export "run") (result i32)
    (loop $forever (br $forever))
    (i32.const 0)))
