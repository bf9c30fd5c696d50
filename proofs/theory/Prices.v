(** * The rule "prices": trees that share one distance

    A toll is a price for lying on a side of an axis: it is set for one tree, and paid by every point that lies there. What
    a point pays is counted twice, once by axes and once by trees: so its distance is at least

        the sum over axes of the least (cost - tolls) + the sum over trees of the least (tolls - multiplied margins)
        + the multiplied margins that the comparisons need.

    In FORMAT.md the sides are those of the nodes of a tree; nothing rests on that. Prices, multipliers and shares are any
    numbers that are not negative. Leaves may also pay for the cliques that hold them, and the prices of all cliques are taken
    off: a point reaches at most one leaf of each (Cliques.v). Main theorem: [prices_sound]. *)

From Coq Require Import ZArith List Bool Lia.
From Mace Require Import Ensemble CutTree Costs Nodes Cliques.
Import ListNotations.
Open Scope Z_scope.

Definition on_side (c : side_of_axis) (i : Z) : bool :=
  match c with Under k => i <=? k | Over k => k <? i | Within mask => Z.testbit mask i end.

(** Every index of a range lies on the side; some index may. *)
Definition all_on_side (c : side_of_axis) (r : range) : bool :=
  match c, r with
  | Under k, Interval _ upper _ _ => upper <=? k
  | Over k, Interval lower _ _ _ => k <? lower
  | Within mask, Levels known _ _ => Z.ldiff known mask =? 0
  | _, _ => false
  end.

Definition may_be_on_side (c : side_of_axis) (lower upper : Z) : bool :=
  match c with Under k => lower <=? k | Over k => k <? upper | Within _ => true end.

(** What every point of a box pays at least. *)
Definition paid_in (b : list range) (l : list toll) : Z :=
  fold_right (fun p t =>
    match nth_error b (axis_of_toll p) with
    | Some r => if all_on_side (side p) r then price_of p + t else t
    | None => t
    end) 0 l.

(** What an index, or any of an interval, pays at most. *)
Definition paid_at (i : Z) (l : list toll) : Z :=
  fold_right (fun p t => if on_side (side p) i then price_of p + t else t) 0 l.
Definition paid_between (lower upper : Z) (l : list toll) : Z :=
  fold_right (fun p t => if may_be_on_side (side p) lower upper then price_of p + t else t) 0 l.

Section Axis.
Variable D : Z.
Variables whole share : Z.       (** the scale, and the share of the largest change *)
Variable a : axis.
Variable l : list toll.          (** those of the axis *)

Definition cell_least (lower upper : Z) : Z :=
  let c := least_cost a lower upper in whole * fst c + share * snd c - D * paid_between lower upper l.

Fixpoint cells_least (lower upper : Z) (pieces : list Z) : Z :=
  match pieces with
  | [] => cell_least lower upper
  | k :: pieces =>
      if (lower <=? k) && (k <? upper) then Z.min (cell_least lower k) (cells_least (k + 1) upper pieces)
      else cells_least lower upper pieces
  end.

Definition lesser (a : Z) (b : option Z) : option Z := match b with Some b => Some (Z.min a b) | None => Some a end.

Fixpoint levels_least (mask : Z) (prices : list price) : option Z :=
  match prices with
  | [] => None
  | p :: prices =>
      if Z.testbit mask (fst p)
      then lesser (whole * fst (snd p) + share * snd (snd p) - D * paid_at (fst p) l) (levels_least mask prices)
      else levels_least mask prices
  end.

Definition range_least (prices : list price) (r : range) (pieces : list Z) : option Z :=
  match r with
  | Interval lower upper _ _ => Some (cells_least lower upper pieces)
  | Levels mask _ _ => levels_least mask prices
  end.
End Axis.

(** Tolls by axis. *)
Definition by_axis (n : nat) (l : list toll) : list (list toll) :=
  fold_right (fun p g => push (axis_of_toll p) p g) (repeat [] n) l.

Fixpoint axes_least (D whole : Z) (axes : list (axis * list price)) (b : list range) (shares : list Z)
    (gs : list (list toll)) (pieces : list (list Z)) : option Z :=
  match axes, b, shares, gs, pieces with
  | a :: axes, r :: b, share :: shares, g :: gs, ks :: pieces =>
      match range_least D whole share (fst a) g (snd a) r ks, axes_least D whole axes b shares gs pieces with
      | Some m, Some t => Some (m + t)
      | _, _ => None
      end
  | [], [], [], [], [] => Some 0
  | _, _, _, _, _ => None
  end.

(** The sum over the trees of the best leaf: its worth less what is paid in its box. *)
Fixpoint trees_best {A} (worth : A -> Z) (limit : option Z) (ts : list (cut_tree A)) (tolls : list (list toll))
    (b : list range) (cost big : Z) : option Z :=
  match ts, tolls with
  | [], [] => Some 0
  | t :: ts, l :: tolls =>
      match best_by (fun a b => worth a - paid_in b l) limit t b cost big with
      | None => None
      | Some v =>
          match trees_best worth limit ts tolls b cost big with Some w => Some (v + w) | None => None end
      end
  | _, _ => None
  end.

(** A part of the goal, as for each comparison the least sum of margins with which it can hold, and the margin of a leaf:
    no point of the box has it that is nearer than the limit. Leaves are marked with the cliques that hold them. *)
Definition total_need {A} (ls : list Z) (needs : list (Z * (A -> Z))) : Z :=
  fold_right (fun lc t => fst lc * fst (snd lc) + t) 0 (combine ls needs).
Definition worth_of {A} (ls : list Z) (needs : list (Z * (A -> Z))) (leaf : A) : Z :=
  fold_right (fun lc t => fst lc * snd (snd lc) leaf + t) 0 (combine ls needs).

Definition none_negative (l : list Z) : bool := forallb (Z.leb 0) l.

Definition net_worth {A} (p : pricing) (needs : list (Z * (A -> Z))) (leaf : A * list positive) : Z :=
  worth_of (multiply p) needs (fst leaf) - due (of_cliques p) (snd leaf).

Definition sound_pricing (p : pricing) : bool :=
  fair_prices (of_cliques p) && (0 <=? scale p) && none_negative (multiply p) && none_negative (top_shares p) &&
  (fold_right Z.add 0 (top_shares p) <=? scale p) && forallb (forallb (fun t => 0 <=? price_of t)) (tolls p).

Definition prices_close {A} (D : positive) (axes : list (axis * list price)) (limit : option Z)
    (ts : list (cut_tree (A * list positive))) (b : list range) (needs : list (Z * (A -> Z))) (p : pricing) : bool :=
  sound_pricing p && Nat.eqb (length ts) (length (tolls p)) &&
  match trees_best (net_worth p needs) limit ts (tolls p) b (sum_of b) (largest_of b) with
  | None => true
  | Some v =>
      match axes_least (Zpos D) (scale p) axes b (top_shares p) (by_axis (length axes) (concat (tolls p))) (pieces p) with
      | None => false
      | Some m =>
          let found := m + Zpos D * (total_need (multiply p) needs - v - whole_price (of_cliques p)) in
          match limit with Some q => scale p * (q - 1) <? found | None => (scale p =? 0) && (0 <? found) end
      end
  end.

(** ** Proofs *)

Definition dues (x : list payment) (l : list toll) : Z :=
  fold_right (fun p t =>
    match nth_error x (axis_of_toll p) with
    | Some pay => if on_side (side p) (fst pay) then price_of p + t else t
    | None => t
    end) 0 l.

Definition fees (l : list toll) : Prop := Forall (fun p => 0 <= price_of p) l.

Lemma paid_in_below b x l : inside b x -> fees l -> paid_in b l <= dues x l.
Proof.
  intros I F. induction F as [| p l P F IH]; cbn [paid_in dues fold_right]; [lia |].
  fold (paid_in b l). fold (dues x l). destruct (nth_error b (axis_of_toll p)) as [r |] eqn:N.
  - destruct (inside_nth _ _ _ _ I N) as (pay & -> & C).
    destruct (all_on_side (side p) r) eqn:A; [| destruct (on_side _ _); lia].
    assert (on_side (side p) (fst pay) = true) as ->; [| lia].
    destruct (side p) as [k | k | mask], r as [lower upper s m | known s m]; try discriminate; cbn [all_on_side on_side covers] in *.
    + apply Z.leb_le in A. apply Z.leb_le. lia.
    + apply Z.ltb_lt in A. apply Z.ltb_lt. lia.
    + apply Z.eqb_eq in A. destruct C as [C _]. assert (Z.testbit (Z.ldiff known mask) (fst pay) = false) as T by (rewrite A; apply Z.bits_0).
      rewrite Z.ldiff_spec, C in T. destruct (Z.testbit mask (fst pay)); [reflexivity | discriminate].
  - destruct (nth_error x (axis_of_toll p)); [destruct (on_side _ _) |]; lia.
Qed.

Lemma paid_between_above lower upper i l : fees l -> lower <= i <= upper -> paid_at i l <= paid_between lower upper l.
Proof.
  intros F I. induction F as [| p l P F IH]; cbn [paid_at paid_between fold_right]; [lia |].
  fold (paid_at i l). fold (paid_between lower upper l).
  destruct (on_side (side p) i) eqn:O.
  - assert (may_be_on_side (side p) lower upper = true) as ->; [| lia].
    destruct (side p); cbn [on_side may_be_on_side] in *; rewrite ?Z.leb_le, ?Z.ltb_lt in *; auto; lia.
  - destruct (may_be_on_side _ _ _); lia.
Qed.

Section AxisSound.
Variables D whole share : Z.
Hypothesis D_positive : 0 <= D.
Hypothesis whole_nonnegative : 0 <= whole.
Hypothesis share_nonnegative : 0 <= share.
Variable a : axis.
Variable l : list toll.
Hypothesis fair_tolls : fees l.

Definition net (i : Z) : Z := whole * fst (cost a i) + share * snd (cost a i) - D * paid_at i l.

Lemma cell_below lower upper i : sound_grid a -> allows (about a) i -> lower <= i <= upper ->
  cell_least D whole share a l lower upper <= net i.
Proof.
  intros G A I. unfold cell_least, net. cbv zeta. destruct (least_cost_below a lower upper i G A I) as [B1 B2].
  pose proof (paid_between_above lower upper i l fair_tolls I).
  assert (D * paid_at i l <= D * paid_between lower upper l) by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (whole * fst (least_cost a lower upper) <= whole * fst (cost a i)) by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (share * snd (least_cost a lower upper) <= share * snd (cost a i)) by (apply Z.mul_le_mono_nonneg_l; lia).
  lia.
Qed.

Lemma cells_below ks i : sound_grid a -> allows (about a) i -> forall lower upper, lower <= i <= upper ->
  cells_least D whole share a l lower upper ks <= net i.
Proof.
  intros G A. induction ks as [| k ks IH]; cbn [cells_least]; intros lower upper I; [apply cell_below; auto |].
  destruct ((lower <=? k) && (k <? upper)) eqn:K; [| auto].
  destruct (Z.le_gt_cases i k).
  - pose proof (cell_below lower k i G A ltac:(lia)). lia.
  - specialize (IH (k + 1) upper ltac:(lia)). lia.
Qed.

Lemma levels_below mask prices i m : In (i, cost a i) prices -> Z.testbit mask i = true ->
  levels_least D whole share l mask prices = Some m -> m <= net i.
Proof.
  intros I T. revert m. induction prices as [| p prices IH]; [contradiction |]. cbn [levels_least]. intros m E.
  destruct I as [-> | I].
  - cbn [fst snd] in E. rewrite T in E. unfold lesser, net in *. destruct (levels_least _ _ _ _ _ prices); injection E as <-; lia.
  - specialize (IH I). destruct (Z.testbit mask (fst p)); [| auto]. unfold lesser in E.
    destruct (levels_least D whole share l mask prices) as [w |] eqn:W.
    + injection E as <-. specialize (IH w eq_refl). lia.
    + exfalso. clear - I T W. induction prices as [| q prices IH]; [contradiction |]. cbn [levels_least] in W.
      destruct I as [-> | I].
      * cbn [fst snd] in W. rewrite T in W. unfold lesser in W. destruct (levels_least _ _ _ _ _ prices); discriminate.
      * apply IH; auto. destruct (Z.testbit mask (fst q)); [| exact W]. unfold lesser in W.
        destruct (levels_least _ _ _ _ _ prices); discriminate.
Qed.

Lemma range_below r ks i m : sound_axis a = true ->
  origin a = place (kind_of (about a)) (start (about a)) (start (about a)) -> allows (about a) i ->
  covers r (i, cost a i) ->
  match domain_of (about a), r with Between _ _, Interval _ _ _ _ | Among _, Levels _ _ _ => true | _, _ => false end = true ->
  range_least D whole share a l (prices_of a) r ks = Some m -> m <= net i.
Proof.
  intros S O A C K E. destruct (domain_of (about a)) as [lo hi | full] eqn:Dom, r as [lower upper s b | mask s b];
    try discriminate; cbn [range_least covers fst] in *.
  - injection E as <-. apply cells_below; auto; [eapply grid_of; eauto | lia].
  - destruct C as [C _]. eapply levels_below; eauto. eapply priced; eauto.
Qed.
End AxisSound.

(** *** All axes *)

Fixpoint total_paid (gs : list (list toll)) (x : list payment) : Z :=
  match gs, x with g :: gs, p :: x => paid_at (fst p) g + total_paid gs x | _, _ => 0 end.

Lemma push_paid p : forall j gs x, length gs = length x ->
  total_paid (push j p gs) x =
  match nth_error x j with Some pay => if on_side (side p) (fst pay) then price_of p else 0 | None => 0 end + total_paid gs x.
Proof.
  induction j as [| j IH]; intros [| g gs] [| pay x] L; try discriminate; cbn [push total_paid nth_error]; try lia.
  - cbn [paid_at fold_right]. fold (paid_at (fst pay) g). destruct (on_side (side p) (fst pay)); lia.
  - rewrite IH by (simpl in L; lia). lia.
Qed.

Lemma by_axis_length n l : length (by_axis n l) = n.
Proof. induction l as [| p l IH]; cbn [by_axis fold_right]; [apply repeat_length | rewrite push_length; exact IH]. Qed.

Lemma by_axis_total x l : total_paid (by_axis (length x) l) x = dues x l.
Proof.
  induction l as [| p l IH]; cbn [by_axis dues fold_right].
  - induction x as [| pay x IH]; cbn [length repeat total_paid paid_at fold_right]; lia.
  - fold (by_axis (length x) l). rewrite push_paid by apply by_axis_length. rewrite IH. fold (dues x l).
    destruct (nth_error x (axis_of_toll p)); [destruct (on_side _ _) |]; lia.
Qed.

Lemma push_fees p : 0 <= price_of p -> forall j gs, Forall fees gs -> Forall fees (push j p gs).
Proof.
  intros P j. induction j as [| j IH]; intros [| g gs] F; cbn [push]; auto; inversion F; subst; constructor; auto.
  constructor; auto.
Qed.

Lemma by_axis_fees n l : fees l -> Forall fees (by_axis n l).
Proof.
  induction 1 as [| p l P F IH]; cbn [by_axis fold_right].
  - apply Forall_forall. intros g I. apply repeat_spec in I. subst. constructor.
  - apply push_fees; auto.
Qed.

Fixpoint shared_tops (shares : list Z) (x : list payment) : Z :=
  match shares, x with share :: shares, p :: x => share * snd (snd p) + shared_tops shares x | _, _ => 0 end.

Lemma shared_tops_below x top : 0 <= top -> largest_paid x <= top -> forall shares, none_negative shares = true ->
  shared_tops shares x <= fold_right Z.add 0 shares * top.
Proof.
  intros T. assert (forall shares, none_negative shares = true -> 0 <= fold_right Z.add 0 shares) as N.
  { induction shares as [| z shares IH]; cbn [none_negative forallb fold_right]; intro S; [lia |].
    apply andb_true_iff in S as [S0 S]. apply Z.leb_le in S0. specialize (IH S). lia. }
  induction x as [| p x IH]; intros L [| z shares] S; cbn [shared_tops]; try (apply Z.mul_nonneg_nonneg; [apply N; exact S | lia]).
  cbn [largest_paid fold_right none_negative forallb] in *. fold (largest_paid x) in L. apply andb_true_iff in S as [S0 S].
  apply Z.leb_le in S0. specialize (IH ltac:(lia) shares S).
  assert (z * snd (snd p) <= z * top) by (apply Z.mul_le_mono_nonneg_l; lia). lia.
Qed.

Lemma largest_paid_nonnegative x : 0 <= largest_paid x.
Proof. induction x; simpl; lia. Qed.

Lemma payments_length s D fs (x : point) : Forall2 allows fs x -> length (payments (map (axis_of s D) fs) x) = length fs.
Proof. induction 1; simpl; congruence. Qed.

Section Sound.
Variable s : statement.
Variable D : positive.
Variable x : point.
Hypothesis sound : forallb sound_axis (map (axis_of s D) (features s)) = true.
Hypothesis allows_x : Forall2 allows (features s) x.
Let paid := payments (map (axis_of s D) (features s)) x.

Lemma axes_least_sound whole b shares gs ks m : 0 <= whole -> none_negative shares = true -> Forall fees gs ->
  fits (features s) b = true -> inside b paid ->
  axes_least (Zpos D) whole (axes_of s D) b shares gs ks = Some m ->
  m <= whole * sum_paid paid + shared_tops shares paid - Zpos D * total_paid gs paid.
Proof.
  intro W. unfold paid, inside, axes_of. revert b shares gs ks m. revert sound.
  induction allows_x as [| f i fs y A F IH]; intros S [| r b] [| share shares] [| g gs] [| k ks] m N P T I E;
    cbn [map axes_least] in E; try discriminate.
  - injection E as <-. cbn. lia.
  - cbn [map payments] in *. inversion I as [| ? ? ? ? C R]; subst. cbn [forallb none_negative] in S, N.
    apply andb_true_iff in S as [S1 S2]. apply andb_true_iff in N as [N1 N2]. apply Z.leb_le in N1.
    inversion P as [| ? ? P1 P2]; subst. cbn [fst snd] in E.
    destruct (range_least (Zpos D) whole share (axis_of s D f) g (prices_of (axis_of s D f)) r k) as [v |] eqn:V; [| discriminate].
    destruct (axes_least (Zpos D) whole _ b shares gs ks) as [t |] eqn:E2; [| discriminate]. injection E as <-.
    assert (match domain_of f, r with Between _ _, Interval _ _ _ _ | Among _, Levels _ _ _ => true | _, _ => false end = true /\
            fits fs b = true) as [T1 T2]
      by (cbn [fits] in T; destruct (domain_of f), r; try discriminate; auto).
    specialize (IH F S2 b shares gs ks t N2 P2 T2 R E2).
    pose proof (range_below (Zpos D) whole share ltac:(lia) W N1 (axis_of s D f) g P1 r k i v S1 eq_refl A C T1 V) as K.
    unfold net in K. cbn [sum_paid shared_tops total_paid fold_right fst snd]. fold (sum_paid (payments (map (axis_of s D) fs) y)).
    lia.
Qed.

Variable A : Type.
Variable limit : option Z.
Hypothesis near : within limit paid.
Variable ts : list (cut_tree (A * list positive)).
Hypothesis fair_ts : Forall (fair paid) ts.
Hypothesis marked_once : NoDup (landed paid ts).
Variable needs : list (Z * (A -> Z)).

(** Every comparison of the part may hold at the point. *)
Definition total_of (h : A * list positive -> Z) : Z := fold_right (fun t v => h (lands paid t) + v) 0 ts.
Hypothesis reached : Forall (fun n => fst n <= total_of (fun leaf => snd n (fst leaf))) needs.

Lemma trees_best_sound (worth : A * list positive -> Z) b : inside b paid -> forall tolls, Forall fees tolls -> length ts = length tolls ->
  exists v, trees_best worth limit ts tolls b (sum_of b) (largest_of b) = Some v /\
            total_of worth - dues paid (concat tolls) <= v.
Proof.
  intros I. unfold total_of. clear reached marked_once. induction fair_ts as [| t us Ft Fs IH]; intros [| l tolls] P L; try discriminate; cbn [trees_best].
  - exists 0. split; [reflexivity | cbn; lia].
  - inversion P as [| ? ? P1 P2]; subst.
    assert (forall a b, inside b paid -> worth a - dues paid l <= worth a - paid_in b l) as Score.
    { intros a b' I'. pose proof (paid_in_below b' paid l I' P1). lia. }
    destruct (best_by_sound (fun a b => worth a - paid_in b l) (fun a => worth a - dues paid l) limit paid t Score near Ft b
      (sum_of b) (largest_of b) I eq_refl (largest_inside _ _ I)) as (v & -> & B).
    destruct (IH Fs tolls P2 ltac:(simpl in L; lia)) as (w & -> & C). exists (v + w). split; [reflexivity |].
    cbn [fold_right concat]. assert (forall m n, dues paid (m ++ n) = dues paid m + dues paid n) as App.
    { intros m n. induction m as [| p m IHm]; cbn [dues fold_right app]; [reflexivity |].
      fold (dues paid (m ++ n)). fold (dues paid m). rewrite IHm.
      destruct (nth_error paid (axis_of_toll p)); [destruct (on_side _ _) |]; lia. }
    rewrite App. lia.
Qed.

(** What all leaves pay for cliques. *)
Lemma dues_of_cliques p : fair_prices (of_cliques p) = true ->
  total_of (fun leaf => worth_of (multiply p) needs (fst leaf)) - whole_price (of_cliques p) <= total_of (net_worth p needs).
Proof.
  intro F. assert (total_of (net_worth p needs) =
    total_of (fun leaf => worth_of (multiply p) needs (fst leaf)) - due (of_cliques p) (landed paid ts)) as ->.
  { unfold total_of, landed. rewrite due_is_paid. clear. induction ts as [| t us IH]; cbn [fold_right flat_map]; [reflexivity |].
    rewrite IH. unfold net_worth at 1. rewrite due_is_paid, paid_for_both. lia. }
  pose proof (due_below (of_cliques p) _ F marked_once). lia.
Qed.

Lemma needs_met ls : none_negative ls = true -> total_need ls needs <= total_of (fun leaf => worth_of ls needs (fst leaf)).
Proof.
  intro N. assert (forall l n, total_of (fun leaf => worth_of l n (fst leaf)) =
    fold_right (fun lc t => fst lc * total_of (fun leaf => snd (snd lc) (fst leaf)) + t) 0 (combine l n)) as Sum.
  { intros l n. unfold total_of, worth_of. induction (combine l n) as [| c r IH]; cbn [fold_right].
    - clear. induction ts; cbn [fold_right]; lia.
    - rewrite <- IH. clear. induction ts as [| t us IHu]; cbn [fold_right]; [lia |]. rewrite IHu. lia. }
  rewrite Sum. unfold total_need. clear Sum. revert ls N. induction reached as [| n ns R F IH]; intros [| l ls] N; cbn [combine fold_right]; try lia.
  cbn [none_negative forallb] in N. apply andb_true_iff in N as [N0 N]. apply Z.leb_le in N0. specialize (IH F ls N).
  cbn [fst snd]. assert (l * fst n <= l * total_of (fun leaf => snd n (fst leaf))) by (apply Z.mul_le_mono_nonneg_l; lia). lia.
Qed.

Theorem prices_sound b p : fits (features s) b = true -> inside b paid ->
  prices_close D (axes_of s D) limit ts b needs p = true -> False.
Proof.
  intros T I C. unfold prices_close, sound_pricing in C. rewrite !andb_true_iff, !Z.leb_le in C.
  destruct C as (((((((Fair & W) & N) & Sh) & Sum) & P) & Len) & C). apply Nat.eqb_eq in Len.
  assert (Forall fees (tolls p)) as Fees.
  { rewrite forallb_forall in P. apply Forall_forall. intros l Il. specialize (P l Il). rewrite forallb_forall in P.
    apply Forall_forall. intros t It. apply Z.leb_le. exact (P t It). }
  destruct (trees_best_sound (net_worth p needs) b I (tolls p) Fees Len) as (v & E & V). rewrite E in C.
  destruct (axes_least _ _ _ _ _ _ _) as [m |] eqn:M; [| discriminate].
  assert (length (axes_of s D) = length paid) as Lp.
  { unfold axes_of, paid. rewrite !map_length. symmetry. exact (payments_length s D _ _ allows_x). }
  rewrite Lp in M.
  apply (axes_least_sound (scale p) b (top_shares p) _ _ m W Sh) in M; auto.
  2: { apply by_axis_fees. clear - Fees. induction Fees; simpl; [constructor | apply Forall_app; auto]. }
  rewrite by_axis_total in M. pose proof (needs_met (multiply p) N) as Need. pose proof (dues_of_cliques p Fair) as Dues.
  pose proof (shared_tops_below paid (largest_paid paid) (largest_paid_nonnegative paid) ltac:(lia) _ Sh) as Top.
  pose proof (largest_paid_nonnegative paid) as L0.
  assert (fold_right Z.add 0 (top_shares p) * largest_paid paid <= scale p * largest_paid paid) by (apply Z.mul_le_mono_nonneg_r; lia).
  set (found := m + Zpos D * (total_need (multiply p) needs - v - whole_price (of_cliques p))) in *.
  assert (found <= scale p * (sum_paid paid + largest_paid paid)) as Found.
  { unfold found. assert (Zpos D * (total_need (multiply p) needs - v - whole_price (of_cliques p)) <= Zpos D * dues paid (concat (tolls p)))
      by (apply Z.mul_le_mono_nonneg_l; lia). lia. }
  unfold within in near. destruct limit as [q |].
  - apply Z.ltb_lt in C. assert (scale p * (sum_paid paid + largest_paid paid) <= scale p * (q - 1)) by (apply Z.mul_le_mono_nonneg_l; lia). lia.
  - apply andb_true_iff in C as [Z0 C]. apply Z.eqb_eq in Z0. apply Z.ltb_lt in C. rewrite Z0 in Found. lia.
Qed.
End Sound.
