;; Two entry points and a result that needs more than eight bits.
(module
  (func (export "run") (result i32) (i32.const 258))
  (func (export "other") (result i32) (i32.const 7)))
