;; The same for vectors: four ways to see a lane's bits, two to move them.
(module
  (memory (export "memory") 1)
  (func (export "store") (param f64 f64) (result i64)
    (v128.store (i32.const 0) (f64x2.div (f64x2.splat (local.get 0)) (f64x2.splat (local.get 1)))) (i64.load (i32.const 8)))
  (func (export "integer-lane") (param f64 f64) (result i64)
    (i64x2.extract_lane 1 (f64x2.sub (f64x2.splat (local.get 0)) (f64x2.splat (local.get 1)))))
  (func (export "float-lane") (param f64 f64) (result i64)
    (i64.reinterpret_f64 (f64x2.extract_lane 1 (f64x2.mul (f64x2.splat (local.get 0)) (f64x2.splat (local.get 1))))))
  (func (export "splat") (param f64 f64) (result i64)
    (i64x2.extract_lane 0 (f64x2.splat (f64.div (local.get 0) (local.get 1)))))
  (func (export "moved") (param i64) (result i64) (i64x2.extract_lane 1 (i64x2.splat (local.get 0))))
  (func (export "moved-lane") (param i64) (result i64)
    (i64.reinterpret_f64 (f64x2.extract_lane 1 (f64x2.abs (f64x2.abs (i64x2.splat (local.get 0))))))))
