(* The slack of ensembles, 7.1 of FORMAT.md, in exact rationals. Not trusted: the theory has its own. *)

module C = Accepts
open Reader

let power n = if n >= 0 then Q.of_bigint (two n) else Q.inv (Q.of_bigint (two (-n)))
let of_float (m, e) = Q.mul (Q.of_bigint m) (power (Z.to_int e))
let gamma digits operations =
  let error = Q.mul (Q.of_int operations) (power (-digits)) in
  need (Q.lt error Q.one) "statement: too many additions for a rounding bound";
  Q.div error (Q.sub Q.one error)

let rec leaves_of = function C.Leaf values -> [values] | C.Node (_, _, _, l, r) -> List.rev_append (leaves_of l) (leaves_of r)

(* How far the exact sums of a float comparison that holds may lie below it, and of one that fails above it. *)
let slack s (c : C.comparison0) =
  let sides = List.map Nats.count (List.filter_map Fun.id [c.plus; c.minus]) in
  let two_sides = List.length sides = 2 in
  let digits = Z.to_int (C.precision s) in
  let smallest = power (if s.C.sums_in_float32 then -126 else -1022) in
  let bits = ref Z.zero in
  let size_of values =
    let parts = List.map (List.nth values) sides in
    List.iter (fun v -> bits := Z.logor !bits v) parts;
    List.fold_left (fun sum v -> Z.add sum (Z.abs v)) Z.zero parts in
  let first = C.first_scores s in
  let of_tree t =
    List.fold_left (fun most values -> Z.max most (size_of (List.map (C.stored s) values))) Z.zero (leaves_of t) in
  let sizes = List.map of_tree s.C.trees in
  let size = List.fold_left Z.add (size_of first) sizes in
  let grain = Z.logand !bits (Z.neg !bits) in
  let real n = Q.mul (Q.of_bigint n) (power (- (Z.to_int s.C.unit0))) in
  let terms = List.length s.C.trees + if List.exists (fun k -> Z.sign (List.nth first k) <> 0) sides then 1 else 0 in
  let room = power (if s.C.sums_in_float32 then 127 else 1023) in
  need (Q.lt (Q.mul (real size) (Q.add Q.one (gamma digits (terms + 1)))) room) "statement: model: sums may overflow";
  let exact = Z.leq size (Z.shift_left grain digits) in
  let summing = if exact then Q.zero else Q.mul (gamma digits (max (terms - 1) 0)) (real size) in
  let divide = Q.of_bigint s.C.divide in
  let halved = Z.popcount s.C.divide = 1 && Q.geq (Q.div (real grain) divide) smallest in
  let loose, tight =
    if Z.equal s.C.divide Z.one || (exact && halved) then (Q.zero, Q.zero)
    else begin
      let rounding = Q.mul (Q.mul (power (1 - digits)) (real size)) (Q.add Q.one (gamma digits terms)) in
      let error = Q.add rounding (Q.mul (Q.mul (Q.of_int 2) divide) smallest) in
      if two_sides && Q.gt (real grain) error then (Q.zero, Q.zero)
      else ((if two_sides && c.strict then Q.zero else error), if two_sides && not c.strict then Q.zero else error)
    end in
  let squashed = Q.mul (Q.mul (Q.of_bigint s.C.squash) (power (-digits))) divide in
  let outside = Q.add squashed (Q.mul (of_float s.C.error) (Q.of_int (List.length sides))) in
  (Q.add (Q.add summing loose) outside, Q.add (Q.add summing tight) outside)

(* The least sum of margins with which a comparison may hold, in units of the scores and in those of floats, 2^-1074: whole
   numbers both. *)
let threshold s (c : C.comparison0) =
  let slack, _ = slack s c in
  let least = Q.sub (Q.mul (of_float c.than) (Q.of_bigint s.C.divide)) slack in
  let whole unit =
    let least = Q.mul least (power unit) in
    if Q.equal slack Q.zero && c.strict then Z.succ (Z.fdiv least.num least.den) else Z.cdiv least.num least.den in
  (whole (Z.to_int s.C.unit0), whole 1074)

(* Whether the float sums themselves decide: their order is known, and their last bits. *)
let repeated s = s.C.ordered && Z.sign (fst s.C.error) = 0 && Z.sign s.C.squash = 0

(* Whether the scores of an ensemble certainly have the goal at a point, by 7.1; what the float sums decide is the theory's. *)
let certain s point =
  let leaves = lazy (List.map (C.leaf_fast s point) s.C.trees) in
  let holds (c : C.comparison0) =
    let _, slack = slack s c in
    let sum = List.fold_left (fun sum l -> Z.add sum (C.margin c l)) (C.margin c (C.first_scores s)) (Lazy.force leaves) in
    let real = Q.mul (Q.of_bigint sum) (power (- (Z.to_int s.C.unit0))) in
    let margin = Q.sub real (Q.mul (of_float c.than) (Q.of_bigint s.C.divide)) in
    Q.gt margin slack || (Q.equal slack Q.zero && (not c.strict) && Q.equal margin Q.zero) in
  repeated s || List.exists (List.for_all holds) s.C.goal
