;; A memory eater: it grows its memory page by page and touches each new one.
;; It declares no maximum of its own, so only the grant's cap can stop it.
(module
  (memory (export "memory") 1)
  (func (export "run") (result i32)
    (loop $more
      (i32.store
        (i32.shl (memory.grow (i32.const 1)) (i32.const 16))
        (i32.const 1))
      (br $more))
    (i32.const 0)))
