(** * A comparison of a linear model's scores as a linear function with whole numbers

    What the margin of Linear.v comes to, rounded upwards to 2^-1200: a comparison of float scores may hold only where a
    linear function of the exact columns is at most 0. Multiplied by numbers that are not negative, such functions add up.

    Main theorems: [form_sound], [combined_sound]. *)

From Coq Require Import ZArith QArith Qabs Qround Qminmax List Bool Lia Lqa.
From Mace Require Import Ensemble Rules Sums Linear.
Import ListNotations.
Open Scope Z_scope.

(** ** Rounding, in whole numbers of 2^-1200, upwards *)

Definition small : positive := Z.to_pos (2 ^ 1200).
Definition up (q : Q) : Z := Qceiling (q * inject_Z (Zpos small)).
Definition above (n d : Z) : Z := - (- n / d).

(** For every column a bound on its exact value and on its error. *)
Definition after_fast (be : Q * Q) (o : operation) : Q * Q := let r := after be o in (Qred (fst r), Qred (snd r)).

Definition bounds_fast (f : feature) (c : column) : Q * Q :=
  match c, domain_of f with
  | Number _ l _, Between lower upper =>
      let x := Qmax (Qabs (value f lower)) (Qabs (value f upper)) in
      fold_left after_fast l (x, given_error (kind_of f) x)
  | _, _ => column_bounds f c
  end.

Definition bounds_up (s : statement) (c : column) : Z * Z :=
  match nth_error (features s) (feature_of c) with
  | Some f => let b := bounds_fast f c in (up (fst b), up (snd b))
  | None => (0, 0)
  end.

(** Sizes and errors of the products of a score, in 2^-1200 of units. *)
Fixpoint carried_up (ws : list Z) (bounds : list (Z * Z)) : Z :=
  match ws, bounds with w :: ws, b :: bounds => Z.abs w * snd b + carried_up ws bounds | _, _ => 0 end.
Fixpoint reach_up (ws : list Z) (bounds : list (Z * Z)) : Z :=
  match ws, bounds with w :: ws, b :: bounds => Z.abs w * (fst b + snd b) + reach_up ws bounds | _, _ => 0 end.

Definition weights_of (out : list float * float) : list Z := map units (fst out).
Definition whole_reach (bounds : list (Z * Z)) (out : list float * float) : Z :=
  reach_up (weights_of out) bounds + Z.abs (units (snd out)) * Zpos small.

(** How far a score may be from its exact value, in 2^-1200. *)
Definition slack_up (bounds : list (Z * Z)) (out : list float * float) : Z :=
  let k := Z.of_nat (S (length (combine (fst out) bounds))) in
  above (carried_up (weights_of out) bounds) whole +
  above (k * whole_reach bounds out) ((2 ^ 53 - k) * whole) + 2 * k * 2 ^ 178.

(** ** A comparison as a linear function of the columns

    It may hold only where [differences] times the columns, in units, plus [offset] * 2^-1200 is at most 0. *)

Record form := Form { differences : list Z; offset : Z }.

(** l times d, added. *)
Fixpoint add_times (l : Z) (d acc : list Z) : list Z :=
  match d, acc with
  | a :: d, b :: acc => l * a + b :: add_times l d acc
  | d, [] => map (Z.mul l) d
  | [], acc => acc
  end.

Definition side_units (model : outputs) (side : option nat) : list Z := side_of model [] weights_of side.

Definition form_of (s : statement) (model : outputs) (bounds : list (Z * Z)) (c : comparison) : form :=
  let bias := side_of model 0 (fun out => units (snd out)) in
  let loose := side_of model 0 (slack_up bounds) in
  Form (add_times (-1) (side_units model (plus c)) (side_units model (minus c)))
    ((units (than c) + bias (minus c) - bias (plus c)) * 2 ^ 126 - (loose (plus c) + loose (minus c) + squash s * 2 ^ 1147)).

(** Multiplied comparisons, added: weights of the columns and a constant. *)
Fixpoint combined (ls : list Z) (forms : list form) (n : nat) : list Z * Z :=
  match ls, forms with
  | l :: ls, f :: forms =>
      let r := combined ls forms n in (add_times l (differences f) (fst r), l * offset f + snd r)
  | _, _ => (repeat 0 n, 0)
  end.

(** ** Proofs *)

Open Scope Q_scope.

Lemma above_bound n d : (0 < d)%Z -> inject_Z n <= inject_Z (above n d) * inject_Z d.
Proof.
  intro P. unfold above. rewrite <- inject_Z_mult, <- Zle_Qle.
  pose proof (Z.mul_div_le (- n) d P). lia.
Qed.

Lemma up_bound q : q <= up q # small.
Proof.
  unfold up. pose proof (Qle_ceiling (q * inject_Z (Zpos small))) as C. set (z := Qceiling _) in *. clearbody z.
  setoid_replace (z # small) with (inject_Z z / inject_Z (Zpos small)).
  2: { rewrite (Qmake_Qdiv z small). reflexivity. }
  apply Qle_shift_div_l; [reflexivity | exact C].
Qed.

Lemma fold_fast l : forall a b, fst a == fst b -> snd a == snd b ->
  fst (fold_left after_fast l a) == fst (fold_left after l b) /\ snd (fold_left after_fast l a) == snd (fold_left after l b).
Proof.
  induction l as [| o l IH]; cbn [fold_left]; intros a b F S; [split; assumption |].
  apply IH; unfold after_fast, after; cbn [fst snd]; rewrite Qred_correct;
    destruct o; cbn [grown factor_of]; rewrite ?F, ?S; reflexivity.
Qed.

Lemma bounds_fast_are f c : fst (bounds_fast f c) == fst (column_bounds f c) /\ snd (bounds_fast f c) == snd (column_bounds f c).
Proof.
  unfold bounds_fast. destruct c as [j l | j l a | j a], (domain_of f) eqn:D; unfold column_bounds; rewrite ?D; try (split; reflexivity).
  apply fold_fast; reflexivity.
Qed.

(** *** Columns at a point *)

Fixpoint dotz (ws : list Z) (ys : list Q) : Q :=
  match ws, ys with w :: ws, y :: ys => inject_Z w * y + dotz ws ys | _, _ => 0 end.

Lemma dotz_times l ws ys : dotz (map (Z.mul l) ws) ys == inject_Z l * dotz ws ys.
Proof.
  revert ys. induction ws as [| w ws IH]; intros [| y ys]; cbn [map dotz]; rewrite ?IH, ?inject_Z_mult; ring.
Qed.

Lemma dotz_add_times l d acc ys : dotz (add_times l d acc) ys == inject_Z l * dotz d ys + dotz acc ys.
Proof.
  revert acc ys. induction d as [| a d IH]; intros [| b acc] ys; cbn [add_times].
  - simpl. ring.
  - destruct ys; cbn [dotz]; ring.
  - rewrite dotz_times. simpl. ring.
  - destruct ys as [| y ys]; cbn [dotz]; [ring |]. rewrite IH, inject_Z_plus, inject_Z_mult. ring.
Qed.

Lemma dotz_zero n ys : dotz (repeat 0%Z n) ys == 0.
Proof. revert ys. induction n; intros [| y ys]; cbn [repeat dotz]; rewrite ?IHn; try ring. Qed.

Section Point.
Variable s : statement.
Variable model : outputs.
Variable x : point.
Hypothesis is_readable : linear_readable s = true.
Hypothesis allows_x : Forall2 allows (features s) x.

Definition column_meant (c : column) : Q :=
  match nth_error (features s) (feature_of c) with Some f => meant_at f c (nth (feature_of c) x 0%Z) | None => 0 end.

Let ys := map column_meant (columns s).
Let bounds := map (bounds_up s) (columns s).

Lemma exact_score_is out : exact_score s x out == (1 # one) * dotz (weights_of out) ys + of_units (units (snd out)).
Proof.
  unfold exact_score, intended, inputs, ys, weights_of. generalize (columns s) as cs. generalize (fst out) as ws.
  induction ws as [| w ws IH]; intros [| c cs]; cbn [combine map fold_right dotz]; try ring.
  rewrite IH. assert (of_units (factor (input_of s x (w, c))) * meant (input_of s x (w, c)) ==
    (1 # one) * (inject_Z (units w) * column_meant c)) as ->; [| ring].
  unfold input_of, column_meant, feature_read. destruct (nth_error (features s) (feature_of c)); cbn [factor meant].
  - setoid_replace (of_units (units w)) with ((1 # one) * inject_Z (units w)); [ring |].
    unfold of_units, Qeq, Qmult, inject_Z. cbn [Qnum Qden]. rewrite Pos.mul_1_r. ring.
  - ring.
Qed.

Lemma scaled_le a b u : (0 <= u)%Q -> a <= b -> u * a <= u * b.
Proof. intros U L. rewrite !(Qmult_comm u). apply Qmult_le_compat_r; auto. Qed.

Lemma bounds_above c w : most (input_of s x (w, c)) <= fst (bounds_up s c) # small /\
                         off (input_of s x (w, c)) <= snd (bounds_up s c) # small.
Proof.
  unfold input_of, bounds_up, feature_read. destruct (nth_error (features s) (feature_of c)) as [f |]; cbn [most off fst snd].
  - destruct (bounds_fast_are f c) as [<- <-]. split; apply up_bound.
  - split; discriminate.
Qed.

Definition fine_unit : positive := (one * small)%positive.

Lemma fine_product w z : Qabs (of_units w) * (z # small) == (Z.abs w * z) # fine_unit.
Proof. reflexivity. Qed.

Lemma fine_plus a b : (a + b # fine_unit) == (a # fine_unit) + (b # fine_unit).
Proof. unfold Qeq, Qplus. cbn [Qnum Qden]. rewrite !Pos2Z.inj_mul. ring. Qed.

Lemma small_plus a b : (a + b # small) == (a # small) + (b # small).
Proof. unfold Qeq, Qplus. cbn [Qnum Qden]. rewrite !Pos2Z.inj_mul. ring. Qed.

Lemma carried_above out : carried (inputs s x out) <= carried_up (weights_of out) bounds # fine_unit.
Proof.
  unfold inputs, bounds, weights_of, carried. generalize (columns s) as cs. generalize (fst out) as ws.
  induction ws as [| w ws IH]; intros [| c cs]; cbn [combine map fold_right carried_up]; try discriminate.
  rewrite fine_plus, <- fine_product. apply Qplus_le_compat; [| apply IH].
  assert (factor (input_of s x (w, c)) = units w) as -> by (unfold input_of; destruct (feature_read s c); reflexivity).
  apply scaled_le; [apply Qabs_nonneg | apply bounds_above].
Qed.

Lemma reach_above out : reach (inputs s x out) (units (snd out)) <= whole_reach bounds out # fine_unit.
Proof.
  unfold whole_reach. rewrite fine_plus.
  assert ((Z.abs (units (snd out)) * Zpos small # fine_unit) == Qabs (of_units (units (snd out)))) as ->.
  { rewrite <- of_units_abs. unfold of_units, fine_unit, Qeq. cbn [Qnum Qden]. rewrite Pos2Z.inj_mul. ring. }
  unfold inputs, bounds, weights_of, reach. generalize (columns s) as cs. generalize (fst out) as ws.
  induction ws as [| w ws IH]; intros [| c cs]; cbn [combine map fold_right reach_up]; 
    try (setoid_replace (0 # fine_unit) with 0 by reflexivity; rewrite Qplus_0_l; apply Qle_refl).
  rewrite fine_plus, <- fine_product, <- Qplus_assoc. apply Qplus_le_compat; [| apply IH].
  assert (factor (input_of s x (w, c)) = units w) as -> by (unfold input_of; destruct (feature_read s c); reflexivity).
  apply scaled_le; [apply Qabs_nonneg |]. rewrite small_plus. apply Qplus_le_compat; apply bounds_above.
Qed.

Lemma few_columns out : let k := Z.of_nat (S (length (inputs s x out))) in (1 <= k /\ 2 * k * k <= 2 ^ 53)%Z.
Proof.
  cbv zeta. split; [lia |]. unfold linear_readable in is_readable. rewrite andb_true_iff, Z.leb_le in is_readable.
  destruct is_readable as [_ R].
  assert (length (inputs s x out) <= length (columns s))%nat as L by (unfold inputs; rewrite map_length, combine_length; lia).
  set (a := Z.of_nat (S (length (inputs s x out)))). set (b := Z.of_nat (S (length (columns s)))) in *.
  assert (0 <= a <= b)%Z by (unfold a, b; lia). assert (a * a <= b * b)%Z by (apply Z.mul_le_mono_nonneg; lia). lia.
Qed.

Lemma above_small n d : (0 < d)%Z -> (n # fine_unit) / inject_Z d <= above n (d * whole) # small.
Proof.
  intro P. apply Qle_shift_div_r; [change 0 with (inject_Z 0); rewrite <- Zlt_Qlt; exact P |].
  pose proof (above_bound n (d * whole) ltac:(pose proof whole_positive; nia)) as A.
  set (z := above n (d * whole)) in *. clearbody z. rewrite <- inject_Z_mult, <- Zle_Qle, <- one_whole in A.
  unfold fine_unit, Qle, Qmult, inject_Z. cbn [Qnum Qden]. rewrite !Pos2Z.inj_mul. nia.
Qed.

Lemma slack_above out : slack s x out <= slack_up bounds out # small.
Proof.
  unfold slack, margin, slack_up. cbv zeta. destruct (few_columns out) as [K1 K2].
  assert (length (combine (fst out) bounds) = length (inputs s x out)) as ->
    by (unfold inputs, bounds; rewrite map_length, !combine_length, map_length; reflexivity).
  set (k := Z.of_nat (S (length (inputs s x out)))) in *. rewrite !small_plus.
  assert (k < 2 ^ 53)%Z as KU by (assert (1 * k <= k * k)%Z by (apply Z.mul_le_mono_nonneg_r; lia); lia).
  apply Qplus_le_compat; [apply Qplus_le_compat |].
  - eapply Qle_trans; [apply carried_above |]. pose proof (above_small (carried_up (weights_of out) bounds) 1 eq_refl) as A.
    rewrite Z.mul_1_l in A. eapply Qle_trans; [| exact A]. unfold Qdiv. rewrite Qmult_1_r. apply Qle_refl.
  - eapply Qle_trans; [| apply above_small; lia]. unfold g.
    assert (0 < inject_Z (2 ^ 53 - k)) as Pos by (change 0 with (inject_Z 0); rewrite <- Zlt_Qlt; lia).
    apply Qle_shift_div_l; [exact Pos |].
    setoid_replace (inject_Z k / inject_Z (2 ^ 53 - k) * reach (inputs s x out) (units (snd out)) * inject_Z (2 ^ 53 - k))
      with (inject_Z k * reach (inputs s x out) (units (snd out))) by (field; lra).
    setoid_replace (k * whole_reach bounds out # fine_unit) with (inject_Z k * (whole_reach bounds out # fine_unit)) by reflexivity.
    apply scaled_le; [change 0 with (inject_Z 0); rewrite <- Zle_Qle; lia | apply reach_above].
  - apply Qle_lteq. right. assert (of_units (2 ^ 52) == 2 ^ 178 # small) as -> by (vm_compute; reflexivity). reflexivity.
Qed.

(** *** A comparison that may hold *)

Definition form_value (f : form) : Q := (1 # one) * dotz (differences f) ys + (offset f # small).

Lemma side_score side : side_of model 0 (exact_score s x) side ==
  (1 # one) * dotz (side_units model side) ys + of_units (side_of model 0%Z (fun out => units (snd out)) side).
Proof.
  unfold side_units, side_of. destruct side as [k |]; [destruct (nth_error model k) as [out |] |]; try (simpl; ring_simplify; reflexivity).
  apply exact_score_is.
Qed.

Lemma side_slack side : side_of model 0 (slack s []) side <= side_of model 0%Z (slack_up bounds) side # small.
Proof.
  unfold side_of. destruct side as [k |]; [destruct (nth_error model k) as [out |] |]; try discriminate.
  rewrite (slack_everywhere s [] x). apply slack_above.
Qed.

Lemma form_sound rs c : Forall2 (float_score s x) model rs -> may_hold s rs c ->
  form_value (form_of s model bounds c) <= 0.
Proof.
  intros F H. pose proof (may_hold_margin s model x rs c is_readable allows_x F H) as M.
  unfold exact_margin, slack_of in M. rewrite !side_score in M.
  pose proof (side_slack (plus c)) as P. pose proof (side_slack (minus c)) as N.
  unfold form_value, form_of. cbn [differences offset]. rewrite dotz_add_times.
  set (bias := side_of model 0%Z (fun out => units (snd out))) in *. set (loose := side_of model 0%Z (slack_up bounds)) in *.
  assert (((units (than c) + bias (minus c) - bias (plus c)) * 2 ^ 126 - (loose (plus c) + loose (minus c) + squash s * 2 ^ 1147) # small)
    == of_units (units (than c)) + of_units (bias (minus c)) - of_units (bias (plus c)) -
       ((loose (plus c) # small) + (loose (minus c) # small) + inject_Z (squash s) * half_unit)) as ->.
  { unfold Z.sub. rewrite !small_plus. rewrite <- (of_units_plus (units (than c))), <- of_units_minus.
    assert (forall z, ((z * 2 ^ 126)%Z # small) == of_units z) as U1.
    { intro z. unfold of_units, Qeq. cbn [Qnum Qden]. change (Zpos small) with (2 ^ 126 * Zpos one)%Z. ring. }
    assert (((squash s * 2 ^ 1147)%Z # small) == inject_Z (squash s) * half_unit) as U2.
    { setoid_replace ((squash s * 2 ^ 1147)%Z # small) with (inject_Z (squash s) * (2 ^ 1147 # small)) by reflexivity.
      apply Qmult_comp; [reflexivity | vm_compute; reflexivity]. }
    rewrite U1. unfold Z.sub.
    setoid_replace (- (loose (plus c) + loose (minus c) + squash s * 2 ^ 1147) # small)
      with (- (loose (plus c) + loose (minus c) + squash s * 2 ^ 1147 # small)) by reflexivity.
    rewrite !small_plus, U2. ring. }
  change (inject_Z (-1)) with (- (1)). lra.
Qed.

Lemma combined_sound forms : Forall (fun f => form_value f <= 0) forms -> forall ls n, forallb (Z.leb 0) ls = true ->
  (1 # one) * dotz (fst (combined ls forms n)) ys + (snd (combined ls forms n) # small) <= 0.
Proof.
  assert (forall n, (1 # one) * dotz (repeat 0%Z n) ys + (0 # small) <= 0) as Zero.
  { intro n. rewrite dotz_zero. discriminate. }
  induction 1 as [| f forms V F IH]; intros [| l ls] n L; cbn [combined fst snd]; try apply Zero.
  cbn [forallb] in L. apply andb_true_iff in L as [L0 L]. apply Z.leb_le in L0. specialize (IH ls n L).
  destruct (combined ls forms n) as [d k]. cbn [fst snd] in *. rewrite dotz_add_times, small_plus.
  setoid_replace (l * offset f # small) with (inject_Z l * (offset f # small)) by reflexivity. unfold form_value in V.
  assert (0 <= inject_Z l) as L' by (change 0 with (inject_Z 0); rewrite <- Zle_Qle; exact L0).
  pose proof (scaled_le _ _ _ L' V) as P. lra.
Qed.
End Point.
