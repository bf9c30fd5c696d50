(** * How far a score of a layer may lie from its exact value, whatever the order of its sum

    A score is a sum of products and a bias: the terms in any order and any nesting, each product rounded or fused with
    the addition that takes it. Numbers are whole: inputs, weights and results in units of 2^-1074, products in units of
    2^-2148. What one rounding may do is derived from Rounding.v: to nearest, ties to even, with gradual underflow, or
    with results below the smallest normal number set to zero. An accumulator that begins at zero adds no rounding.

    The bound is that of FORMAT.md, 7.2: Higham's g(n + 1) for n products and a bias, and 2 n + 2 times the smallest
    normal number for underflow. Main theorems: [sum_error], and [layer_error] for inputs that are rounded themselves. *)

From Coq Require Import ZArith QArith Qabs List Bool Permutation Lia Lqa.
From Mace Require Import Rounding.
Import ListNotations.
Open Scope Z_scope.

Arguments Z.pow : simpl never.
Arguments Z.mul : simpl never.

(** ** One rounding *)

(** [r] is what may become of the quotient [n / d], of p digits, if anything below [tiny] units may be lost. *)
Definition rounded (p tiny n d r : Z) : Prop := 2 ^ p * Z.abs (r * d - n) <= Z.abs n + d * (2 ^ p * tiny).

Theorem nearest_is_rounded low p tiny n d : 0 <= low -> 0 < p -> 0 < d -> 2 ^ low <= 2 * tiny ->
  rounded p tiny n d (round low p n d).
Proof.
  intros L P D T. unfold rounded. pose proof (round_error low p n d L P D) as E.
  assert (2 ^ (low + p - 1) <= 2 ^ p * tiny); [| nia].
  assert (0 < 2 ^ p) by (apply Z.pow_pos_nonneg; lia).
  assert (2 * 2 ^ (low + p - 1) = 2 ^ low * 2 ^ p); [| nia].
  rewrite <- Z.pow_succ_r by lia. rewrite <- Z.pow_add_r by lia. f_equal. lia.
Qed.

Theorem zero_is_rounded p tiny n d : 0 < d -> 0 <= p -> Z.abs n <= d * tiny -> rounded p tiny n d 0.
Proof.
  intros D P T. unfold rounded. assert (0 < 2 ^ p) by (apply Z.pow_pos_nonneg; lia).
  replace (0 * d - n) with (- n) by lia. rewrite Z.abs_opp. nia.
Qed.

(** ** Sums *)

Inductive term := Times (weight input : Z) | Alone (bias : Z).
Inductive sum := One (t : term) | Plus (a b : sum) | Fused (weight input : Z) (a : sum).

Fixpoint terms (e : sum) : list term :=
  match e with One t => [t] | Plus a b => terms a ++ terms b | Fused w x a => Times w x :: terms a end.

Definition whole : Z := 2 ^ 1074.   (** one, in units *)

Definition exact_term (t : term) : Z := match t with Times w x => w * x | Alone b => b * whole end.
Definition exact (l : list term) : Z := fold_right (fun t v => exact_term t + v) 0 l.
Definition size (l : list term) : Z := fold_right (fun t v => Z.abs (exact_term t) + v) 0 l.

(** The results that a sum may have. *)
Inductive gives (p tiny : Z) : sum -> Z -> Prop :=
| GivesProduct w x r : rounded p tiny (w * x) whole r -> gives p tiny (One (Times w x)) r
| GivesBias b : gives p tiny (One (Alone b)) b
| GivesSum a b v w r : gives p tiny a v -> gives p tiny b w -> rounded p tiny (v + w) 1 r -> gives p tiny (Plus a b) r
| GivesFused w x a v r : gives p tiny a v -> rounded p tiny (w * x + v * whole) whole r -> gives p tiny (Fused w x a) r.

Lemma whole_positive : 0 < whole.
Proof. apply Z.pow_pos_nonneg; lia. Qed.

Lemma exact_app l m : exact (l ++ m) = exact l + exact m.
Proof. induction l; simpl; lia. Qed.

Lemma size_app l m : size (l ++ m) = size l + size m.
Proof. induction l; simpl; lia. Qed.

Lemma exact_permuted l m : Permutation l m -> exact l = exact m.
Proof. induction 1; simpl; lia. Qed.

Lemma size_permuted l m : Permutation l m -> size l = size m.
Proof. induction 1; simpl; lia. Qed.

Lemma exact_below_size l : Z.abs (exact l) <= size l.
Proof. induction l; simpl; lia. Qed.

Lemma size_nonnegative l : 0 <= size l.
Proof. induction l; simpl; lia. Qed.

(** Roundings on the longest way to a term, and all of them. *)
Fixpoint height (e : sum) : nat :=
  match e with One (Times _ _) => 1 | One (Alone _) => 0 | Plus a b => S (max (height a) (height b)) | Fused _ _ a => S (height a) end.
Fixpoint roundings (e : sum) : Z :=
  match e with One (Times _ _) => 1 | One (Alone _) => 0 | Plus a b => roundings a + roundings b + 1 | Fused _ _ a => roundings a + 1 end.

Lemma terms_not_empty e : (1 <= length (terms e))%nat.
Proof. induction e; simpl; rewrite ?app_length; lia. Qed.

Lemma height_below_terms e : (height e <= length (terms e))%nat.
Proof.
  induction e as [[w x | b] | a IHa b IHb | w x a IH]; simpl; rewrite ?app_length; try lia.
  pose proof (terms_not_empty a). pose proof (terms_not_empty b). lia.
Qed.

Lemma roundings_below_terms e : 0 <= roundings e <= 2 * Z.of_nat (length (terms e)) - 1.
Proof. induction e as [[w x | b] | a IHa b IHb | w x a IH]; simpl length; simpl roundings; rewrite ?app_length; lia. Qed.

(** *** The error grows by a factor of 1 + 2^-p with each rounding *)

Section Error.
Variables p tiny : Z.
Hypothesis precise : 0 < p.
Hypothesis small : 0 <= tiny.
Let U := 2 ^ p.

Definition within (k : nat) (e : sum) (r : Z) : Prop :=
  U ^ Z.of_nat k * Z.abs (r * whole - exact (terms e)) <=
  ((U + 1) ^ Z.of_nat k - U ^ Z.of_nat k) * size (terms e) + roundings e * (tiny * whole) * (U + 1) ^ Z.of_nat k.

Lemma U_positive : 0 < U.
Proof. apply Z.pow_pos_nonneg; lia. Qed.

Lemma powers k : 0 < U ^ Z.of_nat k /\ U ^ Z.of_nat k <= (U + 1) ^ Z.of_nat k.
Proof.
  pose proof U_positive. split; [apply Z.pow_pos_nonneg; lia | apply Z.pow_le_mono_l; lia].
Qed.

(** One more rounding, of a number [m] (in units of 2^-2148) that is off by [error] of [exact]. *)
Lemma one_more k error exact m size count r :
  Z.abs exact <= size -> Z.abs (m - exact) <= error -> U * Z.abs (r * whole - m) <= Z.abs m + whole * (U * tiny) ->
  0 <= count -> 0 <= error ->
  U ^ Z.of_nat k * error <= ((U + 1) ^ Z.of_nat k - U ^ Z.of_nat k) * size + count * (tiny * whole) * (U + 1) ^ Z.of_nat k ->
  U ^ Z.of_nat (S k) * Z.abs (r * whole - exact) <=
  ((U + 1) ^ Z.of_nat (S k) - U ^ Z.of_nat (S k)) * size + (count + 1) * (tiny * whole) * (U + 1) ^ Z.of_nat (S k).
Proof.
  intros B E R C N H. rewrite Nat2Z.inj_succ, !Z.pow_succ_r by lia.
  destruct (powers k) as [P Q]. pose proof U_positive. pose proof whole_positive.
  set (a := U ^ Z.of_nat k) in *. set (b := (U + 1) ^ Z.of_nat k) in *. clearbody a b.
  assert (U * Z.abs (r * whole - exact) <= size + (U + 1) * error + whole * (U * tiny)) as One by nia.
  assert (a * (U * Z.abs (r * whole - exact)) <= a * (size + (U + 1) * error + whole * (U * tiny))) as Two
    by (apply Z.mul_le_mono_nonneg_l; lia).
  assert ((U + 1) * (a * error) <= (U + 1) * ((b - a) * size + count * (tiny * whole) * b)) as Three
    by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (0 <= tiny * whole) by nia.
  assert (a * (U * (tiny * whole)) <= (U + 1) * b * (tiny * whole)) as Four.
  { rewrite Z.mul_assoc. apply Z.mul_le_mono_nonneg_r; [lia |]. nia. }
  set (z := Z.abs (r * whole - exact)) in *. set (y := tiny * whole) in *.
  replace (whole * (U * tiny)) with (U * y) in Two by (unfold y; ring). clearbody z y.
  replace (U * a * z) with (a * (U * z)) by ring. nia.
Qed.

Lemma within_more k e r : within k e r -> within (S k) e r.
Proof.
  unfold within. rewrite Nat2Z.inj_succ, !Z.pow_succ_r by lia. intro H.
  destruct (powers k) as [P Q]. pose proof U_positive. pose proof whole_positive.
  pose proof (size_nonnegative (terms e)). pose proof (roundings_below_terms e).
  set (a := U ^ Z.of_nat k) in *. set (b := (U + 1) ^ Z.of_nat k) in *. clearbody a b.
  set (z := Z.abs _) in *. set (s := size _) in *. set (c := roundings e * (tiny * whole)) in *.
  assert (0 <= c) by (unfold c; nia). clearbody z s c.
  assert (U * (a * z) <= U * ((b - a) * s + c * b)) by (apply Z.mul_le_mono_nonneg_l; lia).
  nia.
Qed.

Lemma within_later k m e r : (k <= m)%nat -> within k e r -> within m e r.
Proof. induction 1; auto using within_more. Qed.

Lemma grows e r : gives p tiny e r -> within (height e) e r.
Proof.
  pose proof whole_positive as W.
  induction 1 as [w x r R | b | a b v w r _ IHa _ IHb R | w x a v r _ IHa R].
  - unfold within. simpl height. simpl terms. simpl exact. simpl size. simpl roundings.
    apply (one_more 0 0 _ (w * x) _ 0); try lia.
    unfold rounded in R. fold U in R. exact R.
  - unfold within. simpl height. simpl terms. simpl exact. simpl size. simpl roundings. change (Z.of_nat 0) with 0.
    rewrite !Z.pow_0_r. rewrite !Z.add_0_r, Z.sub_diag. simpl. lia.
  - apply (within_later _ (max (height a) (height b))) in IHa; [| lia].
    apply (within_later _ (max (height a) (height b))) in IHb; [| lia].
    unfold within in *. simpl height. simpl terms. simpl roundings. rewrite exact_app, size_app.
    set (k := max (height a) (height b)) in *. destruct (powers k) as [P Q].
    pose proof (exact_below_size (terms a)). pose proof (exact_below_size (terms b)).
    pose proof (roundings_below_terms a). pose proof (roundings_below_terms b).
    apply (one_more k (Z.abs (v * whole - exact (terms a)) + Z.abs (w * whole - exact (terms b))) _ ((v + w) * whole));
      try lia.
    + unfold rounded in R. fold U in R. rewrite <- Z.mul_sub_distr_r, !Z.abs_mul, (Z.abs_eq whole) by lia.
      replace (r * 1 - (v + w)) with (r - (v + w)) in R by lia.
      apply (Z.mul_le_mono_nonneg_r _ _ whole) in R; [| lia].
      eapply Z.le_trans; [| eapply Z.le_trans; [exact R |]]; apply Z.eq_le_incl; ring.
  - unfold within in *. simpl height. simpl terms. simpl exact. simpl size. simpl roundings.
    destruct (powers (height a)) as [P Q]. pose proof (exact_below_size (terms a)). pose proof (roundings_below_terms a).
    apply (one_more _ (Z.abs (v * whole - exact (terms a))) _ (w * x + v * whole)); try lia.
    + unfold rounded in R. fold U in R. exact R.
    + eapply Z.le_trans; [exact IHa |]. apply Z.add_le_mono_r, Z.mul_le_mono_nonneg_l; lia.
Qed.

(** *** Higham's g *)

Lemma below_g k : Z.of_nat k < U -> (U + 1) ^ Z.of_nat k * (U - Z.of_nat k) <= U ^ Z.of_nat k * U.
Proof.
  induction k as [| k IH]; intro B; [change (Z.of_nat 0) with 0; rewrite !Z.pow_0_r; lia |].
  rewrite Nat2Z.inj_succ in *. rewrite !Z.pow_succ_r by lia. specialize (IH ltac:(lia)).
  destruct (powers k) as [P Q]. set (a := U ^ Z.of_nat k) in *. set (b := (U + 1) ^ Z.of_nat k) in *.
  set (n := Z.of_nat k) in *. assert (0 <= n) by (unfold n; lia). clearbody a b n.
  assert ((U + 1) * (U - Z.succ n) <= U * (U - n)) by lia.
  assert (b * ((U + 1) * (U - Z.succ n)) <= b * (U * (U - n))) by (apply Z.mul_le_mono_nonneg_l; lia).
  pose proof U_positive.
  assert (U * (b * (U - n)) <= U * (a * U)) by (apply Z.mul_le_mono_nonneg_l; lia). lia.
Qed.

Theorem sum_error e l r : gives p tiny e r -> Permutation (terms e) l ->
  let k := Z.of_nat (length l) in 2 * k * k <= U ->
  (U - k) * Z.abs (r * whole - exact l) <= k * size l + (U - k) * (2 * k * (tiny * whole)).
Proof.
  intros G P k B. pose proof (height_below_terms e) as T. pose proof (roundings_below_terms e) as C.
  pose proof (within_later _ _ _ _ T (grows e r G)) as H. unfold within in H.
  rewrite (exact_permuted _ _ P), (size_permuted _ _ P), (Permutation_length P) in H.
  rewrite (Permutation_length P) in C. fold k in H, C.
  assert (1 <= k) as K by lia. assert (k < U) as KU by (assert (1 * k <= k * k) by (apply Z.mul_le_mono_nonneg_r; lia); lia).
  pose proof (below_g (length l)) as L. fold k in L. specialize (L KU).
  destruct (powers (length l)) as [Pa Pb]. fold k in Pa, Pb.
  pose proof (size_nonnegative l) as S. pose proof whole_positive.
  set (a := U ^ k) in *. set (b := (U + 1) ^ k) in *. set (z := Z.abs _) in *. set (s := size l) in *.
  set (y := tiny * whole) in *. assert (0 <= y) by (unfold y; nia). set (c := roundings e) in *. clearbody a b z s y c U.
  apply (Z.mul_le_mono_pos_l _ _ a Pa).
  assert ((U - k) * (a * z) <= (U - k) * ((b - a) * s + c * y * b)) as H' by (apply Z.mul_le_mono_nonneg_l; lia).
  assert ((b * (U - k)) * s <= (a * U) * s) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert ((b * (U - k)) * (c * y) <= (a * U) * (c * y)) by (apply Z.mul_le_mono_nonneg_r; [apply Z.mul_nonneg_nonneg |]; lia).
  assert (c * U <= (2 * k - 1) * U) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert (c * U <= (U - k) * (2 * k)) by lia.
  assert (a * y * (c * U) <= a * y * ((U - k) * (2 * k)))
    by (apply Z.mul_le_mono_nonneg_l; [apply Z.mul_nonneg_nonneg |]; lia).
  lia.
Qed.
End Error.

(** ** The same in rationals, for inputs that are rounded themselves *)

Open Scope Q_scope.

Definition one : positive := Z.to_pos whole.
Definition of_units (units : Z) : Q := units # one.
Definition product (n : Z) : Q := n # (one * one).   (** units of 2^-2148 *)

(** An input of a score: its weight and the float that is given, in units; what it is meant to be, how large that is at
    most, and how far the float is off at most. *)
Record input := Input { factor : Z; fed : Z; meant : Q; most : Q; off : Q }.

Definition sound (i : input) : Prop := Qabs (of_units (fed i) - meant i) <= off i /\ Qabs (meant i) <= most i.

Definition intended (l : list input) (bias : Z) : Q := fold_right (fun i v => of_units (factor i) * meant i + v) (of_units bias) l.
Definition carried (l : list input) : Q := fold_right (fun i v => Qabs (of_units (factor i)) * off i + v) 0 l.
Definition reach (l : list input) (bias : Z) : Q :=
  fold_right (fun i v => Qabs (of_units (factor i)) * (most i + off i) + v) (Qabs (of_units bias)) l.

(** Higham's g(k), for k roundings to p digits. *)
Definition g (p k : Z) : Q := inject_Z k / inject_Z (2 ^ p - k).

(** The bound of FORMAT.md, 7.2, for a sum of so many terms. *)
Definition margin (p tiny : Z) (l : list input) (bias : Z) : Q :=
  let k := Z.of_nat (S (length l)) in carried l + g p k * reach l bias + inject_Z (2 * k) * of_units tiny.

Definition written (l : list input) (bias : Z) : list term := Alone bias :: map (fun i => Times (factor i) (fed i)) l.

Lemma one_whole : Zpos one = whole.
Proof. apply Z2Pos.id, whole_positive. Qed.

Lemma product_plus a b : product (a + b) == product a + product b.
Proof. unfold product, Qeq, Qplus. cbn [Qnum Qden]. rewrite !Pos2Z.inj_mul. ring. Qed.

Lemma product_of w x : product (w * x) == of_units w * of_units x.
Proof. reflexivity. Qed.

Lemma product_whole b : product (b * whole) == of_units b.
Proof. unfold product, of_units, Qeq. cbn [Qnum Qden]. rewrite <- one_whole, !Pos2Z.inj_mul. ring. Qed.

Lemma product_minus a b : product (a - b) == product a - product b.
Proof. unfold Z.sub, Qminus. rewrite product_plus. reflexivity. Qed.

Lemma product_scaled k z : product (k * z) == inject_Z k * product z.
Proof. reflexivity. Qed.

Lemma product_le a b : (a <= b)%Z -> product a <= product b.
Proof. intro L. unfold product, Qle. cbn [Qnum Qden]. apply Z.mul_le_mono_nonneg_r; lia. Qed.

Lemma product_abs a : product (Z.abs a) == Qabs (product a).
Proof. reflexivity. Qed.

Lemma times_below (w x d : Q) : Qabs x <= d -> Qabs (w * x) <= Qabs w * d.
Proof. intro L. rewrite Qabs_Qmult. rewrite !(Qmult_comm (Qabs w)). apply Qmult_le_compat_r; [exact L | apply Qabs_nonneg]. Qed.

Lemma exact_near l bias : Forall sound l -> Qabs (product (exact (written l bias)) - intended l bias) <= carried l.
Proof.
  unfold written, intended, carried. cbn [exact fold_right exact_term]. induction 1 as [| i l [N M] F IH].
  - cbn [map exact fold_right]. rewrite Z.add_0_r, product_whole.
    setoid_replace (of_units bias - of_units bias) with 0 by ring. apply Qle_refl.
  - cbn [map fold_right exact exact_term] in *.
    set (u := (bias * whole)%Z) in *. change (fold_right (fun t v => (exact_term t + v)%Z) 0%Z) with exact in *.
    set (e := exact (map (fun i => Times (factor i) (fed i)) l)) in *.
    set (s := fold_right (fun i v => of_units (factor i) * meant i + v) (of_units bias) l) in *.
    set (c := fold_right (fun i v => Qabs (of_units (factor i)) * off i + v) 0 l) in *.
    pose proof (times_below (of_units (factor i)) _ _ N) as T.
    assert (product (u + (factor i * fed i + e)) - (of_units (factor i) * meant i + s) ==
            of_units (factor i) * (of_units (fed i) - meant i) + (product (u + e) - s)) as ->.
    { rewrite !product_plus, product_of. ring. }
    eapply Qle_trans; [apply Qabs_triangle |]. apply Qplus_le_compat; assumption.
Qed.

Lemma size_within l bias : Forall sound l -> product (size (written l bias)) <= reach l bias.
Proof.
  unfold written, reach. cbn [size fold_right exact_term]. induction 1 as [| i l [N M] F IH].
  - cbn [map size fold_right]. rewrite Z.add_0_r, product_abs, product_whole. apply Qle_refl.
  - cbn [map fold_right size exact_term] in *.
    change (fold_right (fun t v => (Z.abs (exact_term t) + v)%Z) 0%Z) with size in *.
    set (u := Z.abs (bias * whole)) in *. set (e := size (map (fun i => Times (factor i) (fed i)) l)) in *.
    set (c := fold_right (fun i v => Qabs (of_units (factor i)) * (most i + off i) + v) (Qabs (of_units bias)) l) in *.
    assert (product (u + (Z.abs (factor i * fed i) + e)) == product (Z.abs (factor i * fed i)) + product (u + e)) as ->
      by (rewrite !product_plus; ring).
    apply Qplus_le_compat; [| exact IH]. rewrite product_abs, product_of. apply times_below.
    setoid_replace (of_units (fed i)) with (meant i + (of_units (fed i) - meant i)) by ring.
    eapply Qle_trans; [apply Qabs_triangle |]. apply Qplus_le_compat; assumption.
Qed.

(** What a layer's float score may be off by, from what it is meant to be. *)
Theorem layer_error p tiny l bias e r : (0 < p)%Z -> (0 <= tiny)%Z ->
  (2 * Z.of_nat (S (length l)) * Z.of_nat (S (length l)) <= 2 ^ p)%Z -> Forall sound l ->
  gives p tiny e r -> Permutation (terms e) (written l bias) ->
  Qabs (of_units r - intended l bias) <= margin p tiny l bias.
Proof.
  intros P T K F G Order.
  pose proof (sum_error p tiny P T e _ r G Order) as E. cbv zeta in E.
  assert (length (written l bias) = S (length l)) as Len by (unfold written; simpl; rewrite map_length; reflexivity).
  rewrite Len in E. specialize (E K). unfold margin, g. cbv zeta.
  pose proof (size_within l bias F) as S'. pose proof (exact_near l bias F) as N.
  set (k := Z.of_nat (S (length l))) in *. assert (1 <= k)%Z by (unfold k; lia). clearbody k.
  assert (k < 2 ^ p)%Z as KU by (assert (1 * k <= k * k)%Z by (apply Z.mul_le_mono_nonneg_r; lia); lia).
  set (U := (2 ^ p)%Z) in *. clearbody U. set (x := exact (written l bias)) in *. set (z := size (written l bias)) in *.
  clearbody x z. clear Order G Len F.
  set (h := inject_Z k / inject_Z (U - k)).
  assert (Qabs (of_units r - product x) <= h * product z + inject_Z (2 * k) * of_units tiny) as A.
  { assert (0 < inject_Z (U - k)) as Pos by (change 0%Q with (inject_Z 0); rewrite <- Zlt_Qlt; lia).
    apply (Qmult_le_l _ _ (inject_Z (U - k)) Pos).
    apply product_le in E. rewrite product_plus in E.
    assert (product ((U - k) * Z.abs (r * whole - x)) == inject_Z (U - k) * Qabs (of_units r - product x)) as L
      by (rewrite product_scaled, product_abs, product_minus, product_whole; reflexivity).
    rewrite L in E. eapply Qle_trans; [exact E |]. unfold h. apply Qle_lteq. right.
    rewrite (product_scaled k z), (product_scaled (U - k) _), (product_scaled (2 * k) _), product_whole.
    field. lra. }
  assert (0 <= h) as Gpos.
  { unfold h. apply Qle_shift_div_l; [change 0%Q with (inject_Z 0); rewrite <- Zlt_Qlt; lia |].
    rewrite Qmult_0_l. change 0%Q with (inject_Z 0). rewrite <- Zle_Qle. lia. }
  setoid_replace (of_units r - intended l bias) with ((of_units r - product x) + (product x - intended l bias)) by ring.
  eapply Qle_trans; [apply Qabs_triangle |].
  assert (h * product z <= h * reach l bias).
  { rewrite !(Qmult_comm h). apply Qmult_le_compat_r; assumption. }
  lra.
Qed.
