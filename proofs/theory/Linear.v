(** * Linear models: the rounding of their scores, and the rule "dual"

    A linear model has no hidden layer: every score is a sum of products with the columns, in any order, with or without
    fused multiply-add ([Sums.v]). Here its columns are followed from the exact value of a feature through every operation
    before the model, each rounded once; so the margin of a comparison is derived, and no premise. At the end stands what a
    certificate about a linear model claims; Dual.v checks it.

    Sums in float64. Grids without "missing". Main theorems: [column_sound], [may_hold_margin]. *)

From Coq Require Import ZArith QArith Qabs Qminmax List Bool Permutation Lia Lqa.
From Mace Require Import Rounding Ensemble Costs Rules Sums.
Import ListNotations.
Open Scope Q_scope.

(** ** One rounding of an input *)

Definition half_unit : Q := / inject_Z (2 ^ 53).   (** 2^-53 *)

Lemma of_units_plus a b : of_units (a + b) == of_units a + of_units b.
Proof. unfold of_units, Qeq, Qplus. cbn [Qnum Qden]. rewrite !Pos2Z.inj_mul. ring. Qed.

Lemma of_units_minus a b : of_units (a - b) == of_units a - of_units b.
Proof. unfold Z.sub, Qminus. rewrite of_units_plus. reflexivity. Qed.

Lemma of_units_scaled k z : of_units (k * z) == inject_Z k * of_units z.
Proof. reflexivity. Qed.

Lemma of_units_abs a : of_units (Z.abs a) == Qabs (of_units a).
Proof. reflexivity. Qed.

Lemma of_units_le a b : (a <= b)%Z -> of_units a <= of_units b.
Proof. intro L. unfold of_units, Qle. cbn [Qnum Qden]. apply Z.mul_le_mono_nonneg_r; lia. Qed.

Lemma half_unit_positive : 0 < half_unit.
Proof. apply Qinv_lt_0_compat. change 0 with (inject_Z 0). rewrite <- Zlt_Qlt. apply Z.pow_pos_nonneg; lia. Qed.

(** The float64 nearest to [t], which is n / d units. *)
Lemma round_near n d t : (0 < d)%Z -> t * inject_Z d == of_units n ->
  Qabs (of_units (round 0 53 n d) - t) <= Qabs t * half_unit + of_units 1.
Proof.
  intros D T. pose proof (round_error 0 53 n d ltac:(lia) ltac:(lia) D) as E.
  set (r := round 0 53 n d) in *. clearbody r. apply of_units_le in E. change (0 + 53 - 1)%Z with 52%Z in E.
  rewrite of_units_scaled, of_units_plus, !of_units_abs, of_units_minus, <- T in E.
  rewrite (Z.mul_comm r d), of_units_scaled in E.
  setoid_replace (inject_Z d * of_units r - t * inject_Z d) with (inject_Z d * (of_units r - t)) in E by ring.
  rewrite !Qabs_Qmult in E.
  assert (Qabs (inject_Z d) == inject_Z d) as A.
  { apply Qabs_pos. change 0 with (inject_Z 0). rewrite <- Zle_Qle. lia. }
  rewrite A in E.
  assert (of_units (d * 2 ^ 52) == inject_Z d * (inject_Z (2 ^ 52) * of_units 1)) as B.
  { rewrite of_units_scaled. replace (2 ^ 52)%Z with (2 ^ 52 * 1)%Z at 1 by ring. rewrite of_units_scaled. reflexivity. }
  rewrite B in E.
  assert (0 < inject_Z d) as Dq by (change 0 with (inject_Z 0); rewrite <- Zlt_Qlt; exact D).
  assert (half_unit == / (2 * inject_Z (2 ^ 52))) as P by reflexivity.
  assert (inject_Z (2 ^ 53) == 2 * inject_Z (2 ^ 52)) as P' by reflexivity. rewrite P' in E.
  assert (0 < inject_Z (2 ^ 52)) as P2 by reflexivity.
  rewrite P.
  assert (0 <= of_units 1) as One by (unfold of_units, Qle; cbn [Qnum Qden]; lia).
  set (u := of_units 1) in *. set (c := Qabs (of_units r - t)) in *. set (m := Qabs t) in *. set (h := inject_Z (2 ^ 52)) in *.
  set (e := inject_Z d) in *. clearbody u c m h e.
  assert (c <= m * / (2 * h) + (1 # 2) * u); [| lra].
  apply (Qmult_le_l _ _ (2 * h * e)); [apply Qmult_lt_0_compat; [lra | exact Dq] |].
  assert (2 * h * e * (m * / (2 * h) + (1 # 2) * u) == m * e + e * (h * u)) as -> by (field; lra).
  setoid_replace (2 * h * e * c) with (2 * h * (e * c)) by ring. lra.
Qed.

(** ** A chain of operations *)

(** What an operation means, and by which factor it carries an error on. *)
Definition exactly (v : Q) (o : operation) : Q :=
  match o with
  | Add x => v + of_units (units x)
  | Subtract x => v - of_units (units x)
  | Multiply x => v * of_units (units x)
  | Divide x => v / of_units (units x)
  end.

Definition factor_of (o : operation) : Q :=
  match o with
  | Multiply x => Qabs (of_units (units x))
  | Divide x => / Qabs (of_units (units x))
  | _ => 1
  end.

(** A bound on the exact value after an operation, from one on the value before. *)
Definition grown (b : Q) (o : operation) : Q :=
  match o with
  | Add x | Subtract x => b + Qabs (of_units (units x))
  | Multiply x | Divide x => b * factor_of o
  end.

(** (bound, error) after an operation: FORMAT.md, 7.2. *)
Definition after (be : Q * Q) (o : operation) : Q * Q :=
  let e := snd be * factor_of o in
  (grown (fst be) o, e + (grown (fst be) o + e) * half_unit + of_units 1).

Definition usable (o : operation) : bool := match o with Divide x => negb (units x =? 0)%Z | _ => true end.

Definition tracks (be : Q * Q) (v : Z) (a : Q) : Prop := Qabs a <= fst be /\ Qabs (of_units v - a) <= snd be.

Lemma units_positive x : (0 < units x)%Z -> 0 < of_units (units x).
Proof. intro P. unfold of_units, Qlt. cbn [Qnum Qden]. lia. Qed.

Lemma units_not_zero z : (z <> 0)%Z -> ~ of_units z == 0.
Proof. intros N E. unfold of_units, Qeq in E. cbn [Qnum Qden] in E. lia. Qed.

Lemma whole_units v : of_units (v * whole) == inject_Z v.
Proof. unfold of_units, Qeq, inject_Z. cbn [Qnum Qden]. rewrite <- one_whole. ring. Qed.

Lemma units_whole v : inject_Z v == of_units v * inject_Z whole.
Proof. unfold of_units, Qeq, inject_Z, Qmult. cbn [Qnum Qden]. rewrite <- one_whole, Pos.mul_1_r. ring. Qed.

(** The float after an operation is near the exact operation on the float before. *)
Lemma operate_near v o : usable o = true ->
  Qabs (of_units (operate v o) - exactly (of_units v) o) <= Qabs (exactly (of_units v) o) * half_unit + of_units 1.
Proof.
  destruct o as [x | x | x | x]; cbn [operate exactly usable]; intro Us.
  - apply round_near; [lia |]. rewrite of_units_plus. ring.
  - apply round_near; [lia |]. rewrite of_units_minus. ring.
  - apply round_near; [apply whole_positive |]. fold whole. rewrite of_units_scaled, (units_whole v). ring.
  - apply negb_true_iff, Z.eqb_neq in Us. apply round_near; [lia |].
    rewrite Z.shiftl_mul_pow2 by lia. fold whole. rewrite (of_units_scaled (Z.sgn _)), whole_units.
    pose proof (units_not_zero _ Us) as N.
    destruct (Z.abs_spec (units x)) as [[S ->] | [S ->]].
    + rewrite Z.sgn_pos by lia. rewrite (units_whole (units x)), (units_whole v). field. exact N.
    + rewrite Z.sgn_neg by lia. rewrite inject_Z_opp, (units_whole (units x)), (units_whole v). field. exact N.
Qed.

Lemma grown_bounds b a o : usable o = true -> Qabs a <= b -> Qabs (exactly a o) <= grown b o.
Proof.
  intros Us B. destruct o as [x | x | x | x]; cbn [exactly grown factor_of].
  - eapply Qle_trans; [apply Qabs_triangle |]. lra.
  - eapply Qle_trans; [apply Qabs_triangle |]. rewrite Qabs_opp. lra.
  - rewrite Qabs_Qmult. apply Qmult_le_compat_r; [exact B | apply Qabs_nonneg].
  - unfold Qdiv. rewrite Qabs_Qmult, Qabs_Qinv. apply Qmult_le_compat_r; [exact B |].
    apply Qinv_le_0_compat, Qabs_nonneg.
Qed.

Lemma error_carried v a e o : usable o = true -> Qabs (v - a) <= e -> Qabs (exactly v o - exactly a o) <= e * factor_of o.
Proof.
  intros Us B. destruct o as [x | x | x | x]; cbn [exactly factor_of].
  - setoid_replace (v + of_units (units x) - (a + of_units (units x))) with (v - a) by ring. lra.
  - setoid_replace (v - of_units (units x) - (a - of_units (units x))) with (v - a) by ring. lra.
  - setoid_replace (v * of_units (units x) - a * of_units (units x)) with ((v - a) * of_units (units x)) by ring.
    rewrite Qabs_Qmult. apply Qmult_le_compat_r; [exact B | apply Qabs_nonneg].
  - unfold Qdiv. setoid_replace (v * / of_units (units x) - a * / of_units (units x)) with ((v - a) * / of_units (units x)) by ring.
    rewrite Qabs_Qmult, Qabs_Qinv. apply Qmult_le_compat_r; [exact B |]. apply Qinv_le_0_compat, Qabs_nonneg.
Qed.

Lemma after_tracks be v a o : usable o = true -> tracks be v a -> tracks (after be o) (operate v o) (exactly a o).
Proof.
  intros Us [B E]. unfold tracks, after. cbn [fst snd].
  pose proof (grown_bounds _ _ o Us B) as G. pose proof (error_carried _ _ _ o Us E) as C.
  pose proof (operate_near v o Us) as N. split; [exact G |].
  set (x := exactly (of_units v) o) in *. set (y := exactly a o) in *. set (e := snd be * factor_of o) in *.
  assert (Qabs x <= grown (fst be) o + e) as X.
  { setoid_replace x with (y + (x - y)) by ring. eapply Qle_trans; [apply Qabs_triangle |]. lra. }
  assert (Qabs x * half_unit <= (grown (fst be) o + e) * half_unit) as H
    by (apply Qmult_le_compat_r; [exact X | apply Qlt_le_weak, half_unit_positive]).
  setoid_replace (of_units (operate v o) - y) with ((of_units (operate v o) - x) + (x - y)) by ring.
  eapply Qle_trans; [apply Qabs_triangle |]. lra.
Qed.

Lemma chain_tracks l : forallb usable l = true -> forall be v a, tracks be v a ->
  tracks (fold_left after l be) (fold_left operate l v) (fold_left exactly l a).
Proof.
  induction l as [| o l IH]; cbn [forallb fold_left]; intros U be v a T; auto.
  apply andb_true_iff in U as [Uo Ul]. apply IH; auto. apply after_tracks; auto.
Qed.

(** ** The columns *)

(** What a column is meant to be at an index: without rounding. *)
Definition meant_at (f : feature) (c : column) (i : Z) : Q :=
  match c with
  | Table _ values => of_units (units (nth (Z.to_nat i) values (0, 0)%Z))
  | Number _ l _ => fold_left exactly l (value f i)
  | Single _ _ => value f i
  end.

Definition largest_of (values : list float) : Q := fold_right (fun v m => Qmax (Qabs (of_units (units v))) m) 0 values.

(** How far the float64 nearest to a value is from it, for values up to [x]: whole numbers up to 2^53 are floats. *)
Definition given_error (k : kind) (x : Q) : Q :=
  match k with
  | Step _ d _ => if Pos.eqb d 1 && Qle_bool x (inject_Z (2 ^ 53)) then 0 else x * half_unit + of_units 1
  | _ => 0
  end.

(** A bound on that over all allowed indices, and on how far the float that is given is from it. *)
Definition column_bounds (f : feature) (c : column) : Q * Q :=
  match c, domain_of f with
  | Table _ values, _ => (largest_of values, 0)
  | Number _ l _, Between lower upper =>
      let x := Qmax (Qabs (value f lower)) (Qabs (value f upper)) in
      fold_left after l (x, given_error (kind_of f) x)
  | _, _ => (0, 0)
  end.

Definition linear_column (f : feature) (c : column) : bool :=
  match c, domain_of f with
  | Table _ _, Among _ => true
  | Number _ l None, Between _ _ => grid_kind (kind_of f) && forallb usable l
  | _, _ => false
  end.

Lemma largest_bounds values k : Qabs (of_units (units (nth k values (0, 0)%Z))) <= largest_of values.
Proof.
  revert k. induction values as [| v values IH]; intros [| k]; cbn [nth largest_of fold_right].
  - discriminate.
  - discriminate.
  - apply Q.le_max_l.
  - eapply Qle_trans; [apply IH | apply Q.le_max_r].
Qed.

Lemma between_abs a b c : a <= b -> b <= c -> Qabs b <= Qmax (Qabs a) (Qabs c).
Proof.
  intros L M. apply Qabs_case; intros _.
  - eapply Qle_trans; [exact M |]. eapply Qle_trans; [apply Qle_Qabs | apply Q.le_max_r].
  - apply Qle_trans with (Qabs a); [| apply Q.le_max_l]. rewrite <- Qabs_opp. eapply Qle_trans; [| apply Qle_Qabs]. lra.
Qed.

(** A whole number up to 2^53 is its own rounding. *)
Lemma whole_number_is_float z : (Z.abs z <= 2 ^ 53)%Z -> round 0 53 (z * whole) 1 = (z * whole)%Z.
Proof.
  assert (forall n, (0 <= n <= 2 ^ 53)%Z -> round_positive 0 53 (n * whole) 1 = (n * whole)%Z) as H.
  { intros n N. unfold round_positive. set (e := spacing 0 53 (n * whole) 1).
    pose proof whole_positive as W. assert (0 <= e)%Z as E0 by apply spacing_low.
    assert (exists c, (n * whole = c * (1 * 2 ^ e))%Z) as [c ->]; [| rewrite half_even_multiple by
      (rewrite Z.mul_1_l; apply Z.pow_pos_nonneg; lia); ring].
    destruct (Z.eq_dec n 0) as [-> | N0]; [exists 0%Z; ring |].
    assert (Z.log2 (n * whole) = Z.log2 n + 1074)%Z as L by (unfold whole; rewrite Z.log2_mul_pow2; lia).
    assert (e = Z.max 0 (Z.log2 n + 1074 + 1 - 53)) as Ee by (unfold e, spacing; rewrite Z.div_1_r, L; reflexivity).
    clearbody e. pose proof (Z.log2_nonneg n).
    destruct (Z.eq_dec n (2 ^ 53)) as [-> | N1].
    - rewrite Z.log2_pow2 in Ee by lia. exists (2 ^ 52)%Z. rewrite Ee. unfold whole. rewrite Z.mul_1_l, <- !Z.pow_add_r by lia.
      reflexivity.
    - assert (Z.log2 n < 53)%Z by (apply Z.log2_lt_pow2; lia).
      exists (n * 2 ^ (1074 - e))%Z. unfold whole. rewrite Z.mul_1_l, <- Z.mul_assoc, <- Z.pow_add_r by lia.
      do 2 f_equal. lia. }
  intro Z0. unfold round. pose proof whole_positive. destruct (Z.ltb_spec (z * whole) 0).
  - replace (- (z * whole))%Z with (- z * whole)%Z by ring. rewrite H by nia. ring.
  - apply H. nia.
Qed.

Lemma given_near f i b : grid_kind (kind_of f) = true -> Qabs (value f i) <= b ->
  tracks (b, given_error (kind_of f) b) (Ensemble.given (kind_of f) i) (value f i).
Proof.
  intros G B. split; [exact B |]. cbn [snd]. unfold value, given_error in *.
  destruct (kind_of f) as [step d extra | | | |] eqn:K; try discriminate.
  - destruct (Pos.eqb d 1 && Qle_bool b (inject_Z (2 ^ 53))) eqn:Whole.
    { apply andb_true_iff in Whole as [D1 Top]. apply Pos.eqb_eq in D1. subst d. apply Qle_bool_iff in Top.
      set (p := place (Step step 1 extra) 0 i) in *.
      assert (Z.abs p <= 2 ^ 53)%Z as P.
      { pose proof (Qle_trans _ _ _ B Top) as T. change (Z.to_pos (2 ^ shift (Step step 1 extra)) * denominator (Step step 1 extra))%positive with 1%positive in T.
        unfold Qle, Qabs, inject_Z in T. cbn [Qnum Qden] in T. lia. }
      change (Ensemble.given (Step step 1 extra) i) with (round 0 53 (Z.shiftl p 1074) 1).
      rewrite Z.shiftl_mul_pow2 by lia. fold whole. rewrite (whole_number_is_float p P), whole_units.
      change (Z.to_pos (2 ^ shift (Step step 1 extra)) * denominator (Step step 1 extra))%positive with 1%positive.
      setoid_replace (inject_Z p - (p # 1)) with 0 by (unfold inject_Z; ring). discriminate. }
    eapply Qle_trans; [apply round_near with (t := place (Step step d extra) 0 i # d) |].
    + lia.
    + rewrite Z.shiftl_mul_pow2 by lia. fold whole. rewrite whole_units.
      unfold Qeq, Qmult, inject_Z. cbn [Qnum Qden]. rewrite !Pos.mul_1_r. ring.
    + change (Z.to_pos (2 ^ shift (Step step d extra)) * denominator (Step step d extra))%positive with d in B.
      pose proof half_unit_positive. apply Qplus_le_compat; [| apply Qle_refl].
      apply Qmult_le_compat_r; [exact B | lra].
  - apply Qabs_case; intros _; unfold Ensemble.given, of_units, one, whole, Qle, Qminus, Qplus, Qopp; cbn [Qnum Qden shift denominator];
      rewrite Pos.mul_1_r; lia.
  - apply Qabs_case; intros _; unfold Ensemble.given, of_units, one, whole, Qle, Qminus, Qplus, Qopp; cbn [Qnum Qden shift denominator];
      rewrite Pos.mul_1_r; lia.
Qed.

Theorem column_sound f c i : linear_column f c = true -> allows f i ->
  tracks (column_bounds f c) (column_at f c i) (meant_at f c i).
Proof.
  unfold linear_column, column_bounds, allows. intros L A.
  destruct c as [j values | j l [a |] | j a]; destruct (domain_of f) as [lower upper | mask] eqn:D; try discriminate.
  - cbn [column_at meant_at]. split; cbn [fst snd]; [apply largest_bounds |].
    setoid_replace (of_units (units (nth (Z.to_nat i) values (0, 0)%Z)) - of_units (units (nth (Z.to_nat i) values (0, 0)%Z)))
      with 0 by ring. discriminate.
  - apply andb_true_iff in L as [G U]. cbn [column_at meant_at]. apply chain_tracks; [exact U |].
    apply given_near; [exact G |]. apply between_abs; apply value_monotone; tauto.
Qed.

(** ** Scores *)

(** A model: for each score the weights of the columns, and a bias. *)
Definition outputs := list (list float * float).

Section Model.
Variable s : statement.
Variable model : outputs.

Definition feature_read (c : column) : option feature := nth_error (features s) (feature_of c).

Definition input_of (x : point) (wc : float * column) : input :=
  let (w, c) := wc in
  let i := nth (feature_of c) x 0%Z in
  match feature_read c with
  | Some f => Input (units w) (column_at f c i) (meant_at f c i) (fst (column_bounds f c)) (snd (column_bounds f c))
  | None => Input (units w) 0 0 0 0
  end.

Definition inputs (x : point) (out : list float * float) : list input := map (input_of x) (combine (fst out) (columns s)).

(** The results that the deployed model may have: float64, in any order, underflow gradual or not. *)
Definition float_score (x : point) (out : list float * float) (r : Z) : Prop :=
  exists e, gives 53 (2 ^ 52) e r /\ Permutation (terms e) (written (inputs x out) (units (snd out))).

Definition exact_score (x : point) (out : list float * float) : Q := intended (inputs x out) (units (snd out)).
Definition slack (x : point) (out : list float * float) : Q := margin 53 (2 ^ 52) (inputs x out) (units (snd out)).

(** It is the same at every point. *)
Lemma slack_everywhere x y out : slack x out == slack y out.
Proof.
  unfold slack, margin, inputs. rewrite !map_length.
  assert (carried (map (input_of x) (combine (fst out) (columns s))) ==
          carried (map (input_of y) (combine (fst out) (columns s)))) as ->.
  { induction (combine (fst out) (columns s)) as [| [w c] l IH]; cbn [map carried fold_right]; [reflexivity |].
    unfold carried in IH. rewrite IH. unfold input_of. destruct (feature_read c); reflexivity. }
  assert (reach (map (input_of x) (combine (fst out) (columns s))) (units (snd out)) ==
          reach (map (input_of y) (combine (fst out) (columns s))) (units (snd out))) as ->; [| reflexivity].
  induction (combine (fst out) (columns s)) as [| [w c] l IH]; cbn [map reach fold_right]; [reflexivity |].
  unfold reach in IH. rewrite IH. unfold input_of. destruct (feature_read c); reflexivity.
Qed.

(** What is checked of a statement: every column, and that there are not too many. *)
Definition linear_readable : bool :=
  forallb (fun c => match feature_read c with Some f => linear_column f c | None => false end) (columns s) &&
  (2 * Z.of_nat (S (length (columns s))) * Z.of_nat (S (length (columns s))) <=? 2 ^ 53)%Z.

Lemma inputs_sound x out : linear_readable = true -> Forall2 allows (features s) x -> Forall sound (inputs x out).
Proof.
  unfold linear_readable. rewrite andb_true_iff, forallb_forall. intros [C _] A. unfold inputs. apply Forall_map, Forall_forall.
  intros [w c] I. apply in_combine_r in I. specialize (C c I). unfold input_of, sound, feature_read in *.
  destruct (nth_error (features s) (feature_of c)) as [f |] eqn:E; [| discriminate].
  assert (allows f (nth (feature_of c) x 0%Z)) as H.
  { clear - A E. revert E. generalize (feature_of c) as j. induction A as [| g i fs y G F IH]; intros [| j] E; try discriminate.
    - injection E as ->. exact G.
    - exact (IH j E). }
  destruct (column_sound f c _ C H) as [B N]. cbn [fed meant most off]. split; [exact N | exact B].
Qed.

Theorem score_near x out r : linear_readable = true -> Forall2 allows (features s) x -> float_score x out r ->
  Qabs (of_units r - exact_score x out) <= slack x out.
Proof.
  intros R A (e & G & P). apply (layer_error 53 (2 ^ 52) _ _ e); try lia; auto using inputs_sound.
  unfold linear_readable in R. rewrite andb_true_iff, Z.leb_le in R. destruct R as [_ R].
  assert (length (inputs x out) <= length (columns s))%nat as L
    by (unfold inputs; rewrite map_length, combine_length; lia).
  set (a := Z.of_nat (S (length (inputs x out)))). set (b := Z.of_nat (S (length (columns s)))) in *.
  assert (0 <= a <= b)%Z by (unfold a, b; lia). assert (a * a <= b * b)%Z by (apply Z.mul_le_mono_nonneg; lia). lia.
Qed.

(** ** Comparisons *)

Definition side_of {A} (zero : A) (score : list float * float -> A) (side : option nat) : A :=
  match side with Some k => match nth_error model k with Some out => score out | None => zero end | None => zero end.

(** The difference that is compared, of float scores. *)
Definition gap (rs : list Z) (c : comparison) : Z :=
  let at_side side := match side with Some k => nth k rs 0%Z | None => 0%Z end in (at_side (plus c) - at_side (minus c))%Z.

(** A comparison of float scores may hold: within the units of rounding by which the library squashes scores together. *)
Definition may_hold (rs : list Z) (c : comparison) : Prop := (units (than c) - squash s * 2 ^ 1021 <= gap rs c)%Z.

Definition exact_margin (c : comparison) (x : point) : Q :=
  side_of 0 (exact_score x) (plus c) - side_of 0 (exact_score x) (minus c) - of_units (units (than c)).

Definition slack_of (c : comparison) : Q :=
  side_of 0 (slack []) (plus c) + side_of 0 (slack []) (minus c) + inject_Z (squash s) * half_unit.

Lemma side_near x rs side : linear_readable = true -> Forall2 allows (features s) x -> Forall2 (float_score x) model rs ->
  Qabs (of_units match side with Some k => nth k rs 0%Z | None => 0%Z end - side_of 0 (exact_score x) side)
  <= side_of 0 (slack []) side.
Proof.
  intros R A F. assert (Qabs (of_units 0 - 0) <= 0) as Zero by discriminate.
  destruct side as [k |]; cbn [side_of]; [| exact Zero].
  revert k. induction F as [| out r outs rs S F IH]; intros [| k]; cbn [nth nth_error]; auto.
  rewrite (slack_everywhere [] x). apply score_near; auto.
Qed.

Theorem may_hold_margin x rs c : linear_readable = true -> Forall2 allows (features s) x -> Forall2 (float_score x) model rs ->
  may_hold rs c -> - slack_of c <= exact_margin c x.
Proof.
  intros R A F. unfold may_hold, gap, exact_margin, slack_of. cbv zeta. intro H. apply of_units_le in H.
  rewrite !of_units_minus in H.
  assert (of_units (squash s * 2 ^ 1021) == inject_Z (squash s) * half_unit) as E.
  { rewrite of_units_scaled. apply Qmult_comp; [reflexivity | vm_compute; reflexivity]. }
  rewrite E in H. clear E.
  pose proof (side_near x rs (plus c) R A F) as P. pose proof (side_near x rs (minus c) R A F) as M.
  apply Qabs_Qle_condition in P, M. lra.
Qed.

(** The deployed model may decide as asked. *)
Definition may_have_goal (x : point) : Prop :=
  exists rs part, Forall2 (float_score x) model rs /\ In part (goal s) /\ Forall (may_hold rs) part.

(** ** What a certificate claims *)

(** A comparison certainly holds. *)
Definition must_hold (rs : list Z) (c : comparison) : Prop :=
  if strict c || (0 <? squash s)%Z then (units (than c) + squash s * 2 ^ 1021 < gap rs c)%Z
  else (units (than c) <= gap rs c)%Z.

Definition must_have_goal (x : point) : Prop :=
  forall rs, Forall2 (float_score x) model rs -> exists part, In part (goal s) /\ Forall (must_hold rs) part.

(** No column overflows, nor any sum of some of the terms of a score, in whatever order and nesting. *)
Definition never_overflows (x : point) : Prop :=
  (forall c f, In c (columns s) -> nth_error (features s) (feature_of c) = Some f ->
     finite_at f c (nth (feature_of c) x 0%Z) = true) /\
  (forall out e rest r, In out model -> gives 53 (2 ^ 52) e r ->
     Permutation (terms e ++ rest) (written (inputs x out) (units (snd out))) -> (Z.abs r < largest_float64)%Z).

Definition linear_claim : Prop :=
  forall x, allowed s x -> never_overflows x /\
  (may_have_goal x -> match closer_than s with Some q => q <= distance s x | None => False end).

Definition linear_real (x : point) (d : Q) : Prop :=
  allowed s x /\ never_overflows x /\ must_have_goal x /\ distance s x == d /\
  match closer_than s with Some q => q <= d | None => False end.
End Model.
