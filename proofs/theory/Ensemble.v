(** * The statement of a tree ensemble's certificate, and what it means

    The statement of FORMAT.md (features, columns, ensemble, goal, distance, most_changes, claim) as a record, and its
    meaning: which points are allowed, what the deployed floating-point model decides, how far a point is. Nothing here
    is a proof; this file is what one has to read, with Rounding.v, to know what a theorem about a model says.

    Numbers are exact. A float is a pair (mantissa, exponent), mantissa * 2^exponent. Inputs and thresholds are computed
    in units of 2^-1074 (every float64 is a whole number of them), leaf values in units of 2^-[unit], which the
    translation chooses so that every one is whole.

    Not covered: rules and avoid (a statement without them claims more), columns that are computed by a chain, tests of
    membership, overflow of sums beyond the largest float. *)

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

Record feature := Feature { kind_of : kind; domain_of : domain; start : Z; scale : Q; weight : Q }.

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

(** The scaled change of FORMAT.md. *)
Definition delta (f : feature) (i : Z) : Q :=
  (moved f i # (Z.to_pos (2 ^ shift (kind_of f)) * denominator (kind_of f))) / scale f.

Definition changed (f : feature) (i : Z) : Q := if moved f i =? 0 then 0%Q else 1%Q.

(** What the model is given: the float64 nearest to the value, in units. *)
Definition given (k : kind) (i : Z) : Z :=
  match k with
  | Step _ d _ => round 0 53 (Z.shiftl (place k 0 i) 1074) (Zpos d)
  | Float64 | Float32 => place k 0 i
  | Nominal | Ordinal _ => Z.shiftl i 1074
  end.

(** ** The ensemble *)

(** [hint] is where the checker should look for the last index that goes left; it has no meaning. *)
Inductive tree :=
| Leaf (scores : list Z)
| Node (column : nat) (threshold : float) (hint : Z) (left right : tree).

Record comparison := Compare { plus : option nat; minus : option nat; than : float; strict : bool }.

Record statement := Statement {
  features : list feature;
  columns : list (nat * option (list float));
  cast_to_float32 : bool;              (** cast = "float32" *)
  test_is_strict : bool;               (** test = "<" *)
  sums_in_float32 : bool;              (** dtype = "float32" *)
  ordered : bool;                      (** false: the trees may be added in any order *)
  divide : positive;
  unit : Z;
  start_scores : list Z;
  trees : list tree;
  goal : list (list comparison);       (** a disjunction of conjunctions *)
  alpha : Q; beta : Q; gamma : Q;
  most_changes : option nat;
  closer_than : option Q               (** None: the claim "anywhere" *)
}.

(** A point: one index for each feature. *)
Definition point := list Z.

Definition column_value (s : statement) (x : point) (c : nat) : Z :=
  match nth_error (columns s) c with
  | None => 0
  | Some (j, levels) =>
      let i := nth j x 0 in
      match levels, nth_error (features s) j with
      | Some l, _ => units (nth (Z.to_nat i) l (0, 0))
      | None, Some f => given (kind_of f) i
      | None, None => 0
      end
  end.

Definition cast (s : statement) (v : Z) : Z := if cast_to_float32 s then round 925 24 v 1 else v.

Definition passes (s : statement) (threshold : float) (v : Z) : bool :=
  if test_is_strict s then cast s v <? units threshold else cast s v <=? units threshold.

(** Values are rounded to dtype before they are added; the smallest float32 is 2^-149. *)
Definition stored (s : statement) (v : Z) : Z :=
  if sums_in_float32 s then round (Z.max 0 (unit s - 149)) 24 v 1 else v.

Definition first_scores (s : statement) : list Z := map (stored s) (start_scores s).

Fixpoint leaf_of (s : statement) (x : point) (t : tree) : list Z :=
  match t with
  | Leaf scores => map (stored s) scores
  | Node c threshold _ l r => if passes s threshold (column_value s x c) then leaf_of s x l else leaf_of s x r
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

Definition decides (s : statement) (leaves : list (list Z)) : bool :=
  existsb (fun part => forallb (holds s leaves) part) (goal s).
End Scores.

(** The model decides as asked, in the order of the trees, or in some order where the order is not fixed. *)
Definition has_goal (s : statement) (x : point) : Prop :=
  exists leaves, Permutation (map (leaf_of s x) (trees s)) leaves /\
    (ordered s = true -> leaves = map (leaf_of s x) (trees s)) /\
    decides round s leaves = true.

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

Definition allowed (s : statement) (x : point) : Prop :=
  Forall2 allows (features s) x /\
  match most_changes s with None => True | Some k => (changes (features s) x <= k)%nat end.

Fixpoint total (term : feature -> Z -> Q) (fs : list feature) (x : point) : Q :=
  match fs, x with f :: fs, i :: x => term f i + total term fs x | _, _ => 0 end.

Fixpoint largest (term : feature -> Z -> Q) (fs : list feature) (x : point) : Q :=
  match fs, x with f :: fs, i :: x => Qmax (term f i) (largest term fs x) | _, _ => 0 end.

(** d = alpha * sum w [delta > 0] + beta * sum w delta + gamma * max w delta *)
Definition distance (s : statement) (x : point) : Q :=
  (alpha s * total (fun f i => weight f * changed f i) (features s) x +
   beta s * total (fun f i => weight f * delta f i) (features s) x +
   gamma s * largest (fun f i => weight f * delta f i) (features s) x)%Q.

Definition claim (s : statement) : Prop :=
  forall x, allowed s x -> has_goal s x ->
  match closer_than s with Some q => (q <= distance s x)%Q | None => False end.
