(** * Witnesses: a point that is allowed, at its distance, where the model certainly decides as asked

    Where the order of the trees is fixed and scores are known to the last bit, the float sums are repeated. Elsewhere a
    comparison certainly holds because its opposite cannot: the exact margin of the opposite lies below what Margins.v
    leaves to a comparison that holds in any order.

    Main theorem: [certificate_sound], of a certificate and its witness together. *)

From Coq Require Import ZArith QArith List Bool Permutation Lia.
From Mace Require Import Rounding Ensemble CutTree Costs Columns Rules Margins Forest.
Import ListNotations.
Open Scope Z_scope.

Fixpoint leaf_fast (s : statement) (x : point) (t : tree) : list Z :=
  match t with
  | Leaf scores => map (stored s) scores
  | Node c t _ l r =>
      let v := match nth_error (columns s) c with
        | None => 0
        | Some column =>
            match nth_error (features s) (feature_of column) with
            | Some f => column_fast f column (nth (feature_of column) x 0)
            | None => 0
            end
        end in
      if passes_fast s t v then leaf_fast s x l else leaf_fast s x r
  end.

Definition is_allowed (f : feature) (i : Z) : bool :=
  match domain_of f with
  | Between lower upper => (lower <=? i) && (i <=? upper)
  | Among mask => (0 <=? i) && Z.testbit mask i
  end.

Fixpoint are_allowed (fs : list feature) (x : point) : bool :=
  match fs, x with
  | f :: fs, i :: x => is_allowed f i && are_allowed fs x
  | [], [] => true
  | _, _ => false
  end.

(** The comparison that holds exactly where this one does not. *)
Definition opposite_of (c : comparison) : comparison :=
  Compare (minus c) (plus c) (- units (than c), -1074) (negb (strict c)).

Definition certainly (s : statement) (leaves : list (list Z)) (c : comparison) : bool :=
  let o := opposite_of c in
  margin o (first_scores s) + sum (map (margin o) leaves) <? least_margin s o (map (leaf_size s o) (trees s)).

Definition decides_certainly (s : statement) (leaves : list (list Z)) : bool :=
  if repeatable s && (squash s =? 0) then surely_decides round_fast s leaves
  else existsb (forallb (fun c => certainly s leaves (must s c))) (goal s).

(** What is asked of a witness whatever the model. *)
Definition is_there (s : statement) (x : point) (d : Q) : bool :=
  are_allowed (features s) x &&
  match most_changes s with None => true | Some k => Nat.leb (changes (features s) x) k end &&
  forallb (obeys (features s) x) (rules s) && negb (existsb (in_region s x) (avoid s)) &&
  Qeq_bool (distance s x) d && match closer_than s with Some q => Qle_bool q d | None => false end.

Definition check_witness (s : statement) (x : point) (d : Q) : bool :=
  is_there s x d && decides_certainly s (map (leaf_fast s x) (trees s)).

(** A certificate, and its witness if it has one. *)
Definition accepts (s : statement) (c : certificate) (witness : option (point * Q)) : bool :=
  match witness with Some (x, d) => check_witness s x d | None => true end && check s c.

(** ** Proofs *)

Lemma are_allowed_sound fs x : are_allowed fs x = true -> Forall2 allows fs x.
Proof.
  revert x. induction fs as [| f fs IH]; intros [| i x]; simpl; try discriminate; [constructor |].
  rewrite andb_true_iff. intros [A B]. constructor; auto. unfold is_allowed, allows in *.
  destruct (domain_of f); rewrite andb_true_iff, !Z.leb_le in A; tauto.
Qed.

Lemma leaf_fast_is_leaf s x t : forallb (sound_column (features s)) (columns s) = true -> leaf_fast s x t = leaf_of s x t.
Proof.
  intro S. induction t as [| c t cut l IHl r IHr]; simpl; auto. rewrite IHl, IHr, passes_fast_is_passes.
  unfold column_value. destruct (nth_error (columns s) c) as [column |] eqn:E; auto.
  destruct (nth_error (features s) (feature_of column)) as [f |] eqn:F; auto.
  rewrite column_fast_is_column; auto. eapply sound_divides; eauto.
  rewrite forallb_forall in S. eapply S, nth_error_In, E.
Qed.

Lemma surely_decides_fast s leaves : surely_decides round_fast s leaves = surely_decides round s leaves.
Proof.
  unfold surely_decides. induction (goal s) as [| part parts IH]; simpl; auto. rewrite IH. f_equal.
  induction part; simpl; auto. rewrite holds_fast, IHpart. reflexivity.
Qed.

Lemma opposite_fails s leaves c : holds round s leaves (opposite_of c) = false -> holds round s leaves c = true.
Proof.
  unfold holds, opposite_of. cbn [plus minus than strict].
  assert (units (- units (than c), -1074) = - units (than c)) as ->.
  { unfold units at 1. cbn [fst snd]. apply Z.shiftl_0_r. }
  set (p := score _ _ _ (plus c)). set (m := score _ _ _ (minus c)). clearbody p m.
  destruct (strict c); cbn [negb]; rewrite ?Z.ltb_lt, ?Z.leb_le, ?Z.ltb_ge, ?Z.leb_gt; lia.
Qed.

Lemma certainly_holds s x leaves c : unit s <= 1074 -> Permutation (map (leaf_of s x) (trees s)) leaves ->
  certainly s (map (leaf_of s x) (trees s)) c = true -> holds round s leaves c = true.
Proof.
  unfold certainly. cbv zeta. intros U P C. apply Z.ltb_lt in C. apply opposite_fails.
  destruct (holds round s leaves (opposite_of c)) eqn:H; auto. exfalso.
  destruct (Permutation_Forall2 P (sizes_of_leaves s x (opposite_of c))) as (sizes & Ps & F).
  pose proof (held_margin s leaves sizes (opposite_of c) U F H) as M. destruct (sizes_permuted _ _ Ps) as [Es El].
  unfold least_margin, bounds in M, C. rewrite <- Es, <- El in M.
  rewrite <- (sum_permuted _ _ _ P) in M. lia.
Qed.

Lemma certain s x : unit s <= 1074 -> decides_certainly s (map (leaf_of s x) (trees s)) = true -> surely_has_goal s x.
Proof.
  intros U D leaves [P O]. unfold decides_certainly in D. destruct (repeatable s && (squash s =? 0)) eqn:R.
  - apply andb_true_iff in R as [R _]. rewrite (O R), <- surely_decides_fast. exact D.
  - unfold surely_decides. rewrite existsb_exists in D |- *. destruct D as (part & I & D). exists part. split; auto.
    rewrite forallb_forall in D |- *. intros c Ic. eapply certainly_holds; eauto.
Qed.

Lemma is_there_sound s x d : is_there s x d = true ->
  allowed s x /\ (distance s x == d)%Q /\ match closer_than s with Some q => (q <= d)%Q | None => False end.
Proof.
  unfold is_there. rewrite !andb_true_iff. intros (((((A & Few) & Obeyed) & Outside) & Same) & Far).
  split; [split; [apply are_allowed_sound, A |] |]; [| split; [apply Qeq_bool_iff, Same |]].
  - split; [| split; [exact Obeyed | apply negb_true_iff, Outside]].
    destruct (most_changes s); auto. apply Nat.leb_le. exact Few.
  - destruct (closer_than s); [| discriminate]. apply Qle_bool_iff. exact Far.
Qed.

Theorem witness_sound s D x d : well_formed s D = true -> check_witness s x d = true -> real s x d.
Proof.
  intros W C. unfold check_witness in C. apply andb_true_iff in C as [There G].
  apply is_there_sound in There as (A & Same & Far). pose proof (well_formed_finite s D x W (proj1 A)) as Finite.
  unfold well_formed in W. rewrite !andb_true_iff in W. destruct W as ((((_ & _) & U) & Cols) & _). apply Z.leb_le in U.
  repeat split; try apply A; try apply Finite; auto.
  apply certain; auto. erewrite map_ext; [exact G |]. intro t. symmetry. apply leaf_fast_is_leaf. exact Cols.
Qed.

Theorem certificate_sound s c witness : accepts s c witness = true ->
  claim s /\ match witness with Some (x, d) => real s x d | None => True end.
Proof.
  unfold accepts. rewrite andb_true_iff. intros [W C]. split; [exact (check_sound s c C) |].
  destruct witness as [[x d] |]; auto. apply (witness_sound s (cost_unit c)); auto.
  unfold check in C. apply andb_true_iff in C. tauto.
Qed.
