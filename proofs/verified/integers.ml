(* The whole numbers of Coq (BinInt.Z, BinPos.Pos) by those of Zarith: each function for every argument that Coq's has. *)

type t = Z.t

let zero = Z.zero
let one = Z.one
let double x = Z.shift_left x 1
let double_and_one x = Z.succ (Z.shift_left x 1)
let by_bit odd even one x =
  if Z.equal x Z.one then one ()
  else if Z.is_odd x then odd (Z.shift_right x 1)
  else even (Z.shift_right x 1)
let by_sign zero positive negative x =
  match Z.sign x with 0 -> zero () | 1 -> positive x | _ -> negative (Z.neg x)
let by_order equal less greater order =
  if order = 0 then equal () else if order < 0 then less () else greater ()

let add = Z.add
let sub = Z.sub
let mul = Z.mul
let opposite = Z.neg
let abs = Z.abs
let sign x = Z.of_int (Z.sign x)
let max = Z.max
let min = Z.min
let compare = Z.compare
let equal = Z.equal
let leq = Z.leq
let lt = Z.lt
let even = Z.is_even
let odd = Z.is_odd

(* Rounded towards minus infinity; the quotient by 0 is 0, and what remains is the dividend. *)
let div a b = if Z.sign b = 0 then Z.zero else Z.fdiv a b
let modulo a b = if Z.sign b = 0 then a else Z.sub a (Z.mul b (Z.fdiv a b))
let div_modulo a b = let q = div a b in (q, Z.sub a (Z.mul b q))

let log2 x = if Z.sign x <= 0 then Z.zero else Z.of_int (Z.numbits x - 1)
let pow x n = if Z.sign n < 0 then Z.zero else Z.pow x (Z.to_int n)
let shift_right x n =
  if Z.sign n < 0 then Z.shift_left x (Z.to_int (Z.neg n)) else Z.shift_right x (Z.to_int n)
let shift_left x n = shift_right x (Z.neg n)
let both = Z.logand
let either = Z.logor
let without a b = Z.logand a (Z.lognot b)
let bit x n = Z.sign n >= 0 && Z.testbit x (Z.to_int n)
let set_bit x n = if Z.sign n < 0 then x else Z.logor x (Z.shift_left Z.one (Z.to_int n))
let to_positive x = if Z.sign x > 0 then x else Z.one

(* The greatest common divisor, and both numbers divided by it. *)
let reduce a b =
  let g = Z.gcd a b in
  if Z.sign g = 0 then (g, (Z.zero, Z.zero)) else (g, (Z.divexact a g, Z.divexact b g))
