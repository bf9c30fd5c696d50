(** * The statement of a tree ensemble's certificate, and what it means

    The statement of FORMAT.md (features, columns, ensemble, goal, distance, rules, avoid, most_changes, claim) as a
    record, and its meaning: which points are allowed, what the deployed floating-point model decides, how far a point is.
    Nothing here is a proof; this file is what one has to read, with Rounding.v, to know what a theorem about a model says.

    Numbers are exact. A float is a pair (mantissa, exponent), mantissa * 2^exponent. Inputs and thresholds are computed
    in units of 2^-1074 (every float64 is a whole number of them), leaf values in units of 2^-[unit], which the
    reader of a certificate chooses so that every one is whole.

    Rounding is that of Rounding.v, which knows no largest number; [stays_finite] says that the largest float is never
    exceeded, and a theorem about a certificate contains it. Only the cast of an input to float32 may overflow: it then is
    infinite, as the processor has it. *)

From Coq Require Import ZArith QArith Qminmax List Bool Permutation.
From Mace Require Import Rounding.
Import ListNotations.
Open Scope Z_scope.

Definition float := (Z * Z)%type.
Definition units (x : float) : Z := Z.shiftl (fst x) (snd x + 1074).

(* Shifts by 1074 are for computing, never for a tactic to unfold. *)
Arguments Z.shiftl : simpl never.
Arguments Z.shiftr : simpl never.
Arguments Z.pow : simpl never.

(** ** Features *)

Inductive kind :=
| Step (step : Z) (denominator : positive) (extra : option Z)  (** step and extra over one denominator *)
| Float64
| Float32
| Nominal                                                      (** changed or not *)
| Ordinal (steps : positive).                                  (** changes counted in ranks, of [steps] *)

Inductive domain :=
| Between (lower upper : Z)
| Among (mask : Z).

(** [absent]: the index that stands for "missing", and the scaled change between it and every other. *)
Record feature := Feature {
  kind_of : kind; domain_of : domain; start : Z; scale : Q; weight : Q; absent : option (Z * Q) }.

(** The float whose bit pattern is |i|, with the sign of i; [bits] are the explicit bits of its mantissa, and the
    smallest float is 2^[low] units. *)
Definition float_of_rank (bits low i : Z) : Z :=
  let m := Z.abs i in
  let e := Z.shiftr m bits in
  let rest := m - Z.shiftl e bits in
  let size := if e =? 0 then rest else Z.shiftl (Z.shiftl 1 bits + rest) (e - 1) in
  Z.shiftl (if i <? 0 then - size else size) low.
Arguments float_of_rank : simpl never.

(** The value of an index is [place] / ([denominator] * 2^[shift]), in the scale in which changes are measured. *)
Definition place (k : kind) (start i : Z) : Z :=
  match k with
  | Step step _ None => i * step
  | Step step _ (Some e) =>
      let at_extra := e / step + 1 in
      if i <? at_extra then i * step else if i =? at_extra then e else (i - 1) * step
  | Float64 => float_of_rank 52 0 i
  | Float32 => float_of_rank 23 925 i
  | Nominal => if i =? start then 0 else 1
  | Ordinal _ => i
  end.

Definition denominator (k : kind) : positive :=
  match k with Step _ d _ => d | Ordinal steps => steps | _ => 1%positive end.

Definition shift (k : kind) : Z := match k with Float64 | Float32 => 1074 | _ => 0 end.

Definition moved (f : feature) (i : Z) : Z :=
  Z.abs (place (kind_of f) (start f) i - place (kind_of f) (start f) (start f)).

(** The cost of a change from or to "missing". *)
Definition across (f : feature) (i : Z) : option Q :=
  match absent f with
  | Some (m, cost) => if negb (i =? start f) && ((i =? m) || (start f =? m)) then Some cost else None
  | None => None
  end.

(** The scaled change of FORMAT.md. *)
Definition delta (f : feature) (i : Z) : Q :=
  match across f i with
  | Some cost => cost
  | None => (moved f i # (Z.to_pos (2 ^ shift (kind_of f)) * denominator (kind_of f))) / scale f
  end.

Definition changed (f : feature) (i : Z) : Q :=
  match across f i with
  | Some cost => if Qeq_bool cost 0 then 0%Q else 1%Q
  | None => if moved f i =? 0 then 0%Q else 1%Q
  end.

(** The exact value of an index, as rules read it. *)
Definition value (f : feature) (i : Z) : Q :=
  match kind_of f with
  | Nominal | Ordinal _ => inject_Z i
  | k => place k 0 i # (Z.to_pos (2 ^ shift k) * denominator k)
  end.

(** What the model is given: the float64 nearest to the value, in units. *)
Definition given (k : kind) (i : Z) : Z :=
  match k with
  | Step _ d _ => round 0 53 (Z.shiftl (place k 0 i) 1074) (Zpos d)
  | Float64 | Float32 => place k 0 i
  | Nominal | Ordinal _ => Z.shiftl i 1074
  end.

(** ** Columns *)

Inductive operation := Add (x : float) | Subtract (x : float) | Multiply (x : float) | Divide (x : float).

(** [if_absent]: what the model is given for "missing", on a grid that has it. *)
Inductive column :=
| Table (feature : nat) (values : list float)
| Number (feature : nat) (operations : list operation) (if_absent : option float)
| Single (feature : nat) (if_absent : option float).   (** the float32 nearest to the value, in one rounding *)

Definition feature_of (c : column) : nat := match c with Table j _ | Number j _ _ | Single j _ => j end.

(** A float64 operation, rounded once. *)
Definition operate (v : Z) (o : operation) : Z :=
  match o with
  | Add x => round 0 53 (v + units x) 1
  | Subtract x => round 0 53 (v - units x) 1
  | Multiply x => round 0 53 (v * units x) (2 ^ 1074)
  | Divide x => round 0 53 (Z.sgn (units x) * Z.shiftl v 1074) (Z.abs (units x))
  end.

(** The float32 nearest to a value, in units of 2^-1074. *)
Definition given_single (k : kind) (i : Z) : Z :=
  round 925 24 (Z.shiftl (place k 0 i) (1074 - shift k)) (Zpos (denominator k)).

Definition is_absent (f : feature) (i : Z) : bool := match absent f with Some (m, _) => i =? m | None => false end.

Definition column_at (f : feature) (c : column) (i : Z) : Z :=
  match c with
  | Table _ values => units (nth (Z.to_nat i) values (0, 0))
  | Number _ operations if_absent =>
      match if_absent, is_absent f i with
      | Some x, true => units x
      | _, _ => fold_left operate operations (given (kind_of f) i)
      end
  | Single _ if_absent =>
      match if_absent, is_absent f i with Some x, true => units x | _, _ => given_single (kind_of f) i end
  end.

(** ** Rules *)

Inductive number :=
| Value (feature : nat)
| Constant (q : Q)
| Sum (l : numbers)
| Minus (a b : number)
| Opposite (a : number)
| Times (q : Q) (a : number)
| Absolute (a : number)
| Least (l : numbers)
| Greatest (l : numbers)
with numbers := One (a : number) | More (a : number) (l : numbers).

Inductive condition :=
| Always
| Never
| Less (a b : number)
| AtMost (a b : number)
| Equal (a b : number)
| Unequal (a b : number)
| Both (l : conditions)
| Either (l : conditions)
| Not (a : condition)
with conditions := NoMore | Also (a : condition) (l : conditions).

(** ** Excluded regions *)

Inductive side := Range (lower upper : Z) | Mask (mask : Z).

Inductive region :=
| Exactly (point : list Z)
| Changed (js : list nat)
| Near (centre : list Z) (radius : Q)
| InBox (sides : list side).

(** ** The ensemble *)

Inductive test := Below (threshold : float) | Member (categories : list Z).

(** [hint] is where the checker should look for the last index before the answer of the test changes; it has no
    meaning. *)
Inductive tree :=
| Leaf (scores : list Z)
| Node (column : nat) (question : test) (hint : Z) (left right : tree).

Record comparison := Compare { plus : option nat; minus : option nat; than : float; strict : bool }.

Record statement := Statement {
  features : list feature;
  columns : list column;
  cast_to_float32 : bool;              (** cast = "float32" *)
  test_is_strict : bool;               (** test = "<" *)
  sums_in_float32 : bool;              (** dtype = "float32" *)
  ordered : bool;                      (** false: the trees may be added in any order *)
  error : float;
  squash : Z;                          (** units of rounding within which the rule squashes scores together *)
  divide : positive;
  unit : Z;
  start_scores : list Z;
  trees : list tree;
  goal : list (list comparison);       (** a disjunction of conjunctions *)
  alpha : Q; beta : Q; gamma : Q;
  rules : list condition;
  avoid : list region;
  most_changes : option nat;
  closer_than : option Q               (** None: the claim "anywhere" *)
}.

(** A point: one index for each feature. *)
Definition point := list Z.

Definition column_value (s : statement) (x : point) (c : nat) : Z :=
  match nth_error (columns s) c with
  | None => 0
  | Some column =>
      match nth_error (features s) (feature_of column) with
      | Some f => column_at f column (nth (feature_of column) x 0)
      | None => 0
      end
  end.

Definition largest_float64 : Z := 2 ^ 2098.   (** 2^1024, the first number that is too large *)
Definition largest_float32 : Z := 2 ^ 1202.   (** 2^128 *)
Definition infinite : Z := 2 ^ 4000.

Definition saturate (v : Z) : Z := if Z.abs v <? largest_float32 then v else Z.sgn v * infinite.

Definition cast (s : statement) (v : Z) : Z := if cast_to_float32 s then saturate (round 925 24 v 1) else v.

Definition passes (s : statement) (t : test) (v : Z) : bool :=
  match t with
  | Below threshold => if test_is_strict s then cast s v <? units threshold else cast s v <=? units threshold
  | Member categories => existsb (fun k => cast s v =? Z.shiftl k 1074) categories
  end.

(** Values are rounded to dtype before they are added; the smallest float32 is 2^-149. *)
Definition stored (s : statement) (v : Z) : Z :=
  if sums_in_float32 s then round (Z.max 0 (unit s - 149)) 24 v 1 else v.

Definition first_scores (s : statement) : list Z := map (stored s) (start_scores s).

Fixpoint leaf_of (s : statement) (x : point) (t : tree) : list Z :=
  match t with
  | Leaf scores => map (stored s) scores
  | Node c t _ l r => if passes s t (column_value s x c) then leaf_of s x l else leaf_of s x r
  end.

Definition precision (s : statement) : Z := if sums_in_float32 s then 24 else 53.
Definition smallest (s : statement) : Z := if sums_in_float32 s then 925 else 0.

(** The rounding is an argument, so that the checker may use a faster function with the same values. *)
Section Scores.
Variable round : Z -> Z -> Z -> Z -> Z.

(** (start + leaf + leaf + ..) in the order of the trees, each sum rounded. *)
Definition float_sum (s : statement) (leaves : list (list Z)) (k : nat) : Z :=
  fold_left (fun sum leaf => round 0 (precision s) (sum + nth k leaf 0) 1) leaves (nth k (first_scores s) 0).

(** Divided by [divide], rounded once, in units of 2^-1074. *)
Definition score (s : statement) (leaves : list (list Z)) (side : option nat) : Z :=
  match side with
  | None => 0
  | Some k =>
      let n := Z.shiftl (float_sum s leaves k) (1074 - unit s) in
      if Pos.eqb (divide s) 1 then n else round (smallest s) (precision s) n (Zpos (divide s))
  end.

Definition holds (s : statement) (leaves : list (list Z)) (c : comparison) : bool :=
  let margin := score s leaves (plus c) - score s leaves (minus c) in
  if strict c then units (than c) <? margin else units (than c) <=? margin.

(** How far scores may lie from the float sums, in units of 2^-1074: where the rule squashes scores before it compares
    them, and [error] for each side of the comparison. *)
Definition sides (c : comparison) : Z := (if plus c then 1 else 0) + (if minus c then 1 else 0).
Definition looseness (s : statement) (c : comparison) : Z :=
  squash s * 2 ^ (1074 - precision s) - (- (sides c * units (error s)) / Zpos (divide s)).

(** The comparison that holds whenever this one may hold, and the one that holds only where this one surely does. *)
Definition may (s : statement) (c : comparison) : comparison :=
  if looseness s c =? 0 then c else Compare (plus c) (minus c) (units (than c) - looseness s c, -1074) false.
Definition must (s : statement) (c : comparison) : comparison :=
  if looseness s c =? 0 then c else Compare (plus c) (minus c) (units (than c) + looseness s c, -1074) true.

Definition decides (s : statement) (leaves : list (list Z)) : bool :=
  existsb (fun part => forallb (fun c => holds s leaves (may s c)) part) (goal s).
Definition surely_decides (s : statement) (leaves : list (list Z)) : bool :=
  existsb (fun part => forallb (fun c => holds s leaves (must s c)) part) (goal s).
End Scores.

(** The orders in which the deployed model may add the trees: that of the statement, or any where it is not fixed (and
    where scores are known up to an error only). *)
Definition repeatable (s : statement) : bool := ordered s && (units (error s) =? 0).
Definition arrangement (s : statement) (x : point) (leaves : list (list Z)) : Prop :=
  Permutation (map (leaf_of s x) (trees s)) leaves /\
  (repeatable s = true -> leaves = map (leaf_of s x) (trees s)).

(** The model may decide as asked; it does so for certain. *)
Definition has_goal (s : statement) (x : point) : Prop :=
  exists leaves, arrangement s x leaves /\ decides round s leaves = true.
Definition surely_has_goal (s : statement) (x : point) : Prop :=
  forall leaves, arrangement s x leaves -> surely_decides round s leaves = true.

(** ** Allowed points, their distance, the claim *)

Definition allows (f : feature) (i : Z) : Prop :=
  match domain_of f with
  | Between lower upper => lower <= i <= upper
  | Among mask => 0 <= i /\ Z.testbit mask i = true
  end.

Fixpoint changes (fs : list feature) (x : point) : nat :=
  match fs, x with
  | f :: fs, i :: x => (if Z.eqb i (start f) then 0 else 1) + changes fs x
  | _, _ => 0
  end.

Fixpoint total (term : feature -> Z -> Q) (fs : list feature) (x : point) : Q :=
  match fs, x with f :: fs, i :: x => term f i + total term fs x | _, _ => 0 end.

Fixpoint largest (term : feature -> Z -> Q) (fs : list feature) (x : point) : Q :=
  match fs, x with f :: fs, i :: x => Qmax (term f i) (largest term fs x) | _, _ => 0 end.

(** d = alpha * sum w [delta > 0] + beta * sum w delta + gamma * max w delta *)
Definition distance_by (s : statement) (fs : list feature) (x : point) : Q :=
  (alpha s * total (fun f i => weight f * changed f i) fs x +
   beta s * total (fun f i => weight f * delta f i) fs x +
   gamma s * largest (fun f i => weight f * delta f i) fs x)%Q.

Definition distance (s : statement) (x : point) : Q := distance_by s (features s) x.

(** The same from another point. *)
Definition restart (f : feature) (i : Z) : feature := Feature (kind_of f) (domain_of f) i (scale f) (weight f) (absent f).
Fixpoint restarted (fs : list feature) (centre : list Z) : list feature :=
  match fs, centre with f :: fs, i :: centre => restart f i :: restarted fs centre | _, _ => [] end.

(** Rules read exact values. *)
Fixpoint number_value (fs : list feature) (x : point) (e : number) : Q :=
  match e with
  | Value j => match nth_error fs j with Some f => value f (nth j x 0%Z) | None => 0 end
  | Constant q => q
  | Sum l => numbers_value fs x Qplus l
  | Minus a b => number_value fs x a - number_value fs x b
  | Opposite a => - number_value fs x a
  | Times q a => q * number_value fs x a
  | Absolute a => Qmax (number_value fs x a) (- number_value fs x a)
  | Least l => numbers_value fs x Qmin l
  | Greatest l => numbers_value fs x Qmax l
  end%Q
with numbers_value (fs : list feature) (x : point) (join : Q -> Q -> Q) (l : numbers) : Q :=
  match l with
  | One a => number_value fs x a
  | More a l => join (number_value fs x a) (numbers_value fs x join l)
  end.

Fixpoint obeys (fs : list feature) (x : point) (c : condition) : bool :=
  match c with
  | Always => true
  | Never => false
  | Less a b => negb (Qle_bool (number_value fs x b) (number_value fs x a))
  | AtMost a b => Qle_bool (number_value fs x a) (number_value fs x b)
  | Equal a b => Qeq_bool (number_value fs x a) (number_value fs x b)
  | Unequal a b => negb (Qeq_bool (number_value fs x a) (number_value fs x b))
  | Both l => obeys_all fs x l
  | Either l => obeys_any fs x l
  | Not a => negb (obeys fs x a)
  end
with obeys_all (fs : list feature) (x : point) (l : conditions) : bool :=
  match l with NoMore => true | Also a l => obeys fs x a && obeys_all fs x l end
with obeys_any (fs : list feature) (x : point) (l : conditions) : bool :=
  match l with NoMore => false | Also a l => obeys fs x a || obeys_any fs x l end.

Definition in_side (c : side) (i : Z) : bool :=
  match c with Range lower upper => (lower <=? i) && (i <=? upper) | Mask mask => Z.testbit mask i end.

Fixpoint in_sides (l : list side) (x : point) : bool :=
  match l, x with c :: l, i :: x => in_side c i && in_sides l x | [], [] => true | _, _ => false end.

Fixpoint same_point (p x : list Z) : bool :=
  match p, x with i :: p, k :: x => (i =? k) && same_point p x | [], [] => true | _, _ => false end.

Definition has_changed (fs : list feature) (x : point) (j : nat) : bool :=
  match nth_error fs j with Some f => negb (nth j x 0 =? start f) | None => false end.

Definition in_region (s : statement) (x : point) (r : region) : bool :=
  match r with
  | Exactly p => same_point p x
  | Changed js => forallb (has_changed (features s) x) js
  | Near centre radius => negb (Qle_bool radius (distance_by s (restarted (features s) centre) x))
  | InBox sides => in_sides sides x
  end.

Definition allowed (s : statement) (x : point) : Prop :=
  Forall2 allows (features s) x /\
  match most_changes s with None => True | Some k => (changes (features s) x <= k)%nat end /\
  forallb (obeys (features s) x) (rules s) = true /\
  existsb (in_region s x) (avoid s) = false.

(** ** No overflow *)

Fixpoint finite_chain (v : Z) (l : list operation) : bool :=
  (Z.abs v <? largest_float64) && match l with [] => true | o :: l => finite_chain (operate v o) l end.

(** The column's value, and what is computed on the way to it, are below the largest float. *)
Definition finite_at (f : feature) (c : column) (i : Z) : bool :=
  match c with
  | Number _ operations if_absent =>
      match if_absent, is_absent f i with
      | Some x, true => Z.abs (units x) <? largest_float64
      | _, _ => finite_chain (given (kind_of f) i) operations
      end
  | Table _ _ => Z.abs (column_at f c i) <? largest_float64
  | Single _ _ => Z.abs (column_at f c i) <? largest_float32
  end.

Definition largest_sum (s : statement) : Z := 2 ^ ((if sums_in_float32 s then 128 else 1024) + unit s).

Definition stays_finite (s : statement) (x : point) : Prop :=
  (forall c f, In c (columns s) -> nth_error (features s) (feature_of c) = Some f ->
     finite_at f c (nth (feature_of c) x 0) = true) /\
  (forall leaves n part c k, arrangement s x leaves -> In part (goal s) -> In c part ->
     plus c = Some k \/ minus c = Some k -> Z.abs (float_sum round s (firstn n leaves) k) < largest_sum s).

(** ** What a certificate claims *)

Definition claim (s : statement) : Prop :=
  forall x, allowed s x -> stays_finite s x /\
  (has_goal s x -> match closer_than s with Some q => (q <= distance s x)%Q | None => False end).

(** A witness: a point at this distance, not nearer than the claim. *)
Definition real (s : statement) (x : point) (d : Q) : Prop :=
  allowed s x /\ stays_finite s x /\ surely_has_goal s x /\ (distance s x == d)%Q /\
  match closer_than s with Some q => (q <= d)%Q | None => False end.
