;; Uses a vector instruction, which takes the Simd class.
(module (func (export "run") (result i32)
  (i32x4.extract_lane 0 (i32x4.splat (i32.const 0)))))
