(** * An executable checker for the certificates of tree ensembles, proved sound

    [check statement certificate] runs inside Coq, and extracted (../verified); [check_sound] turns its answer "true" into
    a theorem about the deployed floating-point model as Ensemble.v defines it: at every allowed point no sum and no column
    overflows, and every one with the goal is at least as far as the claim says, or there is no such point at all.
    [check_witness] does the same for a witness.

    The tree of boxes is that of Nodes.v; the leaves trees, cell and prices of FORMAT.md are added here. The cuts that
    thresholds make among the indices of a grid are hints of the reader: they are checked here against the rounding to
    float64 or float32, the chain of the column, the cast to float32 and the comparison itself.

    Main theorems: [check_sound], [witness_sound]. *)

From Coq Require Import ZArith QArith List Bool Permutation Lia.
From Mace Require Import Rounding Ensemble CutTree Costs Columns Rules Margins Cliques Prices.
From Mace Require Export Nodes.
Import ListNotations.
Open Scope Z_scope.

(** ** The model over indices *)

(** The levels that go left. *)
Definition passing (s : statement) (t : test) (f : feature) (c : column) (l : list price) : Z :=
  fold_right (fun (p : price) m => if passes_fast s t (column_fast f c (fst p)) then Z.setbit m (fst p) else m) 0 l.

(** Axes with their prices, so that these are worked out once. *)
Fixpoint cut_tree_of (s : statement) (axes : list (axis * list price)) (t : tree) : option (cut_tree (list Z)) :=
  match t with
  | Leaf scores => Some (CutLeaf (map (stored s) scores))
  | Node c t cut l r =>
      match cut_tree_of s axes l, cut_tree_of s axes r, nth_error (columns s) c with
      | Some l, Some r, Some c =>
          match nth_error axes (feature_of c) with
          | None => None
          | Some (a, prices) =>
              match domain_of (about a), t with
              | Between lower upper, Below threshold =>
                  if cut_holds s threshold (about a) c lower upper cut then
                    let far := cut <? start (about a) in
                    let least := if far then least_cost a lower cut else least_cost a (cut + 1) upper in
                    if falls c then Some (Cut (feature_of c) cut far (fst least) (snd least) r l)
                    else Some (Cut (feature_of c) cut far (fst least) (snd least) l r)
                  else None
              | Among _, _ => Some (Sort (feature_of c) (passing s t (about a) c prices) prices l r)
              | _, _ => None
              end
          end
      | _, _, _ => None
      end
  end.

Fixpoint all {A} (l : list (option A)) : option (list A) :=
  match l with
  | [] => Some []
  | None :: _ => None
  | Some a :: l => match all l with Some l => Some (a :: l) | None => None end
  end.

Fixpoint leaf_size (s : statement) (c : comparison) (t : tree) : Z :=
  match t with
  | Leaf scores => magnitude c (map (stored s) scores)
  | Node _ _ _ l r => Z.max (leaf_size s c l) (leaf_size s c r)
  end.

(** A comparison: the least sum of leaf margins with which it can hold, and the trees of these margins. *)
Definition opponent (s : statement) (shapes : list (cut_tree (list Z))) (c : comparison) : Z * list (cut_tree Z) :=
  (least_margin s c (map (leaf_size s c) (trees s)) - margin c (first_scores s), map (map_tree (margin c)) shapes).

(** ** The rules *)

Fixpoint best_sum (limit : option Z) (ts : list (cut_tree Z)) (b : list range) (cost big : Z) : option Z :=
  match ts with
  | [] => Some 0
  | t :: ts =>
      match best limit t b cost big with
      | None => None
      | Some v => match best_sum limit ts b cost big with Some w => Some (v + w) | None => None end
      end
  end.

Definition cannot_hold (limit : option Z) (b : list range) (o : Z * list (cut_tree Z)) : bool :=
  match best_sum limit (snd o) b (sum_of b) (largest_of b) with None => true | Some v => v <? fst o end.

(** For the comparisons of a part what they need, and the margin of a leaf. *)
Definition needs_of (part : list comparison) (needed : list (Z * list (cut_tree Z))) : list (Z * (list Z -> Z)) :=
  map (fun co => (fst (snd co), margin (fst co))) (combine part needed).

(** Float scores have one of some parts of the goal. *)
Definition some_part (rounding : Z -> Z -> Z -> Z -> Z) (s : statement) (parts : list (list comparison)) (leaves : list (list Z)) : bool :=
  existsb (fun part => forallb (fun c => holds rounding s leaves (may s c)) part) parts.

Section Check.
Variable s : statement.
Variable D : positive.
Variable axes : list (axis * list price).
Variable limit : option Z.
Variable shapes : list (cut_tree (list Z)).
Variable opponents : list (list (Z * list (cut_tree Z))).

Fixpoint all_priced (ts : list (cut_tree (list Z * list positive))) (b : list range) (goal : list (list comparison)) (needed : list (list (Z * list (cut_tree Z))))
    (parts : list pricing) : bool :=
  match goal, needed, parts with
  | part :: goal, n :: needed, p :: parts =>
      prices_close D axes limit ts b (needs_of (map (may s) part) n) p && all_priced ts b goal needed parts
  | [], [], [] => true
  | _, _, _ => false
  end.

(** The leaves that an ensemble adds to the tree of boxes. *)
Definition closes (known : knowledge (list Z)) (open : list bool) (p : proof) (b : list range) : bool :=
  match p with
  | Trees => beyond limit (sum_of b + largest_of b) || forallb (existsb (cannot_hold limit b)) (opened open opponents)
  | Cell =>
      beyond limit (sum_of b + largest_of b) ||
      match all (map (fun t => only t b) shapes) with
      | Some leaves => repeatable s && negb (some_part round_fast s (opened open (goal s)) leaves)
      | None => false
      end
  | Prices parts =>
      beyond limit (sum_of b + largest_of b) || (fits (features s) b && all_priced (snd known) b (opened open (goal s)) (opened open opponents) parts)
  | _ => false
  end.
End Check.

(** No sum of a comparison's sides can overflow. *)
Definition sums_stay_finite (s : statement) (c : comparison) : bool :=
  let b := bounds (precision s) (map (leaf_size s c) (trees s)) (magnitude c (first_scores s)) in
  fst b + snd b <? largest_sum s.

Definition well_formed (s : statement) (D : positive) : bool :=
  sound_statement s D && (0 <=? unit s) && (unit s <=? 1074) &&
  forallb (sound_column (features s)) (columns s) && forallb (forallb (sums_stay_finite s)) (goal s).

Definition check (s : statement) (c : certificate) : bool :=
  let axes := axes_of s (cost_unit c) in
  let limit := limit_of s (cost_unit c) in
  well_formed s (cost_unit c) &&
  match all (map (cut_tree_of s axes) (trees s)) with
  | None => false
  | Some shapes =>
      check_tree s axes limit (knowledge (list Z))
        (closes s (cost_unit c) axes limit shapes (map (map (fun c => opponent s shapes (may s c))) (goal s))) learn (unmarked shapes)
        (proof_of c)
  end.

(** ** Proofs *)

Lemma all_map {A B} (f : A -> option B) l r : all (map f l) = Some r -> Forall2 (fun a b => f a = Some b) l r.
Proof.
  revert r. induction l as [| a l IH]; simpl; intros r E.
  - injection E as <-. constructor.
  - destruct (f a) eqn:F; [| discriminate]. destruct (all (map f l)); [| discriminate].
    injection E as <-. constructor; auto.
Qed.

Lemma passing_spec s t f c (l : list price) i : In i (map fst l) -> (forall p, In p l -> 0 <= fst p) ->
  Z.testbit (passing s t f c l) i = passes_fast s t (column_fast f c i).
Proof.
  intros I N. assert (0 <= i) as I0 by (apply in_map_iff in I as (p & <- & J); auto).
  destruct (passes_fast s t (column_fast f c i)) eqn:P.
  - induction l as [| p l IH]; simpl in *; [tauto |].
    destruct I as [<- | I].
    + rewrite P. apply Z.setbit_eq. auto.
    + specialize (IH I (fun p J => N p (or_intror J))).
      destruct (passes_fast s t (column_fast f c (fst p))); auto.
      rewrite Z.setbit_iff by auto. auto.
  - clear I. induction l as [| p l IH]; simpl; [apply Z.bits_0 |].
    specialize (IH (fun p J => N p (or_intror J))).
    destruct (passes_fast s t (column_fast f c (fst p))) eqn:Q; auto.
    destruct (Z.eq_dec (fst p) i) as [<- | X]; [congruence |].
    rewrite Z.setbit_neq by auto using (N p (or_introl eq_refl)). exact IH.
Qed.

Lemma magnitude_of_leaf s x c t : magnitude c (leaf_of s x t) <= leaf_size s c t.
Proof. induction t; simpl; [lia |]. destruct (passes _ _ _); lia. Qed.

Lemma holds_fast s leaves c : holds round_fast s leaves c = holds round s leaves c.
Proof.
  assert (forall k, float_sum round_fast s leaves k = float_sum round s leaves k) as F
    by (intros; apply fold_left_ext; intros; apply round_fast_is_round; lia).
  assert (forall side, score round_fast s leaves side = score round s leaves side) as G.
  { intros [k |]; unfold score; cbv zeta; auto. rewrite F. destruct (Pos.eqb (divide s) 1); auto.
    apply round_fast_is_round; [apply smallest_nonnegative | lia]. }
  unfold holds. rewrite !G. reflexivity.
Qed.

Lemma sum_permuted (g : list Z -> Z) l m : Permutation l m -> sum (map g l) = sum (map g m).
Proof. induction 1; simpl; lia. Qed.

Lemma sizes_permuted (l m : list Z) : Permutation l m -> sum l = sum m /\ length l = length m.
Proof. induction 1; simpl; lia. Qed.

Lemma sizes_of_leaves s x c : Forall2 (fun leaf size => magnitude c leaf <= size)
  (map (leaf_of s x) (trees s)) (map (leaf_size s c) (trees s)).
Proof. generalize (trees s). induction l; simpl; constructor; auto using magnitude_of_leaf. Qed.

Section Sound.
Variable s : statement.
Variable D : positive.
Let axes := map (axis_of s D) (features s).
Variable x : point.
Let priced_axes := axes_of s D.
Hypothesis sound : forallb sound_axis axes = true.
Hypothesis columns_sound : forallb (sound_column (features s)) (columns s) = true.
Hypothesis allows_x : Forall2 allows (features s) x.
Let paid := payments axes x.

Lemma cut_tree_sound t : forall c, cut_tree_of s priced_axes t = Some c -> lands paid c = leaf_of s x t /\ fair paid c.
Proof.
  induction t as [scores | c t cut l IHl r IHr]; simpl; intros u E.
  - injection E as <-. simpl. auto.
  - destruct (cut_tree_of s priced_axes l) as [l' |]; [| discriminate].
    destruct (cut_tree_of s priced_axes r) as [r' |]; [| discriminate].
    destruct (IHl l' eq_refl) as [Ll Fl]. destruct (IHr r' eq_refl) as [Lr Fr]. clear IHl IHr.
    unfold column_value. destruct (nth_error (columns s) c) as [column |] eqn:Ec; [| discriminate].
    assert (sound_column (features s) column = true) as Sc.
    { rewrite forallb_forall in columns_sound. eapply columns_sound, nth_error_In, Ec. }
    set (j := feature_of column) in *.
    destruct (nth_error priced_axes j) as [[a prices] |] eqn:Ea; [| discriminate].
    destruct (priced_about s D j a prices Ea) as (f & Ef & -> & ->). destruct (at_axis s D x sound allows_x j f Ef) as (_ & Ep & A & S).
    fold axes in Ep. fold paid in Ep.
    rewrite Ef. simpl about in E. pose proof A as A'. unfold allows in A. set (i := nth j x 0) in *.
    destruct (domain_of f) as [lower upper | mask] eqn:Dom.
    + destruct t as [threshold |]; [| discriminate].
      destruct (cut_holds s threshold f column lower upper cut) eqn:H; [| discriminate].
      pose proof (grid_of (axis_of s D f) lower upper S Dom eq_refl) as G.
      rewrite (cut_sound s (features s) f column threshold lower upper cut i Ef Sc Dom H A).
      unfold cut_holds in H. rewrite !andb_true_iff, !Z.leb_le in H. destruct H as (((Lo & Hi) & _) & _).
      assert (forall p, nth_error paid j = Some p ->
        (if cut <? start f then fst p <= cut else cut < fst p) ->
        fst (if cut <? start f then least_cost (axis_of s D f) lower cut else least_cost (axis_of s D f) (cut + 1) upper)
          <= fst (snd p) /\
        snd (if cut <? start f then least_cost (axis_of s D f) lower cut else least_cost (axis_of s D f) (cut + 1) upper)
          <= snd (snd p)) as Fair.
      { intros p Np. rewrite Ep in Np. injection Np as <-. simpl fst. simpl snd.
        destruct (cut <? start f); intro Far; apply (least_cost_below (axis_of s D f)); auto; lia. }
      cbv zeta in E. cbn [about axis_of] in E.
      destruct (falls column); injection E as <-; cbn [lands fair]; unfold index_at; rewrite Ep; cbn [fst]; rewrite Ll, Lr;
        (split; [destruct (i <=? cut); reflexivity |]).
      * split; [exact Fr |]. split; [exact Fl | rewrite <- Ep; exact Fair].
      * split; [exact Fl |]. split; [exact Fr | rewrite <- Ep; exact Fair].
    + injection E as <-.
      assert (In (i, cost (axis_of s D f) i) (prices_of (axis_of s D f))) as I by (eapply priced; eauto).
      split.
      * simpl. unfold index_at. rewrite Ep. simpl fst. rewrite Ll, Lr.
        rewrite passing_spec; [| apply in_map_iff; eexists; split; [| exact I]; auto | apply price_nonnegative].
        rewrite passes_fast_is_passes, column_fast_is_column by (eapply sound_divides; eauto). reflexivity.
      * simpl. split; [exact Fl |]. split; [exact Fr |]. intros p Np. rewrite Ep in Np. injection Np as <-. exact I.
Qed.

Variable shapes : list (cut_tree (list Z)).
Hypothesis shapes_of : all (map (cut_tree_of s priced_axes) (trees s)) = Some shapes.
Variable limit : option Z.
Hypothesis near : within limit paid.
Hypothesis exact_units : unit s <= 1074.
Variable leaves : list (list Z).
Hypothesis arranged : Permutation (map (leaf_of s x) (trees s)) leaves.
Hypothesis in_order : repeatable s = true -> leaves = map (leaf_of s x) (trees s).

Lemma leaves_of : map (lands paid) shapes = map (leaf_of s x) (trees s) /\ Forall (fair paid) shapes.
Proof.
  pose proof (all_map _ _ _ shapes_of) as F. revert F. generalize (trees s). clear shapes_of.
  induction shapes as [| u us IH]; intros ts F; inversion F as [| t ? rest ? E R]; subst; simpl; auto.
  destruct (cut_tree_sound t u E) as [L Fu]. destruct (IH rest R) as [M Fs]. split; [congruence | auto].
Qed.

Lemma best_sum_sound (g : list Z -> Z) us b : Forall (fair paid) us -> inside b paid ->
  exists v, best_sum limit (map (map_tree g) us) b (sum_of b) (largest_of b) = Some v /\
            sum (map (fun u => g (lands paid u)) us) <= v.
Proof.
  intros F I. induction F as [| u us Fu Fs IH]; simpl.
  - exists 0. split; [auto | lia].
  - destruct (best_sound limit paid (map_tree g u) near (fair_map g _ _ Fu) b (sum_of b) (largest_of b) I eq_refl
      (largest_inside _ _ I)) as (v & -> & L).
    destruct IH as (w & -> & M). exists (v + w). split; auto. rewrite lands_map in L. simpl. lia.
Qed.

(** What a comparison that holds says of the leaves. *)
Lemma needed_reached c : holds round s leaves c = true ->
  fst (opponent s shapes c) <= sum (map (fun u => margin c (lands paid u)) shapes).
Proof.
  intro H. destruct leaves_of as [L F]. unfold opponent. cbn [fst].
  destruct (Permutation_Forall2 arranged (sizes_of_leaves s x c)) as (sizes & Ps & S').
  pose proof (held_margin s _ _ c exact_units S' H) as M.
  destruct (sizes_permuted _ _ Ps) as [Es El]. unfold least_margin, bounds in M |- *. rewrite <- Es, <- El in M.
  rewrite <- (sum_permuted _ _ _ arranged), <- L, map_map in M. lia.
Qed.

Lemma opponent_sound c b : inside b paid -> cannot_hold limit b (opponent s shapes c) = true ->
  holds round s leaves c = false.
Proof.
  intros I C. destruct leaves_of as [L F]. destruct (holds round s _ c) eqn:H; auto. exfalso.
  pose proof (needed_reached c H) as N. unfold cannot_hold in C. cbn [snd opponent] in C.
  destruct (best_sum_sound (margin c) shapes b F I) as (v & E & V). rewrite E in C. apply Z.ltb_lt in C. lia.
Qed.

Lemma only_all b reached : inside b paid -> all (map (fun t => only t b) shapes) = Some reached ->
  reached = map (leaf_of s x) (trees s).
Proof.
  intros I E. destruct leaves_of as [<- _]. apply all_map in E.
  assert (forall (us : list (cut_tree (list Z))) vs, Forall2 (fun t v => only t b = Some v) us vs -> vs = map (lands paid) us) as M; [| auto].
  induction 1 as [| u v us vs O R IH]; simpl; auto. rewrite (only_sound paid u b v I O). f_equal. exact IH.
Qed.

Let opponents := map (map (fun c => opponent s shapes (may s c))) (goal s).

Lemma near_box b : inside b paid -> beyond limit (sum_of b + largest_of b) = false.
Proof. exact (near_enough s D x limit near b). Qed.

Variable has : nat.
Variable part : list comparison.
Hypothesis part_is : nth_error (goal s) has = Some part.
Hypothesis part_holds : forallb (fun c => holds round s leaves (may s c)) part = true.

Lemma priced_part ts b g n parts : all_priced s D priced_axes limit ts b g n parts = true ->
  forall part needed, In (part, needed) (combine g n) ->
  exists p, prices_close D priced_axes limit ts b (needs_of (map (may s) part) needed) p = true.
Proof.
  revert n parts. induction g as [| q g IH]; intros [| m n] [| p parts] C; simpl in C; try discriminate; intros r needed Ir;
    [destruct Ir |]. apply andb_true_iff in C as [C1 C2]. destruct Ir as [E | Ir].
  - injection E as <- <-. exists p. exact C1.
  - exact (IH n parts C2 r needed Ir).
Qed.

Theorem closes_sound known open p b : knows paid (map (lands paid) shapes) known -> nth has open false = true -> inside b paid ->
  closes s D priced_axes limit shapes opponents known open p b = true -> False.
Proof.
  intros Known O I C. unfold closes in C. destruct p; try discriminate; rewrite (near_box b I) in C; cbn [orb] in C;
    rewrite forallb_forall in part_holds.
  - assert (nth_error opponents has = Some (map (fun c => opponent s shapes (may s c)) part)) as E
      by (apply map_nth_error; exact part_is).
    rewrite forallb_forall in C. specialize (C _ (in_opened _ _ _ _ O E)).
    apply existsb_exists in C as (o & Io & Cannot). apply in_map_iff in Io as (c & <- & Ic).
    pose proof (opponent_sound (may s c) b I Cannot) as H. rewrite (part_holds c Ic) in H. discriminate.
  - destruct (all (map (fun t => only t b) shapes)) as [reached |] eqn:E; [| discriminate].
    apply andb_true_iff in C as [R C]. rewrite (only_all b reached I E), <- (in_order R) in C.
    apply negb_true_iff in C. assert (some_part round_fast s (opened open (goal s)) leaves = true); [| congruence].
    apply existsb_exists. exists part. split; [exact (in_opened _ _ _ _ O part_is) |].
    apply forallb_forall. intros c Ic. rewrite holds_fast. auto.
  - apply andb_true_iff in C as [T C].
    assert (In (part, map (fun c => opponent s shapes (may s c)) part) (combine (opened open (goal s)) (opened open opponents))) as J.
    { rewrite combine_opened by (unfold opponents; rewrite map_length; reflexivity). apply in_opened with (i := has); auto.
      unfold opponents. clear - part_is. revert has part_is. induction (goal s) as [| q g IH]; intros [| k] E; simpl in *;
        try discriminate; [injection E as ->; reflexivity | exact (IH k E)]. }
    destruct (priced_part _ b _ _ _ C _ _ J) as (p & C1). destruct Known as (Fair & Lands & Once & _).
    refine (prices_sound s D x sound allows_x _ limit near (snd known) Fair Once _ _ b p T I C1).
    unfold needs_of. apply Forall_map. rewrite <- map_map with (g := opponent s shapes). apply Forall_forall. intros [c o] Ico.
    cbn [fst snd]. assert (In c (map (may s) part) /\ o = opponent s shapes c) as [Ic ->].
    { clear - Ico. induction (map (may s) part) as [| d l IHl]; [contradiction |]. cbn [map combine In] in *.
      destruct Ico as [E | Ico]; [injection E as <- <-; auto |]. destruct (IHl Ico). auto. }
    apply in_map_iff in Ic as (d & <- & Id). pose proof (needed_reached (may s d) (part_holds d Id)) as R.
    eapply Z.le_trans; [exact R |]. unfold total_of. fold axes. fold paid. apply Z.eq_le_incl.
    transitivity (sum (map (margin (may s d)) (map (lands paid) shapes))); [rewrite map_map; reflexivity |]. rewrite <- Lands.
    clear. induction (snd known) as [| u us IHu]; cbn [map sum fold_right]; [reflexivity |]. unfold sum in IHu. rewrite <- IHu. reflexivity.
Qed.
End Sound.

(** ** No overflow *)

Lemma error_bound_grows p size m n : 0 <= size -> (m <= n)%nat -> error_bound p size m <= error_bound p size n.
Proof.
  intros S L. assert (forall k, 0 <= error_bound p size k) as N.
  { induction k as [| k IH]; simpl; [lia |]. pose proof (Z.div_pos (size + error_bound p size k) (2 ^ p)).
    destruct (Z.le_gt_cases (2 ^ p) 0) as [X | X].
    - assert (2 ^ p = 0) as -> by (pose proof (Z.pow_nonneg 2 p); lia). rewrite Zdiv_0_r. lia.
    - lia. }
  induction L as [| n L IH]; simpl; [lia |]. specialize (N n). pose proof (Z.div_pos (size + error_bound p size n) (2 ^ p)).
  destruct (Z.le_gt_cases (2 ^ p) 0) as [X | X].
  - assert (2 ^ p = 0) as -> by (pose proof (Z.pow_nonneg 2 p); lia). rewrite Zdiv_0_r. lia.
  - lia.
Qed.

Lemma sum_firstn (sizes : list Z) n : Forall (fun z => 0 <= z) sizes -> sum (firstn n sizes) <= sum sizes.
Proof.
  intro F. revert n. induction F as [| z l Z0 F IH]; intros [| n]; simpl; try lia.
  - assert (0 <= sum l) by (clear - F; induction F; simpl; lia). lia.
  - specialize (IH n). lia.
Qed.

Lemma Forall2_firstn {A B} (R : A -> B -> Prop) l m n : Forall2 R l m -> Forall2 R (firstn n l) (firstn n m).
Proof. intro F. revert n. induction F; intros [| n]; simpl; constructor; auto. Qed.

Lemma prefix_bounded s c leaves sizes n : Forall2 (fun leaf size => magnitude c leaf <= size) leaves sizes ->
  let b := bounds (precision s) sizes (magnitude c (first_scores s)) in
  Z.abs (run_sum (precision s) (plus c) (firstn n leaves) (get (plus c) (first_scores s))) +
  Z.abs (run_sum (precision s) (minus c) (firstn n leaves) (get (minus c) (first_scores s))) <= fst b + snd b.
Proof.
  intros F. cbv zeta. unfold bounds. cbn [fst snd]. set (size := magnitude c (first_scores s) + sum sizes).
  assert (Forall (fun z => 0 <= z) sizes) as N.
  { clear - F. induction F as [| leaf z ls zs M F IH]; constructor; auto. unfold magnitude in M. lia. }
  pose proof (sum_firstn sizes n N) as L.
  assert (0 <= size) as S.
  { unfold size, magnitude. assert (0 <= sum sizes) by (clear - N; induction N; simpl; lia). lia. }
  pose proof (sums_bounded (precision s) c size (precision_positive s) (firstn n leaves) (firstn n sizes)
    (get (plus c) (first_scores s)) (get (minus c) (first_scores s)) (get (plus c) (first_scores s))
    (get (minus c) (first_scores s)) 0 (Forall2_firstn _ _ _ n F)
    ltac:(unfold size, magnitude; lia) ltac:(simpl; lia)) as [B E].
  rewrite Nat.add_0_r in E.
  assert (error_bound (precision s) size (length (firstn n leaves)) <= error_bound (precision s) size (length sizes)).
  { apply error_bound_grows; auto. rewrite firstn_length.
    assert (length leaves = length sizes) by (clear - F; induction F; simpl; auto). lia. }
  lia.
Qed.

Lemma finite_sums s x leaves n part c k : forallb (forallb (sums_stay_finite s)) (goal s) = true ->
  Permutation (map (leaf_of s x) (trees s)) leaves -> In part (goal s) -> In c part ->
  plus c = Some k \/ minus c = Some k -> Z.abs (float_sum round s (firstn n leaves) k) < largest_sum s.
Proof.
  intros G P Ip Ic K. rewrite forallb_forall in G. specialize (G part Ip). rewrite forallb_forall in G.
  specialize (G c Ic). unfold sums_stay_finite in G. apply Z.ltb_lt in G.
  destruct (Permutation_Forall2 P (sizes_of_leaves s x c)) as (sizes & Ps & F).
  destruct (sizes_permuted _ _ Ps) as [Es El].
  pose proof (prefix_bounded s c leaves sizes n F) as B. cbv zeta in B. unfold bounds in *. rewrite <- Es, <- El in B.
  change (Z.abs (run_sum (precision s) (Some k) (firstn n leaves) (get (Some k) (first_scores s))) < largest_sum s).
  destruct K as [K | K]; rewrite K in B; lia.
Qed.

Theorem well_formed_finite s D x : well_formed s D = true -> Forall2 allows (features s) x -> stays_finite s x.
Proof.
  unfold well_formed, sound_statement. rewrite !andb_true_iff. intros ((((((S & _) & _) & _) & _) & C) & G) A. split.
  - intros c f Ic Ef. rewrite forallb_forall in C. apply (finite_column (features s) f c); auto.
    destruct (at_axis s D x S A (feature_of c) f Ef) as (_ & _ & H & _). exact H.
  - intros leaves n part c k [P _] Ip Ic K. exact (finite_sums s x leaves n part c k G P Ip Ic K).
Qed.

Theorem check_sound (s : statement) (c : certificate) : check s c = true -> claim s.
Proof.
  unfold check, claim. rewrite andb_true_iff. intros [W C] x A.
  split; [eapply well_formed_finite; [eauto | apply A] |]. intros (leaves & (Arranged & InOrder) & Goal).
  unfold well_formed in W. rewrite !andb_true_iff in W. destruct W as ((((W & _) & U) & Cols) & _).
  apply Z.leb_le in U. set (D := cost_unit c) in *.
  destruct (all (map (cut_tree_of s (axes_of s D)) (trees s))) as [shapes |] eqn:E; [| discriminate].
  unfold decides in Goal. apply existsb_exists in Goal as (part & Ip & Holds). apply In_nth_error in Ip as (has & Is).
  assert (has < length (goal s))%nat as Has by (apply nth_error_Some; congruence).
  pose proof W as W'. unfold sound_statement in W'. rewrite !andb_true_iff in W'. destruct W' as ((S & _) & _).
  set (paid := payments (map (axis_of s D) (features s)) x).
  pose proof (unmarked_known paid shapes (proj2 (leaves_of s D x S Cols (proj1 A) shapes E))) as Known.
  apply (check_tree_sound s D _ _ _ (knows paid (map (lands paid) shapes)) _ (proof_of c) x has W A Has Known) in C; [exact C | |].
  - intros _ Near known open p b Y O I Closed.
    exact (closes_sound s D x S Cols (proj1 A) shapes E _ Near U leaves Arranged InOrder has part Is Holds known open p b Y O I Closed).
  - intros known b till marks more Y I L. exact (learn_sound paid _ known b till marks more Y I L).
Qed.
