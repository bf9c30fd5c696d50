(** * Whole-number costs are below the true distance, and grow away from the start

    What the checker pays on each axis (CutTree.v), against the meaning of Ensemble.v: costs never exceed the scaled
    distance, the nearest index of an interval is the cheapest, and a threshold that was compared at two neighbouring
    indices cuts the whole axis, because rounding is monotone.

    Main theorems: [paid_below_distance], [interval_covers], [levels_cover], [given_monotone]. *)

From Coq Require Import ZArith QArith Qround Qminmax List Bool Lia Lqa.
From Mace Require Import Rounding Ensemble CutTree.
Import ListNotations.
Open Scope Z_scope.

(** ** Grids are monotone *)

Definition grid_kind (k : kind) : bool :=
  match k with Step step _ _ => 0 <? step | Float64 | Float32 => true | _ => false end.

Definition size_of_rank (bits m : Z) : Z :=
  let e := Z.shiftr m bits in
  let rest := m - Z.shiftl e bits in
  if e =? 0 then rest else Z.shiftl (Z.shiftl 1 bits + rest) (e - 1).

Lemma size_bounds bits m : 0 <= bits -> 0 <= m ->
  let e := m / 2 ^ bits in
  size_of_rank bits m = (if e =? 0 then m mod 2 ^ bits else (2 ^ bits + m mod 2 ^ bits) * 2 ^ (e - 1)) /\
  (0 < e -> 2 ^ bits * 2 ^ (e - 1) <= size_of_rank bits m) /\ 0 <= size_of_rank bits m <= 2 ^ bits * 2 ^ e.
Proof.
  intros B M e. assert (0 < 2 ^ bits) as P by (apply Z.pow_pos_nonneg; lia).
  pose proof (Z.div_pos m (2 ^ bits) M P) as E. fold e in E.
  pose proof (Z.mod_pos_bound m (2 ^ bits) P) as R. pose proof (Z.div_mod m (2 ^ bits) ltac:(lia)) as D. fold e in D.
  assert (size_of_rank bits m =
    (if e =? 0 then m mod 2 ^ bits else (2 ^ bits + m mod 2 ^ bits) * 2 ^ (e - 1))) as S.
  { unfold size_of_rank. rewrite Z.shiftr_div_pow2 by lia. fold e. rewrite (Z.shiftl_mul_pow2 e), (Z.shiftl_mul_pow2 1) by lia.
    replace (m - e * 2 ^ bits) with (m mod 2 ^ bits) by lia.
    destruct (Z.eqb_spec e 0); auto. rewrite Z.shiftl_mul_pow2 by lia. f_equal. lia. }
  split; [exact S |]. rewrite S. clear S. destruct (Z.eqb_spec e 0) as [Z0 | Z0].
  - rewrite Z0. change (2 ^ 0) with 1. split; lia.
  - assert (0 < 2 ^ (e - 1)) by (apply Z.pow_pos_nonneg; lia).
    replace (2 ^ e) with (2 * 2 ^ (e - 1)) by (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
    repeat split; nia.
Qed.

Lemma size_monotone bits m n : 0 <= bits -> 0 <= m -> m <= n -> size_of_rank bits m <= size_of_rank bits n.
Proof.
  intros B M N. assert (0 < 2 ^ bits) as P by (apply Z.pow_pos_nonneg; lia).
  pose proof (Z.div_le_mono m n (2 ^ bits) P N) as E. pose proof (Z.div_pos m (2 ^ bits) M P).
  destruct (size_bounds bits m B M) as (Sm & _ & Um). destruct (size_bounds bits n B ltac:(lia)) as (Sn & Ln & _).
  pose proof (Z.div_mod m (2 ^ bits) ltac:(lia)) as Dm. pose proof (Z.div_mod n (2 ^ bits) ltac:(lia)) as Dn.
  set (e := m / 2 ^ bits) in *. set (f := n / 2 ^ bits) in *.
  destruct (Z.eq_dec e f) as [X | X].
  - rewrite Sm, Sn, X. destruct (f =? 0); [nia |].
    apply Z.mul_le_mono_nonneg_r; [apply Z.pow_nonneg; lia | nia].
  - specialize (Ln ltac:(lia)). assert (2 ^ e <= 2 ^ (f - 1)) by (apply Z.pow_le_mono_r; lia). nia.
Qed.

Lemma float_of_rank_size bits low i : 0 <= low ->
  float_of_rank bits low i = (if i <? 0 then - size_of_rank bits (- i) else size_of_rank bits i) * 2 ^ low.
Proof.
  intro L. unfold float_of_rank. rewrite (Z.shiftl_mul_pow2 _ low) by lia. fold (size_of_rank bits (Z.abs i)).
  destruct (Z.ltb_spec i 0); [rewrite Z.abs_neq by lia | rewrite Z.abs_eq by lia]; reflexivity.
Qed.

Lemma float_of_rank_monotone bits low i j : 0 <= bits -> 0 <= low -> i <= j ->
  float_of_rank bits low i <= float_of_rank bits low j.
Proof.
  intros B L I. rewrite !float_of_rank_size by auto.
  apply Z.mul_le_mono_nonneg_r; [apply Z.pow_nonneg; lia |].
  destruct (Z.ltb_spec i 0), (Z.ltb_spec j 0); try lia.
  - pose proof (size_monotone bits (- j) (- i) B ltac:(lia) ltac:(lia)). lia.
  - pose proof (size_bounds bits (- i) B ltac:(lia)). pose proof (size_bounds bits j B ltac:(lia)). simpl in *. lia.
  - apply size_monotone; lia.
Qed.

Lemma place_monotone k o i j : grid_kind k = true -> i <= j -> place k o i <= place k o j.
Proof.
  destruct k as [step d [e |] | | | |]; cbn [grid_kind place]; intros G I; try discriminate G.
  - apply Z.ltb_lt in G. pose proof (Z.div_mod e step ltac:(lia)). pose proof (Z.mod_pos_bound e step G).
    set (q := e / step) in *. set (r := e mod step) in *. clearbody q r.
    destruct (Z.ltb_spec i (q + 1)), (Z.ltb_spec j (q + 1)), (Z.eqb_spec i (q + 1)), (Z.eqb_spec j (q + 1)); nia.
  - apply Z.ltb_lt in G. nia.
  - apply float_of_rank_monotone; lia.
  - apply float_of_rank_monotone; lia.
Qed.

Theorem given_monotone k i j : grid_kind k = true -> i <= j -> given k i <= given k j.
Proof.
  intros G I. pose proof (place_monotone k 0 i j G I) as P.
  destruct k; try discriminate; simpl given; auto.
  apply round_monotone; try lia. rewrite !Z.shiftl_mul_pow2 by lia.
  apply Z.mul_le_mono_nonneg_r; [apply Z.pow_nonneg; lia | exact P].
Qed.

Lemma saturate_monotone v w : v <= w -> saturate v <= saturate w.
Proof.
  intro L. unfold saturate.
  assert (largest_float32 < infinite) as X by (vm_compute; reflexivity).
  assert (0 < largest_float32) as P by (vm_compute; reflexivity).
  set (top := largest_float32) in *. set (inf := infinite) in *. clearbody top inf.
  destruct (Z.sgn_spec v) as [[? ->] | [[? ->] | [? ->]]]; destruct (Z.sgn_spec w) as [[? ->] | [[? ->] | [? ->]]];
    destruct (Z.ltb_spec (Z.abs v) top), (Z.ltb_spec (Z.abs w) top); lia.
Qed.

Lemma cast_monotone s v w : v <= w -> cast s v <= cast s w.
Proof.
  intro L. unfold cast. destruct (cast_to_float32 s); auto. apply saturate_monotone, round_monotone; lia.
Qed.

Lemma passes_monotone s threshold v w : v <= w ->
  passes s (Below threshold) w = true -> passes s (Below threshold) v = true.
Proof.
  intros L. pose proof (cast_monotone s v w L). simpl.
  destruct (test_is_strict s); rewrite ?Z.ltb_lt, ?Z.leb_le; lia.
Qed.

(** ** Costs grow with the movement *)

Definition sound_axis (a : axis) : bool :=
  (0 <=? change_cost a) && (0 <=? fst (slope a)) && (0 <=? fst (big_slope a)) &&
  match domain_of (about a) with
  | Between _ upper =>
      grid_kind (kind_of (about a)) && match absent (about a) with Some (m, _) => upper <=? m | None => true end
  | Among mask => 0 <=? mask
  end.

Lemma shift_nonnegative k : 0 <= fine k <= shift k.
Proof. destruct k; simpl; lia. Qed.

Lemma scaled_monotone k c m n : 0 <= fst c -> m <= n -> scaled m k c <= scaled n k c.
Proof.
  intros C L. unfold scaled. pose proof (shift_nonnegative k).
  rewrite !Z.shiftr_div_pow2 by lia.
  apply Z.div_le_mono; [lia |]. apply Z.div_le_mono; [apply Z.pow_pos_nonneg; lia |].
  apply Z.mul_le_mono_nonneg_r; auto. apply Z.div_le_mono; [apply Z.pow_pos_nonneg; lia | exact L].
Qed.

Lemma scaled_nonnegative k c m : 0 <= fst c -> 0 <= m -> 0 <= scaled m k c.
Proof.
  intros C M. pose proof (scaled_monotone k c 0 m C M) as H. unfold scaled at 1 in H.
  rewrite Z.shiftr_0_l, Z.mul_0_l, Z.shiftr_0_l in H. rewrite Z.div_0_l in H by lia. exact H.
Qed.

Definition below (c d : Z * Z) : Prop := fst c <= fst d /\ snd c <= snd d.

Lemma cost_monotone a m n : sound_axis a = true -> 0 <= m -> m <= n ->
  below (cost_of_movement a m) (cost_of_movement a n).
Proof.
  unfold sound_axis, below, cost_of_movement. rewrite !andb_true_iff, !Z.leb_le. intros (((C & S) & B) & _) M N.
  pose proof (scaled_monotone (kind_of (about a)) _ m n S N). pose proof (scaled_monotone (kind_of (about a)) _ m n B N).
  pose proof (scaled_nonnegative (kind_of (about a)) _ n S ltac:(lia)).
  pose proof (scaled_nonnegative (kind_of (about a)) _ n B ltac:(lia)).
  destruct (Z.eqb_spec m 0), (Z.eqb_spec n 0); simpl; lia.
Qed.

(** An axis that was made by [axis_of] from a sound grid. *)
Definition sound_grid (a : axis) : Prop :=
  sound_axis a = true /\ (exists lower upper, domain_of (about a) = Between lower upper) /\
  grid_kind (kind_of (about a)) = true /\
  origin a = place (kind_of (about a)) (start (about a)) (start (about a)).

Lemma farther_costs_more a i j : sound_grid a -> across (about a) i = None -> across (about a) j = None ->
  (start (about a) <= i <= j \/ j <= i <= start (about a)) -> below (cost a i) (cost a j).
Proof.
  intros (S & _ & G & O) Ni Nj C. unfold cost. rewrite Ni, Nj. apply cost_monotone; auto; unfold movement; rewrite O; [lia |].
  destruct C as [[C D] | [C D]].
  - pose proof (place_monotone _ (start (about a)) _ _ G C). pose proof (place_monotone _ (start (about a)) _ _ G D). lia.
  - pose proof (place_monotone _ (start (about a)) _ _ G C). pose proof (place_monotone _ (start (about a)) _ _ G D). lia.
Qed.

Theorem least_cost_below a lower upper i : sound_grid a -> allows (about a) i -> lower <= i <= upper ->
  below (least_cost a lower upper) (cost a i).
Proof.
  intros G A I. unfold least_cost. destruct (absent (about a)) as [[m c] |] eqn:M.
  2: { apply farther_costs_more; auto; [unfold across; rewrite M; reflexivity.. | lia]. }
  assert (i <= m) as Im.
  { destruct G as (S & (lo & hi & E) & _). unfold sound_axis in S. rewrite M, E in S. unfold allows in A. rewrite E in A.
    rewrite !andb_true_iff, Z.leb_le in S. lia. }
  set (near := Z.max lower (Z.min (Z.min upper (m - 1)) (start (about a)))).
  assert (i <> m -> below (cost a near) (cost a i)) as Near.
  { intro N. destruct (Z.eq_dec (start (about a)) m) as [E | E].
    - assert (forall k, k <> m -> across (about a) k = Some c) as X.
      { intros k K. unfold across. rewrite M, E. destruct (Z.eqb_spec k m); [contradiction |]. rewrite Z.eqb_refl.
        reflexivity. }
      unfold cost. rewrite !X by lia. split; lia.
    - assert (forall k, k <> m -> across (about a) k = None) as X.
      { intros k K. unfold across. rewrite M. destruct (Z.eqb_spec k m), (Z.eqb_spec (start (about a)) m); try contradiction.
        rewrite andb_false_r. reflexivity. }
      apply farther_costs_more; auto; [apply X |]; lia. }
  destruct (Z.leb_spec lower m), (Z.leb_spec m upper); cbn [andb]; cbv zeta; [| apply Near; lia ..].
  destruct (Z.eq_dec i m) as [-> | N].
  - split; cbn [fst snd]; lia.
  - destruct (Near N). split; cbn [fst snd]; lia.
Qed.

Theorem interval_covers a lower upper i : sound_grid a -> allows (about a) i -> lower <= i <= upper ->
  covers (interval_range a lower upper) (i, cost a i).
Proof.
  intros G A I. unfold interval_range, covers. simpl fst at 1 2. simpl snd at 2.
  pose proof (least_cost_below a lower upper i G A I) as [L B]. simpl. auto.
Qed.

Theorem levels_cover mask prices p : In p prices -> Z.testbit mask (fst p) = true ->
  covers (levels_range mask prices) p.
Proof.
  intros I T. destruct (least_price_sound mask prices p I T) as (l & b & E & L & B).
  unfold levels_range. rewrite E. simpl. auto.
Qed.

Lemma priced a i mask : sound_axis a = true -> domain_of (about a) = Among mask -> allows (about a) i ->
  In (i, cost a i) (prices_of a).
Proof.
  unfold sound_axis, allows, prices_of. intros S E A. rewrite E in S, A |- *. destruct A as [N T].
  rewrite !andb_true_iff, !Z.leb_le in S.
  apply in_map_iff. exists (Z.to_nat i). rewrite Z2Nat.id by lia. split; auto.
  apply in_seq. destruct (Z.le_gt_cases i (Z.log2 mask)); [lia |].
  rewrite Z.bits_above_log2 in T by lia. discriminate.
Qed.

Lemma grid_of a lower upper : sound_axis a = true -> domain_of (about a) = Between lower upper ->
  origin a = place (kind_of (about a)) (start (about a)) (start (about a)) -> sound_grid a.
Proof.
  intros S D O. repeat split; eauto. unfold sound_axis in S. rewrite D, !andb_true_iff in S. tauto.
Qed.

Theorem root_covers a i : sound_axis a = true ->
  origin a = place (kind_of (about a)) (start (about a)) (start (about a)) ->
  allows (about a) i -> covers (root_range a) (i, cost a i).
Proof.
  intros S O A. unfold root_range. destruct (domain_of (about a)) as [lower upper | mask] eqn:D.
  - apply interval_covers; [eapply grid_of; eauto | exact A |]. unfold allows in A. rewrite D in A. exact A.
  - apply levels_cover; [eapply priced; eauto |]. unfold allows in A. rewrite D in A. tauto.
Qed.

(** ** Costs are at most the scaled distance *)

Lemma scaled_below m k q : 0 <= Qnum (Qred q) -> (inject_Z (scaled m k (fraction q)) <= (m # Z.to_pos (2 ^ shift k)) * q)%Q.
Proof.
  intro N. unfold scaled, fraction. simpl fst. simpl snd. pose proof (shift_nonnegative k) as S.
  assert (0 < 2 ^ shift k) as P by (apply Z.pow_pos_nonneg; lia).
  assert (0 < 2 ^ fine k) as Pf by (apply Z.pow_pos_nonneg; lia).
  assert (0 < 2 ^ (shift k - fine k)) as Pc by (apply Z.pow_pos_nonneg; lia).
  rewrite !Z.shiftr_div_pow2, Z.div_div by lia.
  apply Qle_trans with ((m # Z.to_pos (2 ^ shift k)) * Qred q)%Q; [| rewrite Qred_correct; apply Qle_refl].
  set (r := Qred q) in *.
  unfold Qle, Qmult, inject_Z. simpl. rewrite Pos2Z.inj_mul, Z2Pos.id by lia.
  replace (2 ^ shift k) with (2 ^ (shift k - fine k) * 2 ^ fine k) by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
  set (C := 2 ^ (shift k - fine k)) in *. set (F := 2 ^ fine k) in *. clearbody C F.
  pose proof (Z.mul_div_le m C Pc). set (a := m / C) in *. clearbody a.
  pose proof (Z.mul_div_le (a * Qnum r) (F * Zpos (Qden r)) ltac:(lia)).
  set (c := a * Qnum r / (F * Zpos (Qden r))) in *. clearbody c.
  assert (C * a * Qnum r <= m * Qnum r) by (apply Z.mul_le_mono_nonneg_r; auto). nia.
Qed.

Lemma moved_apart m P d (scale : Q) : ((m # (P * d)) / scale == (m # P) * (/ (inject_Z (Zpos d) * scale)))%Q.
Proof.
  unfold Qdiv. rewrite Qinv_mult_distr.
  assert ((m # (P * d)) == (m # P) * / inject_Z (Zpos d))%Q as ->; [| ring].
  unfold Qeq, Qmult, Qinv, inject_Z. simpl. rewrite !Pos2Z.inj_mul. ring.
Qed.

Section Distance.
Variable s : statement.
Variable D : positive.
Let unit := inject_Z (Zpos D).
Let summed f i := (alpha s * (weight f * changed f i) + beta s * (weight f * delta f i))%Q.
Let biggest f i := (gamma s * (weight f * delta f i))%Q.

Lemma cost_below f i : sound_axis (axis_of s D f) = true ->
  (inject_Z (fst (cost (axis_of s D f) i)) <= unit * summed f i)%Q /\
  (inject_Z (snd (cost (axis_of s D f) i)) <= unit * biggest f i)%Q.
Proof.
  intro Sound. unfold sound_axis in Sound. rewrite !andb_true_iff, !Z.leb_le in Sound.
  destruct Sound as (((_ & S) & B) & _). unfold axis_of, fraction in S, B. cbn [slope big_slope fst] in S, B. fold unit in S, B.
  unfold axis_of, cost, movement, summed, biggest, changed, delta. cbn [about origin lost]. fold (moved f i).
  destruct (across f i) as [c |] eqn:X.
  { unfold across in X. destruct (absent f) as [[m known] |]; [| discriminate].
    destruct (negb (i =? start f) && ((i =? m) || (start f =? m))); [| discriminate]. injection X as ->.
    cbn [fst snd lost]. fold unit. split; apply Qfloor_le. }
  set (m := moved f i). unfold cost_of_movement. simpl.
  set (P := Z.to_pos (2 ^ shift (kind_of f))). set (d := denominator (kind_of f)).
  destruct (Z.eqb_spec m 0) as [-> | _]; simpl.
  - assert ((0 # (P * d)) / scale f == 0)%Q as -> by (unfold Qdiv; rewrite (Qmult_comm (0 # _)); unfold Qeq; simpl; lia).
    split; ring_simplify; apply Qle_refl.
  - rewrite moved_apart.
    pose proof (scaled_below m (kind_of f) _ S) as Bs. pose proof (scaled_below m (kind_of f) _ B) as Bb.
    clear S B. fold P d unit in Bs, Bb. fold d. fold unit. unfold Qdiv in *.
    set (v := (/ (inject_Z (Zpos d) * scale f))%Q) in *. split.
    + rewrite inject_Z_plus.
      pose proof (Qfloor_le (unit * (alpha s * weight f))) as F.
      assert (unit * (alpha s * (weight f * 1) + beta s * (weight f * ((m # P) * v))) ==
        unit * (alpha s * weight f) + (m # P) * (beta s * (unit * weight f * v)))%Q as -> by ring.
      apply Qplus_le_compat; auto.
    + assert (unit * (gamma s * (weight f * ((m # P) * v))) ==
        (m # P) * (gamma s * (unit * weight f * v)))%Q as -> by ring.
      exact Bb.
Qed.

Fixpoint payments (axes : list axis) (x : point) : list payment :=
  match axes, x with a :: axes, i :: x => (i, cost a i) :: payments axes x | _, _ => [] end.

Theorem paid_below_distance x : forallb sound_axis (map (axis_of s D) (features s)) = true ->
  Qle_bool 0 (gamma s) = true ->
  let paid := payments (map (axis_of s D) (features s)) x in
  (inject_Z (sum_paid paid + largest_paid paid) <= unit * distance s x)%Q.
Proof.
  intros Sound G. apply Qle_bool_iff in G. simpl. unfold distance, distance_by.
  assert (0 < unit)%Q as U by (unfold unit, Qlt; simpl; lia).
  assert (forall fs x, forallb sound_axis (map (axis_of s D) fs) = true -> inject_Z (sum_paid (payments (map (axis_of s D) fs) x)) <=
    unit * (alpha s * total (fun f i => weight f * changed f i) fs x +
            beta s * total (fun f i => weight f * delta f i) fs x))%Q as S.
  { induction fs as [| f fs IH]; intros [| i y] A; simpl in *; try (ring_simplify; apply Qle_refl).
    apply andb_true_iff in A as [A1 A2].
    rewrite inject_Z_plus. destruct (cost_below f i A1) as [C _]. specialize (IH y A2). unfold summed in C.
    set (a := inject_Z _) in *. set (b := inject_Z (sum_paid _)) in *. clearbody a b.
    set (t := total _ fs y) in *. set (u := total (fun f i => weight f * delta f i)%Q fs y) in *. clearbody t u.
    set (p := (weight f * changed f i)%Q) in *. set (q := (weight f * delta f i)%Q) in *. clearbody p q.
    assert (unit * (alpha s * (p + t) + beta s * (q + u)) ==
      unit * (alpha s * p + beta s * q) + unit * (alpha s * t + beta s * u))%Q as -> by ring.
    apply Qplus_le_compat; auto. }
  assert (forall fs x, forallb sound_axis (map (axis_of s D) fs) = true -> inject_Z (largest_paid (payments (map (axis_of s D) fs) x)) <=
    unit * (gamma s * largest (fun f i => weight f * delta f i) fs x))%Q as L.
  { induction fs as [| f fs IH]; intros [| i y] A; simpl in *; try (ring_simplify; apply Qle_refl).
    apply andb_true_iff in A as [A1 A2].
    destruct (cost_below f i A1) as [_ C]. specialize (IH y A2). unfold biggest in C.
    assert (forall u v, u <= v -> unit * (gamma s * u) <= unit * (gamma s * v))%Q as M.
    { intros u v H. rewrite !(Qmult_comm unit), !(Qmult_comm (gamma s)).
      apply Qmult_le_compat_r; [apply Qmult_le_compat_r |]; auto. lra. }
    destruct (Z.max_spec (snd (cost (axis_of s D f) i)) (largest_paid (payments (map (axis_of s D) fs) y)))
      as [[_ ->] | [_ ->]].
    - eapply Qle_trans; [exact IH |]. apply M, Q.le_max_r.
    - eapply Qle_trans; [exact C |]. apply M, Q.le_max_l. }
  rewrite inject_Z_plus, Qmult_plus_distr_r. apply Qplus_le_compat; auto.
Qed.
End Distance.
