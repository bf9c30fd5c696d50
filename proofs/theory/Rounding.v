(** * Rounding to nearest, ties to even, on exact integers

    Every float64 and float32 is an integer multiple of 2^-1074. In that unit (or in any coarser one that divides all
    numbers in play) a float is an integer, and the rounding of a rational n / d to a format with [p] significant bits
    whose smallest spacing is 2^[low] units is the function [round low p n d] below. Overflow is not modelled: who uses
    it compares with the largest finite number.

    Relates to: "rounded to dtype", "the float64 nearest to the value (ties to even)" and "cast" of FORMAT.md.

    Main theorems: [round_nearest] (no multiple of the spacing is closer), [round_monotone], [round_error]
    (the standard model of floating-point arithmetic) and [round_fast_is_round] (shifts instead of divisions). *)

From Coq Require Import ZArith Lia Bool.
Open Scope Z_scope.

(** The multiple of [k] nearest to [n], divided by [k]. *)
Definition half_even (n k : Z) : Z :=
  let q := n / k in
  match Z.compare (2 * (n mod k)) k with
  | Lt => q
  | Gt => q + 1
  | Eq => if Z.even q then q else q + 1
  end.

(** The exponent of the spacing at n / d >= 0. *)
Definition spacing (low p n d : Z) : Z := Z.max low (Z.log2 (n / d) + 1 - p).

Definition round_positive (low p n d : Z) : Z :=
  let e := spacing low p n d in half_even n (d * 2 ^ e) * 2 ^ e.

Definition round (low p n d : Z) : Z :=
  if n <? 0 then - round_positive low p (- n) d else round_positive low p n d.

(** ** Nearest *)

Lemma half_even_error n k : 0 < k -> 2 * Z.abs (half_even n k * k - n) <= k.
Proof.
  intro K. unfold half_even.
  pose proof (Z.div_mod n k ltac:(lia)) as E. pose proof (Z.mod_pos_bound n k K) as B.
  set (q := n / k) in *. set (r := n mod k) in *. clearbody q r.
  destruct (Z.compare_spec (2 * r) k); [destruct (Z.even q) | |]; nia.
Qed.

Lemma half_even_monotone n m k : 0 < k -> n <= m -> half_even n k <= half_even m k.
Proof.
  intros K L. unfold half_even.
  pose proof (Z.div_mod n k ltac:(lia)) as E. pose proof (Z.mod_pos_bound n k K) as B.
  pose proof (Z.div_mod m k ltac:(lia)) as F. pose proof (Z.mod_pos_bound m k K) as C.
  pose proof (Z.div_le_mono n m k K L) as D.
  set (q := n / k) in *. set (r := n mod k) in *. set (u := m / k) in *. set (v := m mod k) in *. clearbody q r u v.
  destruct (Z.eq_dec q u) as [<- | N].
  - destruct (Z.compare_spec (2 * r) k), (Z.compare_spec (2 * v) k); destruct (Z.even q); lia.
  - destruct (Z.compare_spec (2 * r) k), (Z.compare_spec (2 * v) k); destruct (Z.even q), (Z.even u); lia.
Qed.

Lemma half_even_multiple c k : 0 < k -> half_even (c * k) k = c.
Proof.
  intro K. unfold half_even. rewrite Z.mod_mul, Z.div_mul by lia.
  destruct (Z.compare_spec (2 * 0) k); lia.
Qed.

Lemma half_even_nonnegative n k : 0 < k -> 0 <= n -> 0 <= half_even n k.
Proof.
  intros K N. rewrite <- (half_even_multiple 0 k K). apply half_even_monotone; lia.
Qed.

Lemma spacing_low low p n d : low <= spacing low p n d.
Proof. unfold spacing. lia. Qed.

Lemma round_positive_error low p n d : 0 <= low -> 0 < d -> 0 <= n ->
  2 * Z.abs (round_positive low p n d * d - n) <= d * 2 ^ spacing low p n d.
Proof.
  intros L D N. unfold round_positive. set (e := spacing low p n d).
  assert (0 <= e) by (pose proof (spacing_low low p n d); lia).
  assert (0 < 2 ^ e) by (apply Z.pow_pos_nonneg; lia).
  replace (half_even n (d * 2 ^ e) * 2 ^ e * d) with (half_even n (d * 2 ^ e) * (d * 2 ^ e)) by ring.
  apply half_even_error. nia.
Qed.

(** No multiple of the spacing is closer to n / d. *)
Theorem round_nearest low p n d c : 0 <= low -> 0 < d -> 0 <= n ->
  Z.abs (round low p n d * d - n) <= Z.abs (c * 2 ^ spacing low p n d * d - n).
Proof.
  intros L D N. unfold round. destruct (Z.ltb_spec n 0); [lia |].
  pose proof (round_positive_error low p n d L D N) as E. unfold round_positive in *.
  set (e := spacing low p n d) in *. assert (0 <= e) by (pose proof (spacing_low low p n d); lia).
  assert (0 < 2 ^ e) by (apply Z.pow_pos_nonneg; lia).
  set (h := half_even n (d * 2 ^ e)) in *. clearbody h. set (k := 2 ^ e) in *. clearbody k.
  destruct (Z.eq_dec c h) as [-> | X]; [lia |].
  assert (d * k <= Z.abs (c * k * d - h * k * d)).
  { replace (c * k * d - h * k * d) with ((c - h) * (d * k)) by ring. rewrite Z.abs_mul, (Z.abs_eq (d * k)) by nia. nia. }
  lia.
Qed.

(** ** The standard model: |round - n / d| <= |n / d| / 2^p + half of the smallest spacing *)

Lemma round_positive_relative low p n d : 0 <= low -> 0 < p -> 0 < d -> 0 <= n ->
  2 ^ p * Z.abs (round_positive low p n d * d - n) <= n + d * 2 ^ (low + p - 1).
Proof.
  intros L P D N. pose proof (round_positive_error low p n d L D N) as E.
  set (x := Z.abs _) in *. clearbody x.
  assert (2 ^ p = 2 * 2 ^ (p - 1)) as -> by (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
  assert (0 < 2 ^ (p - 1)) by (apply Z.pow_pos_nonneg; lia).
  assert (2 ^ (p - 1) * (2 * x) <= 2 ^ (p - 1) * (d * 2 ^ spacing low p n d)) as F
    by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (2 ^ (p - 1) * (d * 2 ^ spacing low p n d) <= n + d * 2 ^ (low + p - 1)); [| lia].
  replace (2 ^ (p - 1) * (d * 2 ^ spacing low p n d)) with (d * 2 ^ (spacing low p n d + p - 1))
    by (replace (spacing low p n d + p - 1) with (p - 1 + spacing low p n d) by lia;
        rewrite Z.pow_add_r by (pose proof (spacing_low low p n d); lia); ring).
  assert (0 <= 2 ^ (low + p - 1)) by (apply Z.pow_nonneg; lia).
  unfold spacing. destruct (Z.max_spec low (Z.log2 (n / d) + 1 - p)) as [[M ->] | [M ->]]; [| nia].
  replace (Z.log2 (n / d) + 1 - p + p - 1) with (Z.log2 (n / d)) by lia.
  destruct (Z.eq_dec (n / d) 0) as [Z0 | Z0].
  - rewrite Z0 in M. change (Z.log2 0) with 0 in M. lia.
  - pose proof (Z.div_pos n d N D).
    pose proof (proj1 (Z.log2_spec (n / d) ltac:(lia))).
    pose proof (Z.mul_div_le n d D). nia.
Qed.

Theorem round_error low p n d : 0 <= low -> 0 < p -> 0 < d ->
  2 ^ p * Z.abs (round low p n d * d - n) <= Z.abs n + d * 2 ^ (low + p - 1).
Proof.
  intros L P D. unfold round. destruct (Z.ltb_spec n 0).
  - pose proof (round_positive_relative low p (- n) d L P D ltac:(lia)) as E.
    replace (- round_positive low p (- n) d * d - n) with (- (round_positive low p (- n) d * d - - n)) by ring.
    rewrite Z.abs_opp. lia.
  - pose proof (round_positive_relative low p n d L P D ltac:(lia)). lia.
Qed.

(** A sum of two floats is a multiple of the unit: nothing is lost below it. *)
Theorem round_sum_error p n : 0 < p -> 2 ^ p * Z.abs (round 0 p n 1 - n) <= Z.abs n.
Proof.
  intro P.
  assert (forall n, 0 <= n -> 2 ^ p * Z.abs (round_positive 0 p n 1 - n) <= n) as H.
  { clear n. intros n N. pose proof (round_positive_error 0 p n 1 ltac:(lia) ltac:(lia) N) as E.
    destruct (Z.eq_dec (spacing 0 p n 1) 0) as [S | S].
    - rewrite S, Z.mul_1_r in E. replace (Z.abs _) with 0 by lia. lia.
    - rewrite Z.mul_1_r in E. set (x := Z.abs _) in *. clearbody x.
      assert (spacing 0 p n 1 = Z.log2 n + 1 - p) as F by (unfold spacing in *; rewrite Z.div_1_r in *; lia).
      assert (0 <= spacing 0 p n 1) by apply spacing_low.
      assert (2 ^ p * (2 * x) <= 2 ^ p * 2 ^ (Z.log2 n + 1 - p)) as G
        by (apply Z.mul_le_mono_nonneg_l; [apply Z.pow_nonneg; lia | rewrite <- F; lia]).
      rewrite <- Z.pow_add_r in G by lia. replace (p + (Z.log2 n + 1 - p)) with (Z.succ (Z.log2 n)) in G by lia.
      rewrite Z.pow_succ_r in G by apply Z.log2_nonneg.
      destruct (Z.eq_dec n 0) as [-> | X]; [change (Z.log2 0) with 0 in F; lia |].
      pose proof (proj1 (Z.log2_spec n ltac:(lia))). lia. }
  unfold round. destruct (Z.ltb_spec n 0).
  - specialize (H (- n) ltac:(lia)).
    replace (- round_positive 0 p (- n) 1 - n) with (- (round_positive 0 p (- n) 1 - - n)) by ring.
    rewrite Z.abs_opp. lia.
  - specialize (H n ltac:(lia)). lia.
Qed.

(** ** Monotone *)

Lemma round_positive_monotone low p n m d : 0 <= low -> 0 < p -> 0 < d -> 0 <= n -> n <= m ->
  round_positive low p n d <= round_positive low p m d.
Proof.
  intros L P D N M. unfold round_positive.
  pose proof (spacing_low low p n d). pose proof (spacing_low low p m d).
  assert (spacing low p n d <= spacing low p m d) as E.
  { unfold spacing. pose proof (Z.log2_le_mono (n / d) (m / d) (Z.div_le_mono n m d D M)). lia. }
  destruct (Z.eq_dec (spacing low p n d) (spacing low p m d)) as [-> | X].
  - apply Z.mul_le_mono_nonneg_r; [apply Z.pow_nonneg; lia |].
    apply half_even_monotone; auto. assert (0 < 2 ^ spacing low p m d) by (apply Z.pow_pos_nonneg; lia). nia.
  - assert (spacing low p m d = Z.log2 (m / d) + 1 - p) as F by (unfold spacing in *; lia).
    assert (Z.log2 (n / d) < Z.log2 (m / d)) as G by (unfold spacing in *; lia).
    set (g := Z.log2 (m / d)) in *. set (e := spacing low p n d) in *. set (f := spacing low p m d) in *.
    assert (0 < m / d).
    { destruct (Z.le_gt_cases (m / d) 0); auto. pose proof (Z.div_pos m d ltac:(lia) D).
      assert (g = 0) by (unfold g; replace (m / d) with 0 by lia; reflexivity).
      pose proof (Z.log2_nonneg (n / d)). lia. }
    assert (d * 2 ^ g <= m).
    { pose proof (proj1 (Z.log2_spec (m / d) ltac:(lia))). pose proof (Z.mul_div_le m d D). fold g in H2. nia. }
    assert (n <= d * 2 ^ g).
    { assert (n / d < 2 ^ g).
      { destruct (Z.le_gt_cases (n / d) 0); [pose proof (Z.pow_pos_nonneg 2 g ltac:(lia) ltac:(lia)); lia |].
        pose proof (proj2 (Z.log2_spec (n / d) ltac:(lia))).
        pose proof (Z.pow_le_mono_r 2 (Z.succ (Z.log2 (n / d))) g ltac:(lia) ltac:(lia)). lia. }
      pose proof (Z.mul_succ_div_gt n d D). nia. }
    assert (forall k, 0 <= k <= g -> 2 ^ g = 2 ^ (g - k) * 2 ^ k) as Parts
      by (intros; rewrite <- Z.pow_add_r by lia; f_equal; lia).
    transitivity (2 ^ g).
    + rewrite (Parts e) by lia. apply Z.mul_le_mono_nonneg_r; [apply Z.pow_nonneg; lia |].
      assert (0 < d * 2 ^ e) by (assert (0 < 2 ^ e) by (apply Z.pow_pos_nonneg; lia); nia).
      rewrite <- (half_even_multiple (2 ^ (g - e)) (d * 2 ^ e)) by lia.
      apply half_even_monotone; auto.
      replace (2 ^ (g - e) * (d * 2 ^ e)) with (d * (2 ^ (g - e) * 2 ^ e)) by ring. rewrite <- Parts by lia. lia.
    + rewrite (Parts f) by lia. apply Z.mul_le_mono_nonneg_r; [apply Z.pow_nonneg; lia |].
      assert (0 < d * 2 ^ f) by (assert (0 < 2 ^ f) by (apply Z.pow_pos_nonneg; lia); nia).
      rewrite <- (half_even_multiple (2 ^ (g - f)) (d * 2 ^ f)) by lia.
      apply half_even_monotone; auto.
      replace (2 ^ (g - f) * (d * 2 ^ f)) with (d * (2 ^ (g - f) * 2 ^ f)) by ring. rewrite <- Parts by lia. lia.
Qed.

Lemma round_positive_nonnegative low p n d : 0 <= low -> 0 < d -> 0 <= n -> 0 <= round_positive low p n d.
Proof.
  intros L D N. unfold round_positive. pose proof (spacing_low low p n d).
  assert (0 < 2 ^ spacing low p n d) by (apply Z.pow_pos_nonneg; lia).
  apply Z.mul_nonneg_nonneg; [apply half_even_nonnegative; nia | lia].
Qed.

Theorem round_monotone low p n m d : 0 <= low -> 0 < p -> 0 < d -> n <= m -> round low p n d <= round low p m d.
Proof.
  intros L P D M. unfold round. destruct (Z.ltb_spec n 0), (Z.ltb_spec m 0); try lia.
  - pose proof (round_positive_monotone low p (- m) (- n) d L P D ltac:(lia) ltac:(lia)). lia.
  - pose proof (round_positive_nonnegative low p (- n) d L D ltac:(lia)).
    pose proof (round_positive_nonnegative low p m d L D ltac:(lia)). lia.
  - apply round_positive_monotone; auto.
Qed.

(** ** The same by shifts, for numbers of a thousand bits *)

Definition round_positive_fast (low p n d : Z) : Z :=
  let (whole, remainder) := if d =? 1 then (n, 0) else Z.div_eucl n d in
  let e := Z.max low (Z.log2 whole + 1 - p) in
  let q := Z.shiftr whole e in
  let rest := d * (whole - Z.shiftl q e) + remainder in
  let up := match Z.compare (2 * rest) (Z.shiftl d e) with Lt => false | Gt => true | Eq => Z.odd q end in
  Z.shiftl (if up then q + 1 else q) e.

Definition round_fast (low p n d : Z) : Z :=
  if n <? 0 then - round_positive_fast low p (- n) d else round_positive_fast low p n d.

Theorem round_fast_is_round low p n d : 0 <= low -> 0 < d -> round_fast low p n d = round low p n d.
Proof.
  intros L D.
  assert (forall n, round_positive_fast low p n d = round_positive low p n d) as H.
  { clear n. intro n. unfold round_positive_fast, round_positive, half_even.
    replace (if d =? 1 then (n, 0) else Z.div_eucl n d) with (n / d, n mod d).
    2: { destruct (Z.eqb_spec d 1) as [-> | _]; [rewrite Z.div_1_r, Z.mod_1_r; reflexivity |].
         unfold Z.div, Z.modulo. destruct (Z.div_eucl n d). reflexivity. }
    fold (spacing low p n d). set (e := spacing low p n d). assert (0 <= e) by (pose proof (spacing_low low p n d); lia).
    assert (0 < 2 ^ e) by (apply Z.pow_pos_nonneg; lia).
    rewrite !Z.shiftl_mul_pow2, Z.shiftr_div_pow2, Z.div_div by lia.
    replace (d * (n / d - n / (d * 2 ^ e) * 2 ^ e) + n mod d) with (n mod (d * 2 ^ e)).
    2: { pose proof (Z.div_mod n d ltac:(lia)). pose proof (Z.div_mod n (d * 2 ^ e) ltac:(nia)). nia. }
    destruct (Z.compare (2 * (n mod (d * 2 ^ e))) (d * 2 ^ e)); auto.
    rewrite <- Z.negb_even. destruct (Z.even _); auto. }
  unfold round_fast, round. rewrite !H. reflexivity.
Qed.
