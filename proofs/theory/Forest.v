(** * An executable checker for the certificates of tree ensembles, proved sound

    [check statement certificate] runs inside Coq; [check_sound] turns its answer "true" into a theorem about the
    deployed floating-point model as Ensemble.v defines it: every allowed point with the goal is at least as far as the
    claim says, or there is no such point at all. A certificate in the JSON of FORMAT.md becomes such a theorem through
    proofs/translate.py.

    The proof tree has the nodes split, empty, distance, changes, trees and cell of FORMAT.md. The cuts that thresholds
    make among the indices of a grid are hints of the translation: they are checked here against the rounding to
    float64, the cast to float32 and the comparison itself.

    Main theorem: [check_sound]. *)

From Coq Require Import ZArith QArith Qround List Bool Permutation Lia Lqa.
From Mace Require Import Rounding Ensemble CutTree Costs Margins.
Import ListNotations.
Open Scope Z_scope.

Inductive proof :=
| Split (j : nat) (at_most : Z) (first second : proof)
| Empty
| Distance
| Changes
| Trees
| Cell.

(** [cost_unit]: distances are counted in its parts; any value is sound, a common denominator loses nothing. *)
Record certificate := Certificate { cost_unit : positive; proof_of : proof }.

(** ** The model over indices *)

Definition given_fast (k : kind) (i : Z) : Z :=
  match k with
  | Step _ d _ => round_fast 0 53 (Z.shiftl (place k 0 i) 1074) (Zpos d)
  | Float64 | Float32 => place k 0 i
  | Nominal | Ordinal _ => Z.shiftl i 1074
  end.

Definition passes_fast (s : statement) (threshold : float) (v : Z) : bool :=
  let seen := if cast_to_float32 s then round_fast 925 24 v 1 else v in
  if test_is_strict s then seen <? units threshold else seen <=? units threshold.

Definition level_value (f : feature) (levels : option (list float)) (i : Z) : Z :=
  match levels with Some l => units (nth (Z.to_nat i) l (0, 0)) | None => given_fast (kind_of f) i end.

Definition passing (s : statement) (threshold : float) (f : feature) (levels : option (list float)) (l : list price) : Z :=
  fold_right (fun (p : price) m => if passes_fast s threshold (level_value f levels (fst p)) then Z.setbit m (fst p) else m)
    0 l.

Definition cut_holds (s : statement) (threshold : float) (k : kind) (lower upper cut : Z) : bool :=
  ((cut <? lower) || passes_fast s threshold (given_fast k cut)) &&
  ((upper <=? cut) || negb (passes_fast s threshold (given_fast k (cut + 1)))).

Fixpoint cut_tree_of (s : statement) (axes : list axis) (t : tree) : option (cut_tree (list Z)) :=
  match t with
  | Leaf scores => Some (CutLeaf (map (stored s) scores))
  | Node c threshold cut l r =>
      match cut_tree_of s axes l, cut_tree_of s axes r, nth_error (columns s) c with
      | Some l, Some r, Some (j, levels) =>
          match nth_error axes j with
          | None => None
          | Some a =>
              match domain_of (about a), levels with
              | Between lower upper, None =>
                  if cut_holds s threshold (kind_of (about a)) lower upper cut then
                    let far := cut <? start (about a) in
                    let c := cost a (if far then cut else cut + 1) in
                    Some (Cut j cut far (fst c) (snd c) l r)
                  else None
              | Among _, _ =>
                  let prices := prices_of a in
                  Some (Sort j (passing s threshold (about a) levels prices) prices l r)
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

Definition no_index (r : range) : bool :=
  match r with Interval lower upper _ _ => upper <? lower | Levels mask _ _ => mask =? 0 end.

Definition start_is_out (a : axis) (r : range) : bool :=
  match r with
  | Interval lower upper _ _ => (start (about a) <? lower) || (upper <? start (about a))
  | Levels mask _ _ => negb (Z.testbit mask (start (about a)))
  end.

Fixpoint sure_changes (axes : list axis) (b : list range) : nat :=
  match axes, b with
  | a :: axes, r :: b => (if start_is_out a r then 1 else 0) + sure_changes axes b
  | _, _ => 0
  end.

Section Check.
Variable s : statement.
Variable axes : list axis.
Variable limit : option Z.
Variable shapes : list (cut_tree (list Z)).
Variable opponents : list (list (Z * list (cut_tree Z))).

Fixpoint check_node (p : proof) (b : list range) : bool :=
  match p with
  | Split j at_most first second =>
      match nth_error axes j, nth_error b j with
      | Some a, Some r =>
          match domain_of (about a), r with
          | Between _ _, Interval lower upper _ _ =>
              check_node first (set j (interval_range a lower (Z.min upper at_most)) b) &&
              check_node second (set j (interval_range a (Z.max lower (at_most + 1)) upper) b)
          | Among _, Levels mask _ _ =>
              let prices := prices_of a in
              check_node first (set j (levels_range (Z.land mask at_most) prices) b) &&
              check_node second (set j (levels_range (Z.ldiff mask at_most) prices) b)
          | _, _ => false
          end
      | _, _ => false
      end
  | Empty => existsb no_index b
  | Distance => beyond limit (sum_of b + largest_of b)
  | Changes => match most_changes s with Some k => Nat.ltb k (sure_changes axes b) | None => false end
  | Trees => forallb (existsb (cannot_hold limit b)) opponents
  | Cell =>
      match all (map (fun t => only t b) shapes) with
      | Some leaves => ordered s && negb (decides round_fast s leaves)
      | None => false
      end
  end.
End Check.

Definition check (s : statement) (c : certificate) : bool :=
  let axes := map (axis_of s (cost_unit c)) (features s) in
  let limit := option_map (fun q => Qceiling (inject_Z (Zpos (cost_unit c)) * q)) (closer_than s) in
  forallb sound_axis axes && Qle_bool 0 (gamma s) && (unit s <=? 1074) &&
  match all (map (cut_tree_of s axes) (trees s)) with
  | None => false
  | Some shapes =>
      check_node s axes limit shapes (map (map (opponent s shapes)) (goal s)) (proof_of c) (map root_range axes)
  end.

(** ** Proofs *)

Lemma given_fast_is_given k i : given_fast k i = given k i.
Proof. destruct k; simpl; auto. apply round_fast_is_round; lia. Qed.

Lemma passes_fast_is_passes s t v : passes_fast s t v = passes s t v.
Proof.
  unfold passes_fast, passes, cast. destruct (cast_to_float32 s); auto. rewrite round_fast_is_round by lia. reflexivity.
Qed.

Lemma all_map {A B} (f : A -> option B) l r : all (map f l) = Some r -> Forall2 (fun a b => f a = Some b) l r.
Proof.
  revert r. induction l as [| a l IH]; simpl; intros r E.
  - injection E as <-. constructor.
  - destruct (f a) eqn:F; [| discriminate]. destruct (all (map f l)); [| discriminate].
    injection E as <-. constructor; auto.
Qed.

Lemma passing_spec s t f levels (l : list price) i : In i (map fst l) -> (forall p, In p l -> 0 <= fst p) ->
  Z.testbit (passing s t f levels l) i = passes_fast s t (level_value f levels i).
Proof.
  intros I N. assert (0 <= i) as I0 by (apply in_map_iff in I as (p & <- & J); auto).
  destruct (passes_fast s t (level_value f levels i)) eqn:P.
  - induction l as [| p l IH]; simpl in *; [tauto |].
    destruct I as [<- | I].
    + rewrite P. apply Z.setbit_eq. auto.
    + specialize (IH I (fun p J => N p (or_intror J))).
      destruct (passes_fast s t (level_value f levels (fst p))); auto.
      rewrite Z.setbit_iff by auto. auto.
  - clear I. induction l as [| p l IH]; simpl; [apply Z.bits_0 |].
    specialize (IH (fun p J => N p (or_intror J))).
    destruct (passes_fast s t (level_value f levels (fst p))) eqn:Q; auto.
    destruct (Z.eq_dec (fst p) i) as [<- | X]; [congruence |].
    rewrite Z.setbit_neq by auto using (N p (or_introl eq_refl)). exact IH.
Qed.

Lemma magnitude_of_leaf s x c t : magnitude c (leaf_of s x t) <= leaf_size s c t.
Proof. induction t; simpl; [lia |]. destruct (passes _ _ _); lia. Qed.

Lemma fold_left_ext {A B} (f g : A -> B -> A) l : (forall a b, f a b = g a b) ->
  forall a, fold_left f l a = fold_left g l a.
Proof. intros E. induction l; simpl; intros; auto. rewrite E. auto. Qed.

Lemma decides_fast s leaves : decides round_fast s leaves = decides round s leaves.
Proof.
  assert (forall k, float_sum round_fast s leaves k = float_sum round s leaves k) as F
    by (intros; apply fold_left_ext; intros; apply round_fast_is_round; lia).
  assert (forall side, score round_fast s leaves side = score round s leaves side) as G.
  { intros [k |]; unfold score; cbv zeta; auto. rewrite F. destruct (Pos.eqb (divide s) 1); auto.
    apply round_fast_is_round; [apply smallest_nonnegative | lia]. }
  assert (forall c, holds round_fast s leaves c = holds round s leaves c) as H by (intros; unfold holds; rewrite !G; auto).
  unfold decides. induction (goal s) as [| part parts IH]; simpl; auto. rewrite IH. f_equal.
  induction part; simpl; auto. rewrite H, IHpart. reflexivity.
Qed.

Section Sound.
Variable s : statement.
Variable D : positive.
Let axes := map (axis_of s D) (features s).
Variable x : point.
Hypothesis sound : forallb sound_axis axes = true.
Hypothesis allows_x : Forall2 allows (features s) x.
Let paid := payments axes x.

Lemma at_axis j f : nth_error (features s) j = Some f ->
  nth_error axes j = Some (axis_of s D f) /\
  nth_error paid j = Some (nth j x 0, cost (axis_of s D f) (nth j x 0)) /\
  allows f (nth j x 0) /\ sound_axis (axis_of s D f) = true.
Proof.
  unfold paid, axes in *. revert sound. revert j. induction allows_x as [| g i fs y A F IH]; intros [| j] S E; simpl in *;
    try discriminate; apply andb_true_iff in S as [S1 S2].
  - injection E as <-. auto.
  - apply IH; auto.
Qed.

Lemma axis_about j a : nth_error axes j = Some a -> exists f, nth_error (features s) j = Some f /\ a = axis_of s D f.
Proof.
  unfold axes. intro E. destruct (nth_error (features s) j) as [f |] eqn:F.
  - exists f. split; auto. rewrite (map_nth_error _ _ _ F) in E. congruence.
  - apply nth_error_None in F. rewrite <- (map_length (axis_of s D)) in F. apply nth_error_None in F. congruence.
Qed.

Lemma grid_of f lower upper : sound_axis (axis_of s D f) = true -> domain_of f = Between lower upper ->
  sound_grid (axis_of s D f).
Proof.
  intros S E. repeat split; auto. unfold sound_axis in S. simpl in S. rewrite E, !andb_true_iff in S. simpl. tauto.
Qed.

Lemma price_nonnegative a p : In p (prices_of a) -> 0 <= fst p.
Proof.
  unfold prices_of. destruct (domain_of (about a)); simpl; [tauto |]. rewrite in_map_iff. intros (n & <- & _). simpl. lia.
Qed.

Lemma cut_tree_sound t : forall c, cut_tree_of s axes t = Some c -> lands paid c = leaf_of s x t /\ fair paid c.
Proof.
  induction t as [scores | c threshold cut l IHl r IHr]; simpl; intros u E.
  - injection E as <-. simpl. auto.
  - destruct (cut_tree_of s axes l) as [l' |]; [| discriminate].
    destruct (cut_tree_of s axes r) as [r' |]; [| discriminate].
    destruct (IHl l' eq_refl) as [Ll Fl]. destruct (IHr r' eq_refl) as [Lr Fr]. clear IHl IHr.
    unfold column_value. destruct (nth_error (columns s) c) as [[j levels] |]; [| discriminate].
    destruct (nth_error axes j) as [a |] eqn:Ea; [| discriminate].
    destruct (axis_about j a Ea) as (f & Ef & ->). destruct (at_axis j f Ef) as (_ & Ep & A & S).
    rewrite Ef. simpl about in E. pose proof A as A'. unfold allows in A. set (i := nth j x 0) in *.
    destruct (domain_of f) as [lower upper | mask] eqn:Dom.
    + destruct levels as [levels |]; [discriminate |].
      destruct (cut_holds s threshold (kind_of f) lower upper cut) eqn:H; [| discriminate].
      pose proof (grid_of f lower upper S Dom) as G. pose proof G as (_ & K & _). simpl in K.
      injection E as <-. split.
      * simpl. unfold index_at. rewrite Ep. simpl fst. rewrite Ll, Lr.
        unfold cut_holds in H. rewrite andb_true_iff, !orb_true_iff, negb_true_iff, Z.ltb_lt, Z.leb_le in H.
        rewrite !passes_fast_is_passes, !given_fast_is_given in H. destruct H as [H1 H2].
        destruct (Z.leb_spec i cut) as [L | L].
        -- destruct H1 as [H1 | H1]; [lia |].
           rewrite (passes_monotone s threshold _ _ (given_monotone _ _ _ K L) H1). reflexivity.
        -- destruct H2 as [H2 | H2]; [lia |].
           destruct (passes s threshold (given (kind_of f) i)) eqn:P; auto.
           rewrite (passes_monotone s threshold (given (kind_of f) (cut + 1)) (given (kind_of f) i)) in H2; auto;
             [discriminate | apply given_monotone; auto; lia].
      * simpl. split; [exact Fl |]. split; [exact Fr |]. intros p Np. rewrite Ep in Np. injection Np as <-. simpl fst.
        simpl snd. intro Far. apply (farther_costs_more (axis_of s D f)); auto.
        simpl. destruct (Z.ltb_spec cut (start f)); simpl in Far; lia.
    + injection E as <-.
      assert (In (i, cost (axis_of s D f) i) (prices_of (axis_of s D f))) as I by (eapply priced; eauto).
      split.
      * simpl. unfold index_at. rewrite Ep. simpl fst. rewrite Ll, Lr.
        rewrite passing_spec; [| apply in_map_iff; eexists; split; [| exact I]; auto | apply price_nonnegative].
        rewrite passes_fast_is_passes. unfold level_value. rewrite given_fast_is_given.
        destruct levels; reflexivity.
      * simpl. split; [exact Fl |]. split; [exact Fr |]. intros p Np. rewrite Ep in Np. injection Np as <-. exact I.
Qed.

Variable shapes : list (cut_tree (list Z)).
Hypothesis shapes_of : all (map (cut_tree_of s axes) (trees s)) = Some shapes.
Variable limit : option Z.
Hypothesis near : within limit paid.
Hypothesis has_few : match most_changes s with None => True | Some k => (changes (features s) x <= k)%nat end.
Hypothesis exact_units : unit s <= 1074.
Variable leaves : list (list Z).
Hypothesis arranged : Permutation (map (leaf_of s x) (trees s)) leaves.
Hypothesis in_order : ordered s = true -> leaves = map (leaf_of s x) (trees s).

Lemma sum_permuted (g : list Z -> Z) l m : Permutation l m -> sum (map g l) = sum (map g m).
Proof. induction 1; simpl; lia. Qed.

Lemma sizes_permuted (l m : list Z) : Permutation l m -> sum l = sum m /\ length l = length m.
Proof. induction 1; simpl; lia. Qed.

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

Lemma opponent_sound c b : inside b paid -> cannot_hold limit b (opponent s shapes c) = true ->
  holds round s leaves c = false.
Proof.
  intros I C. destruct leaves_of as [L F]. unfold cannot_hold, opponent in C. simpl in C.
  destruct (best_sum_sound (margin c) shapes b F I) as (v & E & V). rewrite E in C. apply Z.ltb_lt in C.
  destruct (holds round s _ c) eqn:H; auto. exfalso.
  assert (Forall2 (fun leaf size => magnitude c leaf <= size)
    (map (leaf_of s x) (trees s)) (map (leaf_size s c) (trees s))) as S.
  { clear. generalize (trees s). induction l; simpl; constructor; auto using magnitude_of_leaf. }
  destruct (Permutation_Forall2 arranged S) as (sizes & Ps & S').
  pose proof (held_margin s _ _ c exact_units S' H) as M.
  destruct (sizes_permuted _ _ Ps) as [Es El]. unfold least_margin, bounds in M, C. rewrite <- Es, <- El in M.
  rewrite <- (sum_permuted _ _ _ arranged), <- L, map_map in M. lia.
Qed.

Lemma sure_changes_below b : inside b paid -> (sure_changes axes b <= changes (features s) x)%nat.
Proof.
  unfold paid, axes, inside. clear - allows_x. revert b.
  induction allows_x as [| f i fs y A F IH]; simpl; intros b I; [lia |].
  inversion I as [| r ? rest ? C R]; subst. specialize (IH F rest R). simpl in *.
  destruct (start_is_out (axis_of s D f) r) eqn:O; [| lia].
  destruct (Z.eqb_spec i (start f)) as [-> | _]; [| lia]. exfalso.
  destruct r as [lower upper l big | mask l big]; simpl in *.
  - rewrite orb_true_iff, !Z.ltb_lt in O. lia.
  - destruct C as [C _]. rewrite C in O. discriminate.
Qed.

Lemma only_all b reached : inside b paid -> all (map (fun t => only t b) shapes) = Some reached ->
  reached = map (leaf_of s x) (trees s).
Proof.
  intros I E. destruct leaves_of as [<- _]. apply all_map in E.
  assert (forall (us : list (cut_tree (list Z))) vs, Forall2 (fun t v => only t b = Some v) us vs -> vs = map (lands paid) us) as M; [| auto].
  induction 1 as [| u v us vs O R IH]; simpl; auto. rewrite (only_sound paid u b v I O). f_equal. exact IH.
Qed.

Theorem node_sound p : forall b, inside b paid ->
  check_node s axes limit shapes (map (map (opponent s shapes)) (goal s)) p b = true ->
  decides round s leaves = false.
Proof.
  induction p as [j at_most p IHp q IHq | | | | |]; simpl; intros b I C.
  - destruct (nth_error axes j) as [a |] eqn:Ea; [| discriminate].
    destruct (nth_error b j) as [r |] eqn:Er; [| discriminate].
    destruct (axis_about j a Ea) as (f & Ef & ->). destruct (at_axis j f Ef) as (_ & Ep & A & S). simpl about in C.
    destruct (inside_nth _ _ _ _ I Er) as (pay & Np & Cover). rewrite Ep in Np. injection Np as <-.
    destruct (domain_of f) as [lo hi | known] eqn:Dom, r as [lower upper l big | mask l big]; try discriminate;
      apply andb_true_iff in C as [C1 C2]; unfold covers in Cover; simpl fst in Cover; destruct Cover as [Cover _].
    + pose proof (grid_of f lo hi S Dom) as G.
      destruct (Z.le_gt_cases (nth j x 0) at_most).
      * apply (IHp (set j (interval_range (axis_of s D f) lower (Z.min upper at_most)) b)); auto.
        eapply inside_set; eauto. apply interval_covers; auto. lia.
      * apply (IHq (set j (interval_range (axis_of s D f) (Z.max lower (at_most + 1)) upper) b)); auto.
        eapply inside_set; eauto. apply interval_covers; auto. lia.
    + assert (In (nth j x 0, cost (axis_of s D f) (nth j x 0)) (prices_of (axis_of s D f))) as P by (eapply priced; eauto).
      destruct (Z.testbit at_most (nth j x 0)) eqn:T.
      * apply (IHp (set j (levels_range (Z.land mask at_most) (prices_of (axis_of s D f))) b)); auto.
        eapply inside_set; eauto. apply levels_cover; auto. simpl fst. rewrite Z.land_spec, Cover, T. reflexivity.
      * apply (IHq (set j (levels_range (Z.ldiff mask at_most) (prices_of (axis_of s D f))) b)); auto.
        eapply inside_set; eauto. apply levels_cover; auto. simpl fst. rewrite Z.ldiff_spec, Cover, T. reflexivity.
  - exfalso. clear - I C. induction I as [| r y b paid Cover I IH]; simpl in C; [discriminate |].
    apply orb_true_iff in C as [C | C]; auto. destruct r; simpl in *.
    + apply Z.ltb_lt in C. lia.
    + apply Z.eqb_eq in C. subst. rewrite Z.bits_0 in Cover. destruct Cover. discriminate.
  - exfalso. pose proof (sum_inside _ _ I). pose proof (largest_inside _ _ I).
    rewrite (not_beyond limit paid) in C; auto; [discriminate | lia].
  - exfalso. destruct (most_changes s); [| discriminate]. apply Nat.ltb_lt in C.
    pose proof (sure_changes_below b I). lia.
  - unfold decides. induction (goal s) as [| part parts IH]; simpl in *; auto.
    apply andb_true_iff in C as [C1 C2]. rewrite IH by auto. rewrite orb_false_r.
    induction part as [| c part IHc]; simpl in *; [discriminate |].
    apply orb_true_iff in C1 as [C1 | C1].
    + rewrite (opponent_sound c b I C1). reflexivity.
    + rewrite IHc by auto. apply andb_false_r.
  - destruct (all (map (fun t => only t b) shapes)) as [reached |] eqn:E; [| discriminate].
    apply andb_true_iff in C as [O C]. rewrite (only_all b reached I E), decides_fast, <- (in_order O) in C.
    apply negb_true_iff, C.
Qed.
End Sound.

Theorem check_sound (s : statement) (c : certificate) : check s c = true -> claim s.
Proof.
  unfold check, claim. rewrite !andb_true_iff. intros (((S & G) & U) & C) x [A Few] (leaves & Arranged & InOrder & Goal).
  apply Z.leb_le in U. set (D := cost_unit c) in *.
  destruct (all (map (cut_tree_of s (map (axis_of s D) (features s))) (trees s))) as [shapes |] eqn:E; [| discriminate].
  set (paid := payments (map (axis_of s D) (features s)) x).
  assert (inside (map root_range (map (axis_of s D) (features s))) paid) as I.
  { unfold paid, inside. clear - S A. induction A as [| f i fs x A F IH]; simpl in *; constructor.
    - apply andb_true_iff in S as [S _]. apply root_covers; auto.
    - apply IH. apply andb_true_iff in S. tauto. }
  assert (forall limit,
    check_node s (map (axis_of s D) (features s)) limit shapes (map (map (opponent s shapes)) (goal s)) (proof_of c)
      (map root_range (map (axis_of s D) (features s))) = true -> within limit paid -> False) as K.
  { intros limit C' W. pose proof (node_sound s D x S A shapes E limit W Few U leaves Arranged InOrder (proof_of c) _ I C'). congruence. }
  specialize (K _ C). destruct (closer_than s) as [q |]; simpl in K.
  - destruct (Qlt_le_dec (distance s x) q) as [L |]; auto. exfalso. apply K.
    pose proof (paid_below_distance s D x S G) as P. cbv zeta in P. fold paid in P.
    pose proof (Qle_ceiling (inject_Z (Zpos D) * q)) as R.
    rewrite Zlt_Qlt. eapply Qle_lt_trans; [exact P |]. eapply Qlt_le_trans; [| exact R].
    rewrite !(Qmult_comm (inject_Z (Zpos D))). apply Qmult_lt_compat_r; auto. reflexivity.
  - apply K. exact Logic.I.
Qed.
