(** * How far float scores may lie from exact ones

    If the comparison of the rounded, divided float sums holds, the exact sum of the leaves' margins is at least
    [least_margin]. This is the "rounding slack" of the rule "trees" of FORMAT.md, computed from the model and proved here
    for the rounding of Rounding.v; it is the same for every order of the trees.

    Main theorem: [held_margin]. *)

From Coq Require Import ZArith List Bool Lia.
From Mace Require Import Rounding Ensemble.
Import ListNotations.
Open Scope Z_scope.

Definition get (side : option nat) (leaf : list Z) : Z := match side with Some k => nth k leaf 0 | None => 0 end.
Definition margin (c : comparison) (leaf : list Z) : Z := get (plus c) leaf - get (minus c) leaf.
Definition magnitude (c : comparison) (leaf : list Z) : Z := Z.abs (get (plus c) leaf) + Z.abs (get (minus c) leaf).

Definition sum (l : list Z) : Z := fold_right Z.add 0 l.

(** Bounds on the exact sums of both sides, and on the errors of the float sums: the same for every order of the trees. *)
Fixpoint error_bound (p size : Z) (steps : nat) : Z :=
  match steps with O => 0 | S n => let e := error_bound p size n in e + (size + e) / 2 ^ p end.

Definition bounds (p : Z) (sizes : list Z) (first : Z) : Z * Z :=
  let size := first + sum sizes in (size, error_bound p size (length sizes)).

(** The smallest whole m with a <= b * m. *)
Definition ceiling (a b : Z) : Z := - (- a / b).

Lemma ceiling_least a b m : 0 < b -> a <= b * m -> ceiling a b <= m.
Proof. intros B L. unfold ceiling. pose proof (Z.div_le_lower_bound (- a) b (- m) B ltac:(lia)). lia. Qed.

(** The least difference of the float sums, when their sizes add to [size] at most. *)
Definition least_float_margin (s : statement) (c : comparison) (size : Z) : Z :=
  let units_held := units (than c) + (if strict c then 1 else 0) in
  let K := 2 ^ (1074 - unit s) in
  if Pos.eqb (divide s) 1 then ceiling units_held K
  else
    match plus c, minus c, strict c, units (than c) =? 0 with
    | Some _, Some _, true, true => 1
    | _, _, _, _ =>
        let T := Zpos (divide s) in
        let p := precision s in
        ceiling (T * units_held * 2 ^ p - K * size - T * 2 ^ (smallest s + p)) (K * 2 ^ p)
    end.

Definition least_margin (s : statement) (c : comparison) (sizes : list Z) : Z :=
  let b := bounds (precision s) sizes (magnitude c (first_scores s)) in
  least_float_margin s c (fst b + snd b) - snd b.

(** ** Sums *)

Definition run_sum (p : Z) (side : option nat) (leaves : list (list Z)) (first : Z) : Z :=
  fold_left (fun sum leaf => round 0 p (sum + get side leaf) 1) leaves first.

Definition exact_sum (side : option nat) (leaves : list (list Z)) (first : Z) : Z :=
  first + sum (map (get side) leaves).

Lemma sums_bounded p c size : 0 < p -> forall leaves sizes fp fm xp xm steps,
  Forall2 (fun leaf size => magnitude c leaf <= size) leaves sizes ->
  Z.abs xp + Z.abs xm + sum sizes <= size -> Z.abs (fp - xp) + Z.abs (fm - xm) <= error_bound p size steps ->
  Z.abs (exact_sum (plus c) leaves xp) + Z.abs (exact_sum (minus c) leaves xm) <= size /\
  Z.abs (run_sum p (plus c) leaves fp - exact_sum (plus c) leaves xp) +
  Z.abs (run_sum p (minus c) leaves fm - exact_sum (minus c) leaves xm) <= error_bound p size (length leaves + steps).
Proof.
  intros P. unfold exact_sum, run_sum.
  induction leaves as [| leaf leaves IH]; intros sizes fp fm xp xm steps F HA HE;
    inversion F as [| ? one ? rest M R]; subst.
  - simpl in *. rewrite !Z.add_0_r. split; [lia | exact HE].
  - assert (0 <= sum rest) as Rest.
    { clear - R. induction R as [| l z ls zs M R IH]; simpl; [lia |]. unfold magnitude in M. lia. }
    unfold magnitude in M. simpl in HA. set (vp := get (plus c) leaf) in *. set (vm := get (minus c) leaf) in *.
    pose proof (round_sum_error p (fp + vp) P) as Ep. pose proof (round_sum_error p (fm + vm) P) as Em.
    assert (0 < 2 ^ p) as P2 by (apply Z.pow_pos_nonneg; lia).
    set (rp := round 0 p (fp + vp) 1) in *. set (rm := round 0 p (fm + vm) 1) in *.
    set (err := error_bound p size steps) in *.
    assert (Z.abs (rp - (fp + vp)) + Z.abs (rm - (fm + vm)) <= (size + err) / 2 ^ p) as E
      by (apply Z.div_le_lower_bound; [exact P2 | rewrite Z.mul_add_distr_l; lia]).
    assert (error_bound p size (S steps) = err + (size + err) / 2 ^ p) as Next by reflexivity.
    simpl map. simpl fold_left. cbn [sum fold_right]. fold vp vm rp rm. fold sum.
    set (q := (size + err) / 2 ^ p) in *. clearbody q rp rm vp vm err. clear Ep Em P2.
    specialize (IH rest rp rm (xp + vp) (xm + vm) (S steps) R ltac:(lia) ltac:(lia)).
    rewrite <- !Z.add_assoc in IH. rewrite Nat.add_succ_r in IH. exact IH.
Qed.

Lemma run_sum_none p leaves : 0 < p -> run_sum p None leaves 0 = 0.
Proof.
  intro P. unfold run_sum. induction leaves as [| leaf leaves IH]; simpl; auto.
  replace (round 0 p 0 1) with 0; auto.
  pose proof (round_sum_error p 0 P). assert (0 < 2 ^ p) by (apply Z.pow_pos_nonneg; lia). nia.
Qed.

(** ** Division and comparison *)

Lemma precision_positive s : 0 < precision s.
Proof. unfold precision. destruct (sums_in_float32 s); lia. Qed.

Lemma smallest_nonnegative s : 0 <= smallest s.
Proof. unfold smallest. destruct (sums_in_float32 s); lia. Qed.

Definition whole_sum (s : statement) (leaves : list (list Z)) (side : option nat) : Z :=
  run_sum (precision s) side leaves (get side (first_scores s)).

Lemma score_of_sum s leaves side : score round s leaves side =
  match side with
  | None => 0
  | Some k =>
      let n := Z.shiftl (whole_sum s leaves side) (1074 - unit s) in
      if Pos.eqb (divide s) 1 then n else round (smallest s) (precision s) n (Zpos (divide s))
  end.
Proof. destruct side; reflexivity. Qed.

Lemma score_error s leaves side : unit s <= 1074 ->
  let n := whole_sum s leaves side * 2 ^ (1074 - unit s) in
  2 ^ precision s * Z.abs (score round s leaves side * Zpos (divide s) - n)
  <= Z.abs n + Zpos (divide s) * 2 ^ (smallest s + precision s - 1).
Proof.
  intros U n. pose proof (precision_positive s). pose proof (smallest_nonnegative s).
  assert (0 <= 2 ^ (smallest s + precision s - 1)) by (apply Z.pow_nonneg; lia).
  rewrite score_of_sum. destruct side as [k |].
  - cbv zeta. rewrite Z.shiftl_mul_pow2 by lia. fold n.
    destruct (Pos.eqb_spec (divide s) 1) as [-> | _].
    + rewrite Z.mul_1_r, Z.sub_diag, Z.abs_0. lia.
    + apply round_error; lia.
  - assert (n = 0) as -> by (unfold n, whole_sum; rewrite run_sum_none; auto).
    rewrite Z.mul_0_l, Z.sub_0_r, Z.abs_0, Z.mul_0_r, Z.add_0_l. apply Z.mul_nonneg_nonneg; lia.
Qed.

Lemma held_float_margin s leaves c size : unit s <= 1074 ->
  Z.abs (whole_sum s leaves (plus c)) + Z.abs (whole_sum s leaves (minus c)) <= size ->
  holds round s leaves c = true ->
  least_float_margin s c size <= whole_sum s leaves (plus c) - whole_sum s leaves (minus c).
Proof.
  intros U B H.
  set (fp := whole_sum s leaves (plus c)) in *. set (fm := whole_sum s leaves (minus c)) in *.
  set (rp := score round s leaves (plus c)). set (rm := score round s leaves (minus c)).
  assert (units (than c) + (if strict c then 1 else 0) <= rp - rm) as R.
  { unfold holds in H. fold rp rm in H. destruct (strict c); [apply Z.ltb_lt in H | apply Z.leb_le in H]; lia. }
  unfold least_float_margin. set (K := 2 ^ (1074 - unit s)).
  assert (0 < K) as Kpos by (apply Z.pow_pos_nonneg; lia).
  set (held := units (than c) + (if strict c then 1 else 0)) in *.
  destruct (Pos.eqb_spec (divide s) 1) as [T1 | T1].
  - assert (forall side, score round s leaves side = whole_sum s leaves side * K) as S.
    { intros [k |]; rewrite score_of_sum.
      - cbv zeta. rewrite T1. simpl Pos.eqb. cbv iota. apply Z.shiftl_mul_pow2. lia.
      - unfold whole_sum. rewrite run_sum_none; [reflexivity | apply precision_positive]. }
    unfold rp, rm in R. rewrite !S in R. fold fp fm in R. apply ceiling_least; auto. lia.
  - assert (ceiling (Zpos (divide s) * held * 2 ^ precision s - K * size -
                     Zpos (divide s) * 2 ^ (smallest s + precision s)) (K * 2 ^ precision s) <= fp - fm) as General.
    { pose proof (precision_positive s). pose proof (smallest_nonnegative s).
      assert (0 < 2 ^ precision s) by (apply Z.pow_pos_nonneg; lia).
      apply ceiling_least; [nia |].
      pose proof (score_error s leaves (plus c) U) as Ep. pose proof (score_error s leaves (minus c) U) as Em.
      cbv zeta in Ep, Em. fold fp K rp in Ep. fold fm K rm in Em.
      replace (2 ^ (smallest s + precision s)) with (2 * 2 ^ (smallest s + precision s - 1))
        by (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
      set (h := 2 ^ (smallest s + precision s - 1)) in *. set (P := 2 ^ precision s) in *.
      set (T := Zpos (divide s)) in *. assert (0 < T) by (unfold T; lia). clearbody h P T K held.
      rewrite !Z.abs_mul, (Z.abs_eq K) in * by lia.
      assert (T * held <= T * (rp - rm)) by nia.
      assert (K * (Z.abs fp + Z.abs fm) <= K * size) by nia.
      assert (P * (T * held) <= P * (T * (rp - rm))) by nia.
      assert (P * (T * (rp - rm)) <= P * ((fp * K - fm * K) + Z.abs (rp * T - fp * K) + Z.abs (rm * T - fm * K)))
        by (apply Z.mul_le_mono_nonneg_l; lia).
      lia. }
    destruct (plus c) as [kp |] eqn:Cp; auto. destruct (minus c) as [km |] eqn:Cm; auto.
    destruct (strict c) eqn:Cs; auto. destruct (Z.eqb_spec (units (than c)) 0) as [Z0 | _]; auto.
    destruct (Z.le_gt_cases 1 (fp - fm)) as [| X]; auto. exfalso.
    assert (rp <= rm); [| unfold held in R; lia].
    unfold rp, rm. rewrite !score_of_sum. cbv zeta. fold fp fm.
    destruct (Pos.eqb_spec (divide s) 1); [contradiction |].
    pose proof (precision_positive s). pose proof (smallest_nonnegative s).
    apply round_monotone; try lia. rewrite !Z.shiftl_mul_pow2 by lia. fold K. nia.
Qed.

(** What a comparison that holds says about the exact margins of the leaves. *)
Theorem held_margin s leaves sizes c : unit s <= 1074 ->
  Forall2 (fun leaf size => magnitude c leaf <= size) leaves sizes ->
  holds round s leaves c = true ->
  least_margin s c sizes <= margin c (first_scores s) + sum (map (margin c) leaves).
Proof.
  intros U F H. pose proof (precision_positive s) as P.
  set (size := magnitude c (first_scores s) + sum sizes).
  pose proof (sums_bounded (precision s) c size P leaves sizes (get (plus c) (first_scores s))
    (get (minus c) (first_scores s)) (get (plus c) (first_scores s)) (get (minus c) (first_scores s)) 0 F
    ltac:(unfold size, magnitude; lia) ltac:(simpl; lia)) as [S E].
  fold (whole_sum s leaves (plus c)) in E. fold (whole_sum s leaves (minus c)) in E.
  unfold least_margin, bounds. cbv zeta. fold size. simpl fst. simpl snd.
  assert (length leaves = length sizes) as Length by (clear - F; induction F; simpl; auto).
  rewrite Nat.add_0_r, Length in E. set (err := error_bound _ size _) in *. clearbody err size.
  pose proof (held_float_margin s leaves c (size + err) U ltac:(lia) H) as M.
  assert (sum (map (margin c) leaves) = sum (map (get (plus c)) leaves) - sum (map (get (minus c)) leaves)) as X.
  { unfold margin. clear. induction leaves; simpl; lia. }
  unfold exact_sum in *. unfold margin at 1. lia.
Qed.
