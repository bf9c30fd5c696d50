(** * Where an axis holds the least of a linear function and of its part of the distance

    The rule "dual" of FORMAT.md minimises every axis by itself. On a grid three indices hold the least: the ends of the
    span, and the one nearest to the start; of levels all are tried; of an axis that the function does not read the least
    cost of the span is enough.

    Main theorems: [grid_least], [axis_least_sound]. *)

From Coq Require Import ZArith QArith Qabs Qminmax Qround List Bool Lia Lqa.
From Mace Require Import Ensemble CutTree Costs Rules Sums Linear.
Import ListNotations.
Open Scope Q_scope.

(** ** Where a grid holds its least

    What an axis adds to the bound is linear in the value on either side of the start, and jumps up away from it: an end of
    the span, or its value nearest to the start, holds the least. (`Relaxation.least` looks at these.) *)

Section Grid.
Variables k once per start : Q.
Hypothesis once_nonnegative : 0 <= once.

(** [k]: of the value. [once], [per]: of a change, and of its size. *)
Definition adds (v : Q) : Q := k * v + (if Qeq_bool v start then 0 else once) + per * Qabs (v - start).

Definition nearest_to_start (low high : Q) : Q := Qmin (Qmax start low) high.

Lemma adds_below v : adds v <= k * v + once + per * Qabs (v - start).
Proof. unfold adds. destruct (Qeq_bool v start); lra. Qed.

Lemma adds_away v : ~ v == start -> adds v == k * v + once + per * Qabs (v - start).
Proof.
  intro N. unfold adds. destruct (Qeq_bool v start) eqn:E; [| reflexivity]. apply Qeq_bool_iff in E. contradiction.
Qed.

Lemma adds_proper v w : v == w -> adds v == adds w.
Proof.
  intro E. unfold adds. destruct (Qeq_bool v start) eqn:A, (Qeq_bool w start) eqn:B; try (rewrite E; reflexivity); exfalso.
  - apply Qeq_bool_iff in A. apply Qeq_bool_neq in B. apply B. rewrite <- E. exact A.
  - apply Qeq_bool_neq in A. apply Qeq_bool_iff in B. apply A. rewrite E. exact B.
Qed.

(** Above the start, between two values. *)
Lemma least_above near v far : start <= near -> near <= v -> v <= far -> adds near <= adds v \/ adds far <= adds v.
Proof.
  intros S N F. destruct (Qeq_dec v near) as [E | E]; [left; rewrite (adds_proper _ _ E); apply Qle_refl |].
  assert (start < v) as V by (apply Qle_lteq in N; destruct N as [N | N]; [lra | symmetry in N; contradiction]).
  rewrite (adds_away v) by lra. rewrite (Qabs_pos (v - start)) by lra.
  destruct (Qlt_le_dec (k + per) 0) as [Down | Up].
  - right. rewrite (adds_away far) by lra. rewrite (Qabs_pos (far - start)) by lra.
    assert (0 <= - (k + per) * (far - v)) by (apply Qmult_le_0_compat; lra). lra.
  - left. eapply Qle_trans; [apply adds_below |]. rewrite (Qabs_pos (near - start)) by lra.
    assert (0 <= (k + per) * (v - near)) by (apply Qmult_le_0_compat; lra). lra.
Qed.

Lemma least_under near v far : near <= start -> v <= near -> far <= v -> adds near <= adds v \/ adds far <= adds v.
Proof.
  intros S N F. destruct (Qeq_dec v near) as [E | E]; [left; rewrite (adds_proper _ _ E); apply Qle_refl |].
  assert (v < start) as V by (apply Qle_lteq in N; destruct N as [N | N]; [lra | contradiction]).
  rewrite (adds_away v) by lra. rewrite (Qabs_neg (v - start)) by lra.
  destruct (Qlt_le_dec 0 (k - per)) as [Up | Down].
  - right. rewrite (adds_away far) by lra. rewrite (Qabs_neg (far - start)) by lra.
    assert (0 <= (k - per) * (v - far)) by (apply Qmult_le_0_compat; lra). lra.
  - left. eapply Qle_trans; [apply adds_below |]. rewrite (Qabs_neg (near - start)) by lra.
    assert (0 <= - (k - per) * (near - v)) by (apply Qmult_le_0_compat; lra). lra.
Qed.

Theorem grid_least low v high : low <= v -> v <= high ->
  adds low <= adds v \/ adds (nearest_to_start low high) <= adds v \/ adds high <= adds v.
Proof.
  intros L H. unfold nearest_to_start.
  destruct (Qlt_le_dec start low) as [A | A].
  - rewrite (adds_proper (Qmin (Qmax start low) high) low).
    2: { rewrite (Q.max_r start low) by lra. apply Q.min_l. lra. }
    destruct (least_above low v high) as [X | X]; try lra; auto.
  - destruct (Qlt_le_dec high start) as [B | B].
    + rewrite (adds_proper (Qmin (Qmax start low) high) high).
      2: { rewrite (Q.max_l start low) by lra. apply Q.min_r. lra. }
      destruct (least_under high v low) as [X | X]; try lra; auto.
    + rewrite (adds_proper (Qmin (Qmax start low) high) start).
      2: { rewrite (Q.max_l start low) by lra. apply Q.min_l. lra. }
      destruct (Qlt_le_dec v start) as [C | C].
      * destruct (least_under start v low) as [X | X]; try lra; auto.
      * destruct (least_above start v high) as [X | X]; try lra; auto.
Qed.
End Grid.

(** What a feature of a grid adds to the distance has that form. *)
Lemma apart a b p : (Z.abs (a - b) # p) == Qabs ((a # p) - (b # p)).
Proof.
  unfold Qeq, Qabs, Qminus, Qplus, Qopp. cbn [Qnum Qden].
  replace (a * Zpos p + - b * Zpos p)%Z with ((a - b) * Zpos p)%Z by ring.
  rewrite Z.abs_mul, Pos2Z.inj_mul. change (Z.abs (Zpos p)) with (Zpos p). ring.
Qed.

Lemma same_place a b p : (a - b =? 0)%Z = Qeq_bool (a # p) (b # p).
Proof.
  apply eq_true_iff_eq. rewrite Z.eqb_eq, Qeq_bool_iff. unfold Qeq. cbn [Qnum Qden]. nia.
Qed.

Theorem distance_of_value f i : grid_kind (kind_of f) = true -> absent f = None ->
  delta f i == Qabs (value f i - value f (start f)) / scale f /\
  changed f i = if Qeq_bool (value f i) (value f (start f)) then 0 else 1.
Proof.
  intros G N. unfold delta, changed, across, moved, value. rewrite N.
  assert (forall a b, (Z.abs (a - b) =? 0)%Z = (a - b =? 0)%Z) as Abs
    by (intros; apply eq_true_iff_eq; rewrite !Z.eqb_eq; lia).
  rewrite Abs. destruct (kind_of f) as [step d e | | | |]; try discriminate;
    (split; [rewrite apart; reflexivity | rewrite <- same_place; reflexivity]).
Qed.

(** ** What a column means: a line in the value, or a table *)

Inductive meaning := Line (factor shift : Q) | Listed (values : list Z).

Definition means (m : meaning) (f : feature) (i : Z) : Q :=
  match m with Line a b => a * value f i + b | Listed l => of_units (nth (Z.to_nat i) l 0%Z) end.

Definition composed (line : Q * Q) (o : operation) : Q * Q :=
  match o with
  | Add x => (fst line, Qred (snd line + of_units (units x)))
  | Subtract x => (fst line, Qred (snd line - of_units (units x)))
  | Multiply x => (Qred (fst line * of_units (units x)), Qred (snd line * of_units (units x)))
  | Divide x => (Qred (fst line / of_units (units x)), Qred (snd line / of_units (units x)))
  end.

Definition meaning_of (c : column) : meaning :=
  match c with
  | Table _ l => Listed (map units l)
  | Number _ l _ => let line := fold_left composed l (1, 0) in Line (fst line) (snd line)
  | Single _ _ => Line 1 0
  end.

Lemma composed_chain l v : forall line u, u == fst line * v + snd line ->
  fold_left exactly l u == fst (fold_left composed l line) * v + snd (fold_left composed l line).
Proof.
  induction l as [| o l IH]; cbn [fold_left]; intros line u E; [exact E |]. apply IH.
  destruct o as [x | x | x | x]; cbn [exactly composed fst snd]; rewrite ?Qred_correct, E; unfold Qdiv; ring.
Qed.

Theorem meaning_sound f c i : means (meaning_of c) f i == meant_at f c i.
Proof.
  destruct c as [j l | j l a | j a]; cbn [meaning_of means meant_at].
  - change 0%Z with (units (0, 0)%Z). rewrite map_nth. reflexivity.
  - symmetry. apply composed_chain. cbn [fst snd]. ring.
  - ring.
Qed.

(** A linear function of the columns of one feature: weights and meanings. *)
Definition reads (g : list (Z * meaning)) (f : feature) (i : Z) : Q :=
  fold_right (fun vm t => inject_Z (fst vm) * means (snd vm) f i + t) 0 g.

Definition is_line (vm : Z * meaning) : bool := match snd vm with Line _ _ => true | _ => false end.

Definition line_of (g : list (Z * meaning)) : Q * Q :=
  fold_right (fun vm t =>
    match snd vm with
    | Line a b => (Qred (inject_Z (fst vm) * a + fst t), Qred (inject_Z (fst vm) * b + snd t))
    | Listed _ => t
    end) (0, 0) g.

Definition table_at (g : list (Z * meaning)) (i : Z) : Z :=
  fold_right (fun vm t => match snd vm with Listed l => fst vm * nth (Z.to_nat i) l 0 + t | _ => t end)%Z 0%Z g.

Lemma line_reads g f i : forallb is_line g = true -> reads g f i == fst (line_of g) * value f i + snd (line_of g).
Proof.
  induction g as [| [v [a b | l]] g IH]; cbn [forallb is_line snd andb]; intro L; [unfold reads, line_of; simpl; ring | |
    discriminate].
  cbn [reads line_of fold_right fst snd means]. rewrite !Qred_correct. fold (reads g f i). fold (line_of g).
  rewrite (IH L). ring.
Qed.

Lemma table_reads g f i : forallb (fun vm => negb (is_line vm)) g = true -> reads g f i == of_units (table_at g i).
Proof.
  induction g as [| [v [a b | l]] g IH]; cbn [forallb is_line snd andb negb]; intro L; [reflexivity | discriminate |].
  cbn [reads table_at fold_right fst snd means]. fold (reads g f i). fold (table_at g i).
  rewrite (IH L), of_units_plus, of_units_scaled. reflexivity.
Qed.

(** ** The least of an axis

    Weights count in 2^-160 of units, shares in 2^-160, what is found in 2^-400 of parts of a distance, rounded down. *)

Definition grain : positive := Z.to_pos (2 ^ 160).
Definition weight_unit : positive := (grain * one)%positive.

Section Axis.
Variable s : statement.
Variable D : positive.
Variable theta : Q.   (** 1, or 0 where the claim is about no distance *)
Hypothesis theta_nonnegative : 0 <= theta.

Definition finer : positive := (D * Z.to_pos (2 ^ 400))%positive.
Definition down (q : Q) : Z := Qfloor (inject_Z (Zpos finer) * q).

(** Of the distance, what a feature adds to the sum and this share of what it may add to the maximum. *)
Definition weighed (share : Z) (f : feature) (i : Z) : Q :=
  theta * (alpha s * (weight f * changed f i) + beta s * (weight f * delta f i) +
           (share # grain) * (gamma s * (weight f * delta f i))).

Definition adds_at (g : list (Z * meaning)) (share : Z) (f : feature) (i : Z) : Q :=
  (1 # weight_unit) * reads g f i + weighed share f i.

Definition smaller (a : Z) (b : option Z) : option Z := match b with Some b => Some (Z.min a b) | None => Some a end.

Definition axis_least (a : axis * list price) (r : range) (share : Z) (g : list (Z * meaning)) : option Z :=
  let f := about (fst a) in
  match g with
  | [] => Some (down (theta * ((inject_Z (least_of r) + (share # grain) * inject_Z (big_of r)) / inject_Z (Zpos D))))
  | _ =>
      match domain_of f, r with
      | Between _ _, Interval low high _ _ =>
          if forallb is_line g && measured f then
            let line := line_of g in
            let at_index i := down ((1 # weight_unit) * (fst line * value f i + snd line) + weighed share f i) in
            Some (Z.min (at_index low) (Z.min (at_index (Z.max low (Z.min high (start f)))) (at_index high)))
          else None
      | Among _, Levels mask _ _ =>
          if forallb (fun vm => negb (is_line vm)) g then
            fold_right (fun (p : price) m =>
              if Z.testbit mask (fst p) then
                smaller (down ((1 # weight_unit) * of_units (table_at g (fst p)) + weighed share f (fst p))) m
              else m) None (snd a)
          else None
      | _, _ => None
      end
  end.

Lemma down_below p q : p <= q -> inject_Z (down p) <= inject_Z (Zpos finer) * q.
Proof.
  intro L. unfold down. eapply Qle_trans; [apply Qfloor_le |]. rewrite !(Qmult_comm (inject_Z _)).
  apply Qmult_le_compat_r; [exact L | discriminate].
Qed.

Lemma least_price_bound (h : Z -> Z) mask l i m : In i (map fst l) -> Z.testbit mask i = true ->
  fold_right (fun (p : price) m => if Z.testbit mask (fst p) then smaller (h (fst p)) m else m) None l = Some m ->
  (m <= h i)%Z.
Proof.
  intros I T. revert m. induction l as [| p l IH]; [contradiction |]. cbn [map fold_right In] in *. intros m E.
  set (rest := fold_right (fun (p : price) m => if Z.testbit mask (fst p) then smaller (h (fst p)) m else m) None l) in *.
  destruct I as [<- | I].
  - rewrite T in E. unfold smaller in E. destruct rest; injection E as <-; lia.
  - destruct (Z.testbit mask (fst p)); [| auto].
    unfold smaller in E. destruct rest as [w |] eqn:R.
    + injection E as <-. specialize (IH I w eq_refl). lia.
    + exfalso. clear - I T R. unfold rest in R. clear rest. induction l as [| q l IH]; [contradiction |].
      cbn [map fold_right In] in *. destruct I as [E | I].
      * rewrite E, T in R. unfold smaller in R. destruct (fold_right (fun (p : price) m => _) None l); discriminate.
      * apply IH; auto. destruct (Z.testbit mask (fst q)); [| exact R].
        unfold smaller in R. destruct (fold_right (fun (p : price) m => _) None l); discriminate.
Qed.

Hypothesis alpha_nonnegative : 0 <= alpha s.

Lemma share_nonnegative share : (0 <= share)%Z -> 0 <= share # grain.
Proof. intro S. unfold Qle. cbn [Qnum Qden]. lia. Qed.

Lemma product_nonnegative a b : 0 <= a -> 0 <= b -> 0 <= a * b.
Proof. apply Qmult_le_0_compat. Qed.

(** On a grid. *)
Lemma interval_least k c share f low high i : grid_kind (kind_of f) = true -> absent f = None -> 0 <= weight f ->
  0 < scale f -> (0 <= share)%Z -> (low <= i)%Z -> (i <= high)%Z ->
  let at_index i := (1 # weight_unit) * (k * value f i + c) + weighed share f i in
  at_index low <= at_index i \/ at_index (Z.max low (Z.min high (start f))) <= at_index i \/ at_index high <= at_index i.
Proof.
  intros G N W P S L H. cbv zeta.
  set (once := theta * (alpha s * weight f)).
  set (per := theta * ((beta s + (share # grain) * gamma s) * (weight f * / scale f))).
  set (slope := (1 # weight_unit) * k). set (origin := value f (start f)).
  assert (forall i, (1 # weight_unit) * (k * value f i + c) + weighed share f i ==
                    adds slope once per origin (value f i) + (1 # weight_unit) * c) as Form.
  { intro n. unfold weighed, adds, slope, once, per, origin. destruct (distance_of_value f n G N) as [E1 E2].
    rewrite E1, E2. destruct (Qeq_bool (value f n) (value f (start f))); unfold Qdiv; ring. }
  assert (0 <= once) as O by (unfold once; repeat apply product_nonnegative; auto).
  pose proof (value_monotone f low i G L) as VL. pose proof (value_monotone f i high G H) as VH.
  assert (adds slope once per origin (nearest_to_start origin (value f low) (value f high)) ==
          adds slope once per origin (value f (Z.max low (Z.min high (start f))))) as Near.
  { apply adds_proper. unfold nearest_to_start, origin.
    destruct (Z.le_gt_cases (start f) low) as [A | A].
    - replace (Z.max low (Z.min high (start f))) with low by lia. pose proof (value_monotone f _ _ G A).
      rewrite Q.max_r by lra. apply Q.min_l. lra.
    - destruct (Z.le_gt_cases high (start f)) as [B | B].
      + replace (Z.max low (Z.min high (start f))) with high by lia. pose proof (value_monotone f _ _ G B).
        rewrite Q.max_l by lra. apply Q.min_r. lra.
      + replace (Z.max low (Z.min high (start f))) with (start f) by lia.
        pose proof (value_monotone f low (start f) G ltac:(lia)). pose proof (value_monotone f (start f) high G ltac:(lia)).
        rewrite Q.max_l by lra. apply Q.min_l. lra. }
  rewrite !Form. destruct (grid_least slope once per origin O _ _ _ VL VH) as [X | [X | X]]; [left | right; left | right; right].
  - lra.
  - rewrite <- Near. lra.
  - lra.
Qed.

Theorem axis_least_sound f r share g i m : sound_axis (axis_of s D f) = true -> allows f i -> (0 <= share)%Z ->
  covers r (i, cost (axis_of s D f) i) ->
  axis_least (axis_of s D f, prices_of (axis_of s D f)) r share g = Some m ->
  inject_Z m <= inject_Z (Zpos finer) * adds_at g share f i.
Proof.
  intros Sound A S C E. unfold axis_least in E. cbn [fst snd] in E. cbn [about axis_of] in E.
  pose proof (share_nonnegative share S) as Sh. destruct g as [| vm g'].
  - injection E as <-. apply down_below. unfold adds_at, reads. cbn [fold_right].
    destruct (cost_below s D f i Sound) as [B1 B2]. apply covers_costs in C as [C1 C2]. cbn [fst snd] in C1, C2.
    rewrite Zle_Qle in C1, C2.
    set (l := inject_Z (least_of r)) in *. set (b := inject_Z (big_of r)) in *. set (d := inject_Z (Zpos D)) in *.
    assert (0 < d) as Dp by reflexivity. set (q := share # grain) in *.
    unfold weighed. fold q.
    set (summed := alpha s * (weight f * changed f i) + beta s * (weight f * delta f i)) in *.
    set (biggest := gamma s * (weight f * delta f i)) in *.
    assert ((l + q * b) / d <= summed + q * biggest) as K.
    { apply Qle_shift_div_r; [exact Dp |]. assert (q * b <= q * (d * biggest)).
      { rewrite !(Qmult_comm q). apply Qmult_le_compat_r; [lra | exact Sh]. }
      setoid_replace ((summed + q * biggest) * d) with (d * summed + q * (d * biggest)) by ring. lra. }
    apply Qle_trans with (theta * (summed + q * biggest)); [| lra].
    rewrite !(Qmult_comm theta). apply Qmult_le_compat_r; auto.
  - set (g := vm :: g') in *. clearbody g. clear vm g'.
    destruct (domain_of f) as [lower upper | known] eqn:Dom, r as [low high l b | mask l b]; try discriminate.
    + destruct (forallb is_line g && measured f) eqn:M; [| discriminate]. apply andb_true_iff in M as [Li M].
      unfold measured in M. rewrite Dom, !andb_true_iff in M. destruct M as ((W & P) & (G & N)).
      apply Qle_bool_iff in W. apply Qlt_bool_true in P.
      assert (absent f = None) as N' by (destruct (absent f); [discriminate | reflexivity]).
      destruct C as ((Lo & Hi) & _). cbn [fst] in Lo, Hi. injection E as <-.
      pose proof (interval_least (fst (line_of g)) (snd (line_of g)) share f low high i G N' W P S Lo Hi) as K.
      cbv zeta in K. unfold adds_at. rewrite (line_reads g f i Li).
      destruct K as [K | [K | K]]; apply down_below in K; (eapply Qle_trans; [| exact K]); rewrite <- Zle_Qle; lia.
    + destruct (forallb _ g) eqn:T; [| discriminate]. unfold adds_at. rewrite (table_reads g f i T).
      destruct C as (C & _). cbn [fst] in C.
      pose proof (priced (axis_of s D f) i known Sound Dom A) as I. apply (in_map fst) in I. cbn [fst] in I.
      pose proof (least_price_bound (fun n => down ((1 # weight_unit) * of_units (table_at g n) + weighed share f n))
        mask _ i m I C E) as K.
      rewrite Zle_Qle in K. eapply Qle_trans; [exact K |]. apply down_below, Qle_refl.
Qed.
End Axis.
